"""shapes.py -- the named shapes that check tunes, and the ops that it verifies; pack compiles for both."""
import array
import math
import random
import struct


class Shape:
    """sizes(random) gives the rows of each group. simulated: small enough for tests/ptxsim."""

    def __init__(self, name, op, sizes, order="raw", seconds=18, simulated=False):
        self.name, self.op, self.sizes, self.order, self.seconds, self.simulated = name, op, sizes, order, seconds, simulated
        self.groups = int(op.split(":")[2][1:])
        self.narrow = op.endswith(":i32")
        self.align = align_of(op)

    def options(self):
        """What is promised of every call, for the search and for what calls."""
        return ["--order", self.order, "--align", str(self.align)]

    def index(self):
        """The rows' groups: seeded, in no order where the shape's order is raw."""
        draw = random.Random("ragtune " + self.name)
        sizes = self.sizes(draw, self.groups)
        rows = [g for g, n in enumerate(sizes) for _ in range(n)]
        if self.order == "raw":
            draw.shuffle(rows)
        return rows


def align_of(op):
    """Bytes, up to 16, that every row, weight matrix and bias of packed arrays is a multiple of: GPU memory is aligned by itself."""
    words = op.split(":")
    elem = 4 if words[3] == "f32" else 2
    return math.gcd(16, *(elem * int(n) for n in words[1].split("-")))


def work(op, index):
    """Operations, and bytes that must move at least: x, y, the index, weights and biases of the groups in use."""
    words = op.split(":")
    dims, elem = [int(n) for n in words[1].split("-")], 4 if words[3] == "f32" else 2
    live, used = sum(g >= 0 for g in index), len({g for g in index if g >= 0})
    layers = list(zip(dims, dims[1:]))
    biases = sum(n for layer, (_, n) in enumerate(layers) if str(layer + 1) in words[4 + 1])
    weights = sum(k * n for k, n in layers)
    return 2 * live * weights, elem * (live * dims[0] + len(index) * dims[-1] + used * (weights + biases)) + len(index) * (
        4 if words[7] == "i32" else 8)


def each(n):
    return lambda draw, groups: [n] * groups


def between(low, high):
    return lambda draw, groups: [draw.randint(low, high) for _ in range(groups)]


def some(total):
    """So many rows, each of a group by chance."""
    def sizes(draw, groups):
        counts = [0] * groups
        for _ in range(total):
            counts[draw.randrange(groups)] += 1
        return counts
    return sizes


SHAPES = [
    Shape("three_mlps", "mlp:10-20-5:g3:f32:relu:b12:nk:i64", some(8), seconds=8, simulated=True),
    Shape("few_rows", "mlp:64-128-64:g64:bf16:relu:b12:nk:i64", between(1, 8), simulated=True),
    Shape("ragged", "mlp:64-128-64:g64:bf16:relu:b12:nk:i64", between(1, 1023)),
    Shape("tiny_groups", "mlp:6-12-2:g20000:f32:relu:b12:nk:i64", between(0, 3)),
    Shape("typed_graph", "linear:64-64:g20:f32:none:b0:kn:i64", each(500), order="sorted"),
    Shape("lora", "mlp:4096-16-4096:g64:bf16:none:b0:nk:i64", some(256)),
    Shape("fat_groups", "linear:2048-1536:g128:bf16:none:b0:nk:i32", each(512), seconds=25),
    Shape("thin_groups", "linear:7168-2048:g128:bf16:none:b0:nk:i32", each(1), seconds=30),
]

# Every family, each storage type and layout, an activation with a relu twin, odd dims. Groups are no part of the code, so few do.
VERIFIED = [
    "mlp:10-20-5:g3:f32:relu:b12:nk:i64",
    "mlp:64-128-64:g16:bf16:gelu:b12:nk:i64",
    "mlp:6-12-2:g64:f16:relu:b12:nk:i64",
    "mlp:33-17-9:g7:f32:silu:b1:kn:i32",
    "linear:64-64:g20:f32:none:b0:kn:i64",
    "mlp:4096-16-4096:g4:bf16:none:b0:nk:i64",
    "linear:2048-1536:g4:bf16:none:b0:nk:i32",
]
SEED = 1  # of the sample of variants: pack's and check's, so that what is verified came along
SAMPLE, QUICK_SAMPLE = 24, 4


def relu_twin(op):
    words = op.split(":")
    if words[4] not in ("none", "relu"):
        words[4] = "relu"
    return ":".join(words)


def with_groups(op, groups):
    words = op.split(":")
    words[2] = "g%d" % groups
    return ":".join(words)


def packed_ops():
    """Every op whose variants are compiled beforehand, with its options: each once, for groups are no part of the code."""
    seen, ops = set(), []
    for op, options in [(s.op, s.options()) for s in SHAPES] + [(op, []) for op in VERIFIED]:
        for text in (op, relu_twin(op)):
            key = (with_groups(text, 1), *options)
            if key not in seen:
                seen.add(key)
                ops.append((text, options))
    return ops


def write_raw(path, index):
    """int64, little endian, without a head."""
    with open(path, "wb") as f:
        f.write(struct.pack("<%dq" % len(index), *index))


def write_npy(path, index, narrow):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % ("<i4" if narrow else "<i8", len(index))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(array.array("i" if narrow else "q", index).tobytes())
