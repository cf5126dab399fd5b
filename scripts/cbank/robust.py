# SPDX-License-Identifier: MIT
"""Robust statistics of series: medians, scales, levels, and when a step began. They judge nothing.

Levels are found by optimal partitioning (Jackson and others, An algorithm for optimal partitioning
of data on an interval, 2005) with a penalty of 3 s^2 log n for each level (Yao, 1988). s is the
larger of the noise that is known and of what neighbouring values show. With few degrees of freedom
of s the penalty is that of Student's t (Wallace, 1959).

Series are the rows of an array. Values beyond a row's count are not read.
"""

from __future__ import annotations

import math

import numpy as np

LINE_LEAST = 5  # values of a drift
PAIRS_MOST = 100  # values at most whose distances are all looked at


def medians(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The median of the first `counts` values of each row, NaN where there are none. The other
    values are inf or NaN."""
    ordered = np.sort(values, axis=-1)
    rows = np.arange(len(values))
    half = np.minimum(counts // 2, values.shape[1] - 1)
    upper, below = ordered[rows, half], ordered[rows, np.maximum(half - 1, 0)]
    with np.errstate(invalid="ignore"):
        return np.where(
            counts == 0, np.nan, np.where(counts % 2 == 1, upper, below + (upper - below) / 2)
        )


def median_of(values: np.ndarray) -> np.ndarray:
    """The median along the last axis of [a, b], of values that are not NaN; else NaN."""
    return medians(values, (~np.isnan(values)).sum(axis=-1))


def compress(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(values, counts): the numbers of each row, in their order, before its NaN."""
    missing = np.isnan(values)
    order = np.argsort(missing, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), values.shape[1] - missing.sum(axis=1)


def difference_scale(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Standard deviation by the differences of neighbours, which a step does not move: their
    median absolute value over 0.6745 sqrt 2. NaN for fewer than two values."""
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    differences = np.abs(np.diff(values, axis=1))
    known = np.arange(differences.shape[1]) < (counts - 1)[:, None]
    return medians(np.where(known, differences, np.inf), np.maximum(counts - 1, 0)) / (
        0.6745 * np.sqrt(2)
    )


def partition(
    values: np.ndarray,
    counts: np.ndarray,
    least: np.ndarray,
    noise: np.ndarray,
    degrees: np.ndarray | float = 1e5,
) -> np.ndarray:
    """For each series, and each end of it, where the last level of the cheapest partition begins.

    values: [series, n]; counts: [series], values of each; least: [series], values of a level;
    noise: [series], standard deviation that is known, with its degrees of freedom. Returns integers
    of shape [series, n + 1].
    """
    series, n = values.shape
    # so that large levels cost no digits
    about = np.where(np.arange(n) < counts[:, None], values - values[:, :1], 0)
    sums, squares = (
        np.concatenate([np.zeros((series, 1)), np.cumsum(of, axis=1)], axis=1)
        for of in (about, about * about)
    )
    spread = np.fmax(noise, np.nan_to_num(difference_scale(values, counts)))
    # of a normal value
    squared = 3 * np.log(np.maximum(counts, 1)) * ((8 * degrees + 3) / (8 * degrees + 1)) ** 2
    penalty = spread * spread * degrees * np.expm1(squared / degrees) + 1e-9
    least = np.clip(np.minimum(least, counts), 1, None)
    costs, last = np.full((series, n + 1), np.inf), np.zeros((series, n + 1), dtype=int)
    costs[:, 0] = 0
    for end in range(1, n + 1):
        sum_of = sums[:, end : end + 1] - sums[:, :end]
        length = end - np.arange(end)
        deviations = np.maximum(
            squares[:, end : end + 1] - squares[:, :end] - sum_of * sum_of / length, 0
        )
        cost = np.where(
            length >= least[:, None], costs[:, :end] + deviations + penalty[:, None], np.inf
        )
        last[:, end] = cost.argmin(axis=1)
        costs[:, end] = cost[np.arange(series), last[:, end]]
    return last


def levels(values: np.ndarray, last: np.ndarray, count: int) -> list[tuple[int, int, float]]:
    """(first value, number of values, mean) of each level of a series, by its row of
    partition()."""
    found, end = [], int(count)
    while end > 0:
        first = int(last[end])
        of = values[first:end] - values[0]
        found.append((first, end - first, float(values[0] + of.sum() / (end - first))))
        end = first
    return found[::-1]


# ---- Scales --------------------------------------------------------------------------------------


def qn(ordered: np.ndarray) -> float:
    """The scale Qn of Rousseeuw and Croux (1993) of two ascending values or more: the k-th
    smallest distance of two, times a factor. Half of the values can be anything."""
    small = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
    n = len(ordered)
    factor, k = (
        2.2219 * small.get(n, n / (n + (1.4 if n % 2 else 3.8))),
        (n // 2 + 1) * (n // 2) // 2,
    )
    index = np.arange(n)
    if n <= PAIRS_MOST:
        return factor * float(
            np.partition((ordered[:, None] - ordered)[index[:, None] > index], k - 1)[k - 1]
        )

    def pairs_within(distance: float) -> int:
        return int((index - np.searchsorted(ordered, ordered - distance)).sum())

    low, high = 0.0, float(ordered[-1] - ordered[0])
    if pairs_within(0) >= k:
        return 0.0
    for _ in range(60):
        middle = low + (high - low) / 2
        low, high = (low, middle) if pairs_within(middle) >= k else (middle, high)
    return factor * high


def centre(values: np.ndarray) -> float:
    """The median of the shortest interval that holds half of the values, where most of what did
    not change lies."""
    ordered = np.sort(values)
    half = (len(ordered) + 1) // 2
    first = (ordered[half - 1 :] - ordered[: len(ordered) - half + 1]).argmin()
    return float(np.median(ordered[first : first + half]))


# ---- Dates ---------------------------------------------------------------------------------------


def hinge(values: np.ndarray, since: int) -> tuple[float, float]:
    """(squares, rise) about a line that is level up to `since` and rises from there, by least
    squares."""
    n = len(values)
    x, y = np.maximum(np.arange(n) - since + 1, 0).astype(float), values - values[0]
    sxx, sxy, syy = (
        (x * x).sum() - x.sum() ** 2 / n,
        (x * y).sum() - x.sum() * y.sum() / n,
        (y * y).sum() - y.sum() ** 2 / n,
    )
    return syy - sxy * sxy / sxx, sxy / sxx * (n - since)


def date_step(
    values: np.ndarray, change: float, last: int | np.ndarray, deviation: float
) -> tuple[int, bool, float]:
    """(since, drift, change): when the step of a series began. Its level jumps most there in the
    step's direction, or a line begins there that fits better than a jump. Values that are far
    off alone are smoothed away first (Tukey, 1977)."""
    n = len(values)
    smooth = values.copy()
    smooth[1:-1] = np.maximum(
        np.minimum(values[:-2], values[1:-1]),
        np.minimum(np.maximum(values[:-2], values[1:-1]), values[2:]),
    )
    last_of = partition(
        smooth[None], np.array([n]), np.array([1 if last < 2 else 2]), np.array([deviation])
    )[0]
    jump, most = n - last, 0
    found = levels(smooth, last_of, n)
    for (_, _, before), (first, _, after) in zip(found, found[1:]):
        if math.copysign(1, change) * (after - before) > most:
            most, jump = math.copysign(1, change) * (after - before), first
    least = sum(
        ((side - side.mean()) ** 2).sum() for side in (smooth[:jump], smooth[jump:]) if len(side)
    )
    since, drift = jump, False
    for first in range(1, n - LINE_LEAST + 1):
        squares, rise = hinge(smooth, first)
        if squares < least:
            least, since, drift, change = squares, first, True, rise
    return since, drift, float(change)
