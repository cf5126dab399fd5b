/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "compare_lines.h"
#include "compare_report.h"
#include "text.h"

static void put_attribute(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, " %s=\"", name);
    text_put(stream, escapes_xml, text);
    putc('"', stream);
}

static void put_property(FILE *stream, const char *name, const char *value)
{
    fputs("      <property", stream);
    put_attribute(stream, "name", name);
    put_attribute(stream, "value", value);
    fputs("/>\n", stream);
}

static void put_properties(FILE *stream, const struct comparison *comparison)
{
    char line[LINE_BYTES];

    fputs("    <properties>\n", stream);
    summary_line(comparison, line);
    put_property(stream, "summary", line);
    put_property(stream, "base", comparison->base->label);
    side_line(comparison->base, line);
    put_property(stream, "base_of", line);
    put_property(stream, "new", comparison->new_side->label);
    side_line(comparison->new_side, line);
    put_property(stream, "new_of", line);
    for (size_t i = 0; context_line(comparison, i, line); i++)
        put_property(stream, "note", line);
    fputs("    </properties>\n", stream);
}

/* What is said within a test case: message as attribute, notes as text. */
static void put_body(FILE *stream, const char *element, const struct comparison_cell *cell)
{
    char line[LINE_BYTES];

    cell_line(cell, line);
    fprintf(stream, ">\n      <%s", element);
    put_attribute(stream, "type", verdict_rows[cell->verdict].name);
    put_attribute(stream, "message", line);
    putc('>', stream);
    for (size_t i = 0; cell_note(cell, i, line, sizeof(line)); i++) {
        fputs(i ? "\n" : "", stream);
        text_put(stream, escapes_xml, line);
    }
    fprintf(stream, "</%s>\n    </testcase>\n", element);
}

static void put_cell(FILE *stream, const struct comparison_cell *cell)
{
    static const char *const elements[] = {[OUTCOME_FAILED] = "failure", [OUTCOME_SKIPPED] = "skipped"};
    const enum outcome outcome = aspect_of(cell->verdict)->outcome;
    char text[CELL_IDENTITY_BYTES];

    snprintf(text, sizeof(text), "%s.%s", cell->cell.workload->name, cell->cell.path->name);
    fputs("    <testcase", stream);
    put_attribute(stream, "classname", text);
    cell_identity(&cell->cell, text);
    put_attribute(stream, "name", text);
    if (isfinite(cell->new_ns))
        fprintf(stream, " time=\"%.9f\"", cell->new_ns * 1e-9);
    if (outcome == OUTCOME_PASSED)
        fputs("/>\n", stream);
    else
        put_body(stream, elements[outcome], cell);
}

/* A comparison that could not be made must not pass for want of cells. */
static void put_not_comparable(FILE *stream, const struct comparison *comparison)
{
    char line[LINE_BYTES];

    summary_line(comparison, line);
    fputs("    <testcase classname=\"cbank\" name=\"comparable\">\n      <error type=\"not comparable\"", stream);
    put_attribute(stream, "message", line);
    fputs("/>\n    </testcase>\n", stream);
}

static size_t count_outcome(const struct comparison *comparison, enum outcome outcome)
{
    size_t count = 0;

    for (size_t i = 0; i < verdict_count; i++)
        if (aspects[i].outcome == outcome)
            count += comparison->counts[aspects[i].verdict];
    return count;
}

static void put_counts(FILE *stream, const struct comparison *comparison)
{
    const size_t errors = comparison->comparable ? 0 : 1;

    fprintf(stream, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
            comparison->cell_count + errors, count_outcome(comparison, OUTCOME_FAILED), errors,
            count_outcome(comparison, OUTCOME_SKIPPED));
}

enum status compare_junit(FILE *stream, const struct comparison *comparison)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cbank compare\"", stream);
    put_counts(stream, comparison);
    fputs("  <testsuite name=\"cbank compare\"", stream);
    put_counts(stream, comparison);
    put_properties(stream, comparison);
    if (!comparison->comparable)
        put_not_comparable(stream, comparison);
    for (size_t i = 0; i < comparison->cell_count; i++)
        put_cell(stream, &comparison->cells[i]);
    fputs("  </testsuite>\n</testsuites>\n", stream);
    return STATUS_OK;
}
