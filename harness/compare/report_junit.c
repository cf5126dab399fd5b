/* SPDX-License-Identifier: MIT
 * A comparison as a JUnit report: a test of class "add.constant" for each cell; of several GPUs
 * "GPU-33a20bea.add.constant". */
#include <math.h>
#include <string.h>

#include "report.h"
#include "report_words.h"
#include "user_cell.h"

/* Writes the beginnings of both elements that hold all tests, with their counts. */
static void put_suite(FILE *stream, const struct comparison *comparison, size_t errors)
{
    size_t failures = 0, skipped = 0;
    char counts[LINE_BYTES];

    for (size_t i = 0; i < VERDICTS; i++)
        *(verdict_rows[i].status == STATUS_FINDING ? &failures : &skipped) +=
            verdict_rows[i].junit ? comparison->counts[i] : 0;
    snprintf(counts, sizeof(counts),
             " name=\"cbank compare\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
             "skipped=\"%zu\">\n",
             comparison->cell_count + errors, failures, errors, skipped);
    fprintf(stream, "<testsuites%s  <testsuite%s", counts, counts);
}

/* Writes why a cell does not pass: its verdict with the change, and its notes. */
static void put_outcome(FILE *stream, const struct comparison_cell *cell)
{
    const struct verdict_row *verdict = &verdict_rows[cell->verdict];
    const double ratio = cell->judged.ratio.value;
    char line[LINE_BYTES];
    size_t notes = 0;

    snprintf(line, LINE_BYTES, "%s%s%s", verdict->name, isfinite(ratio) ? ": " : "",
             isfinite(ratio) ? text_of(change_text, ratio).text : "");
    fprintf(stream, "      <%s", verdict->junit);
    text_put_tag(stream, "", (const char *[]){"type", verdict->name, "message", line, NULL});
    putc('>', stream);
    for (; cell_note(cell, notes, line, sizeof(line)); notes++) {
        fputs(notes ? "\n" : "", stream);
        text_put(stream, escapes_xml, line);
    }
    fputs(notes && cell->note_shared ? "\n" : "", stream);
    text_put(stream, escapes_xml, cell->note_shared ? cell->note : "");
    fprintf(stream, "</%s>\n    </testcase>\n", verdict->junit);
}

static void put_case(FILE *stream, const struct comparison *comparison,
                     const struct comparison_cell *cell)
{
    const bool named = comparison->gpu_count != 1 && cell->gpu->name[0];
    const double ns = cell->judged.sides[NEW].estimate.ns;
    char class[CELL_IDENTITY_BYTES], identity[CELL_IDENTITY_BYTES];

    snprintf(class, sizeof(class), "%s%s%s.%s", named ? cell->gpu->name : "", named ? "." : "",
             cell_workload_name(&cell->cell), cell->cell.path->name);
    cell_identity(&cell->cell, identity);
    text_put_tag(stream, "    <testcase",
                 (const char *[]){"classname", class, "name", identity, NULL});
    if (isfinite(ns))
        fprintf(stream, " time=\"%.9f\"", ns * 1e-9);
    if (!verdict_rows[cell->verdict].junit) {
        fputs("/>\n", stream);
        return;
    }
    fputs(">\n", stream);
    put_outcome(stream, cell);
}

static enum status write_junit(FILE *stream, const struct comparison *comparison,
                               const struct report_view *view)
{
    /* A comparison must not pass without a cell that is decided. */
    const size_t errors =
        !comparison->comparable || comparison_status(comparison, false) == STATUS_INCONCLUSIVE;
    const char *const error = comparison->comparable ? "not decided" : "not comparable";
    char line[LINE_BYTES];

    (void)view;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", stream);
    put_suite(stream, comparison, errors);
    if (errors > 0) {
        summary_line(comparison, line);
        fprintf(stream, "    <testcase classname=\"cbank\" name=\"%s\">\n", error + strlen("not "));
        text_put_tag(stream, "      <error",
                     (const char *[]){"type", error, "message", line, NULL});
        fputs("/>\n    </testcase>\n", stream);
    }
    for (size_t i = 0; i < comparison->cell_count; i++)
        put_case(stream, comparison, &comparison->cells[i]);
    fputs("  </testsuite>\n</testsuites>\n", stream);
    return STATUS_OK;
}

const struct report_format report_junit = {.write = write_junit, .judges = true};
