# SPDX-License-Identifier: MIT
"""What stands on top of the page: the verdict in words with an icon, the chart and the three sentences that matter most."""

from collections import namedtuple

from . import others, results, tables

# kind: the class of its colour; icon: what says the same without colour.
Verdict = namedtuple("Verdict", "kind icon word text href chart sentences")

ICONS = {"bad": ("\N{HEAVY BALLOT X}", "Worse"), "doubt": ("\N{WARNING SIGN}", "With care"), "good": ("\N{HEAVY CHECK MARK}", "Good")}
# Figures by how much they say of what a report is of.
FIRST = ("drivers", "fleet", "history", "chips", "generations", "matrix", "serialization", "capacity", "sweep", "parts")
SENTENCES = 3
WORSE = ("regressed",)


def of(files, comparisons, found):
    """The worst of all that the page says, and what to look at first."""
    kind, text, href = worst(files, comparisons)
    pages = {name: drawn for name, _, drawn, _ in found if drawn}
    order = [name for name in FIRST if name in pages]
    best = [min(pages[name], key=lambda drawn: rank_of(drawn, pages[name])) for name in order[:SENTENCES]]
    return Verdict(kind, *ICONS[kind], text, href, best[0] if best else None, [drawn.summary for drawn in best])


def rank_of(drawn, others):
    """Of the pages of a figure those first that are a whole file's, and of caches as a program finds them."""
    of = drawn.page.files
    return sum(other.page.files == of for other in others) > 1, {row.get("regime") for row in drawn.page.rows} == {"cold"}


def worst(files, comparisons):
    """(kind, words, where that is told): findings before doubts, doubts before what is well."""
    of_results = [one for one in files if one.kind == "result"]
    cells = [cell for one in of_results for cell in one.content["cells"]]
    failed = sum(cell["status"] == "failed" for cell in cells)
    measured = [one for one in of_results if not one.modelled]
    equal, read = results.exact(measured)
    bad = [(f"{name}: {document.content['summary']}", "#comparison") for name, document, _, _ in comparisons
           if any(cell["verdict"] in WORSE for cell in document.content["cells"])]
    bad += [(f"{one.label}: {others.fleet_summary(one)}", "#fleet") for one in files
            if one.kind == "fleet" and any(finding["fails"] for finding in one.content["findings"])]
    bad += [(f"{tables.plural(failed, 'cell')} failed", "#findings")] * bool(failed)
    bad += [(f"exact counters: only {tables.of_all(equal, read)} equal to expected", "#findings")] * (equal < read)
    if bad:
        return "bad", "; ".join(text for text, _ in bad), bad[0][1]
    doubts = doubts_of(of_results, comparisons, cells)
    if doubts:
        return "doubt", "; ".join(text for text, _ in doubts), doubts[0][1]
    return "good", well(files, comparisons, cells, (equal, read)), None


def doubts_of(of_results, comparisons, cells):
    modelled, incomplete = ([one.label for one in of_results if wrong(one)] for wrong in
                            (lambda one: one.modelled, lambda one: not one.content["complete"]))
    flagged = sum(bool(cell["flags"]) for cell in cells)
    made = [(f"{name}: {document.content['summary']}", "#comparison") for name, document, _, _ in comparisons
            if not document.content["comparable"] or any(cell["verdict"] == "inconclusive" for cell in document.content["cells"])]
    made += [(f"modelled, not measured: {', '.join(modelled)}", "#environment")] * bool(modelled)
    made += [(f"interrupted: {', '.join(incomplete)}", "#cells")] * bool(incomplete)
    made += [(f"{tables.of_all(flagged, len(cells))} cells are flagged", "#findings")] * bool(flagged)
    return made


def well(files, comparisons, cells, exact):
    """What was looked at, and found to be so."""
    said = [f"{name}: {document.content['summary']}" for name, document, _, _ in comparisons]
    said += [others.fleet_summary(one) for one in files if one.kind == "fleet"]
    ok = sum(cell["status"] == "ok" for cell in cells)
    said += [f"{tables.of_all(ok, len(cells))} cells ok, none failed"] * bool(cells)
    said += [f"all {tables.count(exact[1])} exact counters equal to expected"] * bool(exact[1])
    return "; ".join(said) or "nothing in these files is a finding"
