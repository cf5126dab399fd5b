/* SPDX-License-Identifier: MIT
 * The command run, with the verdict of --against: two builds of a kernel, compared like two
 * results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "log.h"
#include "report.h"
#include "run.h"

/* Whether a cell of each kernel file is one that they have in common: it is not skipped in both. */
static bool is_pair(const struct result *result, const struct cell_result *first,
                    const struct cell_result *second)
{
    return result_kernel(result, &first->cell) == &result->kernels[BASE] &&
           result_kernel(result, &second->cell) == &result->kernels[NEW] &&
           strcmp(first->cell.kernel.spaces, second->cell.kernel.spaces) == 0 &&
           (first->status != CELL_SKIPPED || second->status != CELL_SKIPPED);
}

/* Makes of a result one for each kernel file, with the cells that both have. They are called alike,
 * without a hash. The cells of halves are owned by the caller, and what they refer to is not. */
static enum status divide(const struct result *result, struct result halves[SIDES])
{
    size_t count = 0;

    for (size_t i = 0; i < SIDES; i++) {
        halves[i] = *result;
        halves[i].kernel_count = 0;
        halves[i].cells = calloc(result->cell_count + 1, sizeof(*result->cells));
    }
    if (!halves[BASE].cells || !halves[NEW].cells)
        return log_memory("a comparison");
    for (size_t i = 0; i < result->cell_count * result->cell_count; i++) {
        const struct cell_result *first = &result->cells[i / result->cell_count];
        const struct cell_result *second = &result->cells[i % result->cell_count];
        struct cell_result *base = &halves[BASE].cells[count],
                           *new_cell = &halves[NEW].cells[count];

        if (!is_pair(result, first, second))
            continue;
        *base = *first;
        *new_cell = *second;
        base->cell.kernel.hash = 0;
        new_cell->cell.kernel = base->cell.kernel;
        count += cell_order(&base->cell, &new_cell->cell) == 0;
    }
    halves[BASE].cell_count = halves[NEW].cell_count = count;
    return STATUS_OK;
}

static void label_side(struct side *side, const struct result_kernel *kernel)
{
    snprintf(side->label, sizeof(side->label), "%s (%s%s%s)", kernel->file, kernel->compiler,
             kernel->options ? " " : "", kernel->options ? kernel->options : "");
}

static enum status judge_sides(const struct sides sides[SIDES], const struct run_options *options)
{
    /* Other code is what is compared, and one that lowers the clock is slower. */
    const void *may_differ[] = {&context_fields[CONTEXT_SASS], &context_fields[CONTEXT_CLOCKS]};
    const struct selection allowed = {.rows = may_differ, .count = 2};
    const struct compare_options as = {.judge.threshold = options->threshold_percent / 100,
                                       .allowed = &allowed,
                                       .one_process = true};
    const struct report_view view = {output_style(&options->look), .all = true};
    struct comparison comparison = {0};
    enum status status = compare_sides(sides, &as, &comparison);

    if (status == STATUS_OK && !options->quiet) {
        putc('\n', stdout);
        status = report_text.write(stdout, &comparison, &view);
    }
    if (status == STATUS_OK)
        status = comparison_status(&comparison, options->strict);
    comparison_close(&comparison);
    return status;
}

static enum status judge_against(const struct result *result, const struct run_options *options)
{
    struct sides sides[SIDES] = {{.count = 0}};
    struct result halves[SIDES];
    enum status status;

    if (!result->complete || result->kernel_count != 2 || !result->kernels[1].against)
        return STATUS_OK;
    status = divide(result, halves);
    for (size_t i = 0; status == STATUS_OK && i < SIDES; i++) {
        label_side(&sides[i].total, &result->kernels[i]);
        status = sides_take(&sides[i], result->kernels[i].file, &halves[i]);
    }
    if (status == STATUS_OK)
        status = judge_sides(sides, options);
    for (size_t i = 0; i < SIDES; i++) {
        free(halves[i].cells);
        sides_close(&sides[i]);
    }
    return status;
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
    .common =
        "quick,sweep,workload,path,pattern,kernel,cache-state,device,max-noise,json,resume,quiet",
    .details = run_details,
    .run = run,
};
