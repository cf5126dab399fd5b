# SPDX-License-Identifier: MIT
"""What the page says of characterizations, cards, comparisons and explanations."""

from figures import documents, panels

from . import tables
from .given import cell_name
from .tables import Table, Value, head, words

# Keys of a number that say what it is of.
WHERE = {"level": "level {}", "stride_bytes": "{} bytes apart", "distinct": "{} distinct", "warps": "{} warps",
         "before": "after a {}"}
KNOWN = {"name", "value", "low", "high", "unit", "samples", "method", "reason"}
LEVEL_KEYS = ("latency", "capacity_bytes", "fits_bytes", "fetch_bytes", "line_bytes", "ways", "sets")


# -- characterization ---------------------------------------------------------------------------------------------


def where(number):
    """What a number or a verdict is of."""
    return ", ".join("1 warp" if (key, its) == ("warps", 1) else WHERE.get(key, f"{key} {{}}").format(its)
                     for key, its in number.items() if key not in KNOWN)


def value_text(number):
    if number["value"] is None:
        return tables.NONE
    inside = tables.interval(number["low"], number["high"]) if number["low"] != number["high"] else ""
    return f"{tables.quantity(number['value'])} {inside}".strip()


def latency_table(one):
    rows = []
    for experiment in one.content["experiments"]:
        if experiment["name"].startswith("latency_"):
            found = [number for number in experiment["numbers"] if number["name"] == "latency"]
            text = value_text(found[0]) if found else experiment["status"]
            rows.append([head(experiment["path"]), Value(text), words(experiment["what"]),
                         words(experiment["reason"] or (found[0]["reason"] if found else None))])
    return Table(f"Latency of a load, cycles: {one.label}", ["path", "cycles [95 %]", "of", "reason"], rows)


def levels_tables(one):
    made = []
    for experiment in one.content["experiments"]:
        levels = (experiment.get("geometry") or {}).get("levels") or []
        rows = [[head(f"level {place}"), *(Value(value_text(level[key])) for key in LEVEL_KEYS),
                 words(level.get("replacement_name"))] for place, level in enumerate(levels, 1)]
        if rows:
            made.append(Table(f"{experiment['name']}: {experiment['what']}",
                              ["level", "latency, cycles, clock included", "size, bytes", "hits up to, bytes",
                               "fetched, bytes", "line, bytes", "ways", "sets", "replacement"], rows,
                              [line for place, level in enumerate(levels, 1) for line in not_found(place, level)]))
    return made


def not_found(place, level):
    """Lines that say why there is no number of a level; reasons that several numbers have once."""
    reasons = panels.grouped([key for key in LEVEL_KEYS if level[key]["value"] is None and level[key]["reason"]],
                             lambda key: level[key]["reason"])
    return [f"level {place}, no {', '.join(key.removesuffix('_bytes') for key in keys)}: {reason}"
            for reason, keys in reasons.items()]


def verdict_table(one):
    rows = []
    for experiment in one.content["experiments"]:
        for verdict in experiment["verdicts"]:
            rows.append([head(experiment["name"]), words(verdict["name"].replace("_", " ")),
                         words(where(verdict)),
                         words(verdict["value"] or "unclear"), words(verdict["reason"])])
    return Table(f"Verdicts: {one.label}", ["experiment", "question", "where", "answer", "since"], rows)


def experiment_tables(one):
    """Every number of every experiment, with how it was found."""
    made = []
    for experiment in one.content["experiments"]:
        if not experiment["numbers"]:
            continue
        rows = [[head(number["name"]), words(where(number)), Value(value_text(number)), words(number["unit"]),
                 Value(tables.count(number["samples"])), words(number["reason"])] for number in experiment["numbers"]]
        methods = dict.fromkeys(f"{number['name']}: {number['method']}" for number in experiment["numbers"]
                                if number["method"])
        made.append(Table(f"{experiment['name']}: {experiment['what']}",
                          ["number", "where", "value [95 %]", "unit", "samples", "reason"], rows, methods))
    return made


def skipped_lines(one):
    return [f"{experiment['name']} {experiment['status']}: {experiment['reason']}"
            for experiment in one.content["experiments"] if experiment["status"] != "ok"]


def characterization(one):
    made = [latency_table(one), *levels_tables(one), verdict_table(one)]
    return [table for table in made if table.rows]


# -- card ---------------------------------------------------------------------------------------------------------


def card_table(one):
    """Where each value of a card is from."""
    rows = []
    for key, origin in (one.content.get("origins") or {}).items():
        if isinstance(origin, dict):
            value = one.content.get(key)
            rows.append([head(key), Value(tables.quantity(value)) if is_number(value) else
                         words(value if isinstance(value, str) else None), words(origin.get("from")),
                         Value(tables.interval(origin.get("low"), origin.get("high")) or tables.NONE),
                         words(origin.get("method"))])
    return Table(f"Card {one.content['name']}: values and their origins", ["key", "value", "from", "95 %", "method"],
                 rows)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# -- fleet --------------------------------------------------------------------------------------------------------


def fleet_summary(one):
    """As cbank fleet says it."""
    content = one.content
    failing = sum(finding["fails"] for finding in content["findings"])
    return (f"{content['answered']} of {content['expected'] or content['answered']} GPUs answered in the night from "
            f"{content['night']['first_utc']}, " + (tables.plural(failing, "finding") if failing else "nothing is worse"))


def fleet_table(one):
    rows = [[head(finding["kind"]), words(finding["who"]),
             Value(tables.NONE if finding["change"] is None else f"{100 * finding['change']:+.2f}"),
             words(finding["since_utc"]), words(finding["what"]),
             words("; ".join(filter(None, ("slowly, from then on" if finding["drift"] else None, finding["why"]))))]
            for finding in one.content["findings"]]
    return Table(f"Findings of {one.label}", ["verdict", "GPUs", "change of time, %", "since", "what", "changed then"], rows)


# -- history ------------------------------------------------------------------------------------------------------

CHANGES_MAX = 300  # that are listed


def history_summary(one):
    content = one.content
    gpus = {(row["device"], row["uuid"]) for row in content["rows"]}
    runs = {(row["file"], row["started_utc"], row["uuid"]) for row in content["rows"]}
    changes = content["changes"]
    return (f"{tables.plural(len(runs), 'run')} on {tables.plural(len(gpus), 'GPU')}: " +
            (f"{tables.plural(len(changes), 'change')} of a level, the latest since {changes[0]['since_utc']}" if changes
             else "no level changed"))


def gpu_text(row):
    return " ".join(filter(None, (row["host"], row["slot"], row["uuid"] or row["device"])))


def history_tables(one):
    changes, forgotten = one.content["changes"], one.content["forgotten"]
    more = len(changes) - CHANGES_MAX
    rows = [[head(change["since_utc"]), words(gpu_text(change)), words(change["cell"]), Value(f"{100 * change['change']:+.2f}"),
             Value(tables.interval(100 * change["ci_low"], 100 * change["ci_high"], lambda its: f"{its:+.2f}")),
             words(change["driver_before"]), words(change["driver_after"]), words(change["with"])] for change in changes[:CHANGES_MAX]]
    gone = [[head(run["started_utc"]), words(run["uuid"]), words(run["file"]), words(run["forgotten_utc"]), words(run["why"])]
            for run in forgotten]
    made = [Table(f"Levels that changed: {one.label}", ["since", "GPU", "cell", "change, %", "95 % interval, %", "driver before",
                                                        "driver since", "changed with it"], rows,
                  [f"and {more} earlier ones"] if more > 0 else []),
            Table(f"Runs that cbank forget took out: {one.label}", ["started", "UUID", "file", "forgotten", "why"], gone)]
    return [table for table in made if table.rows]


# -- comparison ---------------------------------------------------------------------------------------------------


def link(one, cell):
    return one.href(cell) if one else None


def difference_text(difference):
    may = "" if difference["allowed"] else ", which is not allowed to differ (cbank compare --allow-diff)"
    return f"{difference['facet']} differs: {difference['base'] or 'not known'} and " \
           f"{difference['new'] or 'not known'}{may}"


def settle_text(cell):
    processes = cell["processes_to_settle"]
    return f"{processes} processes a side would settle it" if processes else None


def code_text(cell):
    """How the code differs, as far as the results hold it."""
    code = cell.get("code")
    if not code:
        return "the SASS differs" if cell["sass_differs"] else None
    opcodes = ", ".join(f"{row['opcode']} {row['base']} to {row['new']}" for row in code["opcodes"])
    said = [f"the SASS differs: {code['base_instructions']} and {code['new_instructions']} instructions", opcodes]
    if code["first_other_opcode"]:
        said.append(f"the first other opcode is {code['first_other_opcode']}, {code['base_opcode'] or 'the end'} and "
                    f"{code['new_opcode'] or 'the end'}")
    else:
        said.append("the same opcodes in the same order: operands or scheduling differ")
    return ", ".join(filter(None, said))


def comparison_table(name, document, base, new):
    rows = []
    for cell in document.content["cells"]:
        ratio = cell["ratio"] or {}
        old, now = link(base, cell), link(new, cell)
        rows.append([head(cell_name(cell), now or old), words(cell["verdict"]),
                     Value(tables.time(cell["base_ns"]), old), Value(tables.time(cell["new_ns"]), now),
                     Value(f"{ratio['value']:.4f}" if ratio else tables.NONE, now or old if ratio else None),
                     Value(ratio_interval(ratio), now or old if ratio else None),
                     words("; ".join(filter(None, (counters_text(cell), cell["note"],
                                                   code_text(cell),
                                                   "interval wider than the threshold" if cell["underpowered"] else None,
                                                   settle_text(cell)))))])
    options = document.content["options"]
    return Table(f"Comparison of {name}: worst first",
                 ["cell", "verdict", "base, time", "new, time", "new / base, ×",
                  f"{100 * options.get('confidence', 0.95):g} % interval, ×",
                  "notes"], rows,
                 [f"equivalence band: {1 - options['threshold']:g} to {1 + options['threshold']:g}; the same where the "
                  "whole interval is in it"])


def ratio_interval(ratio):
    return tables.interval(ratio.get("ci_low"), ratio.get("ci_high"), lambda its: f"{its:.4f}") or tables.NONE


def counters_text(cell):
    return ", ".join(f"{counter['name']} {counter_side(counter['base'])} → {counter_side(counter['new'])}"
                     for counter in cell["counters"] or [])


def counter_side(value):
    return tables.count(documents.number(value))


# -- explanation --------------------------------------------------------------------------------------------------


def explanation_lines(result):
    summary = result["summary"]
    made = []
    for key, text in (("long", "over"), ("short", "up to")):
        part = summary.get(key) or {}
        if part.get("cells"):
            made.append(f"cells {text} {tables.time(summary['long_ns'])}: "
                        f"{tables.of_all(part['within'], part['cells'])} within {100 * summary['limit']:g} %; "
                        "largest remainder "
                        f"{tables.signed_percent(part['largest_remainder'])}, {part['largest_cell']}")
    return made


def explanation_table(result, one):
    rows = []
    for cell in result["cells"]:
        modelled = cell["modelled"]
        if not modelled or documents.time_of(cell)[0] is None:
            continue
        href = link(one, cell)
        rows.append([head(cell_name(cell), href), Value(tables.time(documents.time_of(cell)[0])),
                     Value(tables.time(modelled["time_ns"])), Value(tables.signed_percent(cell["remainder"])),
                     words(" + ".join(modelled["bound_by"])), words("; ".join(map(reason_text, cell["reasons"])))])
    heads = ["cell", "in the file, modelled" if result["modelled_time"] else "measured", "by the card", "remainder",
             "bound by", "reasons"]
    if not any(cell["reasons"] for cell in result["cells"]):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return Table(f"Explanation of {one.shown_name if one else result['file']}",
                 heads, rows,
                 ["remainder: measured less modelled, as a share of measured"])


def reason_text(reason):
    return reason if isinstance(reason, str) else reason.get("text") or reason.get("name") or ""


def explained_results(given, results):
    """[(explanation's result, the result that it is of or None)] of explanations that were given or made."""
    made = []
    for one in given:
        if one.kind == "explanation":
            for result in one.content["results"]:
                same = [other for other in results if other.path == result["file"]]
                made.append((result, same[0] if same else None))
    explained = {other.label for _, other in made if other}
    made += [(one.explanation.content["results"][0], one) for one in results
             if one.explanation and one.label not in explained]
    return made
