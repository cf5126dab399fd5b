# SPDX-License-Identifier: MIT
"""Adds to a card the numbers that only results show: bandwidths, launches, and the life of blocks.

`cbank characterize --new-card` measures the other numbers. Each number is a slope between two cells, or a rate of one cell;
nothing is fitted. Give results/NAME/{sizes,serialization,stencil-blocks}.json and what else there is of the same GPU.
"""

import argparse
import json
import statistics

from .errors import Failure

SECTOR_BYTES, WARP_THREADS, BLOCK = 32, 32, 1024
STREAM = "add/global/per_block/{}/1024/hot"


class Measured:
    """The cells of several results of one chip, by identity: the first of each."""

    def __init__(self, card, results):
        self.numbers = {key: entry["value"] for key, entry in card["model"].items() if entry}
        self.highest = {key: entry["high"] for key, entry in card["model"].items() if entry}
        self.cells, self.launches = {}, []
        for result in results:
            self.launches += [result["device"]["launch_ns"]] * (result["device"]["launch_ns"] is not None)
            for cell in result["cells"]:
                if cell["status"] == "ok" and cell["time_ns"]["value"]:
                    self.cells.setdefault(cell["identity"], cell)

    def ns(self, identity):
        return self.cells[identity]["time_ns"]["value"]

    def counter(self, identity, name):
        """The reading of a counter; KeyError if it was not read."""
        value = self.cells[identity]["counters"][name]["value"]
        if value is None:
            raise KeyError(name)
        return value

    def life(self, few, many):
        """ns that a wave of blocks takes, two blocks of 1024 on each SM, beside issuing the instructions of one of them."""
        warps = self.numbers["warps_per_sm"]
        waves = (many - few) / (self.numbers["sm_count"] * warps * WARP_THREADS)
        few, many = STREAM.format(few), STREAM.format(many)
        issued = (self.counter(many, "instructions") - self.counter(few, "instructions")) / self.numbers["sm_count"]
        own = issued / self.numbers["issue_per_cycle"] / (warps * WARP_THREADS / BLOCK)
        return (self.ns(many) - self.ns(few) - own * 1000 / self.numbers["sm_clock_mhz"]) / waves

    def rates(self, *names, bytes_each=1):
        """Bytes per ns that the counters saw, of every cell that has them."""
        found = {}
        for identity in self.cells:
            try:
                found[identity] = sum(self.counter(identity, name) for name in names) * bytes_each / self.ns(identity)
            except KeyError:
                continue
        return found


def launch(of):
    return statistics.median(of.launches), of.launches, "one more launch of an empty kernel, median over the results"


def block_start(of):
    named = "stencil_1d/{}/lockstep/16777216/32/hot"
    found = [of.ns(named.format(path)) / (16777216 / 32) for path in ("constant", "param", "shared", "global")]
    return min(found), found, f"time over blocks of {named.format('PATH')}, the shortest"


def block_l2(of):
    return (of.life(1000000, 2000000), [of.life(540672, 1000000), of.life(270336, 2000000)],
            f"slope between {STREAM.format('1000000 and 2000000')}, in waves of blocks, less issue; interval: other sizes")


def block_dram(of):
    return (of.life(25600000, 51200000), [of.life(12800000, 25600000), of.life(8000000, 12800000)],
            f"slope between {STREAM.format('25600000 and 51200000')}, in waves of blocks, less issue; interval: other sizes")


def constant_fill(of):
    named = "add/constant/pseudo_random/{}/1024/hot"
    found = [of.ns(named.format(n)) * of.cells[named.format(n)]["sm_clock_mhz"] / 1000 * of.numbers["sm_count"] /
             of.counter(named.format(n), "idc_misses_new") for n in (51200000, 25600000, 12800000)]
    return found[0], found, f"cycles of all SMs over idc_misses_new of {named.format(51200000)}; interval: fewer elements"


def l2_line(of):
    named = "add/global_l2/distinct/12800000/1024/hot/distinct=1/stride_bytes={}"
    found = [(of.ns(named.format(n)) - of.numbers["launch_ns"]) / (12800000 / WARP_THREADS) for n in (4, 16, 64, 128)]
    return statistics.median(found), found, f"time over warp loads of {named.format('4, 16, 64, 128')}, less a launch"


def l2_bandwidth(of):
    rates = of.rates("l2_sectors", bytes_each=SECTOR_BYTES)
    streamed = max(rate for identity, rate in rates.items() if identity.startswith("add/global/per_block/"))
    return streamed, [max(rates.values())], "largest rate of l2_sectors that add/global/per_block reached; high: that any cell did"


def dram_bandwidth(of):
    most = max(of.rates("dram_read_bytes", "dram_write_bytes").values())
    return most, [of.highest.get("dram_bytes_per_ns", most)], "largest rate that a cell reached by the counters; high: published"


# In this order: later ones need launch_ns.
NUMBERS = {"launch_ns": launch, "block_start_ns": block_start, "block_l2_ns": block_l2, "block_dram_ns": block_dram,
           "constant_fill_cycles": constant_fill, "l2_line_ns": l2_line, "l2_bytes_per_ns": l2_bandwidth,
           "dram_bytes_per_ns": dram_bandwidth}


def rounded(value):
    return float(f"{value:.5g}")


def add_numbers(card, results, paths):
    """Fills the card's numbers; returns the keys that the results say nothing of."""
    of, unknown = Measured(card, results), []
    for key, measure in NUMBERS.items():
        try:
            value, others, method = measure(of)
        except (KeyError, ValueError, statistics.StatisticsError):
            unknown.append(key)
            continue
        card["model"][key] = {"value": rounded(value), "low": rounded(min([value, *others])),
                              "high": rounded(max([value, *others])), "from": "results", "method": method, "evidence": paths}
        of.numbers[key] = value
    return unknown


def text_of(card):
    """A card as JSON: a line for each entry, so that a change is a change of lines."""
    lines = []
    for key, value in card.items():
        if isinstance(value, (dict, list)) and value and key != "schema":
            pairs = [f"{json.dumps(name)}: {json.dumps(inner)}" for name, inner in value.items()] if isinstance(value, dict) \
                else [json.dumps(inner) for inner in value]
            opened, closed = "{}" if isinstance(value, dict) else "[]"
            lines.append(f"  {json.dumps(key)}: {opened}\n    " + ",\n    ".join(pairs) + f"\n  {closed}")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="cbank cards", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--card", required=True, help="card that cbank characterize --new-card made")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where the card goes")
    parser.add_argument("results", metavar="RESULT", nargs="+", help="results of that GPU")
    asked = parser.parse_args(words)
    documents = []
    for path in [asked.card, *asked.results]:
        try:
            with open(path, encoding="utf-8") as file:
                documents.append(json.load(file))
        except (OSError, ValueError) as error:
            raise Failure(f"{path}: {error}") from error
    card, results = documents[0], documents[1:]
    others = {result["device"]["name"] for result in results if not result["device"]["name"].endswith(card["name"])}
    if others:
        raise Failure(f"{asked.card} is a card of {card['name']}, not of {', '.join(sorted(others))}")
    unknown = add_numbers(card, results, asked.results)
    with open(asked.output, "w", encoding="utf-8") as file:
        file.write(text_of(card))
    print(f"{asked.output}: {len(NUMBERS) - len(unknown)} numbers of results" +
          (f"; the results say nothing of {', '.join(unknown)}" if unknown else ""))
    return 0
