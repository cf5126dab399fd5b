/* SPDX-License-Identifier: MIT
 * The command run, with the verdict of --against: two builds of a kernel, cell by cell. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "grid.h"
#include "log.h"
#include "run.h"
#include "side.h"
#include "user_cell.h"

static const double threshold = 0.01; /* a change of time that counts: the default of compare */

/* A cell of both builds. */
struct pair {
    struct judged_cell judged;
    char name[USER_KERNEL_SPACES_BYTES + 48], range[2 * TEXT_NUMBER_BYTES + 8];
    const char *verdict;
};

static void change_text(double ratio, char out[TEXT_NUMBER_BYTES])
{
    text_change(ratio - 1, out);
}

/* clang-format off */
#define SIDE_TIME(side) .of = GRID_MEMBER(struct pair, judged.sides[side].estimate.ns)

static const struct grid_column columns[] = {
    {.key = "cell", .heading = "memory space, size", .value = grid_array, .of = GRID_MEMBER(struct pair, name), .head = true},
    {.key = "base_ns", .heading = "first", .format = text_time, .value = grid_number, SIDE_TIME(BASE)},
    {.key = "new_ns", .heading = "against", .format = text_time, .value = grid_number, SIDE_TIME(NEW)},
    {.key = "ratio", .heading = "change", .format = change_text, .value = grid_number,
     .of = GRID_MEMBER(struct pair, judged.ratio.value)},
    {.key = "range", .heading = "95% CI", .value = grid_array, .of = GRID_MEMBER(struct pair, range), .rank = 1},
    {.key = "verdict", .heading = "verdict", .value = grid_text, .of = GRID_MEMBER(struct pair, verdict)},
};
/* clang-format on */

static enum status judge_against(const struct result *result, bool color, bool quiet)
{
    const struct judge_options options = {.threshold = threshold};
    const struct cell_result *const end = result->cells + result->cell_count;
    const struct print_style look = {.width = text_width(stdout), .color = color};
    struct pair *pairs = calloc(result->cell_count + 1, sizeof(*pairs));
    struct judged_cell **judged = calloc(result->cell_count + 1, sizeof(*judged));
    char title[512];
    struct grid grid = {.title = title,
                        .columns = columns,
                        .column_count = sizeof(columns) / sizeof(columns[0]),
                        .rows = pairs,
                        .row_bytes = sizeof(*pairs)};
    enum status status = pairs && judged ? STATUS_OK : log_memory("a comparison"), worst = STATUS_OK;
    size_t timed = 0, decided = 0;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        const struct cell_result *first = &result->cells[i], *second = result->cells;
        struct pair *pair = &pairs[grid.row_count];

        /* The cell of the second build with the same memory spaces, size and cache state. */
        while (second < end &&
               (result_kernel(result, &second->cell) != &result->kernels[1] ||
                second->cell.elements != first->cell.elements || second->cell.cache_state != first->cell.cache_state ||
                strcmp(second->cell.kernel.spaces, first->cell.kernel.spaces) != 0))
            second++;
        if (result_kernel(result, &first->cell) != &result->kernels[0] || second == end ||
            (first->status == CELL_SKIPPED && second->status == CELL_SKIPPED))
            continue;
        *pair = (struct pair){.judged = judged_unknown};
        snprintf(pair->name, sizeof(pair->name), "%s, %s %s", first->cell.kernel.spaces,
                 text_of(text_count, (double)first->cell.elements).text, first->cell.cache_state->name);
        grid.row_count++;
        if (first->status != CELL_OK || second->status != CELL_OK)
            continue;
        judged[timed++] = &pair->judged;
        status = judged_cell_of(first, second, &pair->judged);
    }
    if (status == STATUS_OK)
        status = judge(judged, timed, &options);
    for (size_t i = 0; status == STATUS_OK && i < grid.row_count; i++) {
        const struct ratio *ratio = &pairs[i].judged.ratio;
        const enum cell_verdict verdict = pairs[i].judged.verdict;

        pairs[i].verdict = verdict_rows[verdict].name;
        if (!isnan(ratio->ci_low))
            snprintf(pairs[i].range, sizeof(pairs[i].range), "%s to %s", text_of(text_change, ratio->ci_low - 1).text,
                     text_of(text_change, ratio->ci_high - 1).text);
        worst = status_worse(worst, verdict == VERDICT_INCONCLUSIVE ? STATUS_OK : verdict_rows[verdict].status);
        decided += verdict != VERDICT_INCONCLUSIVE;
    }
    if (status == STATUS_OK && decided == 0)
        worst = status_worse(worst, STATUS_INCONCLUSIVE);
    snprintf(title, sizeof(title), "\n%s (%s%s%s) against %s (%s%s%s)", result->kernels[1].file,
             result->kernels[1].compiler, result->kernels[1].options ? " " : "",
             result->kernels[1].options ? result->kernels[1].options : "", result->kernels[0].file,
             result->kernels[0].compiler, result->kernels[0].options ? " " : "",
             result->kernels[0].options ? result->kernels[0].options : "");
    if (status == STATUS_OK && !quiet)
        status = grid_print(stdout, &grid, &look);
    free(pairs);
    free(judged);
    return status_worse(status, worst);
}

static enum status run(const void *options, const struct invocation *invocation)
{
    return run_plan(options, invocation, judge_against);
}

const struct command run_command = {
    .name = "run",
    .summary = "Run the access-pattern matrix, verify it, count it, write a JSON result",
    .groups = run_groups,
    .group_count = RUN_GROUP_COUNT,
    .options_bytes = sizeof(struct run_options),
    .details = run_details,
    .run = run,
};
