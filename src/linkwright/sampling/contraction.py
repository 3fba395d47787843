"""How much a step shrinks the state, in a norm of one's choosing.

With gamma(t) = ln |T^-1 Gamma(t) T|, a state shrinks in the long run by the mean of gamma for each
sample, or more. So E[gamma] < 0 is enough for stability with probability one, whatever T is; the
best T makes E[gamma] smallest. As a function of P = (T T')^-1 the mean is convex along geodesics of
positive definite matrices (Bhatia, Positive Definite Matrices, 2007, chapter 6), so what a search
finds is the smallest everywhere.
"""

from __future__ import annotations

import math

import numpy as np

from linkwright.sampling.regimes import Array

_TINY = 1e-300


def log_norms(gammas: Array, t: Array | None = None) -> Array:
    """Return ln |T^-1 Gamma T|, the norm being the largest singular value.

    >>> log_norms(np.array([[0.5, 0.0], [0.0, 0.2]])).round(6)
    np.float64(-0.693147)
    """
    g: Array = gammas if t is None else np.asarray(np.linalg.solve(t, gammas @ t), dtype=float)
    if g.shape[-1] == 1:
        found: Array = np.log(np.maximum(np.abs(g[..., 0, 0]), _TINY))
        return found
    if g.shape[-1] == 2:
        return _log_norms_of_pairs(g)
    squares = np.linalg.eigvalsh(g.swapaxes(-1, -2) @ g)[..., -1]
    return np.asarray(0.5 * np.log(np.maximum(squares, _TINY)))


def _log_norms_of_pairs(g: Array) -> Array:
    """Return the logarithms of the norms of 2 by 2 matrices, in closed form."""
    a, b, c, d = g[..., 0, 0], g[..., 0, 1], g[..., 1, 0], g[..., 1, 1]
    total = np.hypot(np.hypot(a + d, c - b), 0.0)
    apart = np.hypot(a - d, b + c)
    return np.asarray(np.log(np.maximum(0.5 * (total + apart), _TINY)))


def best_transform(gammas: Array, weights: Array, start: Array) -> tuple[float, Array]:
    """Return the smallest mean of ln |T^-1 Gamma T| and the T that has it.

    >>> g = np.array([[[0.5, 4.0], [0.0, 0.5]]])
    >>> round(best_transform(g, np.ones(1), np.eye(2))[0], 2)
    -0.69
    """
    from scipy.optimize import minimize

    n = gammas.shape[-1]
    rows, columns = np.tril_indices(n)
    seen: Array = np.asarray(np.linalg.solve(start, gammas @ start), dtype=float)

    def triangle(p: Array) -> Array:
        made = np.zeros((n, n))
        made[rows, columns] = p
        at = np.arange(n)
        made[at, at] = np.exp(np.clip(made[at, at], -30.0, 30.0))
        return made

    def slope(p: Array) -> tuple[float, Array]:
        lower = triangle(p)
        g = np.linalg.solve(lower, seen @ lower)
        u, s, vt = np.linalg.svd(g)
        largest = np.maximum(s[:, 0], _TINY)
        # d ln s = u' (dG) v / s, with dG = G X - X G, X = L^-1 dL
        left = (weights / largest)[:, None] * u[:, :, 0]
        right = vt[:, 0, :]
        core = (g.transpose(0, 2, 1) @ left[:, :, None])[:, :, 0]
        far = (g @ right[:, :, None])[:, :, 0]
        x = core.T @ right - left.T @ far
        back = np.linalg.solve(lower.T, x)
        found = back[rows, columns]
        diagonal = rows == columns
        found[diagonal] *= np.diag(lower)
        return float(weights @ np.log(largest)), found

    def value(p: Array) -> float:
        lower = triangle(p)
        return float(np.dot(weights, log_norms(seen, lower)))

    best, where = math.inf, np.zeros(len(rows))
    for _ in range(3):  # norms have kinks, at which a search may stop too early
        found = minimize(slope, where, jac=True, method="BFGS", options={"gtol": 1e-9})
        gained = best - found.fun
        if found.fun < best:
            best, where = float(found.fun), found.x
        if n == 2:
            options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 400 * n}
            found = minimize(value, where, method="Nelder-Mead", options=options)
            if found.fun < best:
                gained = max(gained, best - found.fun)
                best, where = float(found.fun), found.x
        if not gained > 1e-8:
            break
    return best, start @ triangle(where)


def best_pairs(gammas: Array, weights: Array, start: Array, rounds: int = 34) -> Array:
    """Return the smallest mean of ln |T^-1 Gamma T| for many loops of two states at once.

    >>> g = np.array([[[[0.5, 4.0], [0.0, 0.5]]]])
    >>> best_pairs(g, np.ones(1), np.array([np.diag([4.0, 1.0])])).round(2)
    array([-0.69])
    """
    seen = np.linalg.solve(start[:, None], gammas @ start[:, None])
    a, b, c, d = (np.ascontiguousarray(seen[..., i, j]) for i in (0, 1) for j in (0, 1))
    total = a + d

    def mean(x: Array, y: Array) -> Array:
        # T = [1 0; y e^x]; the sum of the diagonal of T^-1 G T is that of G
        s, h = np.exp(x)[..., None], y[..., None]
        q = b * s
        r, apart = (c + h * (d - a - b * h)) / s, a - d + 2.0 * b * h
        norm = 0.5 * (np.sqrt(total * total + (r - q) ** 2) + np.sqrt(apart * apart + (q + r) ** 2))
        return np.asarray(np.log(np.maximum(norm, _TINY)) @ weights)

    # Nelder and Mead's simplex search (1965), for all loops at once
    at = np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.3]])[:, :, None] * np.ones(len(a))
    values = np.array([mean(*p) for p in at])
    for _ in range(rounds):
        order = np.argsort(values, axis=0)
        values = np.take_along_axis(values, order, axis=0)
        at = np.take_along_axis(at, order[:, None], axis=0)
        middle, worst = 0.5 * (at[0] + at[1]), at[2]
        tried = [middle + f * (middle - worst) for f in (1.0, 2.0, 0.5, -0.5)]
        found = np.array([mean(*p) for p in tried])
        far, near, inside = found[0] < values[0], found[0] < values[1], found[0] < values[2]
        chosen = np.where(far & (found[1] < found[0]), 1, np.where(near, 0, np.where(inside, 2, 3)))
        value = np.take_along_axis(found, chosen[None], axis=0)[0]
        point = np.take_along_axis(np.array(tried), chosen[None, None], axis=0)[0]
        good = value < values[2]
        values[2] = np.where(good, value, values[2])
        at[2] = np.where(good, point, at[2])
        if not good.all():  # elsewhere the simplex shrinks
            for k in (1, 2):
                shrunk = np.where(good, at[k], 0.5 * (at[0] + at[k]))
                values[k] = np.where(good, values[k], mean(*shrunk))
                at[k] = shrunk
    return np.asarray(values.min(axis=0))
