"""pack.py -- see pack: builds what check needs into one folder, for a machine that has a GPU and nothing else."""
import argparse
import glob
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

import shapes
import steps

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT_BYTES = 40 << 20
TARGETS = ("ragtune", "ragtune-worker", "gpu_measure", "gpu_peak", "nvrtc_pack", "ptxsim")


def say(text):
    print("pack: " + text, flush=True)


def fail(text, status=3):
    print("pack: " + text, file=sys.stderr)
    sys.exit(status)


def build(folder, jobs):
    for command in (["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DRAGTUNE_STATIC_DEPS=ON", "-DRAGTUNE_TESTS=ON"],
                    ["cmake", "--build", folder, "-j", str(jobs), "--target", *TARGETS]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            fail("%s: %s" % (" ".join(command[:2]), done.stdout.strip().splitlines()[-1]))


def find_nvrtc():
    named = os.environ.get("RAGTUNE_LIBNVRTC")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    patterns = [named] if named else ["/usr/local/cuda*/lib64/libnvrtc.so.1?", "/usr/local/cuda*/lib/libnvrtc.so.1?",
                                      "/usr/lib/*-linux-gnu/libnvrtc.so.1?", cache + "/ragtune/nvrtc/libnvrtc.so*"]
    for pattern in patterns:
        for path in sorted(glob.glob(pattern), reverse=True):
            return path
    return None


def copy_programs(build_folder, out):
    for folder in ("bin", "lib"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    for name in ("ragtune", "ragtune-worker", "tests/gpu/gpu_measure", "tests/gpu/gpu_peak"):
        to = os.path.join(out, "bin", os.path.basename(name))
        shutil.copy2(os.path.join(build_folder, name), to)
        subprocess.run(["strip", to], check=False, stderr=subprocess.DEVNULL)
    shutil.copy2(os.path.join(build_folder, "tests/gpu/libnvrtc_pack.so"), os.path.join(out, "lib"))
    for name in ("check", "check.py", "shapes.py", "steps.py", "peers.py", "quick.lua"):
        shutil.copy2(os.path.join(HERE, name), out)


def recorder(out, scratch, nvrtc):
    """The environment in which every compile is kept."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RAGTUNE_", "PTXSIM_", "GPU_CHECK_"))}
    environment.update(RAGTUNE_CACHE=os.path.join(scratch, "cache"), RAGTUNE_DB=os.path.join(out, "simulated.db"), RAGTUNE_CC="none",
                       RAGTUNE_LIBNVRTC=os.path.join(out, "lib", "libnvrtc_pack.so"), GPU_CHECK_NVRTC=nvrtc, GPU_CHECK_RECORD="1",
                       GPU_CHECK_PACK=os.path.join(scratch, "packed"))
    return environment


def compile_all(out, environment, scratch, clock, wanted):
    """wanted: [((op, options), target, how many)]. What there was no time for is left to the machine's own NVRTC."""
    n = left = 0
    for target in dict.fromkeys(target for _, target, _ in wanted):
        done = steps.run([os.path.join(out, "bin", "gpu_peak"), "--compile", target], environment, 120, scratch)
        if done.status:
            fail("gpu_peak for %s: %s" % (target, done.why()))
    for (op, options), target, sample in wanted:
        if clock.left() < 1:
            left += 1
            continue
        command = [os.path.join(out, "bin", "ragtune"), "compile", "--op", op, "--target", target, "--sample", str(sample), "--seed",
                   str(shapes.SEED), "--json", *options]
        done = steps.run(command, environment, clock.left(), scratch)
        report = done.object()
        if report:
            n += report["compiled"]
        else:
            left += 1
            if not done.cut:
                say("%s for %s: %s" % (op, target, done.why()))
    say("%d variants compiled beforehand" % n + ("; %d ops and targets left out for want of time" % left if left else ""))
    return n


def simulate(out, environment, scratch, libcuda, clock, seconds, more):
    """The small shapes on tests/ptxsim: the order of the variants by the modelled time, and y."""
    environment = dict(environment, RAGTUNE_LIBCUDA=libcuda, RAGTUNE_RUN_LIMIT_S="120", PTXSIM_CHECKS="none")
    found = {}
    for shape in (s for s in shapes.SHAPES if s.simulated):
        if clock.left() < seconds:
            say("%s: no time left to simulate it" % shape.name)
            continue
        index = shape.index()
        npy, raw, y = (os.path.join(scratch, shape.name + end) for end in (".npy", ".index", ".y"))
        shapes.write_npy(npy, index, shape.narrow)
        shapes.write_raw(raw, index)
        done = steps.run([os.path.join(out, "bin", "ragtune"), "--op", shape.op, "--index", npy, *shape.options(), "--device", "cuda",
                          "--budget", str(seconds), "--json", *more], environment, seconds + 60, scratch)
        tuned = done.object()
        if not tuned or not tuned["results"][0]["winner"]:
            say("%s on ptxsim: %s" % (shape.name, done.why()))
            continue
        result = tuned["results"][0]
        done = steps.run([os.path.join(out, "bin", "gpu_measure"), shape.op, raw, *shape.options(), "--skew", result["skew"],
                          "--y", os.path.join(out, shape.name + ".y")], environment, 120, scratch)
        found[shape.name] = dict(winner=result["winner"], time_ps=result["time_ps"], measured=done.object())
        say("%s on ptxsim: %s" % (shape.name, result["winner"]))
    with open(os.path.join(out, "simulated.json"), "w") as f:
        json.dump(found, f, indent=1)


def put_away(out, scratch):
    """One file of everything compiled: what repeats from variant to variant is kept once."""
    packed = os.path.join(scratch, "packed")
    with open(os.path.join(packed, "nvrtc")) as f:
        version = f.read().split()[:2]
    # RagTune wants the builtins of the version named; the stand-in asks for none, so any library will do.
    shutil.copy2(os.path.join(out, "lib", "libnvrtc_pack.so"), os.path.join(out, "lib", "libnvrtc-builtins.so.%s.%s" % tuple(version)))
    with lzma.open(os.path.join(out, "packed.tar.xz"), "wb", preset=6) as compressed:
        with tarfile.open(fileobj=compressed, mode="w") as tar:
            for name in sorted(os.listdir(packed)):
                tar.add(os.path.join(packed, name), arcname=name)
    for name in os.listdir(out):
        if name.startswith("simulated.db-"):
            os.unlink(os.path.join(out, name))
    return len(os.listdir(packed)) - 1


def folder_bytes(folder):
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(folder) for f in files)


def arguments():
    p = argparse.ArgumentParser(prog="tests/gpu/pack", description="builds the folder that tests/gpu/check takes to a machine with a GPU")
    p.add_argument("out", nargs="?", default="build/gpu-check", help="folder to make (default: build/gpu-check)")
    p.add_argument("--build", help="a build folder to take the programs from, as they are (default: builds them, archives linked in)")
    p.add_argument("--sample", type=int, default=48, help="variants of each op for sm_90 (default: 48)")
    p.add_argument("--others", type=int, default=8, help="variants of each op for sm_80 and sm_120 (default: 8)")
    p.add_argument("--minutes", type=float, default=30, help="for compiling beforehand and the simulator (default: 30)")
    p.add_argument("--simulate", type=float, default=60, metavar="SECONDS", help="for each simulated shape; 0: none (default: 60)")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the build")
    p.add_argument("--quick", action="store_true", help="the two small shapes only, a few variants each: for tests")
    return p.parse_args()


def wanted_of(a):
    if a.quick:
        return [((shapes.VERIFIED[0], []), "sm_90", shapes.QUICK_SAMPLE)]
    ops = shapes.packed_ops()
    wanted = [(op, "sm_90", shapes.SAMPLE) for op in ops]  # what check verifies
    wanted += [(op, sm, a.others) for sm in ("sm_80", "sm_120") for op in ops]
    return wanted + [(op, "sm_90", a.sample) for op in ops if a.sample > shapes.SAMPLE]


def main():
    a = arguments()
    out = os.path.abspath(a.out)
    nvrtc = find_nvrtc()
    if not nvrtc:
        fail("NVRTC was not found; RAGTUNE_LIBNVRTC may name it, .ci/fetch-nvrtc fetches it")
    if os.path.isdir(out):
        if os.listdir(out) and not os.path.exists(os.path.join(out, "packed.tar.xz")):
            fail("%s is not empty and no earlier pack" % out, 2)
        shutil.rmtree(out)
    os.makedirs(out)
    build_folder = os.path.abspath(a.build) if a.build else os.path.join(ROOT, "build", "gpu-build")
    if not a.build:
        say("building into %s" % os.path.relpath(build_folder))
        build(build_folder, a.jobs)
    copy_programs(build_folder, out)
    with tempfile.TemporaryDirectory(prefix="rgt-pack-") as scratch:
        environment, clock = recorder(out, scratch, os.path.realpath(nvrtc)), steps.Clock(60 * a.minutes)
        if a.simulate:
            more = ["--space", os.path.join(HERE, "quick.lua")] if a.quick else []
            simulate(out, environment, scratch, os.path.join(build_folder, "tests/ptxsim/libcuda.so.1"), clock, a.simulate, more)
        compile_all(out, environment, scratch, clock, wanted_of(a))
        n = put_away(out, scratch)
    size = folder_bytes(out)
    say("%d compiled sources, %.1f MiB in all in %s" % (n, size / 2 ** 20, a.out))
    if size > LIMIT_BYTES:
        fail("that is over %d MiB: take a smaller --sample" % (LIMIT_BYTES >> 20), 1)


if __name__ == "__main__":
    main()
