"""Which observation is of which object: the posterior of joint assignments in one scan.

In a scan (what one sensor saw at one time) an observation is of one object, or of none: clutter, or
an object that nobody has seen yet. An object gives at most one observation. The posterior of a
joint assignment is proportional to the product over its observations of

    P_D N(r; 0, S) / (1 - P_D)   of an object, with residual r and its covariance S,
    clutter + births             of none, both densities,

and the probability of one pair is the sum over all joint assignments with that pair (joint
probabilistic data association; Fortmann, Bar-Shalom and Scheffe 1983). The sums go over the sets of
objects that are taken, so m observations of n objects cost m 2ⁿ and not n!; only objects in the
gate of an observation count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MOST_SETS = 4096
"""How many sets of taken objects are followed; beyond, the least probable are left out."""


def joint_probabilities(
    weights: Sequence[Mapping[int, float]], nothing: float
) -> list[dict[int, float]]:
    """Return for each observation how probable each object is; the rest is that it is of none.

    >>> both = joint_probabilities([{0: 9.0, 1: 1.0}, {0: 1.0}], nothing=1.0)
    >>> [{k: round(p, 3) for k, p in one.items()} for one in both]
    [{0: 0.692, 1: 0.154}, {0: 0.154}]
    """
    if len(weights) == 1:  # the sums below, for one observation
        (row,) = weights
        whole = nothing + sum(row.values())
        return [{j: w / whole if whole > 0 else 0.0 for j, w in row.items()}]
    forward: list[dict[int, float]] = [{0: 1.0}]
    for row in weights:
        forward.append(_next(forward[-1], row, nothing))
    backward: list[dict[int, float]] = [dict.fromkeys(forward[-1], 1.0)]
    for k in range(len(weights) - 1, -1, -1):
        later, found = backward[0], dict[int, float]()
        for taken in forward[k]:
            found[taken] = nothing * later.get(taken, 0.0) + sum(
                w * later.get(taken | 1 << j, 0.0)
                for j, w in weights[k].items()
                if not taken >> j & 1
            )
        top = max(found.values(), default=1.0) or 1.0
        backward.insert(0, {taken: v / top for taken, v in found.items()})
    answer: list[dict[int, float]] = []
    for k, row in enumerate(weights):
        with_none = sum(
            f * nothing * backward[k + 1].get(taken, 0.0) for taken, f in forward[k].items()
        )
        shares = {
            j: sum(
                f * w * backward[k + 1].get(taken | 1 << j, 0.0)
                for taken, f in forward[k].items()
                if not taken >> j & 1
            )
            for j, w in row.items()
        }
        whole = with_none + sum(shares.values())
        answer.append({j: share / whole if whole > 0 else 0.0 for j, share in shares.items()})
    return answer


def _next(
    before: Mapping[int, float], row: Mapping[int, float], nothing: float
) -> dict[int, float]:
    """Return the sums over sets of taken objects after one more observation, the largest 1."""
    found: dict[int, float] = {}
    for taken, value in before.items():
        found[taken] = found.get(taken, 0.0) + value * nothing
        for j, w in row.items():
            if not taken >> j & 1:
                found[taken | 1 << j] = found.get(taken | 1 << j, 0.0) + value * w
    if len(found) > MOST_SETS:
        best = sorted(found, key=lambda taken: (-found[taken], taken))[:MOST_SETS]
        found = {taken: found[taken] for taken in best}
    top = max(found.values()) or 1.0
    return {taken: value / top for taken, value in found.items()}
