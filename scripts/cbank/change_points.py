# SPDX-License-Identifier: MIT
"""Change points of many series at once.

Levels are found by optimal partitioning (Jackson and others, An algorithm for optimal partitioning
of data on an interval, 2005) with a penalty of 3 s^2 log n for each level (Yao, 1988). s is the
larger of the noise that is known and of what neighbouring values show. With few degrees of freedom
of s the penalty is that of Student's t (Wallace, 1959).

Series are the rows of an array. Values beyond a row's count are not read.
"""

from __future__ import annotations

import numpy as np


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
