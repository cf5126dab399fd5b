/* SPDX-License-Identifier: MIT
 * A result in memory: opened with all of its cells pending, filled one by one, and released.
 * Strings of cells lie in the result, or in the tree of the file that it came from. */
#include "result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "payload.h"
#include "user_cell.h"

const struct engine_kind engine_kinds[] = {
    {.name = "cuda"},
    {.name = "model", .modelled = true},
};

const size_t engine_kind_count = sizeof(engine_kinds) / sizeof(engine_kinds[0]);

const char *const cell_status_names[] = {
    [CELL_PENDING] = "pending",
    [CELL_OK] = "ok",
    [CELL_SKIPPED] = "skipped",
    [CELL_FAILED] = "failed",
};

const char *const stop_reason_names[] = {
    [STOP_NONE] = NULL,   [STOP_CONVERGED] = "converged", [STOP_SAMPLES] = "samples",
    [STOP_TIME] = "time", [STOP_MODES] = "modes",         [STOP_MODELLED] = "modelled",
};

const char *const cell_flag_names[] = {"throttled",       "unstable", "clock_varied",
                                       "counter_differs", "resumed",  "errors_grew",
                                       "multimodal",      "contended"};
const char *const cell_flag_reasons[] = {
    "the driver held the clocks down during the run",
    "sampling stopped before the interval was narrow enough",
    "the SM clock changed by more than 1 % between samples",
    "an exact counter is not what was expected",
    "samples are of more than one process: the run was interrupted",
    "errors of the device grew during the run",
    "the samples fall into several modes, which one number does not tell",
    "something else had the GPU while the cell was timed",
};

const char *const case_reference_names[] = {[REFERENCE_NONE] = NULL,
                                            [REFERENCE_GPU] = "gpu",
                                            [REFERENCE_CPU] = "cpu",
                                            [REFERENCE_FILE] = "file"};

const char *const case_finding_names[] = {"guard_zone", "input_changed", "not_a_number",
                                          "depends_on_earlier_launch", "not_deterministic"};
const char *const case_finding_reasons[] = {
    "it wrote outside a buffer",
    "it changed an input or a table",
    "its output has a NaN or an infinity that is not expected",
    "another launch after it wrote something else: the output depends on what was there before",
    "two launches of the same data wrote different output",
};

void result_set_counts(struct cell_result *cell, const struct access_counts *access)
{
    cell->operations = access->operations;
    cell->counts = (struct cell_counts){
        .given = access->blocks > 0,
        .requests_per_load = access_requests_per_load(&cell->cell, access),
        .footprint_bytes = access->footprint_bytes,
    };
}

void result_sign(struct result *result)
{
    result->tool = tool;
    snprintf(result->architectures, sizeof(result->architectures), "%s", tool.architectures);
}

enum status result_open(struct result *result, const struct cell *cells, size_t count)
{
    *result = (struct result){.device = device_unknown, .confidence = STATS_CONFIDENCE};
    result_sign(result);
    /* At least one: calloc(0) may return NULL. */
    result->cells = calloc(count ? count : 1, sizeof(*result->cells));
    if (!result->cells)
        return log_memory("%zu cells", count);
    result->cell_count = count;
    for (size_t i = 0; i < count; i++) {
        struct cell_time *time = &result->cells[i].time;

        result->cells[i].cell = cells[i];
        result->cells[i].kernel.instruction = payload_instruction(&cells[i]);
        time->summary = summary_unknown;
        time->series = series_unknown;
        time->cycles = time->sm_clock_mhz = NAN;
    }
    return STATUS_OK;
}

bool result_has_jit(const struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].cell.jit)
            return true;
    return false;
}

const struct cell *result_cell(const void *result, size_t i)
{
    return &((const struct result *)result)->cells[i].cell;
}

const struct result_kernel *result_kernel(const struct result *result, const struct cell *cell)
{
    char hash[CELL_HASH_TEXT_BYTES];

    cell_hash_text(cell->kernel.hash, hash);
    for (const struct result_kernel *kernel = result->kernels;
         kernel < result->kernels + result->kernel_count; kernel++)
        if (strcmp(kernel->name, cell->kernel.name) == 0 &&
            strncmp(kernel->sha256, hash, strlen(hash)) == 0)
            return kernel;
    return NULL;
}

void result_close(struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        free(result->cells[i].time.samples_ns);
        free(result->cells[i].time.clocks_mhz);
        free(result->cells[i].duration.samples.values);
        free(result->cells[i].counters);
        free(result->cells[i].kernel.made);
    }
    free(result->cells);
    free(result->kernels);
    free(result->duration_method.samples.values);
    if (result->storage)
        result->free_storage(result->storage);
    *result = (struct result){0};
}
