# SPDX-License-Identifier: MIT
"""Steps at the end of series, and how likely chance makes them.

Values are logarithms of times, in the order of time. Medians of the last values and of those before
are compared: one bad process moves nothing. Values have the tails of Student's t of three degrees
of freedom, whatever their deviation rests on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from .change_points import compress, difference_scale, levels, medians, partition

# values at the end of a series that are held against those before
LENGTHS = (1, 2, 3, 5, 8, 13, 21, 30)
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # of a difference that the end has
TAIL_DEGREES, TAIL_SCALE = 3, 1.134  # the scale: the quartile of that t over that of a normal value
LINE_LEAST = 5  # values of a drift
SCALE_LEAST = 12  # differences that tell the scale of a series by itself


def student_p(t: float | np.ndarray, degrees: float | np.ndarray) -> float | np.ndarray:
    """Probability that Student's t is further from 0 than t, on either side."""
    return betainc(degrees / 2, 0.5, degrees / (degrees + np.square(t)))


def tail(count: int | np.ndarray, z: float | np.ndarray) -> float | np.ndarray:
    """Probability that more than half of `count` values lie beyond z robust deviations on one
    side, for either side: binomial, with the tail of Student's t of three degrees of freedom.
    Arrays broadcast."""
    beyond = student_p(np.asarray(z) * TAIL_SCALE, TAIL_DEGREES) / 2
    count = np.asarray(count)
    more = betainc(count // 2 + 1, count - count // 2, beyond)
    return np.minimum(1, 2 * more)


def difference_p(z: float | np.ndarray) -> float | np.ndarray:
    """Probability that two values differ by more than z robust deviations: of the difference of
    two of Student's t of three degrees of freedom, by its characteristic function, (1 + a t)^2
    exp(-2 a t) with a = sqrt 3."""
    a, x = math.sqrt(TAIL_DEGREES), np.asarray(z, dtype=float) * TAIL_SCALE
    square = 4 * a * a + x * x
    inside = np.arctan2(x, 2 * a) + 2 * a * x / square + 4 * a**3 * x / (square * square)
    # Far out the terms cancel: there the difference is as far as one of the two.
    return np.where(x < 1000, 1 - 2 / math.pi * inside, 2 * student_p(x, TAIL_DEGREES))


def step_p(z: np.ndarray, last: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Probability of a difference of z between medians of `last` and `base` values: the best way
    to divide the difference."""
    divided = np.minimum(
        1, np.min([tail(last, share * z) + tail(base, (1 - share) * z) for share in SHARES], axis=0)
    )
    return np.where((base == 1) & (last == 1), difference_p(z), divided)


@dataclass
class Series:
    """Rows of values without gaps, in the order of time."""

    values: np.ndarray  # [series, n]
    counts: np.ndarray  # [series]
    rounds: np.ndarray  # [series, n]: the round of each value
    begins: np.ndarray  # [series, n]: whether the value is the first of its night
    base: np.ndarray | None  # [series, n]: of the baseline; None: what is before the end
    deviation: np.ndarray  # [series]: of one value


def series_of(
    values: np.ndarray,
    base: np.ndarray | None,
    nights: np.ndarray,
    least: np.ndarray,
    otherwise: np.ndarray,
) -> Series:
    """values, base: [series, rounds]; base may be None; nights: of each round. A series has its
    own deviation, where many values tell it, at least `least`; otherwise the larger one of both
    [series]."""
    order = np.argsort(np.isnan(values), axis=1, kind="stable")
    packed, counts = compress(values)
    own = np.where(counts > SCALE_LEAST, difference_scale(packed, counts), otherwise)
    based = None if base is None else np.take_along_axis(base, order, axis=1)
    return Series(
        packed,
        counts,
        order,
        np.diff(nights[order], axis=1, prepend=-1) != 0,
        based,
        np.fmax(least, own),
    )


def pick(ordered: np.ndarray, counts: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The lower or the upper one of the two values in the middle of the first `counts`."""
    at = np.where(upper, counts // 2, (counts - 1) // 2)
    return ordered[np.arange(len(ordered)), np.clip(at, 0, ordered.shape[1] - 1)]


@dataclass
class Differences:
    """Between the last values and those before, of some rows of series."""

    length: int  # the last values
    # nights of these, and of those before: the values of one night may go together
    last: np.ndarray
    base: np.ndarray
    rows: np.ndarray
    size: np.ndarray  # of the medians
    # in deviations, between the nearest of the values in the middle; 0 where they do not agree with
    # the size
    z: np.ndarray
    lengths: np.ndarray  # how many lengths the row has


def differences(series: Series) -> Iterator[Differences]:
    """The differences of all series that are long enough, by length."""
    n = series.values.shape[1]
    index = np.arange(n)
    if series.base is None:
        most = series.counts - 1
    else:
        of_base = series.base & (index < series.counts[:, None])
        most = series.counts - np.where(of_base.any(axis=1), n - of_base[:, ::-1].argmax(axis=1), 0)
        most[~of_base.any(axis=1)] = 0
    lengths = np.searchsorted(LENGTHS, most, side="right")
    for length in LENGTHS:
        rows = np.flatnonzero(most >= length)
        if not len(rows):
            break
        values, counts = series.values[rows], series.counts[rows][:, None]
        is_last = (index >= counts - length) & (index < counts)
        is_base = (
            index < counts - length
            if series.base is None
            else of_base[rows] & (index < counts - length)
        )
        base_count, last_count = is_base.sum(axis=1), np.full(len(rows), length)
        ordered_base, ordered_last = (
            np.sort(np.where(mask, values, np.inf), axis=1) for mask in (is_base, is_last)
        )
        size = medians(ordered_last, last_count) - medians(ordered_base, base_count)
        up = size > 0
        sure = pick(ordered_last, last_count, ~up) - pick(ordered_base, base_count, up)
        begins = series.begins[rows]
        last = (is_last & begins).sum(axis=1) + ~np.take_along_axis(
            begins, counts - length, axis=1
        )[:, 0]
        yield Differences(
            length,
            last,
            np.maximum((is_base & begins).sum(axis=1), 1),
            rows,
            size,
            np.where((sure > 0) == up, sure / series.deviation[rows], 0),
            lengths[rows],
        )


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
