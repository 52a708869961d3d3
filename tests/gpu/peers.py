#!/usr/bin/env python3
"""peers.py -- what this machine's PyTorch offers for one shape, each way timed in a stream and as a graph.

    peers.py OP INDEX [--seconds S]     a line of JSON for each way
    peers.py --cpu                      self test: every way against float64, without a GPU

OP is a text such as mlp:10-20-5:g3:f32:relu:b12:nk:i64, INDEX the rows' groups, int64, little endian, without a head.
Every way takes x in its own order and an unsorted index and gives y in x's order, as RagTune does: sorting and padding are in its time.
What only the host can know (the sizes of the groups) is given to it for nothing, but where its name says that it asks (mask_split).
A way that cannot do a shape has null for a time, and says why.
Exit status: 0; 1 the self test failed; 2 usage; 3 no PyTorch, or no GPU for it (one line on stderr).
"""
import array
import json
import statistics
import sys
import time

BATCHES, GRAPH_CALLS, MEMORY_MAX = 7, 16, 16 << 30


class Refused(Exception):
    pass


def parse_op(text):
    words = text.split(":")
    dims = [int(n) for n in words[1].split("-")]
    kind, groups, dtype, act, bias, layout = words[0], int(words[2][1:]), words[3], words[4], words[5], words[6]
    return dict(kind=kind, dims=dims, groups=groups, dtype=dtype, act=act, bias=bias, layout=layout)


class Problem:
    """Weights as lists of layers: w [groups, in, out] whatever the layout (a view where it is nk), b [groups, out] or None."""

    def __init__(self, torch, op, index, device):
        self.torch, self.op, self.device = torch, op, device
        self.dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[op["dtype"]]
        self.groups, self.rows = op["groups"], len(index)
        self.index = torch.tensor(index, dtype=torch.int64).to(device)
        sizes = [0] * self.groups
        for g in index:
            if g >= 0:
                sizes[g] += 1
        self.sizes, self.live = sizes, sum(sizes)
        generator = torch.Generator(device=device)
        generator.manual_seed(1)
        dims = op["dims"]

        def normal(*shape, scale=1.0):
            t = torch.empty(*shape, dtype=self.dtype, device=device)
            return t.normal_(0, scale, generator=generator)

        self.x = normal(self.rows, dims[0])
        self.w, self.b = [], []
        for layer, (k, n) in enumerate(zip(dims, dims[1:])):
            if op["layout"] == "nk":
                self.w.append(normal(self.groups, n, k, scale=k ** -0.5).transpose(1, 2))
            else:
                self.w.append(normal(self.groups, k, n, scale=k ** -0.5))
            self.b.append(normal(self.groups, n, scale=0.5) if str(layer + 1) in op["bias"] else None)
        functional = torch.nn.functional
        self.act = {"none": lambda t: t, "relu": torch.relu, "silu": functional.silu, "tanh": torch.tanh, "gelu": functional.gelu,
                    "gelu_tanh": lambda t: functional.gelu(t, approximate="tanh")}[op["act"]]

    def one(self, g, x):
        """The op of group g for rows x."""
        def product(layer, t):
            w, b = self.w[layer][g], self.b[layer]
            return t @ w if b is None else self.torch.addmm(b[g], t, w)

        h = self.act(product(0, x))
        return product(1, h) if len(self.w) == 2 else h

    def need(self, n_bytes, what):
        if n_bytes > MEMORY_MAX:
            raise Refused("%s takes %.0f GiB" % (what, n_bytes / 2 ** 30))

    def zeros(self):
        return self.torch.zeros(self.rows, self.op["dims"][-1], dtype=self.dtype, device=self.device)

    def sorted(self):
        """The rows by group, masked ones last, and the groups of the sorted rows."""
        key = self.torch.where(self.index < 0, self.groups, self.index)
        key, order = self.torch.sort(key, stable=True)
        return key, order


def single(p):
    """One MLP for all rows, group 0's: not the op, but what its arithmetic costs without groups."""
    return lambda: p.one(0, p.x)


def loop_pad8(p):
    if p.groups > 4096:
        raise Refused("%d groups in a loop" % p.groups)
    torch = p.torch
    starts, at = [], 0
    for n in p.sizes:
        starts.append(at)
        at += (n + 7) // 8 * 8
    slots = at

    def call():
        key, order = p.sorted()
        order, key = order[: p.live], key[: p.live]
        first = torch.searchsorted(key, torch.arange(p.groups, device=p.device))
        slot = starts_device[key] + torch.arange(p.live, device=p.device) - first[key]
        padded = torch.zeros(slots, p.x.shape[1], dtype=p.dtype, device=p.device)
        padded[slot] = p.x[order]
        parts = [p.one(g, padded[starts[g] : starts[g] + (n + 7) // 8 * 8]) for g, n in enumerate(p.sizes) if n]
        y = p.zeros()
        if parts:
            y[order] = torch.cat(parts)[slot]
        return y

    starts_device = torch.tensor(starts, device=p.device)
    return call


def where_select(p):
    if p.groups > 64:
        raise Refused("%d groups; it is tried up to 64" % p.groups)
    torch = p.torch

    def call():
        y = p.zeros()
        for g in range(p.groups):
            y = torch.where((p.index == g)[:, None], p.one(g, p.x), y)
        return y

    return call


def mask_split(p):
    """The usual loop: it asks the device for every group's rows, so it cannot be a graph."""
    if p.groups > 4096:
        raise Refused("%d groups in a loop" % p.groups)

    def call():
        y = p.zeros()
        for g in range(p.groups):
            rows = (p.index == g).nonzero().squeeze(1)
            if rows.numel():
                y[rows] = p.one(g, p.x[rows])
        return y

    return call


def merged_bmm(p):
    """Weights gathered for each row."""
    size = p.x.element_size()
    for w in p.w:
        p.need(p.rows * w.shape[1] * w.shape[2] * size, "a copy of the weights for each row")
    torch = p.torch

    def call():
        g = p.index.clamp(min=0)

        def product(layer, t):
            y = torch.bmm(t[:, None, :], p.w[layer][g]).squeeze(1)
            return y if p.b[layer] is None else y + p.b[layer][g]

        h = p.act(product(0, p.x))
        y = product(1, h) if len(p.w) == 2 else h
        return torch.where((p.index < 0)[:, None], torch.zeros((), dtype=p.dtype, device=p.device), y)

    return call


def padded_bmm(p):
    """Every group padded to the largest."""
    torch, size = p.torch, p.x.element_size()
    most = max(p.sizes) if p.sizes else 0
    if most == 0:
        return p.zeros
    p.need(p.groups * most * max(p.op["dims"]) * size, "padding every group to %d rows" % most)

    def call():
        key, order = p.sorted()
        order, key = order[: p.live], key[: p.live]
        first = torch.searchsorted(key, torch.arange(p.groups, device=p.device))
        place = torch.arange(p.live, device=p.device) - first[key]
        padded = torch.zeros(p.groups, most, p.x.shape[1], dtype=p.dtype, device=p.device)
        padded[key, place] = p.x[order]

        def product(layer, t):
            return torch.bmm(t, p.w[layer]) if p.b[layer] is None else torch.baddbmm(p.b[layer][:, None, :], t, p.w[layer])

        h = p.act(product(0, padded))
        y_padded = product(1, h) if len(p.w) == 2 else h
        y = p.zeros()
        y[order] = y_padded[key, place]
        return y

    return call


def grouped_mm(p):
    torch = p.torch
    functional = getattr(torch.nn.functional, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)
    if functional is None:
        raise Refused("this PyTorch has no grouped_mm")

    def call():
        key, order = p.sorted()
        ends = torch.searchsorted(key, torch.arange(1, p.groups + 1, device=p.device)).to(torch.int32)
        g = key.clamp(max=p.groups - 1)

        def product(layer, t):
            y = functional(t, p.w[layer], offs=ends)
            return y if p.b[layer] is None else y + p.b[layer][g]

        h = p.act(product(0, p.x[order]))
        y_sorted = product(1, h) if len(p.w) == 2 else h
        y = p.zeros()
        y[order[: p.live]] = y_sorted[: p.live]
        return y

    return call


WAYS = (single, loop_pad8, where_select, mask_split, merged_bmm, padded_bmm, grouped_mm)


def reference(p, rows):
    """Rows of y in float64."""
    torch, out = p.torch, []
    for r in rows:
        g = int(p.index[r])
        if g < 0:
            out.append(torch.zeros(p.op["dims"][-1], dtype=torch.float64, device=p.device))
            continue
        t = p.x[r].double()
        for layer, w in enumerate(p.w):
            t = t @ w[g].double() + (0 if p.b[layer] is None else p.b[layer][g].double())
            if layer == 0:
                t = p.act(t)
        out.append(t)
    return torch.stack(out)


def worst_error(p, y, n=64):
    """Largest difference from float64 over some rows, relative to the largest y there."""
    rows = sorted({i * (p.rows - 1) // max(1, min(n, p.rows) - 1) for i in range(min(n, p.rows))})
    want = reference(p, rows)
    return float((y[rows].double() - want).abs().max() / want.abs().max().clamp(min=1e-30))


# ---- times: the median of batches between two events, as gpu_measure takes them ----

def median_ps(torch, call, calls_each, end):
    def batch(n):
        begin, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(n):
            call()
        after.record()
        after.synchronize()
        return begin.elapsed_time(after)

    batch(1)
    n, ms, samples = 1, batch(1), []
    while ms < 2 and n < 4096 and time.monotonic() < end:
        n *= 2
        ms = batch(n)
    while len(samples) < BATCHES and (not samples or time.monotonic() < end):
        samples.append(batch(n) / (n * calls_each))
    return round(statistics.median(samples) * 1e9)


def graph_ps(torch, call, end):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(GRAPH_CALLS):
            call()
    ps = median_ps(torch, graph.replay, GRAPH_CALLS, end)
    del graph
    return ps


def one_line(error):
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return ("%s: %s" % (type(error).__name__, lines[0]) if not isinstance(error, Refused) else lines[0])[:200]


def measure(torch, way, p, seconds):
    line = dict(way=way.__name__, stream_ps=None, graph_ps=None, error=None, note="")
    end = time.monotonic() + seconds
    try:
        call = way(p)
        y = call()
        torch.cuda.synchronize()
        line["error"] = None if way is single else worst_error(p, y)
        del y
        line["stream_ps"] = median_ps(torch, call, 1, time.monotonic() + seconds / 2)
    except Exception as e:  # what a framework refuses is a result
        line["note"] = one_line(e)
        return line
    if way is mask_split:
        line["note"] = "graph: it asks the device for sizes"
        return line
    try:
        if time.monotonic() >= end:
            raise Refused("no time left")
        line["graph_ps"] = graph_ps(torch, call, end)
    except Exception as e:
        line["note"] = "graph: " + one_line(e)
    return line


def self_test():
    try:
        import torch
    except Exception as e:
        print("[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] gpu_peers (no PyTorch: %s)" % one_line(e))
        return 0
    index = [2, 0, -1, 1, 1, 0, 2, 2, 2, -1, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0]
    ops = ("mlp:10-20-5:g5:f32:relu:b12:nk:i64", "mlp:16-8-16:g5:f32:gelu_tanh:b2:kn:i64", "linear:8-12:g5:f32:none:b0:nk:i32",
           "mlp:8-16-8:g5:f32:silu:b1:nk:i64")
    passed, failed, refused = 0, [], {}
    for text in ops:
        for numbers in (index, [3], [-1, -1]):
            p = Problem(torch, parse_op(text), numbers, "cpu")
            for way in WAYS:
                name = "%s %s %d rows" % (way.__name__, text, len(numbers))
                try:
                    y = way(p)()
                    if way is single:  # group 0's rows only
                        right = all(worst_row(p, y, r) < 1e-5 for r, g in enumerate(numbers) if g == 0)
                    else:
                        right = worst_error(p, y) < 1e-5 if any(g >= 0 for g in numbers) else not y.any()
                except Refused as e:
                    refused[way.__name__] = str(e)
                    continue
                except Exception as e:
                    if way is grouped_mm:  # types and strides that it does not take
                        refused[way.__name__] = one_line(e)
                        continue
                    right = False
                    name += " (%s)" % one_line(e)
                if right:
                    passed += 1
                else:
                    failed.append(name)
    for way, why in refused.items():
        print("refused: %s (%s)" % (way, why))
    print("[  PASSED  ] %d test(s)." % passed)
    if failed:
        print("[  FAILED  ] %d test(s), listed below:" % len(failed))
        for name in failed:
            print("[  FAILED  ] " + name)
    return 1 if failed else 0


def worst_row(p, y, r):
    want = reference(p, [r])[0]
    return float((y[r].double() - want).abs().max() / want.abs().max())


def main(argv):
    if argv[1:] == ["--cpu"]:
        return self_test()
    seconds = 2.0
    if len(argv) == 5 and argv[3] == "--seconds":
        seconds = float(argv[4])
    elif len(argv) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        import torch
    except Exception as e:
        print("peers: no PyTorch (%s)" % one_line(e), file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("peers: PyTorch %s finds no GPU" % torch.__version__, file=sys.stderr)
        return 3
    torch.backends.cuda.matmul.allow_tf32 = False  # f32 is f32, as RagTune's default is
    index = array.array("q")
    with open(argv[2], "rb") as f:
        index.frombytes(f.read())
    print(json.dumps(dict(way="about", torch=torch.__version__, device=torch.cuda.get_device_name(0))), flush=True)
    p = Problem(torch, parse_op(argv[1]), list(index), "cuda")
    for way in WAYS:
        with torch.inference_mode():
            print(json.dumps(measure(torch, way, p, seconds)), flush=True)
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
