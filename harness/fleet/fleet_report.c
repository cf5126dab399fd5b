/* SPDX-License-Identifier: MIT */
#include "fleet_report.h"

#include <math.h>
#include <stdio.h>

#include "clock.h"
#include "text.h"

/* -- lines --------------------------------------------------------------------------------------------- */

static size_t count_failing(const struct fleet_verdict *verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < verdict->row_count; i++)
        count += fleet_kinds[verdict->rows[i].kind].fails;
    return count;
}

/* How many answered, and what was found. */
static void summary_line(const struct fleet_verdict *verdict, char out[FLEET_TEXT_BYTES])
{
    const size_t failing = count_failing(verdict), others = verdict->row_count - failing;

    *out = '\0';
    text_join(out, FLEET_TEXT_BYTES, "", "%zu of %zu GPUs answered, ", verdict->answered,
              verdict->expected ? verdict->expected : verdict->answered);
    if (failing)
        text_join(out, FLEET_TEXT_BYTES, "", "%zu finding%s", failing, failing > 1 ? "s" : "");
    else
        text_join(out, FLEET_TEXT_BYTES, "", "nothing is worse");
    if (others)
        text_join(out, FLEET_TEXT_BYTES, "", ", %zu that need%s nothing", others, others > 1 ? "" : "s");
}

/* "from 2026-11-12T22:01:00Z to ..., 12 nights; ..." */
static void context_line(const struct fleet_verdict *verdict, char out[FLEET_TEXT_BYTES])
{
    const struct fleet *fleet = verdict->fleet;
    const struct fleet_night *last = &fleet->nights[fleet->night_count - 1];
    char from[CLOCK_UTC_BYTES], to[CLOCK_UTC_BYTES];

    clock_write_utc(last->first_utc, from);
    clock_write_utc(last->last_utc, to);
    *out = '\0';
    text_join(out, FLEET_TEXT_BYTES, "", "night from %s to %s, %zu night%s in all", from, to, fleet->night_count,
              fleet->night_count > 1 ? "s" : "");
    if (verdict->baseline)
        text_join(out, FLEET_TEXT_BYTES, "", ", baseline %s", verdict->baseline);
    if (fleet->round_count < 2)
        text_join(out, FLEET_TEXT_BYTES, "", "; no past to hold it against");
}

/* -- the grid ------------------------------------------------------------------------------------------ */

static void value_kind(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct fleet_row *of = row;

    (void)column;
    out->text = fleet_kinds[of->kind].name;
    out->style = fleet_kinds[of->kind].fails ? GRID_BAD : GRID_PLAIN;
}

static void value_since(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct fleet_row *of = row;

    (void)column;
    if (of->since_utc) {
        clock_write_utc(of->since_utc, out->room);
        out->text = out->room;
    }
}

static bool row_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct fleet_row *of = row;

    if (index > 0 || (!*of->why && !of->drift))
        return false;
    snprintf(out, bytes, "%s%s%s", of->drift ? "slowly, from then on" : "", of->drift && *of->why ? "; then: " : "",
             of->why);
    return true;
}

#define OF_ROW(member) GRID_MEMBER(struct fleet_row, member)

/* clang-format off */
static const struct grid_column columns[] = {
    {.key = "kind", .heading = "verdict", .value = value_kind, .head = true},
    {.key = "who", .heading = "GPUs", .value = grid_array, .of = OF_ROW(who), .head = true},
    {.key = "change", .heading = "change", .format = text_change, .value = grid_number, .of = OF_ROW(change)},
    {.key = "multiple", .heading = "spreads", .format = text_tenths, .value = grid_number, .of = OF_ROW(multiple), .rank = 1},
    {.key = "since_utc", .heading = "since", .value = value_since},
    {.key = "what", .heading = "what", .value = grid_array, .of = OF_ROW(what), .below = true},
};
/* clang-format on */

static struct grid grid_of(const struct fleet_verdict *verdict)
{
    return (struct grid){.columns = columns,
                         .column_count = sizeof(columns) / sizeof(columns[0]),
                         .rows = verdict->rows,
                         .row_count = verdict->row_count,
                         .row_bytes = sizeof(*verdict->rows),
                         .note = row_note};
}

enum status fleet_print(FILE *stream, const struct fleet_verdict *verdict, const struct grid_look *look)
{
    const struct grid grid = grid_of(verdict);
    const struct text_wrap wrap = {.stream = stream, .width = look->width, .indent = 2};
    char line[FLEET_TEXT_BYTES];

    summary_line(verdict, line);
    text_paragraph(wrap, "%s", line);
    context_line(verdict, line);
    text_paragraph(wrap, "%s", line);
    if (verdict->row_count)
        putc('\n', stream);
    return grid_print(stream, &grid, look);
}

enum status fleet_markdown(FILE *stream, const void *of)
{
    const struct fleet_verdict *verdict = of;
    const struct grid grid = grid_of(verdict);
    char line[FLEET_TEXT_BYTES];

    summary_line(verdict, line);
    fprintf(stream, "**cbank fleet: %s**\n\n", line);
    context_line(verdict, line);
    text_put(stream, escapes_markdown, line);
    fputs(verdict->row_count ? "\n\n" : "\n", stream);
    if (verdict->row_count)
        grid_print_markdown(stream, &grid);
    return STATUS_OK;
}

/* -- JUnit --------------------------------------------------------------------------------------------- */

/* "slower: every path, 24 of 24 cells, +5.1%, since ..., driver 580 -> 590" */
static void row_line(const struct fleet_row *row, char out[2 * FLEET_TEXT_BYTES])
{
    char since[CLOCK_UTC_BYTES];

    snprintf(out, 2 * FLEET_TEXT_BYTES, "%s: %s", fleet_kinds[row->kind].name, row->what);
    if (isfinite(row->change))
        text_join(out, 2 * FLEET_TEXT_BYTES, ", ", "%s", text_of(text_change, row->change).text);
    if (row->since_utc) {
        clock_write_utc(row->since_utc, since);
        text_join(out, 2 * FLEET_TEXT_BYTES, ", ", "%s %s", row->drift ? "slowly since" : "since", since);
    }
    if (*row->why)
        text_join(out, 2 * FLEET_TEXT_BYTES, ", ", "%s", row->why);
}

static bool is_of(const struct fleet_row *row, size_t gpu)
{
    for (size_t i = 0; i < row->gpu_count; i++)
        if (row->gpus[i] == gpu)
            return true;
    return false;
}

/* The test of a GPU, or of a row without one. Several findings are lines of one failure. */
static void put_test(FILE *stream, const struct fleet_verdict *verdict, const char *class, const char *name,
                     bool (*concerns)(const struct fleet_row *row, size_t gpu), size_t gpu)
{
    char line[2 * FLEET_TEXT_BYTES];
    size_t failures = 0;

    text_put_tag(stream, "    <testcase", (const char *[]){"classname", *class ? class : "fleet", "name", name, NULL});
    for (size_t i = 0; i < verdict->row_count; i++) {
        const struct fleet_row *row = &verdict->rows[i];

        if (!fleet_kinds[row->kind].fails || !concerns(row, gpu))
            continue;
        row_line(row, line);
        if (failures == 0)
            text_put_tag(stream, ">\n      <failure",
                         (const char *[]){"type", fleet_kinds[row->kind].name, "message", line, NULL});
        putc(failures == 0 ? '>' : '\n', stream);
        text_put(stream, escapes_xml, failures++ == 0 ? row->who : line);
    }
    fputs(failures ? "</failure>\n    </testcase>\n" : "/>\n", stream);
}

static bool is_row(const struct fleet_row *row, size_t index)
{
    return row->gpu_count == 0 && index == 0;
}

static bool is_tested(const struct fleet_verdict *verdict, size_t gpu)
{
    bool tested = verdict->fleet->gpus[gpu].answered;

    for (size_t i = 0; !tested && i < verdict->row_count; i++)
        tested = is_of(&verdict->rows[i], gpu);
    return tested;
}

/* A test of the GPU for each; one more, "census", where rows are of none. */
static void count_tests(const struct fleet_verdict *verdict, size_t *tests, size_t *failures)
{
    bool census = false;

    *tests = *failures = 0;
    for (size_t gpu = 0; gpu < verdict->fleet->gpu_count; gpu++) {
        bool fails = false;

        for (size_t i = 0; !fails && i < verdict->row_count; i++)
            fails = fleet_kinds[verdict->rows[i].kind].fails && is_of(&verdict->rows[i], gpu);
        *tests += is_tested(verdict, gpu);
        *failures += fails;
    }
    for (size_t i = 0; i < verdict->row_count; i++)
        census = census || is_row(&verdict->rows[i], 0);
    *tests += census;
    *failures += census;
}

enum status fleet_junit(FILE *stream, const void *of)
{
    const struct fleet_verdict *verdict = of;
    const struct fleet *fleet = verdict->fleet;
    char name[FLEET_TEXT_BYTES];
    size_t tests, failures, named = 0;

    count_tests(verdict, &tests, &failures);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", stream);
    fprintf(stream, "<testsuites name=\"cbank fleet\" tests=\"%zu\" failures=\"%zu\">\n", tests, failures);
    fprintf(stream, "  <testsuite name=\"cbank fleet\" tests=\"%zu\" failures=\"%zu\">\n", tests, failures);
    for (size_t gpu = 0; gpu < fleet->gpu_count; gpu++) {
        const struct fleet_run *run = &fleet->runs[fleet->gpus[gpu].last];

        if (!is_tested(verdict, gpu))
            continue;
        named++;
        snprintf(name, sizeof(name), "%.96s %.200s", run->slot,
                 *fleet->gpus[gpu].uuid ? fleet->gpus[gpu].uuid : fleet->gpus[gpu].name);
        put_test(stream, verdict, run->host, *run->slot ? name : name + 1, is_of, gpu);
    }
    if (named < tests)
        put_test(stream, verdict, "fleet", "census", is_row, 0);
    fputs("  </testsuite>\n</testsuites>\n", stream);
    return STATUS_OK;
}
