"""steps.py -- what pack and check share: programs with a limit of time, and the places of files."""
import json
import os
import signal
import subprocess
import time


class Result:
    def __init__(self, status, out, err, cut):
        self.status, self.out, self.err, self.cut = status, out, err, cut

    def why(self):
        """One line: how it ended."""
        lines = [line for line in self.err.strip().splitlines() if line.strip()]
        told = lines[-1] if lines else "status %s" % self.status
        return ("cut off; " if self.cut else "") + told[:300]

    def object(self):
        try:
            return json.loads(self.out)
        except ValueError:
            return None


def run(command, environment, limit_s, scratch):
    """At limit_s an interrupt (a search keeps what it measured), 5 s later the end of the program and its children."""
    with open(os.path.join(scratch, "out"), "w+") as out, open(os.path.join(scratch, "err"), "w+") as err:
        child = subprocess.Popen(command, env=environment, stdout=out, stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)
        cut = False
        try:
            child.wait(max(0.1, limit_s))
        except subprocess.TimeoutExpired:
            cut = True
            child.send_signal(signal.SIGINT)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        out.seek(0), err.seek(0)
        return Result(child.returncode, out.read(), err.read(), cut)


class Clock:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


def trials(path):
    """{signature: {variant: ratio to the default}} of a tuned database; {} where it cannot be read."""
    try:
        import sqlite3
    except ImportError:
        return {}
    found = {}
    try:
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        rows = db.execute("SELECT s.text, v.family || ':' || v.params, t.ratio_ppm FROM trial t JOIN run r ON t.run = r.key "
                          "JOIN signature s ON r.signature = s.key JOIN variant v ON t.variant = v.key WHERE t.outcome = 'ok'")
        for signature, variant, ratio in rows:
            found.setdefault(signature, {})[variant] = ratio
        db.close()
    except sqlite3.Error:
        return found
    return found


def ranks(values):
    """Equal values share the mean of their ranks."""
    order, out, at = sorted(range(len(values)), key=values.__getitem__), [0.0] * len(values), 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for k in range(at, end + 1):
            out[order[k]] = (at + end) / 2
        at = end + 1
    return out


def rank_correlation(a, b):
    """Spearman's, over the variants of both; (None, n) where there are too few or all are equal."""
    common = sorted(set(a) & set(b))
    if len(common) < 3:
        return None, len(common)
    x, y = ranks([a[v] for v in common]), ranks([b[v] for v in common])
    mean = (len(common) - 1) / 2
    cov = sum((p - mean) * (q - mean) for p, q in zip(x, y))
    var = sum((p - mean) ** 2 for p in x) * sum((q - mean) ** 2 for q in y)
    return (cov / var ** 0.5 if var > 0 else None), len(common)
