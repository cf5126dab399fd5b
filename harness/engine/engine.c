/* SPDX-License-Identifier: MIT
 * The rows of engines and of planted faults, and what all engines do alike: ending a cell with a
 * reason, and settling its counters against what they must read. */
#include "engine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sass_code.h"

const struct engine_row engine_rows[] = {
    {.name = "cuda", .engine = &engine_cuda},
    {.name = "model", .engine = &engine_model},
};

const size_t engine_count = sizeof(engine_rows) / sizeof(engine_rows[0]);

const struct fault faults[] = {
    {.name = "output", .summary = "change one output element before it is checked", .output = true},
    {.name = "counter", .summary = "add one to every exact counter that was read", .counter = true},
    {.name = "memory", .summary = "let the allocation of the largest size fail", .memory = true},
    {.name = "out_of_bounds",
     .summary = "read far out of bounds while the second cell is timed",
     .address = true},
    {.name = "hang",
     .summary = "launch a kernel of ten minutes while the second cell is timed",
     .endless = true},
};

const size_t fault_count = sizeof(faults) / sizeof(faults[0]);

void engine_end_cell(struct cell_result *cell, enum cell_status status, const char *format, ...)
{
    va_list arguments;

    cell->status = status;
    va_start(arguments, format);
    vsnprintf(cell->reason, sizeof(cell->reason), format, arguments);
    va_end(arguments);
}

enum status engine_set_kernel(struct cell_kernel *kernel, const struct kernel_sass *sass,
                              const char *image, size_t image_bytes)
{
    free(kernel->made);
    *kernel = (struct cell_kernel){.instruction = kernel->instruction,
                                   .code_bytes = sass->bytes,
                                   .made = sass->known ? sass_code_text(sass->code, sass->bytes,
                                                                        sass->counts.architecture)
                                                       : NULL};
    if (sass->known && !kernel->made)
        return log_memory("the code of a kernel");
    kernel->code = kernel->made;
    snprintf(kernel->symbol, sizeof(kernel->symbol), "%s", sass->symbol);
    snprintf(kernel->image, sizeof(kernel->image), "%.*s", (int)image_bytes, image);
    memcpy(kernel->sha256, sass->sha256, sizeof(kernel->sha256));
    return STATUS_OK;
}

enum status engine_open_counters(struct cell_result *cell, const struct engine_options *options,
                                 const struct expectation *expectation, enum counter_status status,
                                 const char *reason)
{
    const struct counter_set *set = options->counters;

    free(cell->counters);
    cell->counters = calloc(set->count + 1, sizeof(*cell->counters));
    cell->counter_count = cell->counters ? set->count : 0;
    if (!cell->counters)
        return log_memory("counters");
    for (size_t i = 0; i < set->count; i++) {
        const struct counter *counter = &set->counters[i];

        cell->counters[i] = (struct counter_value){.name = counter->name,
                                                   .unit = counter->unit,
                                                   .kind = counter->kind,
                                                   .status = status,
                                                   .value = NAN,
                                                   .reason = reason};
        if (counter->kind == COUNTER_EXACT)
            cell->counters[i].expected = counter_expected(counter, expectation);
    }
    return STATUS_OK;
}

void engine_settle_counters(struct cell_result *cell, const struct fault *fault)
{
    for (size_t i = 0; i < cell->counter_count; i++) {
        struct counter_value *value = &cell->counters[i];

        if (fault && fault->counter && value->kind == COUNTER_EXACT)
            value->value += 1;
        if (counter_differs(value))
            cell->flags |= FLAG_COUNTER_DIFFERS;
    }
}
