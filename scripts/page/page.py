# SPDX-License-Identifier: MIT
"""The pages of a report, put together and written."""

import contextlib
import itertools
import os

import jinja2

from figures import documents, output

from . import atlas, cache, drawn, given, interactive, others, results, tables, verdict
from .tables import Table, Value, head, words

OPEN_ROWS = 12  # a table of so many rows is not folded, where there are few results
OPEN_MAX = 3  # so many results have their tables unfolded
HERE = os.path.dirname(os.path.abspath(__file__))

SECTIONS = (("atlas", "Chips"), ("summary", "Summary"), ("explore", "Explore"), ("environment", "Environment"), ("matrix", "Matrix"),
            ("characterization", "Characterization"), ("comparison", "Comparison"), ("fleet", "Fleet"), ("history", "History"),
            ("explanation", "Explanation"),
            ("claims", "Claims"), ("figures", "Figures"), ("cells", "Cells"), ("sources", "Sources"))


def environment():
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.join(HERE, "templates")), autoescape=True,
                              undefined=jinja2.StrictUndefined, trim_blocks=False)
    return made


def rendered(templates, name, **content):
    numbers = itertools.count(1)
    return templates.get_template(name).render(next_id=lambda: next(numbers), **content) + "\n"


@contextlib.contextmanager
def blamed(one):
    """What a section stumbles over is a file that is not what it says it is."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else error
        raise documents.WrongFile(f"{one.path}: not what its schema says: {what}; write it again with cbank") from error


def each(of, make):
    """What is made of each."""
    made = []
    for one in of:
        with blamed(one):
            made.append(make(one))
    return made


# -- what the sections are made of --------------------------------------------------------------------------------


def of_kind(files, kind):
    return [one for one in files if one.kind == kind]


def title_of(files):
    measured = [one for one in files if not one.modelled]
    devices = sorted({documents.origin(one.document)["device"] for one in measured or files
                      if documents.origin(one.document).get("device")})
    return "cbank report: " + (", ".join(devices) if devices and len(devices) <= 3 else
                               tables.plural(len(devices), "device") if devices else files[0].name)


def subtitle_of(files):
    kinds = [(len(of_kind(files, kind)), kind) for kind in given.KINDS]
    return ", ".join(tables.plural(count, kind) for count, kind in kinds if count)


def warnings_of(files):
    """What has to be known before any number is read."""
    measured, modelled = ([one for one in of_kind(files, "result") if one.modelled is it] for it in (False, True))
    made = []
    if modelled:
        made.append(f"Modelled: {', '.join(one.label for one in modelled)} "
                    f"{'is' if len(modelled) == 1 else 'are'} predicted by the model engine, not measured on a GPU"
                    + ("; the others are measured, and the two are never put together." if measured else "."))
    incomplete = [one.label for one in of_kind(files, "result") if not one.content["complete"]]
    if incomplete:
        made.append(f"Incomplete: {', '.join(incomplete)}: the run was interrupted; cbank run --resume FILE measures "
                    "the rest.")
    return made


def lead_of(files, comparisons):
    """Lines of (text, href): the report in short."""
    of = of_kind(files, "result")
    cells = [cell for one in of for cell in one.content["cells"]]
    made = []
    if cells:
        found, (equal, read) = results.statuses(cells), results.exact([one for one in of if not one.modelled])
        made.append((f"{tables.of_all(found['ok'], len(cells))} cells ok" +
                     "".join(f", {tables.count(found[key])} {key}" for key in results.NOT_OK if found[key]), "#cells"))
        if read:
            made.append((f"exact counters: {tables.of_all(equal, read)} equal to expected", "#cells"))
    made += [(f"comparison of {name}: {document.content['summary']}", "#comparison")
             for name, document, _, _ in comparisons]
    made += [(f"characterization {one.label}: {len(one.content['experiments'])} experiments", "#characterization")
             for one in of_kind(files, "characterization")]
    made += [(f"fleet {one.label}: {others.fleet_summary(one)}", "#fleet") for one in of_kind(files, "fleet")]
    made += [(f"history {one.label}: {others.history_summary(one)}", "#history") for one in of_kind(files, "history")]
    return made


def findings_of(of):
    """Lines of (text, href), each with the name of its file where there are several."""
    made = []
    for one in of:
        with blamed(one):
            lines = results.findings(one)
            more = len(lines) - results.FINDINGS_MAX
            lines = lines[:results.FINDINGS_MAX] + ([(f"and {more} more", one.cells_page)] if more > 0 else [])
            lines += results.flag_lines(one)
        made += [(f"{one.shown_name}: {text}" if len(of) > 1 else text, href) for text, href in lines]
    return made


def characterization_of(one):
    return {"name": one.label, "tables": others.characterization(one), "skipped": others.skipped_lines(one),
            "experiments": others.experiment_tables(one)}


def comparison_of(name, document, base, new):
    content = document.content
    return {"name": name, "summary": content["summary"],
            "differences": [others.difference_text(difference) for difference in content["differences"]],
            "table": others.comparison_table(name, document, base, new)}


def fleet_of(one):
    return {"name": one.label, "summary": others.fleet_summary(one), "table": others.fleet_table(one)}


def history_of(one):
    return {"name": one.label, "summary": others.history_summary(one), "tables": others.history_tables(one)}


def sources_table(files):
    return Table("Files that this report is of", ["file", "kind", "version of its schema", "SHA-256", "made by"],
                 [[head(one.name), words(one.kind), Value(one.content["schema"]["version"]), words(one.sha256),
                   words(one.document.provenance().get("tool"))] for one in files])


def contents(matrices, figures, shown):
    parts = {"matrix": [(id, name) for name, id, _, _ in matrices],
             "figures": [(f"figure-{name}", name.capitalize()) for name, _, pages, _ in figures if pages]}
    return [(id, text, parts.get(id, [])) for id, text in SECTIONS if shown.get(id, True)]


# -- writing ------------------------------------------------------------------------------------------------------


def write(folder, program, files, library):
    """The text is written while figures are drawn, and again with their sizes at the end."""
    where = cache.found()
    given.explain(program, files, where)
    comparisons, _ = given.compared(program, files)
    of = of_kind(files, "result")
    matrices = [(one.shown_name, f"matrix-{one.label}", len(of) <= OPEN_MAX, parts)
                for one, parts in zip(of, each(of, lambda one: results.matrix_tables(program, one)))]
    found = drawn.drawings(files, comparisons)
    chips = atlas.chips_of(files)
    with_chips = len(chips) > 1
    claimed = atlas.claims_table(chips) if with_chips else None
    explanations = [(others.explanation_table(result, one), others.explanation_lines(result))
                    for result, one in others.explained_results(files, of)]
    shown = {"atlas": with_chips, "explore": library and of, "matrix": matrices, "comparison": comparisons,
             "characterization": of_kind(files, "characterization") or of_kind(files, "card"), "fleet": of_kind(files, "fleet"),
             "history": of_kind(files, "history"), "explanation": explanations or any(one.unexplained for one in of),
             "claims": claimed and claimed.rows, "figures": any(pages for _, _, pages, _ in found), "cells": of}
    content = {
        "version": program.version, "title": title_of(files), "subtitle": subtitle_of(files),
        "warnings": warnings_of(files), "results": of, "matrices": matrices,
        "lead": lead_of(files, comparisons), "findings": findings_of(of),
        "headlines": [table for table in (results.extremes_table(of), *each(of, results.headline)) if table.rows],
        "open_rows": OPEN_ROWS,
        "summary": Table("Result files", results.SUMMARY_HEADS, each(of, results.summary_row)) if of else None,
        "environment": environment_of(files),
        "characterizations": each(of_kind(files, "characterization"), characterization_of),
        "cards": each(of_kind(files, "card"), others.card_table),
        "comparisons": [comparison_of(*one) for one in comparisons],
        "explanations": explanations, "chips": atlas.facts_table(chips) if with_chips else None,
        "boards": atlas.boards_lines(chips), "claims": claimed, "shown": shown,
        "verdict": verdict.of(files, comparisons, found),
        "unexplained": [(one.shown_name, one.unexplained) for one in of if one.unexplained],
        "figures": found, "sources": sources_table(files),
        "fleets": each(of_kind(files, "fleet"), fleet_of),
        "histories": each(of_kind(files, "history"), history_of),
        "contents": contents(matrices, found, shown),
        "interactive": interactive.of(of, library) if library and of else None,
    }
    content["made_with"] = f"matplotlib {output.version()} and jinja2 {jinja2.__version__}"
    templates = environment()
    cells = each(of, lambda one: cells_page(templates, program, one, where if program.sha256 else None))
    with drawn.drawing(folder, found, where) as (known, all_known):
        for one, data in zip(of, cells):
            output.write(os.path.join(folder, one.cells_page), data())
        with open(os.path.join(HERE, "templates/style.css"), "rb") as file:
            output.write(os.path.join(folder, "style.css"), file.read())
        index = rendered(templates, "index.html", **content)
        for figures in (lambda: known, all_known):
            output.write(os.path.join(folder, "index.html"), drawn.filled(index, figures()).encode())


def cells_page(templates, program, one, where):
    """A function that gives the page of a result's cells, in bytes: as it was made before, or anew. What is wrong in the file is
    found before that."""
    key = "cells", program.sha256, program.version, one.name, one.label, one.sha256
    kept = cache.read(where, key)
    if kept:
        return lambda: kept[0][0]
    cells = [results.Cell(one, place, cell) for place, cell in enumerate(one.content["cells"], 1)]
    counters = results.counter_rows(one)

    def made():
        data = rendered(templates, "cells.html", one=one, cells=cells, counters=counters, version=program.version).encode()
        cache.write(where, key, [data], None)
        return data
    return made


def environment_of(files):
    for one in files:  # whichever is wrong is named
        with blamed(one):
            results.environment_of(one)
    return results.environment_tables(files)
