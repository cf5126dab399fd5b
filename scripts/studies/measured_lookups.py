#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Makes results/lookups/CARD.json: the measured lookups that `cbank advise` answers by where there
is no GPU. Proves how good these answers are.

usage: measured_lookups.py --write [--program PROGRAM]    # of the results of both GPUs
       measured_lookups.py --check --json FILE [--program PROGRAM]
       measured_lookups.py --later CARD RESULT --json FILE [--program PROGRAM]
       measured_lookups.py --show FILE

--check asks `cbank advise` about each committed lookup, without the measurements of the lookup
itself. `held back` says what else does not answer: other lookups in a table of that size, or with
entries of that width. The numbers of harness/advise/near.c were chosen by the H200 and checked by
the H100, each by its own results.

--later asks about lookups of a result that was measured later, of shapes that no committed lookup
has: all committed ones answer.

An answer is a best memory space, or a tie of three at most. Its regret is the time of the slowest
of these over that of the fastest memory space that was measured. Where one of these was not
measured in the lookup that is asked about, its regret is not known: such an answer counts as
none, and the table has their number. An answer is upside down where a memory space is called
slower and was measured faster than the slowest of the answer that was measured; that is not asked
where none of the answer was. The bound is broken where a memory space took less than what its
longest unit is said to be busy at least.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

CARDS = ("h200", "h100")
RESULTS = (
    "all-paths",
    "lookups",
    "small-bytes",
    "sweeps/copies",
    "sweeps/large",
    "sweeps/lookup",
    "sweeps/pressure",
    "sweeps/warps",
)
KEYS = ("workload", "path", "pattern", "elements", "block_size", "cache_state", "parameters")
NO_TABLE = "shared_fill_only"  # a path that looks nothing up
MOST = 3  # memory spaces of an answer


def configuration(cell):
    """What the lookups of a cell are, whatever memory space they read."""
    parameters = {key: value for key, value in cell["parameters"].items() if key != "table_bytes"}
    return (
        *(cell[key] for key in ("pattern", "elements", "block_size", "cache_state")),
        cell["table_bytes"],
        tuple(sorted(parameters.items())),
    )


def lookups_of(paths):
    """Lookups that were measured in two memory spaces or more, one of them global memory: the first
    result that has a time gives it."""
    found, files = collections.defaultdict(dict), {}
    for path in paths:
        for cell in trials.load(os.path.join(trials.ROOT, path))["cells"]:
            if (cell["workload"], cell["status"]) == ("lookup", "ok") and cell["path"] != NO_TABLE:
                key = configuration(cell)
                found[key].setdefault(cell["path"], cell)
                files.setdefault(key, path)
    for key, cells in found.items():
        if len(cells) > 1 and "global" in cells:
            row = {name: cells["global"][name] for name in ("identity", *KEYS, "array_bytes")}
            row["file"] = files[key]
            row["times"] = [
                {"path": path, "ns": round(cell["time_ns"]["value"], 1)}
                for path, cell in cells.items()
            ]
            yield row


def words(lookup):
    """The options of cbank advise for a lookup."""
    of = {**lookup["parameters"], "table_bytes": size(lookup)}
    said = [f"--{key.replace('_', '-')}={value}" for key, value in of.items()]
    return said + [
        f"--source={lookup['pattern']}",
        f"--elements={lookup['elements']}",
        f"--block-size={lookup['block_size']}",
        f"--cache-state={lookup['cache_state']}",
    ]


def advise(program, card, lookup, *more):
    done = trials.call(
        program, "advise", f"--card={card}", *words(lookup), *more, "--json", "-", statuses=(0,)
    )
    return json.loads(done.stdout)


def document(card, lookups):
    """`card` is the name that the card has itself."""
    return {
        "schema": {"name": "cbank-lookups", "version": "1.0"},
        "card": card,
        "lookups": lookups,
    }


def write(program):
    """Each lookup on one line."""
    for card in CARDS:
        lookups = []
        paths = (f"results/{card}/{name}.json" for name in RESULTS)
        for lookup in lookups_of(
            path for path in paths if os.path.exists(os.path.join(trials.ROOT, path))
        ):
            advice = advise(program, card, lookup)
            counts, name = advice["counts"], advice["card"]
            for key in ("addresses_per_load", "sectors_per_load", "wavefronts_per_load"):
                lookup[key] = round(counts[key], 4)
            lookups.append(lookup)
        whole = document(name, "LOOKUPS")
        lines = ",\n".join("  " + json.dumps(lookup) for lookup in lookups)
        path = os.path.join(trials.ROOT, f"results/lookups/{card}.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(whole, indent=1).replace('"LOOKUPS"', f"[\n{lines}\n ]") + "\n")


# ---- Checking


def is_same(left, right):
    return left["identity"] == right["identity"]


def size(lookup):
    return lookup["parameters"].get("table_bytes", lookup["array_bytes"])


def width(lookup):
    return lookup["parameters"].get("width_bytes", 4)


# What does not answer: of a lookup that is asked about, and one that was measured.
HELD_BACK = {
    "the lookup": is_same,
    "its table size": lambda asked, one: size(one) == size(asked),
    "its entry width": lambda asked, one: is_same(asked, one) or width(one) == width(asked),
}


def judge(advice, lookup):
    """An answer beside what was measured."""
    times = {time["path"]: time["ns"] for time in lookup["times"]}
    best = min(times.values())
    spaces = advice["ranking"]
    broken = [
        space["path"]
        for space in spaces
        if space["busy_ns"] and times.get(space["path"], best * 1e9) < space["busy_ns"]
    ]
    answer = advice["answer"]
    slowest = max((times[path] for path in answer if path in times), default=None)
    is_known = bool(answer) and all(path in times for path in answer)
    return {
        "answer": answer,
        "regret": slowest / best - 1 if is_known else None,
        "upside_down": [
            space["path"]
            for space in spaces
            if slowest is not None
            and space["standing"] == "slower"
            and times.get(space["path"], slowest) < slowest
        ],
        "broken": broken,
    }


def answers_of(program, card, lookups, answering):
    """An answer about each lookup, by those that answering(lookup) gives."""
    name = file_of(card)["card"]
    with tempfile.TemporaryDirectory() as folder:

        def ask(index):
            path = os.path.join(folder, f"{index}.json")
            trials.write_json(path, document(name, answering(lookups[index])))
            return judge(
                advise(program, card, lookups[index], f"--measured={path}"), lookups[index]
            )

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(ask, range(len(lookups))))


def file_of(card):
    return trials.load(f"{trials.ROOT}/results/lookups/{card}.json")


def committed(card):
    return file_of(card)["lookups"]


def held_out(program, card, held_back):
    """How good the answers are about committed lookups, without those that are held back."""
    lookups = committed(card)
    answers = answers_of(
        program,
        card,
        lookups,
        lambda asked: [one for one in lookups if not HELD_BACK[held_back](asked, one)],
    )
    return row_of(card, held_back, lookups, answers)


def later(program, card, path):
    """The same about lookups of a result, of shapes that no committed one has."""
    known = committed(card)
    names = {lookup["identity"] for lookup in known}
    lookups = [one for one in lookups_of([path]) if one["identity"] not in names]
    return row_of(
        card, "measured later", lookups, answers_of(program, card, lookups, lambda asked: known)
    )


def row_of(card, held_back, lookups, answers):
    said = sum(bool(answer["answer"]) for answer in answers)
    known = [pair for pair in zip(lookups, answers) if pair[1]["regret"] is not None]
    regrets = [answer["regret"] for _, answer in known]
    return {
        "asked": card,
        "held_back": held_back,
        "chose": card == "h200" and held_back in HELD_BACK,
        "lookups": len(answers),
        "answers": said,
        "regret_unknown": said - len(known),
        "regret_mean": statistics.fmean(regrets) if regrets else None,
        "regret_worst": max(regrets, default=None),
        "upside_down": sum(bool(answer["upside_down"]) for answer in answers),
        "most": max((len(answer["answer"]) for answer in answers), default=0),
        "places": sum(len(lookup["times"]) for lookup in lookups),
        "bound_broken": sum(len(answer["broken"]) for answer in answers),
        "worst": [
            {
                "identity": lookup["identity"],
                "answer": answer["answer"],
                "regret": round(answer["regret"], 4),
            }
            for lookup, answer in sorted(known, key=lambda row: -row[1]["regret"])[:3]
        ],
    }


def show(report):
    names = (
        "a best, or a tie of three",
        "regret not known",
        "regret, mean",
        "worst",
        "upside down",
    )
    print(f"| lookups of | held back | {' | '.join(names)} |")
    print("|---|---|" + "--:|" * len(names))
    for row in report["rows"]:
        chose = " (chose)" if row["chose"] else ""
        known = row["answers"] - row["regret_unknown"]
        regrets = f"{row['regret_mean']:.2%} | {row['regret_worst']:.1%}" if known else "- | -"
        print(
            f"| {row['asked'].upper()}{chose} | {row['held_back']} |"
            f" {known} of {row['lookups']}, {known / max(row['lookups'], 1):.0%} |"
            f" {row['regret_unknown']} | {regrets} | {row['upside_down']} |"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default=f"{trials.ROOT}/build/cbank")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--later", nargs=2, metavar=("CARD", "RESULT"))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--show", metavar="FILE")
    asked = parser.parse_args()
    if asked.write:
        write(asked.program)
    elif asked.check and asked.json:
        rows = [held_out(asked.program, card, held) for card in CARDS for held in HELD_BACK]
        trials.write_json(asked.json, {"rows": rows})
    elif asked.later and asked.json:
        card, path = asked.later
        row = later(asked.program, card, os.path.abspath(path))
        trials.write_json(asked.json, {"rows": [row]})
    elif asked.show:
        show(trials.load(asked.show))
    else:
        parser.error("--write, --check or --later with --json, or --show is needed")


if __name__ == "__main__":
    main()
