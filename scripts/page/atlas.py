# SPDX-License-Identifier: MIT
"""Chips beside each other: a table of facts, each with its interval and its source, and what was claimed of the path."""

from figures import capacity, documents, panels

import claims

from . import tables
from .tables import Table, head, words

# A fact: what it is called, the experiment and number of a characterization, the key of a card. Of "level" I the
# number is one of a geometry.
FACTS = (
    ("first level, bytes", ("geometry_constant", 1, "capacity_bytes"), "levels.idc.capacity_bytes"),
    ("first level, line, bytes", ("geometry_constant", 1, "line_bytes"), "levels.idc.line_bytes"),
    ("first level, ways", ("geometry_constant", 1, "ways"), "levels.idc.ways"),
    ("first level, replacement", ("geometry_constant", 1, "replacement_name"), "levels.idc.replacement"),
    ("first level, latency, cycles", ("latency_constant", None, "latency"), "levels.idc.latency_cycles"),
    ("second level, bytes", ("geometry_constant_modules", 2, "capacity_bytes"), "levels.gcc.capacity_bytes"),
    ("second level, line, bytes", ("geometry_constant_modules", 2, "line_bytes"), "levels.gcc.line_bytes"),
    ("second level, ways", ("geometry_constant_modules", 2, "ways"), "levels.gcc.ways"),
    ("second level, replacement", ("geometry_constant_modules", 2, "replacement_name"), "levels.gcc.replacement"),
    ("second level, latency, cycles", ("geometry_constant_modules", 2, "latency"), "levels.gcc.latency_cycles"),
    ("second level, SMs that share it", None, "levels.gcc.sms"),
    ("a further address, latency, cycles", ("serialization_constant", None, "latency_per_extra_address"), None),
    ("a further address, cycles of an SM", ("serialization_constant", None, "cycles_per_load_per_extra_address"), "levels.idc.request_cycles"),
    ("constant, loads a cycle and SM", ("throughput_constant", None, "loads_per_cycle"), None),
    ("uniform path, latency, cycles", ("latency_constant_uniform", None, "latency"), None),
    ("uniform path, loads a cycle and SM", ("throughput_constant_uniform", None, "loads_per_cycle"), None),
    ("L1, latency, cycles", ("latency_global", None, "latency"), None),
    ("L1, bytes that hit", ("geometry_global", 1, "fits_bytes"), None),
    ("L2, latency, cycles", ("latency_global_l2", None, "latency"), None),
    ("L2, bytes", None, "l2_bytes"),
    ("launch, ns", None, "launch_ns"),
)
# Names of a card's `numbers`, which hold what further sources say, and the fact that they are of, by level.
OTHERS = {("latency", 1): "first level, latency, cycles", ("latency", 2): "second level, latency, cycles",
          ("capacity", 1): "first level, bytes", ("capacity", 2): "second level, bytes",
          ("capacity_bytes", 1): "first level, bytes", ("capacity_bytes", 2): "second level, bytes"}
SOURCES = ("published", "characterized", "counted", "fitted", "device")  # of a card; what it assumes is no fact
STRIDE = 4  # bytes between addresses
MARK = "\N{WARNING SIGN}"


class Said:
    """What one source says of a fact: a value with its interval, or why there is none."""

    def __init__(self, value, low, high, source, reason=None):
        self.value, self.low, self.high, self.source, self.reason = value, low, high, source, reason

    def agrees(self, other):
        """Intervals that touch; of names the same."""
        if isinstance(self.value, str) or isinstance(other.value, str):
            return self.value == other.value
        ends = [(its.value if its.low is None else its.low, its.value if its.high is None else its.high) for its in (self, other)]
        return max(low for low, _ in ends) <= min(high for _, high in ends)

    def text(self):
        if isinstance(self.value, str):
            return self.value
        inside = tables.interval(self.low, self.high) if self.low != self.high else ""
        return f"{tables.quantity(self.value)} {inside}".strip()


class Chip:
    """All files of one chip: its name, and {fact: [Said]}."""

    def __init__(self, name):
        self.name, self.files, self.facts = name, [], {}

    def add(self, fact, said):
        known = self.facts.setdefault(fact, [])
        if not any(its.source == said.source and its.value == said.value for its in known):
            known.append(said)

    def results(self):
        return [one for one in self.files if one.kind == "result"]


# -- which chips --------------------------------------------------------------------------------------------------


def chips_of(files):
    """Chips by the device of results and characterizations that were measured; a card joins that of its evidence or name,
    or is a chip by itself."""
    found = {}
    for one in files:
        if one.kind in ("result", "characterization") and not one.modelled:
            found.setdefault(one.content["device"]["name"], []).append(one)
    made = []
    for name, its in found.items():
        chip = Chip(name)
        chip.files = its
        made.append(chip)
    for one in (one for one in files if one.kind == "card"):
        chip = of_card(one, made) or Chip(one.content["name"])
        chip.files.append(one)
        if chip not in made:
            made.append(chip)
    for chip in made:
        collect(chip)
    return made


def of_card(one, chips):
    hashes = {its["sha256"] for its in (one.content.get("evidence") or {}).values()}
    name = one.content["name"].upper().split()
    return next((chip for chip in chips if any(its.sha256 in hashes for its in chip.files)), None) or \
        next((chip for chip in chips if all(word in chip.name.upper().split() for word in name)), None)


def collect(chip):
    for one in chip.files:
        if one.kind == "characterization":
            of_characterization(chip, one)
        elif one.kind == "result":
            of_result(chip, one)
    for one in chip.files:
        if one.kind == "card":
            of_card_values(chip, one)


def of_characterization(chip, one):
    experiments = {entry["name"]: entry for entry in one.content["experiments"]}
    source = f"characterized, {one.label}"
    for fact, where, _ in FACTS:
        if where and where[0] in experiments:
            for width, number in numbers_of(experiments[where[0]], *where[1:]):
                if where[1] and where[2] == "latency":
                    number = without_clock(number, capacity.clock(experiments, experiments[where[0]]))
                chip.add(fact + (f", {width} bytes wide" if width else ""), Said(number["value"], number["low"], number["high"], source, number["reason"]))
    if one.content["device"].get("l2_bytes"):
        chip.add("L2, bytes", Said(one.content["device"]["l2_bytes"], None, None, BY_DRIVER))


def without_clock(number, cycles):
    """Of a walk, whose accesses are timed one by one: what reading the clock adds is taken off."""
    if cycles is None:
        return {**number, "value": None, "reason": "what the clock adds to a timed access is not known"}
    return {**number, **{key: None if number[key] is None else number[key] - cycles for key in ("value", "low", "high")}}


def numbers_of(experiment, level, name):
    """[(bytes of an element or None, number)]: of a level, or those of the experiment; of several warps the fastest."""
    if level is not None:
        levels = (experiment.get("geometry") or {}).get("levels") or []
        if len(levels) < level:
            return []
        if name.endswith("_name"):
            its = levels[level - 1].get(name)
            return [(None, {"value": its, "low": None, "high": None, "reason": None})] if its else []
        return [(None, levels[level - 1][name])]
    found = [number for number in experiment["numbers"] if number["name"] == name and number.get("stride_bytes", STRIDE) == STRIDE]
    made = []
    for width, numbers in panels.grouped(found, lambda number: number.get("width_bytes")).items():
        known = [number for number in numbers if number["value"] is not None]
        made.append((width, max(known, key=lambda number: number["value"]) if name == "loads_per_cycle" and known else numbers[0]))
    return made


BY_DRIVER, BY_RESULTS = "as the driver says", "results; in brackets the least and the most of them"


def of_result(chip, one):
    launch = one.content["device"].get("launch_ns")
    if launch:
        known = chip.facts.setdefault("launch, ns", [])
        mine = next((its for its in known if its.source == BY_RESULTS), None)
        if mine:  # of many files the least and the largest
            mine.low, mine.high = min(mine.low, launch), max(mine.high, launch)
        else:
            known.append(Said(launch, launch, launch, BY_RESULTS))


def of_card_values(chip, one):
    content = one.content
    origins = content.get("origins") or {}
    levels = {f"levels.{level['name']}.{key}": value for level in content.get("levels") or [] for key, value in level.items()}
    for fact, _, key in FACTS:
        origin = origins.get(key) or {}
        value = levels.get(key, content.get(key)) if key else None
        if value is None or origin.get("from") not in SOURCES or \
                (origin["from"] != "published" and any(its.value is not None for its in chip.facts.get(fact, ()))):
            continue
        of = f": {origin['method']}" if origin["from"] == "published" and origin.get("method") else ""
        chip.add(fact, Said(value, origin.get("low"), origin.get("high"), BY_DRIVER if origin["from"] == "device" else
                                f"{'' if of else 'card, '}{origin['from']}{of}"))
    for number in content.get("numbers") or []:
        fact = OTHERS.get((number["name"], number.get("level")))
        if fact and number["experiment"] == "published":
            chip.add(fact, Said(number["value"], number["low"], number["high"], f"published: {number['method'] or ''}".rstrip(": "), number.get("reason")))


# -- tables -------------------------------------------------------------------------------------------------------


def facts_table(chips):
    """Facts in rows, chips in columns; a value that another source of its chip contradicts is marked, and told below."""
    names = list(dict.fromkeys([fact for fact, _, _ in FACTS] + [fact for chip in chips for fact in chip.facts]))
    rows, notes, numbers = [], [], {}
    for fact in names:
        if not any(said.value is not None for chip in chips for said in chip.facts.get(fact, ())):
            continue
        values = []
        for chip in chips:
            values.append(words(fact_text(chip, fact, notes, numbers)))
        rows.append([head(fact), *values])
    sources = [f"({number}) {source}" for source, number in numbers.items()]
    return Table("Chips beside each other", ["fact", *(chip.name for chip in chips)], rows, [*notes, *sources])


def fact_text(chip, fact, notes, numbers):
    said = chip.facts.get(fact, [])
    known = [its for its in said if its.value is not None]
    if not known:
        why = next((its.reason for its in said if its.reason), None)
        if why:
            notes.append(f"{chip.name}, {fact}: not known, {why}")
        return None
    marks = [numbers.setdefault(its.source, len(numbers) + 1) for its in known]
    apart = [its for its in known[1:] if not its.agrees(known[0])]
    if apart:
        notes.append(f"{MARK} {chip.name}, {fact}: sources disagree: " +
                     "; ".join(f"{its.text()} ({its.source})" for its in known))
    return (f"{MARK} " if apart else "") + f"{known[0].text()} " + "".join(f"({mark})" for mark in marks)


def boards_lines(chips):
    """What is of several GPUs, drivers or commits, and is nowhere put together without this line."""
    made = []
    for chip in chips:
        of = [one for one in chip.files if one.kind != "card"]
        for what, key in (("boards", lambda one: one.content["device"].get("uuid")),
                          ("drivers", lambda one: one.content["device"].get("driver")),
                          ("commits of cbank", lambda one: (one.content.get("tool") or {}).get("git_commit"))):
            by_value = panels.grouped([one for one in of if key(one)], key)
            if len(by_value) > 1:
                made.append(f"{chip.name} is of {len(by_value)} {what}: " + "; ".join(
                    f"{value[:12]} ({', '.join(one.label for one in its)})" for value, its in by_value.items()))
    return made


# -- claims -------------------------------------------------------------------------------------------------------


def claims_table(chips):
    """A claim in a row, a chip in a column: the figure there and the verdict."""
    found = [(chip, results) for chip in chips if chip.results() and (results := claimed(chip))]
    rows = []
    for row in claims.ROWS:
        texts = [row.columns(results) for _, results in found]
        if any(text[2] != "missing" for text in texts):
            rows.append([head(row.claim), words(claims.SOURCES[row.source]), words(None if row.published == "-" else row.published), words(row.limits()),
                         *(words(None if text[2] == "missing" else f"{text[4]}: {text[2]}") for text in texts)])
    return Table("What was claimed of constant memory, and what each chip says",
                 ["claim", "said of", "published", "holds if", *(chip.name for chip, _ in found)], rows,
                 ["an interval is of 95 %, of a quotient the quotients of opposite ends; a figure without one is a counter"])


def claimed(chip):
    """The figures of the GPU that most of the results are of."""
    boards = panels.grouped(chip.results(), lambda one: one.content["device"].get("uuid"))
    of = max(boards.values(), key=len)
    made = claims.Results(())
    for one in of + [one for one in chip.files if one.kind == "characterization"]:
        made.take(one.path, one.content)
    return made


# -- folders ------------------------------------------------------------------------------------------------------


def check_folders(folders):
    """folders: {folder: [Given]}. A folder is of one GPU model and one driver, and a model has one folder."""
    seen = {}
    for folder, files in folders.items():
        of = [one for one in files if one.kind in ("result", "characterization") and not one.modelled]
        if not of:
            continue
        for what, key in (("GPU", "name"), ("driver", "driver")):
            other = next((one for one in of if one.content["device"].get(key) != of[0].content["device"].get(key)), None)
            if other:
                raise documents.WrongFile(f"{folder} mixes {what}s: {other.path} is of {other.content['device'].get(key)}, {of[0].path} of "
                                          f"{of[0].content['device'].get(key)}; move it to a folder of its own, or name the files")
        name = of[0].content["device"]["name"]
        if name in seen:
            raise documents.WrongFile(f"{folder} and {seen[name]} are both of {name} ({of[0].path}); give one of them, or name the files")
        seen[name] = folder
