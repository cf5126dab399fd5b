# SPDX-License-Identifier: MIT
"""Whether the mean of a series changed, where neither the noise nor how nights correlate is known.

The statistic is that of Shao and Zhang (Testing for change points in time series, 2010):

    G = max over splits k of D_k^2 / V_k

D_k is the sum of the first k values beyond k means, over the root of n. V_k is what the partial
sums on either side of the split wander about their own lines. Correlation and noise make both
larger alike. So G needs neither.

In few values a correlation of 0.8 still makes G larger. QUANTILES therefore are those at 0.8, of
normal noise or of Student's t of three degrees of freedom, whichever is larger:
scripts/studies/history_rate.py simulates them. At less correlation of such noise p is too large.
From SMOOTH_LEAST values on each value is first the median of itself and its neighbours
(Tukey 1977), so that one bad night hides no step. A smoothed series of few values tells less.

Several changes hide each other from a test of the whole series. So segments of it are tested, too
(seeded intervals: Kovacs and others 2023), each with a share of the rate. Of those with a change
the shortest says where it is (narrowest over threshold: Baranowski and others 2019).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

VALUES_LEAST = 10  # of a series that is tested
SIDE_LEAST, SIDE_SHARE = 3, 8  # values on a side of a split: at least 3, and n / 8
SMOOTH_LEAST = 20
SHRINK = math.sqrt(0.5)  # of the lengths of segments
ELEMENTS_AT_ONCE = 1 << 20  # so that memory is bounded

# How often G exceeds each number of a row where nothing changed, and from how many values on.
TAILS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
# fmt: off
QUANTILES = {
    10: (59.96, 98.14, 146.6, 236.4, 330.3, 450.4, 662.6, 863.4, 1120, 1539, 1949),
    12: (62.67, 101.4, 148.8, 230.8, 314.8, 424.1, 597.8, 762, 975.3, 1343, 1650),
    15: (63.06, 101.6, 148.4, 224.2, 295.8, 383.1, 530.2, 664.4, 827.8, 1123, 1415),
    19: (60.7, 98.25, 143.4, 215.8, 281.4, 359.1, 486.1, 603.6, 753.4, 970.2, 1164),
    20: (67.97, 113.5, 169.8, 266.3, 360.8, 474.4, 676.9, 880.7, 1117, 1524, 1943),
    30: (54.96, 92.91, 139.6, 214.8, 283.3, 362.9, 486.9, 604.9, 736.4, 945.4, 1150),
    40: (46.78, 78.75, 118.7, 184.3, 244.5, 314.1, 418, 506, 610.1, 759, 906.7),
    60: (37.3, 62.37, 93.2, 143.8, 190.4, 243.9, 325.4, 394.1, 476.1, 587, 685.3),
    120: (27.52, 44.66, 65.29, 97.94, 127.1, 161.3, 211.7, 258.3, 306.1, 389.8, 450.5),
    240: (22.83, 36.16, 51.63, 75.81, 97.02, 120.7, 155.1, 186.7, 219.8, 266.9, 304.5),
}
# fmt: on


def middle(one: np.ndarray, two: np.ndarray, three: np.ndarray) -> np.ndarray:
    """The median of three, element by element."""
    return np.maximum(np.minimum(one, two), np.minimum(np.maximum(one, two), three))


def smoothed(values: np.ndarray) -> np.ndarray:
    """Each value of a row as the median of itself and its neighbours. Beyond an end stands what the
    two values beside it point at (Tukey's end rule)."""
    inner = middle(values[:, :-2], values[:, 1:-1], values[:, 2:])
    first = middle(values[:, 0], inner[:, 0], 3 * inner[:, 0] - 2 * inner[:, 1])
    last = middle(values[:, -1], inner[:, -1], 3 * inner[:, -1] - 2 * inner[:, -2])
    return np.concatenate([first[:, None], inner, last[:, None]], axis=1)


def wander(sums: np.ndarray) -> np.ndarray:
    """What the first k partial sums of a row wander about the line from 0 to the last of them, as
    squares, for each k."""
    count = np.arange(1, sums.shape[1] + 1)
    slope = sums / count
    return (
        np.cumsum(sums * sums, axis=1)
        - 2 * slope * np.cumsum(sums * count, axis=1)
        + slope * slope * np.cumsum(count * count)
    )


def statistic(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(G, values before the split, change there) of each row."""
    n = values.shape[1]
    if n >= SMOOTH_LEAST:
        values = smoothed(values)
    values = values - values.mean(axis=1, keepdims=True)
    left, right = np.cumsum(values, axis=1), np.cumsum(values[:, ::-1], axis=1)
    least = max(SIDE_LEAST, n // SIDE_SHARE)
    splits = np.arange(least, n - least + 1)
    square = left[:, splits - 1] ** 2 / n
    spread = (wander(left)[:, splits - 1] + wander(right)[:, n - splits - 1]) / n**2
    # where nothing varies, rounding does
    found = square / np.maximum(spread, 1e-13 * square + 1e-300)
    best = found.argmax(axis=1)
    rows = np.arange(len(values))
    before = splits[best]
    change = -left[rows, before - 1] * n / before / (n - before)
    return found[rows, best], before, change


def rows_of(n: int) -> list[np.ndarray]:
    """The rows of QUANTILES that hold for n values: of the next lengths below and above. Series of
    SMOOTH_LEAST values or more are not as those of fewer."""
    alike = [length for length in QUANTILES if (length >= SMOOTH_LEAST) == (n >= SMOOTH_LEAST)]
    below = max((length for length in alike if length <= n), default=min(alike))
    above = min((length for length in alike if length >= n), default=max(alike))
    return [np.log(QUANTILES[length]) for length in {below, above}]


def p_of(found: np.ndarray, n: int) -> np.ndarray:
    """How often G of n values without a change is so large. Beyond the last number of a row it
    falls on as it does before that, though in truth it falls faster."""
    with np.errstate(divide="ignore"):
        log_g, log_tails, p = np.log(found), np.log(TAILS), np.zeros(len(found))
    for row in rows_of(n):
        fall = (log_tails[-1] - log_tails[-4]) / (row[-1] - row[-4])
        own = np.exp(np.interp(log_g, row, log_tails, left=0))
        beyond = log_g > row[-1]
        own[beyond] = np.exp(log_tails[-1] + fall * (log_g[beyond] - row[-1]))
        p = np.maximum(p, own)
    return p


def half_width(found: np.ndarray, change: np.ndarray, n: int) -> np.ndarray:
    """Half the interval of 95 % of a change: V_k is the same whatever the change is, so those
    remain with which G would not exceed its quantile of 0.05."""
    limit = max(math.exp(row[TAILS.index(0.05)]) for row in rows_of(n))
    return np.abs(change) * np.sqrt(limit / found)


def segment_lengths(n: int) -> list[tuple[int, np.ndarray, float]]:
    """(length, first values, share of the rate of each segment) of the segments of n values: each
    length overlaps by half or more, and has half of the share of the longer one."""
    found, length, weight = [], float(n), 1.0
    while int(length) >= VALUES_LEAST:
        whole = int(length)
        count = 1 if whole == n else 2 * math.ceil(n / length) - 1
        firsts = np.unique(np.linspace(0, n - whole, count).astype(int))
        found.append((whole, firsts, weight / len(firsts)))
        length, weight = length * SHRINK, weight / 2
    total = sum(len(firsts) * share for _, firsts, share in found)
    return [(whole, firsts, share / total) for whole, firsts, share in found]


@dataclass
class Split:
    """Where the mean of a segment changed."""

    row: int
    first: int  # of the segment, and its values
    length: int
    at: int  # value of the new level
    change: float
    half: float  # of the interval of 95 %
    p: float  # corrected for the segments of the row


def splits_of(values: np.ndarray, rate: float, threshold: float) -> Iterator[Split]:
    """The changes of each row at a rate for the row, the size of each at least `threshold`, by row
    and then by place. values: [rows, n]."""
    rows, n = values.shape
    found = [[] for _ in range(rows)]
    for length, firsts, share in segment_lengths(n):
        index = firsts[:, None] + np.arange(length)
        at_once = max(ELEMENTS_AT_ONCE // index.size, 1)
        for start in range(0, rows, at_once):
            part = values[start : start + at_once][:, index].reshape(-1, length)
            g, before, change = statistic(part)
            p = np.minimum(p_of(g, length) / share, 1)
            half = half_width(g, change, length)
            for hit in np.flatnonzero(
                (p <= rate) & (np.abs(np.expm1(change)) >= threshold)
            ).tolist():
                row, segment = start + hit // len(firsts), int(firsts[hit % len(firsts)])
                numbers = (float(of[hit]) for of in (change, half, p))
                at = segment + int(before[hit])
                found[row].append(Split(row, segment, length, at, *numbers))
    for splits in found:
        kept = []
        for split in sorted(splits, key=lambda one: (one.length, one.p)):
            if not any(split.first < one.at < split.first + split.length for one in kept):
                kept.append(split)
        yield from sorted(kept, key=lambda one: one.at)
