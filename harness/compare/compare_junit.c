/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "compare_report.h"
#include "text.h"

static void put_property(FILE *stream, const char *name, const char *value)
{
    text_put_tag(stream, "      <property", (const char *[]){"name", name, "value", value, NULL});
    fputs("/>\n", stream);
}

static void put_properties(FILE *stream, const struct comparison *comparison)
{
    static const char *const names[SIDES] = {"base", "new"}, *const names_of[SIDES] = {"base_of", "new_of"};
    char line[LINE_BYTES];

    fputs("    <properties>\n", stream);
    summary_line(comparison, line);
    put_property(stream, "summary", line);
    for (size_t i = 0; i < SIDES; i++) {
        put_property(stream, names[i], comparison->sides[i]->label);
        side_line(comparison->sides[i], line);
        put_property(stream, names_of[i], line);
    }
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
    text_put_tag(stream, "", (const char *[]){"type", verdict_rows[cell->verdict].name, "message", line, NULL});
    putc('>', stream);
    for (size_t i = 0; cell_note(cell, i, line, sizeof(line)); i++) {
        fputs(i ? "\n" : "", stream);
        text_put(stream, escapes_xml, line);
    }
    fprintf(stream, "</%s>\n    </testcase>\n", element);
}

/* "add.constant"; of several GPUs "GPU-33a20bea.add.constant". */
static void class_of(const struct comparison_cell *cell, bool by_gpu, char *out, size_t bytes)
{
    char gpu[UUID_SHORT_BYTES] = "";

    if (by_gpu)
        uuid_short(gpu_identity(cell->gpu)->device.uuid, gpu);
    snprintf(out, bytes, "%s%s%s.%s", gpu, gpu[0] ? "." : "", cell->cell.workload->name, cell->cell.path->name);
}

/* A test a GPU: its verdict. */
static void put_gpu(FILE *stream, const struct compared_gpu *gpu)
{
    static const char *const elements[] = {[OUTCOME_FAILED] = "failure", [OUTCOME_SKIPPED] = "skipped"};
    const struct verdict_row *row = &verdict_rows[gpu->verdict];
    char line[LINE_BYTES];

    gpu_line(gpu, line);
    text_put_tag(stream, "    <testcase",
                 (const char *[]){"classname", "GPU", "name", gpu_identity(gpu)->device.uuid, NULL});
    if (row->outcome == OUTCOME_PASSED) {
        fputs("/>\n", stream);
        return;
    }
    fprintf(stream, ">\n      <%s", elements[row->outcome]);
    text_put_tag(stream, "", (const char *[]){"type", row->name, "message", line, NULL});
    fputs("/>\n    </testcase>\n", stream);
}

static void put_cell(FILE *stream, const struct comparison_cell *cell, bool by_gpu)
{
    static const char *const elements[] = {[OUTCOME_FAILED] = "failure", [OUTCOME_SKIPPED] = "skipped"};
    const enum outcome outcome = verdict_rows[cell->verdict].outcome;
    char class[CELL_IDENTITY_BYTES], identity[CELL_IDENTITY_BYTES];

    class_of(cell, by_gpu, class, sizeof(class));
    cell_identity(&cell->cell, identity);
    text_put_tag(stream, "    <testcase", (const char *[]){"classname", class, "name", identity, NULL});
    if (isfinite(cell->ns[NEW]))
        fprintf(stream, " time=\"%.9f\"", cell->ns[NEW] * 1e-9);
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
    fputs("    <testcase classname=\"cbank\" name=\"comparable\">\n", stream);
    text_put_tag(stream, "      <error", (const char *[]){"type", "not comparable", "message", line, NULL});
    fputs("/>\n    </testcase>\n", stream);
}

static size_t count_outcome(const struct comparison *comparison, enum outcome outcome)
{
    size_t count = 0;

    for (size_t i = 0; i < verdict_count; i++)
        count += verdict_rows[i].outcome == outcome ? comparison->counts[i] : 0;
    for (size_t i = 0; comparison_is_by_gpu(comparison) && i < comparison->gpu_count; i++)
        count += verdict_rows[comparison->gpus[i].verdict].outcome == outcome;
    return count;
}

static void put_counts(FILE *stream, const struct comparison *comparison)
{
    const size_t errors = comparison->comparable ? 0 : 1;
    const size_t gpus = comparison_is_by_gpu(comparison) ? comparison->gpu_count : 0;

    fprintf(stream, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
            comparison->cell_count + gpus + errors, count_outcome(comparison, OUTCOME_FAILED), errors,
            count_outcome(comparison, OUTCOME_SKIPPED));
}

enum status compare_junit(FILE *stream, const void *compared)
{
    const struct comparison *comparison = compared;

    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cbank compare\"", stream);
    put_counts(stream, comparison);
    fputs("  <testsuite name=\"cbank compare\"", stream);
    put_counts(stream, comparison);
    put_properties(stream, comparison);
    if (!comparison->comparable)
        put_not_comparable(stream, comparison);
    for (size_t i = 0; comparison_is_by_gpu(comparison) && i < comparison->gpu_count; i++)
        put_gpu(stream, &comparison->gpus[i]);
    for (size_t i = 0; i < comparison->cell_count; i++)
        put_cell(stream, &comparison->cells[i], comparison_is_by_gpu(comparison));
    fputs("  </testsuite>\n</testsuites>\n", stream);
    return STATUS_OK;
}
