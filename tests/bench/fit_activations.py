#!/usr/bin/env python3
"""fit_activations.py -- finds the coefficients of templates/cpu/lib/act.h and templates/cuda/lib/act.cuh.

Needs mpmath; nothing of the build does. Prints each set of coefficients as C hexadecimal floats with the largest error that
is left, in powers of two, before the rounding of the evaluation itself (tests/bench/activations_all.c measures the whole).

Two functions are approximated, each by an exchange (Remez) iteration:

  exp(-r)          |r| <= ln(2)/2 and a little more: a polynomial of degree 6 that begins 1 - r, relative error.
  logit(Phi(z))/z  in t = z*z, |z| <= 6: a polynomial of degree 6. gelu(z) = z * Phi(z) = z / (1 + exp(-w)), w = logit(Phi(z)).
                   An error dw moves Phi by Phi * (1 - Phi) * dw, so that is the weight. Above |z| = 6 the weight is nearly 0,
                   and all that counts is that w goes on rising, which a positive last coefficient gives.

tanh needs no fit of its own: it is made of exp(-2|z|) - 1.

Rounding the coefficients to float costs little: the second figure printed is with that.
"""

import struct

import mpmath as mp

mp.mp.prec = 120


def to_f32(v):
    return struct.unpack("f", struct.pack("f", float(v)))[0]


def extrema(error, a, b, wanted, per_side=1200):
    """The alternating extrema of error on [a, b], `wanted` of them, from a grid dense at both ends."""
    grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * k / per_side) for k in range(per_side + 1)]
    values = [error(t) for t in grid]
    found = []
    for t, v in zip(grid, values):
        if found and mp.sign(found[-1][1]) == mp.sign(v):
            if abs(v) > abs(found[-1][1]):
                found[-1] = (t, v)
        elif v != 0:
            found.append((t, v))
    while len(found) > wanted:  # drop the smaller end, or the smallest neighbours' pair
        if len(found) == wanted + 1:
            found.pop(0 if abs(found[0][1]) < abs(found[-1][1]) else -1)
        else:
            i = min(range(len(found) - 1), key=lambda k: min(abs(found[k][1]), abs(found[k + 1][1])))
            del found[i : i + 2]
    return [t for t, _ in found], max(abs(v) for v in values)


def fit(f, weight, degree, fixed, a, b, rounds=25):
    """Coefficients {k: value} of the polynomial near f with the smallest largest |weight * (P - f)|, and that maximum.

    Those in `fixed` are held.
    """
    free = [k for k in range(degree + 1) if k not in fixed]
    n = len(free) + 1
    nodes = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    for _ in range(rounds):
        rows, right = mp.matrix(n, n), mp.matrix(n, 1)
        for i, t in enumerate(nodes):
            for j, k in enumerate(free):
                rows[i, j] = t**k
            rows[i, n - 1] = (1 if i % 2 else -1) / weight(t)
            right[i] = f(t) - sum(c * t**k for k, c in fixed.items())
        solved = mp.lu_solve(rows, right)
        coefficients = dict(fixed)
        coefficients.update({k: solved[j] for j, k in enumerate(free)})
        nodes, largest = extrema(lambda t: error_at(coefficients, f, weight, t), a, b, n)
        smallest = min(abs(error_at(coefficients, f, weight, t)) for t in nodes)
        if len(nodes) < n or largest < smallest * mp.mpf("1.001"):
            break
    return coefficients, largest


def error_at(coefficients, f, weight, t):
    return weight(t) * (sum(c * t**k for k, c in coefficients.items()) - f(t))


def fit_and_round(title, f, weight, degree, fixed, a, b):
    coefficients, largest = fit(f, weight, degree, {k: mp.mpf(v) for k, v in fixed.items()}, a, b)
    print("%s: 2^%.2f in exact coefficients" % (title, mp.log(largest, 2)))
    held = {k: mp.mpf(to_f32(c)) for k, c in coefficients.items()}
    _, largest = extrema(lambda t: error_at(held, f, weight, t), a, b, 1)
    print("  2^%.2f in float coefficients" % mp.log(largest, 2))
    for k, c in sorted(held.items()):
        print("  c%d = %sf /* %.9g */" % (k, float(c).hex(), float(c)))


def main():
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.002")
    fit_and_round("exp(-r)", lambda r: mp.exp(-r), lambda r: mp.exp(r), 6, {0: 1, 1: -1}, -half_ln2, half_ln2)

    def phi(z):
        return mp.erfc(-z / mp.sqrt(2)) / 2

    def logit_over_z(t):
        z = mp.sqrt(t)
        return mp.log(phi(z) / phi(-z)) / z

    def logit_weight(t):
        z = mp.sqrt(t)
        return z * phi(z) * phi(-z)

    tiny = mp.mpf(2) ** -20
    fit_and_round("logit(Phi(z))/z in z*z", logit_over_z, logit_weight, 6, {}, tiny, mp.mpf(36))

    print("constants")
    ln2_high = mp.floor(mp.log(2) * 2**16) / 2**16
    root = 2 * mp.sqrt(2 / mp.pi)
    for name, c in (("log2(e)", 1 / mp.log(2)), ("ln2 high, 16 bits", ln2_high), ("ln2 low", mp.log(2) - ln2_high),
                    ("2 sqrt(2/pi)", root), ("2 sqrt(2/pi) 0.044715", root * mp.mpf("0.044715"))):
        print("  %s = %sf /* %.9g */" % (name, to_f32(c).hex(), to_f32(c)))


if __name__ == "__main__":
    main()
