"""check.py -- see check: what a machine with a GPU says of RagTune, step by step, each within its time."""
import argparse
import ctypes
import glob
import json
import lzma
import os
import platform
import shutil
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import shapes  # noqa: E402
import steps  # noqa: E402

WORST_FIRST = ("wrong", "crashed", "timed out", "compile error", "infeasible", "right")
PEER_SECONDS, MEASURE_SECONDS = 2.0, 3.0


def fail(text, status):
    print("check: " + text, file=sys.stderr)
    sys.exit(status)


class Report:
    """Lines of JSON, each on the disk before the next step begins; and what is said of them."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "results.jsonl")
        self.file = open(self.path, "w")
        self.begun = time.monotonic()

    def put(self, step, **fields):
        line = dict(step=step, at_s=round(time.monotonic() - self.begun, 1), **fields)
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        return line

    def say(self, text):
        print("%5.0f s  %s" % (time.monotonic() - self.begun, text), flush=True)


# ---- the machine ----

def find_driver():
    """Its path, or why there is none. Asked in a child: what a driver does to a process stays there."""
    name = os.environ.get("RAGTUNE_LIBCUDA") or "libcuda.so.1"
    child = os.fork()
    if child == 0:
        try:
            lib = ctypes.CDLL(name)
        except OSError:
            os._exit(101)
        n = ctypes.c_int(0)
        code = lib.cuInit(0) or lib.cuDeviceGetCount(ctypes.byref(n))
        os._exit(102 if code else 0 if n.value else 103)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {0: None, 101: "no CUDA driver: %s is not there (RAGTUNE_LIBCUDA may name it)" % name,
            102: "%s is there, but finds no GPU that it can use" % name, 103: "%s is there, and counts no GPU" % name}.get(
                code, "%s ended the program that asked it (%d)" % (name, code))


def find_nvrtc():
    """The machine's own NVRTC, wherever it may lie; PyTorch brings one. None: what came along must do."""
    named = os.environ.get("RAGTUNE_LIBNVRTC")
    if named:
        return None if named == "none" else named
    patterns = ["/usr/local/cuda*/lib64/libnvrtc.so.1?", "/usr/local/cuda*/targets/*/lib/libnvrtc.so.1?", "/usr/lib/*-linux-gnu/libnvrtc.so.1?",
                os.path.expanduser("~/.cache/ragtune/nvrtc/libnvrtc.so*")]
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        patterns += [folder + "/libnvrtc.so.1?"] if folder else []
    for folder in dict.fromkeys(sys.path + glob.glob("/opt/*/lib/python3*/site-packages") + glob.glob("/usr/local/lib/python3*/*-packages")):
        patterns += [folder + "/nvidia/*/lib/libnvrtc.so.1?", folder + "/torch/lib/libnvrtc*.so*"]
    patterns += [os.path.join(sys.prefix, "lib/libnvrtc.so.1?")]
    found = [path for pattern in patterns for path in glob.glob(pattern) if ".alt." not in path and "builtins" not in path]
    return os.path.realpath(max(found, key=lambda path: path.rsplit(".", 1)[-1] if path[-1].isdigit() else "")) if found else None


def environment_of(pack, scratch, nvrtc):
    keep = ("RAGTUNE_LIBCUDA",)
    e = {k: v for k, v in os.environ.items() if k in keep or not k.startswith(("RAGTUNE_", "GPU_CHECK_"))}
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    e.update(RAGTUNE_CACHE=os.path.join(scratch, "cache"), RAGTUNE_DB=os.path.join(scratch, "tuned.db"), RAGTUNE_CC="none",
             RAGTUNE_WORKER=os.path.join(pack, "bin", "ragtune-worker"), RAGTUNE_MEMORY_LIMIT_MIB=str(max(2048, memory_mib // 2)),
             RAGTUNE_RUN_LIMIT_S="20", RAGTUNE_LIBNVRTC=os.path.join(pack, "lib", "libnvrtc_pack.so"),
             GPU_CHECK_PACK=os.path.join(scratch, "packed"), XDG_CACHE_HOME=scratch, XDG_DATA_HOME=scratch)
    if nvrtc:
        e["GPU_CHECK_NVRTC"] = nvrtc
    return e


def unpack(pack, scratch):
    to = os.path.join(scratch, "packed")
    os.makedirs(to)
    with lzma.open(os.path.join(pack, "packed.tar.xz")) as compressed, tarfile.open(fileobj=compressed) as tar:
        for member in tar:
            if member.isfile() and os.path.basename(member.name) == member.name:
                with open(os.path.join(to, member.name), "wb") as f:
                    shutil.copyfileobj(tar.extractfile(member), f)
    return len(os.listdir(to)) - 1


# ---- steps ----

class Check:
    def __init__(self, pack, scratch, environment, report, clock, quick, exhaustive):
        self.pack, self.scratch, self.environment, self.report, self.clock = pack, scratch, environment, report, clock
        self.quick, self.exhaustive, self.wrong, self.rows, self.peaks = quick, exhaustive, 0, [], {}
        try:
            with open(os.path.join(pack, "simulated.json")) as f:
                self.simulated = json.load(f)
        except (OSError, ValueError):
            self.simulated = {}

    def run(self, name, *arguments, limit):
        return steps.run([os.path.join(self.pack, "bin", name), *arguments], self.environment, min(limit, self.clock.left()), self.scratch)

    def peak(self):
        done = self.run("gpu_peak", *(["1", "10"] if self.quick else []), limit=20)
        self.peaks = done.object() or {}
        self.report.put("peak", note="" if done.status == 0 else done.why(), **self.peaks)
        self.report.say("peak: " + ", ".join("%s %.4g" % (k, v) for k, v in self.peaks.items() if k.endswith("_s") and v) + (
            "" if done.status == 0 else "NULL (%s)" % done.why()))

    def share(self, op, index, ps):
        """Of the measured rates, whichever bounds. Above 1 for bytes that stay in the L2 cache."""
        if not ps:
            return None, None
        flops, n_bytes = shapes.work(op, index)
        rates = (("bytes_per_s", n_bytes), ("f32_flop_per_s" if ":f32:" in op else "mma_flop_per_s", flops))
        found = [(amount / self.peaks[rate] / (ps * 1e-12), rate) for rate, amount in rates if self.peaks.get(rate)]
        return max(found) if found else (None, None)

    def verify(self, op, sample, limit):
        done = self.run("ragtune", "verify", "--op", op, "--device", "cuda", "--sample", str(sample), "--seed", str(shapes.SEED), limit=limit)
        counts, families, bad = {}, {}, []
        for line in done.out.splitlines():
            outcome, rest = line[:13].strip(), line[13:].split()
            if outcome not in WORST_FIRST or len(rest) < 2 or ":" not in rest[1] and ":" not in rest[-1]:
                continue
            variant = next(word for word in rest if ":" in word)
            counts[outcome] = counts.get(outcome, 0) + 1
            family = families.setdefault(variant.split(":")[0], {})
            family[outcome] = family.get(outcome, 0) + 1
            if outcome in ("wrong", "crashed", "timed out"):
                bad.append(line.strip()[:300])
        # status 1 stands for something wrong, but also for what was cut off
        self.wrong += len(bad)
        note = "" if done.status == 0 else done.why()
        self.report.put("verify", op=op, status=done.status, cut=done.cut, counts=counts, families=families, bad=bad, note=note)
        told = ", ".join("%s %s" % (name, "/".join("%d %s" % (n, o) for o, n in sorted(f.items()))) for name, f in sorted(families.items()))
        self.report.say("verify %s: %s%s" % (op, told or "nothing", " (%s)" % note if note else ""))
        for line in bad[:3]:
            self.report.say("    " + line)

    def tune(self, shape, npy, budget):
        more = ["--space", os.path.join(self.pack, "quick.lua")] if self.quick else ["--exhaustive"] if self.exhaustive else []
        done = self.run("ragtune", "--op", shape.op, "--index", npy, *shape.options(), "--device", "cuda", "--budget", "%g" % budget,
                        "--json", *more, limit=budget + 12)
        found = done.object()
        result = found["results"][0] if found and found.get("results") else None
        self.report.put("tune", shape=shape.name, op=shape.op, status=done.status, cut=done.cut, result=result,
                        device_class=found and found.get("device_class"), toolchain=found and found.get("toolchain"),
                        note="" if result and result["winner"] else done.why())
        if not result or not result["winner"]:
            self.report.say("%s, tuned: NULL (%s)" % (shape.name, result and result["reason"] or done.why()))
        return result

    def measure(self, shape, raw, skew):
        y = os.path.join(self.scratch, shape.name + ".y")
        done = self.run("gpu_measure", shape.op, raw, *shape.options(), "--skew", skew, "--seconds", "%g" % MEASURE_SECONDS, "--y", y,
                        limit=40)
        found = done.object()
        if found is None:
            self.report.put("measure", shape=shape.name, measured=None, note=done.why())
            self.report.say("%s, measured: NULL (%s)" % (shape.name, done.why()))
            return None
        self.wrong += found["wrong"] > 0
        self.report.put("measure", shape=shape.name, measured=found, simulated=self.beside(shape, found, y))
        return found

    def beside(self, shape, found, y):
        """This y and the simulator's: both are under the bound; how much of the bits agree, and what it chose."""
        there = self.simulated.get(shape.name)
        if not there:
            return None
        told = dict(winner=there["winner"], time_ps=there["time_ps"], same_bytes=None)
        if there.get("measured"):
            told.update(error_share=there["measured"]["error_share"], wrong=there["measured"]["wrong"])
        try:
            with open(os.path.join(self.pack, shape.name + ".y"), "rb") as f, open(y, "rb") as g:
                a, b = f.read(), g.read()
        except OSError:
            return told
        if a and len(a) == len(b):
            told["same_bytes"] = sum(p == q for p, q in zip(a, b)) / len(a)
        return told

    def peers(self, shape, raw):
        """{way: line}; an empty one where there is no PyTorch."""
        script = os.path.join(self.pack, "peers.py")
        limit = min(8 * PEER_SECONDS + 25, self.clock.left())
        done = steps.run([sys.executable, script, shape.op, raw, "--seconds", "%g" % PEER_SECONDS], dict(os.environ), limit, self.scratch)
        found = {}
        for line in done.out.splitlines():
            try:
                way = json.loads(line)
                found[way["way"]] = way
            except (ValueError, KeyError):
                pass
        self.report.put("peers", shape=shape.name, ways=found, note="" if done.status == 0 else done.why())
        if done.status and not found:
            self.report.say("%s, peers: NULL (%s)" % (shape.name, done.why()))
        return found

    def correlation(self, shape, rows):
        """Of the variants that both tried for this shape: their order here and in the simulator."""
        here = steps.trials(os.path.join(self.scratch, "tuned.db"))
        there = steps.trials(os.path.join(self.pack, "simulated.db"))
        bucket = "r%d" % (1 << (rows - 1).bit_length())
        for signature in sorted(set(here) & set(there)):
            if signature.split("|")[1:3] == [shape.op, bucket]:
                rho, n = steps.rank_correlation(there[signature], here[signature])
                self.report.put("rank_correlation", shape=shape.name, signature=signature, rho=rho, variants=n)
                self.report.say("%s: rank correlation of modelled and measured times %s over %d variants" %
                                (shape.name, "NULL" if rho is None else "%.2f" % rho, n))
                return rho
        self.report.put("rank_correlation", shape=shape.name, rho=None, note="not simulated, or nothing in common")
        return None

    def shape(self, shape, budget):
        index = shape.index()
        npy, raw = (os.path.join(self.scratch, shape.name + end) for end in (".npy", ".index"))
        shapes.write_npy(npy, index, shape.narrow)
        shapes.write_raw(raw, index)
        row = dict(shape=shape.name, rows=len(index), tuned=None, measured=None, peers={}, rho=None, share=None, bound=None, note="")
        self.rows.append(row)
        row["tuned"] = self.tune(shape, npy, budget)
        if self.clock.left() > 3:
            row["measured"] = self.measure(shape, raw, row["tuned"]["skew"] if row["tuned"] else "uniform")
        row["share"], row["bound"] = self.share(shape.op, index, (row["measured"] or {}).get("stream_ps"))
        if shape.simulated:
            row["rho"] = self.correlation(shape, len(index))
        if self.clock.left() > 5:
            row["peers"] = self.peers(shape, raw)
        self.report.put("shape", **summary(row))
        self.report.say(line_of(summary(row)))


# ---- the table ----

def ratio(peers, key, ours):
    """Best way's name and its time over ours: above 1 we are faster. `single` is not the op, so it does not count."""
    times = [(p[key], way) for way, p in peers.items() if way not in ("about", "single") and p.get(key)]
    if not times or not ours:
        return None, None
    best, way = min(times)
    return way, best / ours


def summary(row):
    t, m = row["tuned"] or {}, row["measured"] or {}
    way, stream = ratio(row["peers"], "stream_ps", m.get("stream_ps"))
    way_graph, graph = ratio(row["peers"], "graph_ps", m.get("graph_ps"))
    return dict(shape=row["shape"], rows=row["rows"], stream_ps=m.get("stream_ps"), graph_ps=m.get("graph_ps"), peak_share=row["share"], peak_of=row["bound"],
                best_peer=way, peer_over_ours=stream, best_peer_graph=way_graph, peer_over_ours_graph=graph,
                single_ps=row["peers"].get("single", {}).get("stream_ps"), error_share=m.get("error_share"), wrong=m.get("wrong"),
                default_ps=t.get("default_ps"), tried=t.get("tried"), compile_errors=t.get("compile_errors"), rho=row["rho"],
                variant=m.get("variant") or t.get("winner"))


def cell(value, form):
    return "NULL" if value is None else form % value


def us(ps):
    return None if ps is None else ps / 1e6


HEAD = ("shape", "rows", "stream us", "graph us", "of peak", "best peer", "peer/ours", "graph: peer", "peer/ours", "of bound", "rank", "variant")


def cells(s):
    return (s["shape"], str(s["rows"]), cell(us(s["stream_ps"]), "%.2f"), cell(us(s["graph_ps"]), "%.2f"),
            cell(None if s["peak_share"] is None else 100 * s["peak_share"], "%.1f %%") + {"bytes_per_s": " B", None: ""}.get(s["peak_of"], " F"), s["best_peer"] or "NULL",
            cell(s["peer_over_ours"], "%.2f"), s["best_peer_graph"] or "NULL", cell(s["peer_over_ours_graph"], "%.2f"),
            cell(None if s["error_share"] is None else 100 * s["error_share"], "%.1f %%"), cell(s["rho"], "%.2f"), s["variant"] or "NULL")


def line_of(s):
    return ", ".join("%s %s" % pair for pair in list(zip(HEAD, cells(s)))[1:] if pair[1] != "NULL").join((s["shape"] + ": ", ""))


def table(rows):
    lines = [HEAD] + [cells(summary(row)) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD) - 1)]
    return "\n".join("  ".join([c.ljust(w) if i in (0, 5, 7) else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))] + [line[-1]])
                     for line in lines)


# ---- all of it ----

def arguments():
    p = argparse.ArgumentParser(prog="check", description="what a machine with a GPU says of RagTune")
    p.add_argument("pack", nargs="?", default=HERE, help="the folder that tests/gpu/pack made (default: where this lies)")
    p.add_argument("--out", default=os.environ.get("OUT") or "gpu-check-results", help="folder of results.jsonl, table.txt, tuned.db")
    p.add_argument("--seconds", type=float, default=345, help="for all of it (default: 345)")
    p.add_argument("--verify-only", action="store_true", help="no shapes")
    p.add_argument("--quick", action="store_true", help="the two smallest shapes only, a few variants: for tests")
    return p.parse_args()


def go(a, pack, scratch, report):
    nvrtc = find_nvrtc()
    try:
        n_packed = unpack(pack, scratch)
    except (lzma.LZMAError, tarfile.TarError, EOFError) as e:
        fail("packed.tar.xz is damaged: %s" % e, 3)
    check = Check(pack, scratch, environment_of(pack, scratch, nvrtc), report, steps.Clock(1e9 if a.quick else a.seconds), a.quick, exhaustive=nvrtc is None)
    report.put("machine", host=platform.machine(), system=platform.platform(), python=platform.python_version(), cores=os.cpu_count(),
               nvrtc=nvrtc, packed=n_packed, date=time.strftime("%Y-%m-%d", time.gmtime()))
    report.say("NVRTC: %s; %d compiled sources came along" % (nvrtc or "none, so only what came along can run", n_packed))
    check.peak()
    verified = shapes.VERIFIED[:1] if a.quick else shapes.VERIFIED
    for op in verified:
        if check.clock.left() > 10:
            check.verify(op, shapes.QUICK_SAMPLE if a.quick else shapes.SAMPLE, 200 if a.quick else 0.24 * a.seconds / len(verified))
    if a.verify_only:
        return 1 if check.wrong else 0
    chosen = shapes.SHAPES[:2] if a.quick else shapes.SHAPES
    for i, shape in enumerate(chosen):
        if check.clock.left() < 10:
            report.put("shape", shape=shape.name, note="no time left")
            report.say("%s: NULL (no time left)" % shape.name)
            continue
        # what is left is shared by need; about half of a shape's time is the search, the rest measuring and the peers
        rest = sum(s.seconds for s in chosen[i:])
        check.shape(shape, 120 if a.quick else max(3.0, min(shape.seconds, 0.55 * check.clock.left() * shape.seconds / rest)))
    if os.path.exists(os.path.join(scratch, "tuned.db")):
        shutil.copy2(os.path.join(scratch, "tuned.db"), a.out)
    text = table(check.rows)
    with open(os.path.join(a.out, "table.txt"), "w") as f:
        f.write(text + "\n")
    print(text)
    tuned = sum(1 for row in check.rows if row["measured"])
    report.put("end", wrong=check.wrong, measured=tuned, of=len(chosen))
    report.say("%d of %d shapes measured, %d wrong; %s" % (tuned, len(chosen), check.wrong, report.path))
    return 1 if check.wrong or tuned == 0 else 0


def main():
    a = arguments()
    pack = os.path.abspath(a.pack)
    if not os.path.exists(os.path.join(pack, "packed.tar.xz")):
        fail("%s is no folder that tests/gpu/pack made" % pack, 3)
    missing = find_driver()
    if missing:
        fail(missing, 3)
    with tempfile.TemporaryDirectory(prefix="rgt-gpu-check-") as scratch:
        return go(a, pack, scratch, Report(a.out))


if __name__ == "__main__":
    sys.exit(main())
