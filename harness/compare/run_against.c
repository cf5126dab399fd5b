/* SPDX-License-Identifier: MIT
 * The command run, with the verdict of --against: two builds of a kernel, compared like two
 * results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "compare_report.h"
#include "log.h"
#include "run.h"

static enum status judge_against(const struct result *result, const struct run_options *options)
{
    /* Other code is what is compared, and one that lowers the clock is slower. */
    const void *may_differ[] = {&context_fields[CONTEXT_SASS], &context_fields[CONTEXT_CLOCKS]};
    const struct selection allowed = {.rows = may_differ, .count = 2};
    const struct compare_options as = {.judge.threshold = options->threshold_percent / 100,
                                       .allowed = &allowed,
                                       .one_process = true};
    const struct print_style look = output_style(&options->look);
    struct comparison comparison = {0};
    struct sides sides[SIDES] = {{.count = 0}};
    struct result halves[SIDES];
    size_t count = 0;
    enum status status = STATUS_OK;

    if (!result->complete || result->kernel_count != 2 || !result->kernels[1].against)
        return STATUS_OK;
    for (size_t i = 0; i < SIDES; i++) {
        halves[i] = *result;
        halves[i].kernel_count = 0;
        halves[i].cells = calloc(result->cell_count + 1, sizeof(*result->cells));
        if (!halves[i].cells)
            status = log_memory("a comparison");
    }
    /* The cells that both kernel files have and that are not skipped in both. They are called
     * alike, without a hash. */
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count * result->cell_count; i++) {
        const struct cell_result *first = &result->cells[i / result->cell_count];
        const struct cell_result *second = &result->cells[i % result->cell_count];
        struct cell_result *base = &halves[BASE].cells[count], *other = &halves[NEW].cells[count];

        if (result_kernel(result, &first->cell) != &result->kernels[0] ||
            result_kernel(result, &second->cell) != &result->kernels[1])
            continue;
        *base = *first;
        *other = *second;
        base->cell.kernel.hash = 0;
        other->cell.kernel = base->cell.kernel;
        count += strcmp(first->cell.kernel.spaces, second->cell.kernel.spaces) == 0 &&
                 cell_order(&base->cell, &other->cell) == 0 &&
                 (first->status != CELL_SKIPPED || second->status != CELL_SKIPPED);
    }
    for (size_t i = 0; i < SIDES; i++) {
        const struct result_kernel *kernel = &result->kernels[i];

        halves[i].cell_count = count;
        snprintf(sides[i].total.label, sizeof(sides[i].total.label), "%s (%s%s%s)", kernel->file,
                 kernel->compiler, kernel->options ? " " : "",
                 kernel->options ? kernel->options : "");
        if (status == STATUS_OK)
            status = sides_take(&sides[i], kernel->file, &halves[i]);
        free(halves[i].cells);
    }
    if (status == STATUS_OK)
        status = compare_sides(sides, &as, &comparison);
    if (status == STATUS_OK && !options->quiet) {
        putc('\n', stdout);
        status = compare_print(stdout, &comparison, true, &look);
    }
    if (status == STATUS_OK)
        status = comparison_status(&comparison, options->strict);
    comparison_close(&comparison);
    for (size_t i = 0; i < SIDES; i++)
        sides_close(&sides[i]);
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
