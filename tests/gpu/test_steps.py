"""test_steps.py -- what pack and check count with: ranks, shapes, limits of time, the table. Speaks cmocka's words."""
import os
import sqlite3
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
import shapes  # noqa: E402
import steps  # noqa: E402


def test_rank_correlation():
    a = {"p": 1, "q": 2, "r": 3, "s": 4}
    assert steps.rank_correlation(a, {k: v * v for k, v in a.items()}) == (1.0, 4)
    assert steps.rank_correlation(a, {k: -v for k, v in a.items()}) == (-1.0, 4)
    assert steps.rank_correlation(a, {"p": 1, "q": 2, "x": 3}) == (None, 2)
    assert steps.rank_correlation(a, dict.fromkeys(a, 7)) == (None, 4)
    rho, _ = steps.rank_correlation(a, {"p": 1, "q": 1, "r": 2, "s": 2})
    assert abs(rho - 0.8 ** 0.5) < 1e-12  # by hand: ranks .5 .5 2.5 2.5


def test_shapes_are_as_named():
    by_name = {s.name: s for s in shapes.SHAPES}
    assert len(shapes.SHAPES) == len(by_name) == 8
    for s in shapes.SHAPES:
        index = s.index()
        assert index == s.index() and index and all(0 <= g < s.groups for g in index)
        assert s.order == "raw" or index == sorted(index)
    counts = [by_name["few_rows"].index().count(g) for g in range(64)]
    assert min(counts) >= 1 and max(counts) <= 8
    assert len(by_name["fat_groups"].index()) == 128 * 512 and len(by_name["typed_graph"].index()) == 10000
    assert len(by_name["three_mlps"].index()) == 8 and sorted(by_name["thin_groups"].index()) == list(range(128))


def test_packed_ops_hold_all_and_their_twins():
    packed = {(shapes.with_groups(op, 1), *options) for op, options in shapes.packed_ops()}
    for op, options in [(s.op, s.options()) for s in shapes.SHAPES] + [(op, []) for op in shapes.VERIFIED]:
        assert (shapes.with_groups(op, 1), *options) in packed and (shapes.with_groups(shapes.relu_twin(op), 1), *options) in packed
    assert shapes.align_of("mlp:10-20-5:g3:f32:relu:b12:nk:i64") == 4 and shapes.align_of("linear:64-8:g3:bf16:relu:b12:nk:i64") == 16
    assert shapes.relu_twin("mlp:1-2-3:g4:f32:silu:b1:kn:i32") == "mlp:1-2-3:g4:f32:relu:b1:kn:i32"
    assert shapes.relu_twin("linear:1-2:g4:f32:none:b0:kn:i32") == "linear:1-2:g4:f32:none:b0:kn:i32"


def test_work():
    # 2 live rows of 3 groups, one in use: by hand
    assert shapes.work("mlp:2-3-4:g3:f32:relu:b2:nk:i64", [1, -1, 1]) == (2 * 2 * 18, 4 * (2 * 2 + 3 * 4 + 18 + 4) + 24)
    assert shapes.work("linear:2-4:g3:bf16:none:b0:kn:i32", [0, 2]) == (2 * 2 * 8, 2 * (4 + 8 + 16) + 8)


def test_npy():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "i.npy")
        for narrow, form in ((True, "<3i"), (False, "<3q")):
            shapes.write_npy(path, [2, -1, 0], narrow)
            with open(path, "rb") as f:
                data = f.read()
            head = struct.unpack("<H", data[8:10])[0]
            assert (10 + head) % 64 == 0 and struct.unpack(form, data[10 + head:]) == (2, -1, 0)


def test_a_limit_ends_a_program():
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        done = steps.run(["sh", "-c", "trap '' INT; echo begun; sleep 60"], dict(os.environ), 0.5, folder)
        assert done.cut and done.out == "begun\n" and time.monotonic() - begin < 30
        done = steps.run(["sh", "-c", "echo wrong >&2; exit 7"], dict(os.environ), 60, folder)
        assert not done.cut and done.status == 7 and done.why() == "wrong" and done.object() is None


def test_trials_of_what_is_no_database():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.db")
        assert steps.trials(path) == {}
        sqlite3.connect(path).close()
        assert steps.trials(path) == {}


def test_ratio_leaves_out_what_is_not_the_op():
    peers = {"about": {}, "single": {"stream_ps": 1}, "loop": {"stream_ps": 30, "graph_ps": None}, "bmm": {"stream_ps": 20}}
    assert check.ratio(peers, "stream_ps", 10) == ("bmm", 2.0)
    assert check.ratio(peers, "graph_ps", 10) == (None, None)
    assert check.ratio(peers, "stream_ps", None) == (None, None)
    row = dict(shape="s", rows=8, tuned=None, measured=dict(stream_ps=10, graph_ps=None, variant="f:a=1", error_share=0.5, wrong=0), peers=peers,
               rho=None, share=0.25, bound="bytes_per_s", note="")
    text = check.table([row])
    assert "bmm" in text and "2.00" in text and "NULL" in text and "50.0 %" in text and "25.0 % B" in text


def main():
    passed, failed = 0, []
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                passed += 1
                print("[       OK ] " + name)
            except Exception as e:
                failed.append(name)
                print("[  FAILED  ] %s (%s %s, line %d)" % (name, type(e).__name__, e, e.__traceback__.tb_next.tb_lineno))
    print("[  PASSED  ] %d test(s)." % passed)
    if failed:
        print("[  FAILED  ] %d test(s), listed below:" % len(failed))
        for name in failed:
            print("[  FAILED  ] " + name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
