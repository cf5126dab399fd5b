#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Derives the table of harness/compare/deviation.c: how much times differ between processes,
occasions, plans and boards by default.

Proves the default deviation that every interval of compare rests on.

usage: process_deviation.py [--check]

A set of committed results of one GPU, driver and plan gives the variance of each cell's times, with
one degree of freedom less than results. Cells of several modes are left out. The variance is
modelled as relative^2 + (ns / time)^2, times a factor. The factor varies between cells as an
inverse chi square of `degrees` does, so that the quotient has the F distribution. relative, ns and
degrees maximize the likelihood (Smyth 2004, with a prior that depends on the time). Plans and
boards are fitted likewise, with the part of the processes known. Cells of a process that move
together are not independent: degrees are then at most those of the mean square of as many variables
with that correlation.

Boards have the most degrees, in tenths, with which intervals of 95 % hold as many differences of
two boards.

A kind of boards is that of results/h200/boards which has the most. The eight that were seen first
choose: relative and ns by likelihood, with the degrees of that many boards, since the cells of a
board go together. So few boards tell little, so both are then taken at the upper end of the 95 %
interval of such a deviation. The other boards check it, by how many differences of two boards
intervals of 95 % hold.

Occasions are of boards, by UUID, that have results of the default plan a minute apart or more: a
later result of the same board adds to them. So do the processes of a trial of clocks that have its
usual clock. Boards are the degrees of freedom. No board has results hours apart: what these add is
an assumption (LATER), and no measurement.

Prints the table and what it rests on. With --check, exits 1 where that of deviation.c is
beyond what rounding explains.
"""

import datetime
import glob
import itertools
import math
import os
import re
import statistics
import sys

from scipy.special import stdtr
from scipy.stats import chi2

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import boards
import trials

HEADER = os.path.join(trials.ROOT, "harness/compare/deviation.h")
NORMAL = 1.959964
# of harness/base/series.h: what intervals have in addition to the samples' part, ...
SERIES_PROCESS = 5e-4
SERIES_COPIES_NS = 100  # ... and those of cells that copy before every launch
DEGREES_LEAST, DEGREES_MOST = 1, 50
ROUNDING = 0.06  # relative: two digits
OCCASION_SECONDS = 60  # of harness/compare/deviation.h
DEFAULT_PLAN = {"hot": ("core-matrix", "second-process"), "cold": ("core-matrix-cold",)}  # results
LATER = (0.0005, 0, 100)  # assumed, and taken as known
SAME_CLOCK = 0.003
CHOOSING = 8  # boards of a kind, those that were seen first; all that came later check
BOARDS = [
    f"h200/processes/{name}.json"
    for name in (
        "trial",
        "other-board",
        "third-board",
        "slow-board",
        "fast-board",
        "sixth-board",
        "seventh-board",
        "eighth-board",
        "ninth-board",
    )
]
PLACED = 0.01  # deviation of the buffer sets from which a cell's time is one of its places


def load(name):
    """The cells of a result by identity: time, code, whether it settled."""
    result = trials.load(os.path.join(trials.ROOT, "results", name))
    cells = {}
    for cell in result["cells"]:
        time = cell["time_ns"]
        if (
            cell["status"] != "ok"
            or not time
            or not time["ci_low"]
            or "multimodal" in cell["flags"]
        ):
            continue
        key = tuple(
            str(cell[name])
            for name in ("workload", "path", "pattern", "elements", "block_size", "cache_state")
        )
        key += tuple(sorted(cell["parameters"].items()))
        half = (time["ci_high"] - time["ci_low"]) / 2 / time["value"]
        added = math.hypot(
            SERIES_PROCESS, SERIES_COPIES_NS / time["value"] if column_of(key) == "copies" else 0
        )
        cells[key] = (
            time["value"],
            cell["kernel"]["sass_sha256"],
            "unstable" not in cell["flags"],
            cell["buffer_set_deviation"],
            max((half / NORMAL) ** 2 - added**2, 0),
            (cell["buffer_set_deviation"] or 0) ** 2 / (cell["buffer_sets"] or 1),
        )
    return cells


def column_of(key):
    """The row of the table for a cell: its cache state, or `copies` where memory is copied
    before every launch."""
    copies = key[1] != "param" and any(name == "refill_bytes" for name, _ in key[6:])
    return "copies" if copies else key[5]


def alike(names, column, settled=True):
    """(variance, degrees, time, variances by its samples and by its places) of each cell of that
    column and of equal code in all the results; of each result the changes from the mean of all,
    in ns. `settled`: only cells that settled in all."""
    results, rows, changes = [load(name) for name in names], [], [[] for _ in names]
    for key in results[0]:
        cells = [result.get(key) for result in results]
        if column_of(key) != column or not all(cell and cell[1] == cells[0][1] for cell in cells):
            continue
        logs = [math.log(cell[0]) for cell in cells]
        mean = statistics.mean(logs)
        for of, log in zip(changes, logs):
            of.append((log - mean) * math.exp(mean))
        if not settled or all(cell[2] for cell in cells):
            rows.append(
                (
                    statistics.variance(logs),
                    len(logs) - 1,
                    math.exp(mean),
                    *(statistics.mean(cell[of] for cell in cells) for of in (4, 5)),
                )
            )
    return rows, changes


def times_of_boards():
    """The times of each board by cell: medians over its processes, of many samples."""
    return [
        {
            cell["identity"]: cell["median_ns"]
            for cell in trials.load(os.path.join(trials.ROOT, "results", name))["cells"]
        }
        for name in BOARDS
    ]


def of_boards():
    """The same of the hot cells of boards, and the logarithms of each cell. Those that take
    other times in other places are left out: the first trials had one place."""
    cells = [
        [math.log(board["/".join(key[:6])]) for board in times_of_boards()]
        for key, cell in load("h200/core-matrix.json").items()
        if (cell[3] or 0) < PLACED
    ]
    return [
        (statistics.variance(logs), len(logs) - 1, math.exp(statistics.mean(logs)), 0, 0)
        for logs in cells
    ], cells


def held(cells, board, process):
    """The share of differences of two boards that intervals of 95 % hold, by the deviations of
    boards and of processes."""

    def within(logs):
        variance = 2 * sum(
            relative**2 + (ns / math.exp(logs[0])) ** 2 for relative, ns, _ in (board, process)
        )
        return [
            float(2 * stdtr(board[2], -abs(one - other) / math.sqrt(variance)) > 0.05)
            for one, other in itertools.combinations(logs, 2)
        ]

    return statistics.mean(itertools.chain.from_iterable(map(within, cells)))


def of_occasions(column):
    """(rows as alike has them, with the processes of an occasion; boards; occasions) of boards
    that have several."""
    # (start, {cell: (time, variance by its samples)}) of each process
    boards, rows, count = {}, [], 0
    for path in sorted(glob.glob(os.path.join(trials.ROOT, "results/**/*.json"), recursive=True)):
        if os.path.basename(path)[:-5] in DEFAULT_PLAN[column]:
            result = trials.load(path)
            started = datetime.datetime.fromisoformat(
                result["started_utc"].replace("Z", "+00:00")
            ).timestamp()
            boards.setdefault((result["device"]["uuid"], result["tool"]["git_commit"]), []).append(
                (
                    started,
                    {
                        "/".join(key[:6]): (cell[0], cell[4])
                        for key, cell in load(path).items()
                        if cell[2]
                    },
                )
            )
        elif path.endswith("/clock/trial.json") and column == "hot":
            processes = trials.load(path)["processes"]
            usual = statistics.median(process["sm_clock_mhz"] for process in processes)
            boards[path] = [
                (process["seconds"], {name: (ns, 0) for name, ns in process["times_ns"].items()})
                for process in processes
                if abs(process["sm_clock_mhz"] / usual - 1) < SAME_CLOCK
            ]
    for board, processes in list(boards.items()):
        groups = []
        for started, cells in sorted(processes, key=lambda process: process[0]):
            if not groups or started > groups[-1][0] + OCCASION_SECONDS:
                groups.append((started, []))
            groups[-1][1].append(cells)
        if len(groups) < 2:
            del boards[board]
            continue
        count += len(groups)
        for identity in sorted(set.intersection(*(set(cells) for _, cells in processes))):
            times = [[cells[identity] for cells in group] for _, group in groups]
            means = [statistics.mean(math.log(ns) for ns, _ in group) for group in times]
            rows.append(
                (
                    statistics.variance(means),
                    len(means) - 1,
                    math.exp(statistics.mean(means)),
                    statistics.mean(error for group in times for _, error in group),
                    min(map(len, times)),
                )
            )
    return rows, len(boards), count


def likelihood(rows, known, relative, ns, freedom, most=1e4):
    total = 0
    for variance, own, time, *known_parts in rows:
        between = relative**2 + (ns / time) ** 2
        prior = between + known(time, *known_parts)
        x = max(variance / prior, 1e-9)
        # Satterthwaite: the other part is taken as known
        degrees = min(most, freedom * (prior / between) ** 2)
        total += (
            math.lgamma((own + degrees) / 2)
            - math.lgamma(own / 2)
            - math.lgamma(degrees / 2)
            + own / 2 * math.log(own / degrees)
            + (own / 2 - 1) * math.log(x)
            - (own + degrees) / 2 * math.log1p(own * x / degrees)
            - math.log(prior)
        )
    return total


def fit(rows, known=lambda *_: 0, most=DEGREES_MOST, relative=None, degrees=None):
    """relative, ns and degrees (DEGREES_LEAST to `most`) of the greatest likelihood; what is
    given stays."""
    point = [relative or 5e-4, 2.0, degrees or min(6.0, most)]
    moving = [i for i, given in enumerate((relative, None, degrees)) if not given]
    best, step = likelihood(rows, known, *point), 0.5
    while step > 1e-3:
        moved = False
        for i, sign in itertools.product(moving, (1, -1)):
            tried = list(point)
            tried[i] *= math.exp(sign * step)
            tried[2] = min(max(tried[2], DEGREES_LEAST), most)
            value = likelihood(rows, known, *tried)
            if value > best + 1e-9:
                best, point, moved = value, tried, True
        step = step if moved else step / 2
    return [0 if point[0] < 1e-5 else point[0], 0 if point[1] < 0.1 else point[1], point[2]]


def together(changes):
    """Degrees of freedom of the mean square of changes in ns that share a part."""
    count = len(changes)
    square = sum(change**2 for change in changes) / count
    correlation = max(
        0, (sum(changes) ** 2 / count**2 - square / count) / (square - square / count)
    )
    return count / (1 + (count - 1) * correlation**2)


def known_of(deviation):
    """The variance of a cell by a deviation of processes, or by its samples where these say
    more; and by its places."""
    relative, ns, _ = deviation
    return lambda time, sampled, placed: max(relative**2 + (ns / time) ** 2, sampled) + placed


def derive_processes():
    """({column: of processes}, what they rest on)."""
    ten = [f"h200/processes/process-{number:02}.json" for number in range(1, 11)]
    hot_rows = alike(ten, "hot", settled=False)[0]
    cold_rows, cold_changes = alike(ten, "cold", settled=False)
    three = ("chips/h200/all-paths.json", "h200/all-paths.json", "h200/refill.json")
    copies_rows, copies_changes = alike(three, "copies", settled=False)
    cold_most = min(DEGREES_MOST, sum(map(together, cold_changes)) / len(ten))
    return {
        "hot": fit(hot_rows),
        "cold": fit(cold_rows, most=cold_most),
        "copies": fit(copies_rows, most=sum(map(together, copies_changes)), relative=1e-6),
    }, (
        f"process: {len(hot_rows)} hot and {len(cold_rows)} cold cells of 10 processes on one"
        f" H200, settled or not; {len(copies_rows)} with copies of 3 results"
    )


def derive_occasions(processes):
    """The same of occasions."""
    found, said = {}, {}
    for column in ("hot", "cold"):
        relative, ns, _ = processes[column]
        rows, boards, count = of_occasions(column)

        def known(time, sampled, n, relative=relative, ns=ns):
            return max(relative**2 + (ns / time) ** 2, sampled) / n

        found[column] = (*fit(rows, known, degrees=boards)[:2], boards)
        said[column] = f"on {boards} boards, {count} occasions"
    return {**found, "copies": found["hot"]}, (
        f"occasion: measured {said['hot']}; cold cells {said['cold']}"
    )


def derive_plans(processes):
    """The same of plans."""
    plans, changes_of_plans = [], []
    for names in (
        ("core-matrix", "all-paths"),
        ("core-matrix", "sizes"),
        ("core-matrix", "refill"),
        ("stencil-blocks", "all-paths"),
    ):
        rows, changes = alike([f"h200/{name}.json" for name in names], "hot")
        plans, changes_of_plans = plans + rows, changes_of_plans + changes[:1]
    plan = fit(plans, known_of(processes["hot"]), most=sum(map(together, changes_of_plans)))
    cold_plans, changes = alike(("h200/core-matrix-cold.json", "h200/sizes.json"), "cold")
    cold = fit(cold_plans, known_of(processes["cold"]), most=together(changes[0]))
    return {"hot": plan, "cold": cold, "copies": plan}, (
        f"plan: {len(plans)} hot cells of four pairs and {len(cold_plans)} cold of one, on an H200"
    )


def kinds_of_boards():
    """The boards of each kind with several, the largest kind first: names of their first results,
    by the time when these began."""
    kinds = {}
    for path in glob.glob(os.path.join(trials.ROOT, "results/h200/boards/*-first.json")):
        result = trials.load(path)
        kinds.setdefault(boards.kind_of(result), []).append(
            (result["started_utc"], os.path.relpath(path, os.path.join(trials.ROOT, "results")))
        )
    several = [[name for _, name in sorted(kind)] for kind in kinds.values() if len(kind) > 1]
    return sorted(several, key=len, reverse=True)


def of_kind(names):
    """The same rows of boards of one kind, and the logarithms of each cell."""
    results, rows, logs = [load(name) for name in names], [], []
    for key in results[0]:
        cells = [result.get(key) for result in results]
        if all(cell and cell[1] == cells[0][1] for cell in cells):
            logs.append([math.log(cell[0]) for cell in cells])
            time = math.exp(statistics.mean(logs[-1]))
            sampled = statistics.mean(cell[4] for cell in cells)
            rows.append((statistics.variance(logs[-1]), len(cells) - 1, time, sampled, 0))
    return rows, logs


def chosen_boards():
    """Short names of the boards that choose the deviation of a kind."""
    most = kinds_of_boards()[0]
    return [short(name) for name in most[:CHOOSING]]


def derive_kind(processes):
    """The deviation of boards of a kind, and what it rests on."""
    most, *others = kinds_of_boards()
    choose, check = most[:CHOOSING], most[CHOOSING:]
    degrees = len(choose) - 1
    relative, ns, _ = fit(of_kind(choose)[0], known_of(processes["hot"]), degrees=degrees)
    upper = math.sqrt(degrees / chi2.ppf(0.05, degrees))
    found = (relative * upper, ns * upper, degrees)
    said = [f"chosen by {', '.join(map(short, choose))}"]
    for names in (check, *others):
        held_of = statistics.mean(
            held(
                of_kind([name.replace("-first", last) for name in names])[1],
                found,
                processes["hot"],
            )
            for last in ("-first", "-last")
        )
        said.append(f"holds {100 * held_of:.1f} % between {', '.join(map(short, names))}")
    return found, "kind: " + "; ".join(said)


def short(name):
    return os.path.basename(name)[len("GPU-") :].split("-")[0]


def derive():
    """{(cause, column): (relative, ns, degrees)} and what each rests on."""
    processes, processes_basis = derive_processes()
    occasions, occasions_basis = derive_occasions(processes)
    plans, plans_basis = derive_plans(processes)
    rows, logs = of_boards()
    board = next(
        found
        for found in (
            fit(rows, known_of(processes["hot"]), degrees=tenths / 10)
            for tenths in range(30, 9, -1)
        )
        if held(logs, found, processes["hot"]) >= 0.95
    )
    furthest = (3 * max(map(statistics.stdev, logs)), 0, len(BOARDS) - 1)
    kind, kind_basis = derive_kind(processes)
    columns = ("hot", "cold", "copies")
    table = {
        "process": processes,
        "occasion": occasions,
        "later": dict.fromkeys(columns, LATER),
        "plan": plans,
        "kind": dict.fromkeys(columns, kind),
        "board": dict.fromkeys(columns, board),
        "furthest": dict.fromkeys(columns, furthest),
    }
    basis = [
        processes_basis,
        occasions_basis,
        "later: assumed: no board was measured hours apart",
        plans_basis,
        kind_basis,
        f"board: {len(rows)} cells of {len(BOARDS)} H200",
        "what boards add to cold cells, and plans and boards to cells with copies, is taken to"
        " be as in hot ones",
    ]
    return {(cause, column): table[cause][column] for cause in table for column in columns}, basis


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    table, basis = derive()
    for (cause, cache_state), values in table.items():
        numbers = ", ".join(f"{value:.2g}" for value in values)
        print(f"    [CAUSE_{cause.upper()}][CELLS_{cache_state.upper()}] = {{{numbers}}},")
    print("\n".join(basis))
    have = {key: row for key, row in trials.DEVIATIONS.items() if key[0] != "widest"}
    with open(HEADER, encoding="utf-8") as header:
        said = re.findall('_BASIS +"(.*)"', header.read())
    if sys.argv[1:] and (
        not all(any(text in line for line in basis) for text in said)
        or set(have) != set(table)
        or any(abs(a - b) > ROUNDING * b for key in table for a, b in zip(have[key], table[key]))
    ):
        sys.exit("process_deviation: harness/compare/deviation.c has another table")


if __name__ == "__main__":
    main()
