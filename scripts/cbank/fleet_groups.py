# SPDX-License-Identifier: MIT
"""Who changed together: GPUs of a model, a driver, a VBIOS, a node, or one alone; and who differs
from the others. changes.py says what changed.

A GPU is held against its own past. All GPUs of a driver change together with the room or the
driver. Their median is taken off first, as in Tukey's median polish. Where it reaches the
threshold, it is a finding of theirs. Groups are judged from the coarsest to the single GPU. A
change belongs to the coarsest group where 85 % of the members changed alike.

A GPU is also held against the median of the others of its kind: a model, a part number, and groups
of SMs, as its results record them. One whose kind is not known, or that is alone in it, is held
against all of its model, whatever kinds they are of. The instrument knows what boards of a kind and
known kinds differ by; Qn of the others is added to that. A kind that was never seen is held against
its past alone. With a baseline, differences that were there then are accepted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from . import instrument
from .changes import (
    EFFICIENCY_OF_DIFFERENCE,
    RATE,
    Cell,
    Found,
    Wholes,
    corrected,
    evidence,
    named_cells,
    whole_p,
)
from .robust import date_step, median_of, medians, qn

LEVELS = ("model", "driver", "vbios", "node", "gpu")  # from the coarsest on
GPU = LEVELS.index("gpu")
PAST, PEERS = 0, 1
AGAINST = ("past", "peers")
WANDER_LEAST = 5  # GPUs whose median is what they do together
DIFFERENCES_LEAST = 3  # whose median one step does not move
PEERS_MANY, PEER_VALUES = 9, 3  # GPUs of a kind; values that say where a GPU is
NO_KIND = -1
COVERED_LEAST = 0.85  # of a group, whose change is then the group's
GROUP_SHARE = 0.5  # of the threshold, for groups
EFFICIENCY_OF_QN = 0.82
CORRELATION_MOST = 0.8  # of nights, that is told from changes


@dataclass
class Limits:
    threshold: float = 0.01  # of a GPU against its past; of a group half of it
    kind_threshold: float = 0.004  # of a GPU against the others of its kind
    peer_threshold: float = 0.03  # of a GPU against others that may be of another kind
    rate: float = RATE


@dataclass
class Kinds:
    """The kinds of the GPUs of a model."""

    numbers: np.ndarray  # of each GPU; NO_KIND: not known
    never_seen: np.ndarray  # of each GPU: its kind is known, and no normal has it
    device: str = ""  # the model, whose normal and whose noise the instrument may know


@dataclass
class Change:
    """A change of one cell."""

    level: int  # index of LEVELS
    against: int
    group: int  # of the level; of a GPU its number
    cell: int
    change: float  # of the logarithm
    deviation: float  # of what it is held against
    p: float  # of its GPU or group, corrected for all tests
    last: int  # values that it was seen in
    since: int = 0  # round, of a change against the past
    drift: bool = False
    members: int = 1  # GPUs of the group
    covered: int = 1  # those that changed alike


class Search:
    """The work on the GPUs of a model."""

    def __init__(
        self,
        cells: list[Cell],
        gpus: int,
        groups: dict[str, np.ndarray],
        limits: Limits,
        base: np.ndarray | None,
        firsts: np.ndarray | None,
        kinds: Kinds | None = None,
    ):
        """base: of the shape of times, or None; groups: {level: number of the group of each GPU}
        of driver, VBIOS and node; firsts: the first round of each night, since runs of one night
        may be more alike; None: each is of one round."""
        # numbers of cells
        self.there = [i for i, cell in enumerate(cells) if not np.isnan(cell.log_ns).all()]
        self.cells = [cells[i] for i in self.there]
        self.base, self.groups, self.limits, self.gpus = base, groups, limits, gpus
        self.kinds = kinds or Kinds(np.full(gpus, NO_KIND), np.zeros(gpus, dtype=bool))
        rounds = np.arange(cells[0].log_ns.shape[1])
        # of one night alone, all rounds say what they can
        self.firsts = rounds if firsts is None or len(firsts) == 1 else firsts
        tests = 2 * (1 + 2 * gpus + sum(int(numbers.max()) + 1 for numbers in groups.values()))
        self.found = []
        # not explained yet: [cells, GPUs, rounds]
        self.left = np.array(
            [cell.log_ns - self.level(cell.log_ns)[:, None] for cell in self.cells]
        )
        self.correlation = self.find_correlation()
        # so many nights say as much as one that is like no other
        self.alike = max(round((1 + self.correlation) / (1 - self.correlation)), 1)
        nights = np.searchsorted(self.firsts, rounds, side="right")
        nights = (nights[-1] - nights) // self.alike
        seen = [self.seen_of(left) for left in self.left]
        self.wholes = Wholes(self.cells, seen, nights, tests, self.kinds.device, limits.rate)

    def level(self, log_ns: np.ndarray) -> np.ndarray:
        """The median of each GPU: of its baseline, where it has one."""
        level = median_of(log_ns)
        if self.base is None:
            return level
        based = median_of(np.where(self.base, log_ns, np.nan))
        return np.where(np.isnan(based), level, based)

    def differences(self, left: np.ndarray, lag: int) -> tuple[float, int] | None:
        """(deviation of one value of a cell by the differences of all GPUs over so many nights,
        else within nights; how many these are). Too few are no evidence: the step that is looked
        for may be most of them."""
        nights = left[:, self.firsts]
        for differences in (
            nights[:, lag:] - nights[:, :-lag],
            np.delete(np.diff(left, axis=1), self.firsts[1:] - 1, axis=1),
        ):
            steps = differences.T  # [times, GPUs]
            counts = (~np.isnan(steps)).sum(axis=1)
            wander = counts >= WANDER_LEAST
            count = int(counts.sum())
            if count >= DIFFERENCES_LEAST and (len(steps) >= DIFFERENCES_LEAST or wander.any()):
                sizes = np.abs(steps - np.where(wander, medians(steps, counts), 0)[:, None]).ravel()
                return float(median_of(sizes[None])[0]) / (0.6745 * math.sqrt(2)), count
        return None

    def find_correlation(self) -> float:
        """How far a night is like the one before, of all cells and GPUs together. Where it is r,
        the variance of differences over n nights is 1 - r^n of twice that of nights. 0 of few
        GPUs, which do not tell it from a step of one of them."""
        lag = len(self.firsts) // 2 if self.gpus >= WANDER_LEAST else 0
        shares = []
        for left in self.left if lag > 1 else ():
            near, far = (self.differences(left, of) for of in (1, lag))
            if near and far and far[0] > 0:
                shares.append((near[0] / far[0]) ** 2)
        grid = np.linspace(0, CORRELATION_MOST, 81)
        # falls from 1 on
        expected = (1 - grid) / (1 - grid**lag) if lag > 1 else grid
        return float(np.interp(-np.median(shares), -expected, grid)) if shares else 0.0

    def seen_of(self, left: np.ndarray) -> dict | None:
        """The deviation of one value of a cell, by what all GPUs show."""
        found = self.differences(left, 1)
        if not found:
            return None
        value, count = found[0] / math.sqrt(1 - self.correlation), found[1] / self.alike
        return evidence(value, EFFICIENCY_OF_DIFFERENCE * count)

    def describe(self, level: int, group: int, values: np.ndarray, found: Found) -> Change:
        """A change of a cell, and since when it is there."""
        cell, sides = found.cell, found.sides
        row = values[cell, found.cut.whole]
        rounds = np.flatnonzero(~np.isnan(row))
        last = int((found.cut.new & ~np.isnan(row)).sum())
        since, drift, change = date_step(
            row[rounds], sides.change[cell], last, sides.deviation[cell]
        )
        return Change(
            level,
            PAST,
            group,
            self.there[cell],
            change,
            float(sides.deviation[cell]),
            found.p,
            last,
            int(rounds[since]),
            drift,
        )

    # ---- Groups

    def changed_alike(
        self, cell: int, members: np.ndarray, step: float, since: int
    ) -> tuple[np.ndarray, int]:
        """(those members that changed as the group did, by half as much at least; of how many
        this can be said)."""
        left = self.left[cell, members]
        before = left[:, :since]
        if self.base is not None:
            before = np.where(self.base[members, :since], before, np.nan)
        before, after = (
            median_of(side) if side.shape[1] else np.full(len(members), np.nan)
            for side in (before, left[:, since:])
        )
        change = after - before
        with np.errstate(invalid="ignore"):
            return members[change / step > 0.5], int((~np.isnan(change)).sum())

    def judge_group(self, level: int, group: int, members: np.ndarray) -> None:
        """Judges the median of a group in each round, where half of its GPUs were there."""
        left = self.left[:, members]  # [cells, members, rounds]
        there = (~np.isnan(left)).sum(axis=1)
        together = np.array(
            [
                np.where((count > 0) & (2 * count >= len(members)), medians(rows.T, count), np.nan)
                for rows, count in zip(left, there)
            ]
        )[:, None]
        base = None
        if self.base is not None:
            # Half of those that were there, of all cells: a run has nearly all.
            based = (self.base[members] & ~np.isnan(left).all(axis=0)).sum(axis=0)
            base = ((based > 0) & (2 * based >= there.max(axis=0)))[None]
        tried = set()
        for change in self.wholes.changes(together, base, GROUP_SHARE * self.limits.threshold):
            cell = change.cell
            tried.add(cell)
            found = self.describe(level, group, together, change)
            alike, found.members = self.changed_alike(
                cell, members, change.sides.change[cell], int(change.cut.new.argmax())
            )
            found.covered = len(alike)
            if found.covered >= 2 and found.covered >= COVERED_LEAST * found.members:
                self.left[cell, alike] -= np.nan_to_num(together[cell, 0])
                self.found.append(found)
        if LEVELS[level] == "driver" and len(members) >= WANDER_LEAST:
            for cell in set(range(len(left))) - tried:
                self.left[cell, members] -= np.nan_to_num(together[cell, 0])

    def judge_groups(self) -> None:
        for level, name in enumerate(LEVELS[:-1]):
            numbers = self.groups[name] if name in self.groups else np.zeros(self.gpus, dtype=int)
            order = np.argsort(numbers, kind="stable")
            starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
            for group, members in enumerate(np.split(order, starts[1:])):
                if len(members) > 1 and (name in ("model", "driver") or len(members) < self.gpus):
                    self.judge_group(level, group, members)

    # ---- Peers

    def recent(self, log_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(level of each GPU, which values say it) of a cell."""
        known = ~np.isnan(log_ns)
        last = known & (np.cumsum(known[:, ::-1], axis=1)[:, ::-1] <= PEER_VALUES)
        return median_of(np.where(last, log_ns, np.nan)), last

    def accepted_of(self, others: np.ndarray, members: np.ndarray, threshold: float) -> np.ndarray:
        """How far each of these GPUs was from the others [cells, GPUs] in the baseline, where that
        counts: it is accepted."""
        if self.base is None:
            return np.zeros(others.shape)
        then = [median_of(np.where(self.base, cell.log_ns, np.nan)[members]) for cell in self.cells]
        away = np.nan_to_num(np.array(then) - others)
        return np.where(np.abs(away) >= threshold, away, 0)

    def peers_of(self, levels: np.ndarray, members: np.ndarray) -> list[list]:
        """For each of these GPUs the others of them, by others_of. Each of few is held against the
        median of the others, and of many against that of all, which one cannot move."""
        if len(members) >= PEERS_MANY:
            return [self.others_of(levels[:, members])] * len(members)
        return [self.others_of(levels[:, members[members != gpu]]) for gpu in members]

    def judge_peers(self) -> None:
        """Judges boards of each kind together, then those that may be of any."""
        recent = [self.recent(cell.log_ns) for cell in self.cells]
        levels = np.array([level for level, _ in recent])  # [cells, GPUs]
        last = np.array([new for _, new in recent])
        numbers, counts = np.unique(self.kinds.numbers, return_counts=True)
        of_kind = {int(kind) for kind, count in zip(numbers, counts) if count > 1} - {NO_KIND}
        for kind in sorted(of_kind):
            members = np.flatnonzero(self.kinds.numbers == kind)
            self.judge_members(levels, last, members, self.peers_of(levels, members), True)
        everybody = np.arange(self.gpus)
        peers = self.peers_of(levels, everybody)
        rest = [
            gpu
            for gpu in everybody
            if self.kinds.numbers[gpu] not in of_kind and not self.kinds.never_seen[gpu]
        ]
        self.judge_members(
            levels, last, np.array(rest, dtype=int), [peers[gpu] for gpu in rest], False
        )

    def judge_members(
        self,
        levels: np.ndarray,
        last: np.ndarray,
        members: np.ndarray,
        others: list[list],
        same_kind: bool,
    ) -> None:
        """Judges GPUs against their others. last: which values [cells, GPUs, rounds] say where a
        GPU is."""
        if not len(members):
            return
        medians_of = np.array(
            [[np.nan if peers is None else peers[0] for peers in cells] for cells in others]
        ).T
        threshold = self.limits.kind_threshold if same_kind else self.limits.peer_threshold
        accepted = np.zeros((len(self.cells), self.gpus))
        accepted[:, members] = self.accepted_of(medians_of, members, threshold)
        distances = np.nan_to_num(levels[:, members] - medians_of) - accepted[:, members]
        far = np.flatnonzero((np.abs(distances) >= threshold).any(axis=0))
        asked = [
            self.peer_question(
                members[i],
                last[:, members[i]],
                others[i],
                accepted[:, members[i]],
                same_kind,
            )
            for i in far
        ]
        p, spread = np.ones((2, len(self.cells), len(far)))
        apart = np.zeros((len(self.cells), len(far)))
        for i, ((_, numbers), answers) in enumerate(
            zip(asked, instrument.judge([question for question, _ in asked]))
        ):
            for number, answer in zip(numbers, answers):
                p[number, i] = answer["ratio"]["p"]
                spread[number, i] = answer["board_deviation"]["value"]
                apart[number, i] = answer["kinds_apart"] or 0
        distances = distances[:, far]
        p[np.abs(distances) < threshold + apart] = 1
        wholes = np.concatenate([np.where(sign * distances > 0, p, 1) for sign in (1, -1)], axis=1)
        for number, of_whole in enumerate(corrected(whole_p(wholes), self.wholes.tests)):
            for cell in named_cells(wholes[:, number]) if of_whole <= self.limits.rate else ():
                gpu = int(members[far[number % len(far)]])
                self.found.append(
                    Change(
                        GPU,
                        PEERS,
                        gpu,
                        self.there[cell],
                        float(distances[cell, number % len(far)]),
                        float(spread[cell, number % len(far)]),
                        float(of_whole),
                        int(last[cell, gpu].sum()),
                    )
                )

    @staticmethod
    def others_of(levels: np.ndarray) -> list[tuple[float, int, dict | None] | None]:
        """(median, number, what they differ by) of other GPUs, for each cell; None: there are
        none."""
        found = []
        for row in levels:
            ordered = np.sort(row[~np.isnan(row)])
            boards = None
            if len(ordered) > 1:
                boards = evidence(qn(ordered), EFFICIENCY_OF_QN * (len(ordered) - 1), "boards")
            found.append(
                (float(np.median(ordered)), len(ordered), boards) if len(ordered) else None
            )
        return found

    def peer_question(
        self,
        gpu: int,
        recent: np.ndarray,
        others: list[tuple[float, int, dict | None] | None],
        accepted: np.ndarray,
        same_kind: bool,
    ) -> tuple[dict, list[int]]:
        """The question whether a GPU differs from the others by more than is accepted, and the
        cells that it is about. recent: the rounds whose values say where it is."""
        numbers = [
            number for number, (peers, new) in enumerate(zip(others, recent)) if peers and new.any()
        ]
        cells = []
        for number in numbers:
            (median, count, boards), new = others[number], recent[number]
            cells.append(
                self.cells[number].question(
                    np.array([median + accepted[number]]),
                    self.cells[number].log_ns[gpu, new],
                    seen=self.wholes.seen[number],
                    new_nights=self.wholes.nights[new].tolist(),
                    boards=boards,
                    base_boards=count,
                )
            )
        question = {
            "nights": True,
            "boards_differ": True,
            "same_kind": same_kind,
            "device": self.kinds.device,
            "cells": cells,
        }
        return question, numbers


def judge(
    cells: list[Cell],
    gpus: int,
    groups: dict[str, np.ndarray],
    limits: Limits,
    base: np.ndarray | None = None,
    firsts: np.ndarray | None = None,
    kinds: Kinds | None = None,
) -> list[Change]:
    """Changes of all cells of a model: see Search."""
    if all(np.isnan(cell.log_ns).all() for cell in cells):
        return []
    work = Search(cells, gpus, groups, limits, base, firsts, kinds)
    work.judge_groups()
    for found in work.wholes.changes(work.left, base, limits.threshold):
        work.found.append(work.describe(GPU, found.cut.whole, work.left, found))
    work.judge_peers()
    return work.found
