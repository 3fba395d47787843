"""One tick of a whole-body controller, as a routine (`linkwright.program.routine`).

Unknown are accelerations a and forces f of closed contacts. What does not depend on tasks is taken
out first: J a = s gives a = a0 + N y, where the rank decides (points of one foot say the same thing
more than once, and contacts that contradict each other are met in the mean); the rows that no joint
drives, M a + h - J^T f = 0, then give (y, f) = c + Y z. Each row of F is a component of x = (a, f),
the constant first and then its part of each z; tasks, limits and efforts are rows of that kind.

Level by level, |A x - b|^2 is least within the limits and within what the levels above leave free
(Kanoun, Lamiraux and Wieber 2011): z moves by W w, and W loses what the level has used. Programs
over w are solved by DAQP (Arnstrom, Bemporad and Axehill 2022), a dual active-set method. Where no
point keeps to the limits of the first level, they give way by as little as possible, and amounts
are noted for each of their groups.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any
Lanes = float
Run = Any

RANK = 1e-9
"""Pivots below this part of the largest count as zero."""
WITHIN = 1e-7
"""By how much of its scale an inequality may be missed before it counts as relaxed."""
EDGE = 1e-8
"""By how much of its scale a limit that acts gives way in the levels below."""
FREE = 1e30
"""Bounds from here on are none."""
SOFT = 8
STRICT = 100.0
"""Square root of how much more the levels above weigh, where the order cannot be strict."""
CONTRADICTION = 1e-6
"""Rates of contact points, m/s^2, that their equations may miss before the contacts contradict."""


def tick(run: Run) -> None:
    """Take a state, choose accelerations and forces, and put efforts and forces out."""
    for i in range(run.coordinates):
        run.q[i] = run.o[run.own_q[i]]
    for i in range(run.n):
        run.u[i] = run.o[run.own_u[i]]
    evaluate_terms(run)
    close(run)
    hold(run)
    carry(run)
    span(run)
    ask(run)
    limit(run)
    choose(run)
    report(run)


def close(run: Run) -> None:
    """Number the components of the forces at contacts that carry anything."""
    run.m = 0
    for c in range(run.contacts):
        for i in range(run.begin[c], run.begin[c + 1]):
            if run.share[c] > 0.0:
                run.place[i] = run.m
                run.row[run.m] = i
                run.m += 1


def hold(run: Run) -> None:
    """Solve the equations of contacts at rest: the first row of X is a0, the others span N."""
    n = run.n
    for k in range(run.m):
        scale = scaled(run, run.J, run.row[k] * n, n)
        clear(run, run.E, k * n, n)
        axpy(run, run.E, k * n, scale, run.J, run.row[k] * n, n)
        run.wanted[k] = run.slow[run.row[k]] * scale
    run.free = n - solve_rows(run, run.m, n, run.X)
    run.miss = 0.0
    for k in range(run.m):
        off = dot(run, run.J, run.row[k] * n, run.X, 0, n) - run.slow[run.row[k]]
        off = abs(off) * scaled(run, run.J, run.row[k] * n, n)
        run.miss = off if off > run.miss else run.miss


def scaled(run: Run, rows: Array, at: int, count: int) -> Lanes:
    """Return what gives a row the length 1; 1 for a row of zeros."""
    length = square_root(run, dot(run, rows, at, rows, at, count))
    return 1.0 / length if length > 0.0 else 1.0


def carry(run: Run) -> None:
    """Solve the rows that no joint drives: the first row of Y is c, the others span the rest."""
    n, width = run.n, run.free + run.m
    for k in range(run.undriven):
        r = run.rest[k]
        for j in range(run.free):
            run.E[k * width + j] = dot(run, run.M, r * n, run.X, (1 + j) * n, n)
        for j in range(run.m):
            run.E[k * width + run.free + j] = -run.J[run.row[j] * n + r]
        scale = scaled(run, run.E, k * width, width)
        axpy(run, run.E, k * width, scale - 1.0, run.E, k * width, width)
        run.wanted[k] = -scale * (run.h[r] + dot(run, run.M, r * n, run.X, 0, n))
    run.d = width - solve_rows(run, run.undriven, width, run.Y)


def solve_rows(run: Run, count: int, width: int, target: Array) -> int:
    """Return the rank of rows E x = wanted; put the least x, and a basis of the rest, into rows.

    Where rows disagree, x is the nearest in the mean.
    """
    rank = factor(run, run.E, count, width, run.tau, run.pivot, run.order)
    for p in range(count):  # L y = wanted, with L lower and x = Q y
        row = int(run.order[p])
        clear(run, run.L, p * rank, rank)
        axpy(run, run.L, p * rank, 1.0, run.E, row * width, min(p, rank))
        if p < rank:
            run.L[p * rank + p] = run.pivot[p]
        run.y[p] = run.wanted[row]
    if count > rank and rank > 0:
        least(run, count, rank)
    else:
        for i in range(rank):
            done = dot(run, run.L, i * rank, run.y, 0, i)
            run.y[i] = (run.y[i] - done) / run.L[i * rank + i]
    clear(run, target, 0, (1 + width - rank) * width)
    for i in range(rank):
        target[i] = run.y[i]
    for j in range(width - rank):
        target[(1 + j) * width + rank + j] = 1.0
    for v in range(1 + width - rank):
        for step in range(rank):
            k = rank - 1 - step
            reflect(run, run.E, int(run.order[k]) * width + k, run.tau[k], target, v * width + k,
                    width - k)  # fmt: skip
    return rank


def factor(
    run: Run, rows: Array, count: int, width: int, tau: Array, pivot: Array, order: Array
) -> int:
    """Turn rows to a lower triangle by reflections, with pivots; return the rank.

    Row `order[k]` keeps what stands left of its pivot, and from there on its reflection.
    """
    for k in range(count):
        order[k] = float(k)
    rank = 0
    first: Lanes = 0.0
    for k in range(min(count, width)):
        best = k
        largest: Lanes = 0.0
        for p in range(k, count):
            at = int(order[p]) * width + k
            size = dot(run, rows, at, rows, at, width - k)
            best = p if size > largest else best
            largest = size if size > largest else largest
        first = largest if k == 0 else first
        if largest <= RANK * RANK * first:
            break
        taken = order[best]
        order[best] = order[k]
        order[k] = taken
        own = int(taken) * width + k
        length = square_root(run, largest)
        before = rows[own]
        pivot[k] = -length if before > 0.0 else length
        tau[k] = 1.0 / (largest + length * abs(before))
        rows[own] = before - pivot[k]
        for p in range(k + 1, count):
            reflect(run, rows, own, tau[k], rows, int(order[p]) * width + k, width - k)
        rank += 1
    return rank


def reflect(
    run: Run, rows: Array, own: int, tau: Lanes, target: Array, at: int, count: int
) -> None:
    """Reflect a part of a row: x - tau v v^T x."""
    part = tau * dot(run, rows, own, target, at, count)
    axpy(run, target, at, -part, rows, own, count)


def least(run: Run, count: int, rank: int) -> None:
    """Solve L y = wanted in the mean, for more rows than unknowns."""
    for i in range(rank):
        for p in range(count):
            run.K[i * count + p] = run.L[p * rank + i]
    found = factor(run, run.K, rank, count, run.tau_k, run.pivot_k, run.order_k)
    for i in range(found):
        own = int(run.order_k[i]) * count + i
        reflect(run, run.K, own, run.tau_k[i], run.y, i, count - i)
    clear(run, run.z, 0, rank)
    for step in range(found):
        k = found - 1 - step
        left = run.y[k]
        for j in range(k + 1, found):
            column = int(run.order_k[j])
            left -= run.K[column * count + k] * run.z[column]
        run.z[int(run.order_k[k])] = left / run.pivot_k[k]
    for i in range(rank):
        run.y[i] = run.z[i]


def span(run: Run) -> None:
    """Write the components of (a, f) as rows over z, and what they weigh themselves."""
    n, d, s, width = run.n, run.d, run.d + 1, run.free + run.m
    for j in range(width):
        for c in range(s):
            run.T[j * s + c] = run.Y[c * width + j]
    clear(run, run.F, 0, n * s)
    for i in range(n):
        run.F[i * s] = run.X[i]
        for k in range(run.free):
            axpy(run, run.F, i * s, run.X[(1 + k) * n + i], run.T, k * s, s)
    clear(run, run.F, n * s, run.m * s)
    axpy(run, run.F, n * s, 1.0, run.T, run.free * s, run.m * s)
    # columns of F are orthonormal, so that one of its blocks says what the other one is
    fewer = run.m < n
    outer = run.small_a if fewer else run.small_f
    inner = run.small_f - run.small_a if fewer else run.small_a - run.small_f
    start, end = n if fewer else 0, n + run.m if fewer else n
    clear(run, run.S, 0, d * d)
    clear(run, run.s0, 0, d)
    for i in range(d):
        run.S[i * d + i] = outer
    for r in range(start, end):
        for i in range(d):
            part = inner * run.F[r * s + 1 + i]
            axpy(run, run.S, i * d, part, run.F, r * s + 1, d)
    for r in range(n + run.m):
        weight = run.small_a if r < n else run.small_f
        axpy(run, run.s0, 0, weight * run.F[r * s], run.F, r * s + 1, d)


def over(run: Run, target: Array, at: int, rows: Array, start: int) -> None:
    """Add a row over accelerations to one over z."""
    s = run.d + 1
    for j in range(run.n):
        if rows[start + j] != 0.0:
            axpy(run, target, at, rows[start + j], run.F, j * s, s)


def ask(run: Run) -> None:
    """Write what tasks ask for, A x - b, and the efforts, as rows over z."""
    n, s = run.n, run.d + 1
    clear(run, run.G, 0, run.rows * s)
    for k in range(run.tasks):
        c = run.contact[k]
        for r in range(run.first[k], run.first[k + 1]):
            if c < 0:
                over(run, run.G, r * s, run.A, r * n)
                run.G[r * s] -= run.b[r]
            elif run.share[c] > 0.0:
                for p in range(run.points[c]):
                    i = run.place[run.begin[c] + 3 * p] + r - run.first[k]
                    axpy(run, run.G, r * s, 1.0, run.F, (n + i) * s, s)
                run.G[r * s] -= run.b[r]
    clear(run, run.V, 0, run.driven * s)
    for k in range(run.driven):
        i = run.own[k]
        over(run, run.V, k * s, run.M, i * n)
        for j in range(run.m):
            if run.J[run.row[j] * n + i] != 0.0:
                axpy(run, run.V, k * s, -run.J[run.row[j] * n + i], run.F, (n + j) * s, s)
        run.V[k * s] += run.h[i]


def bound(
    run: Run, rows: Array, at: int, scale: Lanes, lower: Lanes, upper: Lanes, group: int
) -> None:
    """Add a limit on a row over z."""
    d, k = run.d, run.limits
    clear(run, run.P, k * d, d)
    axpy(run, run.P, k * d, scale, rows, at + 1, d)
    run.base[k] = scale * rows[at]
    run.lower[k] = lower
    run.upper[k] = upper
    run.group[k] = group
    run.limits += 1


def limit(run: Run) -> None:
    """Write what efforts, forces and joints keep to."""
    n, s = run.n, run.d + 1
    run.limits = 0
    for k in range(run.driven):
        if run.most[k] < FREE:
            bound(run, run.V, k * s, 1.0, -run.most[k], run.most[k], k)
    group = run.driven
    for c in range(run.contacts):
        if run.share[c] > 0.0:
            clear(run, run.B, 0, s)
            for p in range(run.points[c]):
                i = n + run.place[run.begin[c] + 3 * p]
                clear(run, run.B, s, 5 * s)
                for axis in range(3):
                    push = run.axes[9 * c + 6 + axis]
                    axpy(run, run.B, s, push, run.F, (i + axis) * s, s)
                axpy(run, run.B, 0, 1.0, run.B, s, s)
                bound(run, run.B, s, 1.0, 0.0, FREE, group + 2 * c)
                for side in range(4):
                    sign = 1.0 if side & 1 == 0 else -1.0
                    clear(run, run.B, 2 * s, s)
                    axpy(run, run.B, 2 * s, run.slope[c], run.B, s, s)
                    for axis in range(3):
                        push = sign * run.axes[9 * c + 3 * (side >> 1) + axis]
                        axpy(run, run.B, 2 * s, push, run.F, (i + axis) * s, s)
                    bound(run, run.B, 2 * s, 1.0, 0.0, FREE, group + 2 * c)
            bound(run, run.B, 0, 1.0, 0.0, run.share[c] * run.heavy[c], group + 2 * c + 1)
    group += 2 * run.contacts
    if run.braking > 0.0:
        for k in range(run.driven):
            if run.low[k] > -FREE or run.high[k] < FREE:
                ahead = run.q[run.own_c[k]] + run.braking * run.u[run.own[k]]
                part = 2.0 / (run.braking * run.braking)
                low = part * (run.low[k] - ahead) if run.low[k] > -FREE else -FREE
                high = part * (run.high[k] - ahead) if run.high[k] < FREE else FREE
                bound(run, run.F, run.own[k] * s, 1.0, low, high, group + k)
    if run.limits == 0:  # a program has a row
        bound(run, run.F, 0, 1.0, -FREE, FREE, 0)


def choose(run: Run) -> None:
    """Find z level by level."""
    d = run.d
    clear(run, run.z, 0, d)
    for g in range(run.groups):
        run.amount[g] = 0.0
    run.flag = 1
    run.e = d
    for level in range(run.levels):
        if run.e == 0:
            break
        weigh(run, level)
        run.flag = solve(run, run.e, 0)
        if run.flag <= 0 and level > 0:
            beside(run, level)
        elif run.flag <= 0:
            run.flag = solve(run, run.e, SOFT)
            if run.flag <= 0:
                return
            widen(run)
        move(run, level)
        if level + 1 < run.levels:
            narrow(run, level)


def weigh(run: Run, level: int) -> None:
    """Write the program of a level: over w, with z + W w."""
    d, e, s = run.d, run.e, run.d + 1
    run.asked = 0
    for k in range(run.tasks + 1):
        if run.level[k] == level and run.root[k] > 0.0:
            for r in range(run.first[k], run.first[k + 1]):
                row(run, level, run.G, r * s, run.root[k])
            if k == run.tasks:
                for r in range(run.driven):
                    row(run, level, run.V, r * s, run.root[k])
    if level == 0:
        clear(run, run.H, 0, d * d)
        axpy(run, run.H, 0, 1.0, run.S, 0, d * d)
        clear(run, run.f, 0, d)
        axpy(run, run.f, 0, 1.0, run.s0, 0, d)
    else:
        clear(run, run.H, 0, e * e)
        clear(run, run.f, 0, e)
        for i in range(d):  # W^T (S W), and W^T (S z + s0)
            clear(run, run.T, 0, e)
            for j in range(d):
                axpy(run, run.T, 0, run.S[i * d + j], run.W, j * e, e)
            slope = run.s0[i] + dot(run, run.S, i * d, run.z, 0, d)
            axpy(run, run.f, 0, slope, run.W, i * e, e)
            for c in range(e):
                axpy(run, run.H, c * e, run.W[i * e + c], run.T, 0, e)
    squares(run)
    limited(run, level)


def row(run: Run, level: int, rows: Array, at: int, root: Lanes) -> None:
    """Add a row over z to those of a level, over w."""
    d, e = run.d, run.e
    to = run.asked * (e + 1)
    if level == 0:
        clear(run, run.B, to, d + 1)
        axpy(run, run.B, to, root, rows, at, d + 1)
    else:
        project(run, run.B, to + 1, rows, at + 1)
        run.B[to] = root * (rows[at] + dot(run, rows, at + 1, run.z, 0, d))
        axpy(run, run.B, to + 1, root - 1.0, run.B, to + 1, e)
    run.asked += 1


def project(run: Run, target: Array, to: int, rows: Array, at: int) -> None:
    """Write a row over z as one over w."""
    clear(run, target, to, run.e)
    for j in range(run.d):
        axpy(run, target, to, rows[at + j], run.W, j * run.e, run.e)


def squares(run: Run) -> None:
    """Add the squares of the rows of a level to its program."""
    e = run.e
    for r in range(run.asked):
        at = r * (e + 1)
        axpy(run, run.f, 0, run.B[at], run.B, at + 1, e)
        for i in range(e):
            if run.B[at + 1 + i] != 0.0:
                axpy(run, run.H, i * e, run.B[at + 1 + i], run.B, at + 1, e)


def limited(run: Run, level: int) -> None:
    """Write the limits of a level over w."""
    d, e = run.d, run.e
    for k in range(run.limits):
        if level > 0:
            project(run, run.R, k * e, run.P, k * d)
        here = run.base[k] + dot(run, run.P, k * d, run.z, 0, d)
        run.below[k] = run.lower[k] - here if run.lower[k] > -FREE else -FREE
        run.above[k] = run.upper[k] - here if run.upper[k] < FREE else FREE
        if level > 0:  # where it stands is inside, so that the solver does not find an empty set
            off = EDGE
            run.below[k] = run.below[k] if run.below[k] < -off else -off
            run.above[k] = run.above[k] if run.above[k] > off else off
    if level == 0:
        clear(run, run.R, 0, run.limits * d)
        axpy(run, run.R, 0, 1.0, run.P, 0, run.limits * d)


def beside(run: Run, level: int) -> None:
    """Weigh a level lightly beside what those above have reached.

    Where limits leave nearly a point, the solver can find none, although z itself is one; the same
    without its strict order is easier. If that fails too, the level gets nothing.
    """
    d, e, s = run.d, run.e, run.d + 1
    run.e = d
    run.asked = 0
    for k in range(run.tasks + 1):
        if run.level[k] <= level and run.root[k] > 0.0:
            heavy = STRICT * run.root[k] if run.level[k] < level else run.root[k]
            for r in range(run.first[k], run.first[k + 1]):
                row(run, 0, run.G, r * s, heavy)
                if run.level[k] < level:
                    reached = dot(run, run.G, r * s + 1, run.z, 0, d)
                    run.B[(run.asked - 1) * s] = -heavy * reached
            if k == run.tasks:
                for r in range(run.driven):
                    row(run, 0, run.V, r * s, heavy)
    clear(run, run.H, 0, d * d)
    axpy(run, run.H, 0, 1.0, run.S, 0, d * d)
    clear(run, run.f, 0, d)
    axpy(run, run.f, 0, 1.0, run.s0, 0, d)
    squares(run)
    clear(run, run.T, 0, d)
    axpy(run, run.T, 0, 1.0, run.z, 0, d)
    clear(run, run.z, 0, d)
    limited(run, 0)
    run.flag = solve(run, d, 0)
    if run.flag > 0:
        axpy(run, run.z, 0, 1.0, run.w, 0, d)
    else:
        axpy(run, run.z, 0, 1.0, run.T, 0, d)
    clear(run, run.w, 0, d)
    run.flag = 1
    run.e = e


def widen(run: Run) -> None:
    """Let limits hold what was found, and note by how much they gave way."""
    d = run.d
    for k in range(run.limits):
        value = run.base[k] + dot(run, run.P, k * d, run.w, 0, d)
        low, high = run.lower[k], run.upper[k]
        scale = abs(low) if low > -FREE else 0.0
        scale = abs(high) if high < FREE and abs(high) > scale else scale
        off = low - value if low - value > value - high else value - high
        g = int(run.group[k])
        if off > WITHIN * (1.0 + scale) and off > run.amount[g]:
            run.amount[g] = off
        run.lower[k] = value if value < low else low
        run.upper[k] = value if value > high else high


def move(run: Run, level: int) -> None:
    """Move z by W w."""
    if level == 0:
        axpy(run, run.z, 0, 1.0, run.w, 0, run.d)
    else:
        for i in range(run.d):
            run.z[i] += dot(run, run.W, i * run.e, run.w, 0, run.e)


def narrow(run: Run, level: int) -> None:
    """Let W span what a level leaves free."""
    d, e = run.d, run.e
    run.asked = 0
    s = d + 1
    for k in range(run.tasks + 1):
        if run.level[k] == level and run.root[k] > 0.0:
            for r in range(run.first[k], run.first[k + 1]):
                row(run, level, run.G, r * s, run.root[k])
    for r in range(run.asked):
        clear(run, run.E, r * e, e)
        axpy(run, run.E, r * e, 1.0, run.B, r * (e + 1) + 1, e)
    for r in range(run.asked):
        run.wanted[r] = 0.0
    rank = factor(run, run.E, run.asked, e, run.tau, run.pivot, run.order)
    left = e - rank
    for i in range(d):  # rows of W times Q, of which the last columns stay
        if level == 0:
            clear(run, run.T, 0, d)
            run.T[i] = 1.0
        else:
            clear(run, run.T, 0, e)
            axpy(run, run.T, 0, 1.0, run.W, i * e, e)
        for k in range(rank):
            own = int(run.order[k]) * e + k
            reflect(run, run.E, own, run.tau[k], run.T, k, e - k)
        for c in range(left):
            run.W[i * left + c] = run.T[rank + c]
    run.e = left


def report(run: Run) -> None:
    """Put out what was chosen."""
    n, d, s = run.n, run.d, run.d + 1
    for i in range(n + run.m):
        run.x[i] = run.F[i * s] + dot(run, run.F, i * s + 1, run.z, 0, d)
    for k in range(run.driven):
        run.o[run.out + k] = run.V[k * s] + dot(run, run.V, k * s + 1, run.z, 0, d)
    for r in range(run.rows):
        run.error[r] = abs(run.G[r * s] + dot(run, run.G, r * s + 1, run.z, 0, d))
    count = 1.0 if run.miss > CONTRADICTION else 0.0
    for g in range(run.groups):
        count += 1.0 if run.amount[g] > 0.0 else 0.0
    run.o[run.out + run.driven] = count
    for c in range(run.contacts):
        for i in range(run.begin[c], run.begin[c + 1]):
            force: Lanes = 0.0
            if run.share[c] > 0.0:
                force = run.x[n + run.place[i]]
            run.o[run.out + run.driven + 1 + i] = force


# -- what each target has in its own way -----------------------------------------------------------
def evaluate_terms(run: Run) -> None:
    """Evaluate the Program of the robot and of its tasks."""
    run.terms(run)


def solve(run: Run, size: int, sense: int) -> int:
    """Solve the program of H, f, R, below and above; return DAQP's flag, and w."""
    return int(run.solver(run, size, sense))


def square_root(run: Run, x: Lanes) -> Lanes:
    """Return a root."""
    return math.sqrt(x)


def clear(run: Run, target: Array, at: int, count: int) -> None:
    """Set a part of an array to zero."""
    target[at : at + count] = 0.0


def dot(run: Run, first: Array, i: int, second: Array, j: int, count: int) -> Lanes:
    """Return a sum of products."""
    return float(np.dot(first[i : i + count], second[j : j + count]))


def axpy(
    run: Run, target: Array, at: int, scale: Lanes, source: Array, start: int, count: int
) -> None:
    """Add a multiple of a part of an array to another."""
    target[at : at + count] += scale * source[start : start + count]
