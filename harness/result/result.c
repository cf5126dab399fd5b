/* SPDX-License-Identifier: MIT */
#include "result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "log.h"

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
    [STOP_TIME] = "time", [STOP_MODELLED] = "modelled",
};

const char *const cell_flag_names[] = {"throttled", "unstable", "clock_varied", "counter_differs"};
const size_t cell_flag_count = sizeof(cell_flag_names) / sizeof(cell_flag_names[0]);

enum status result_open(struct result *result, const struct cell *cells, size_t count)
{
    *result = (struct result){
        .device = {.sm_clock_max_mhz = NAN, .memory_clock_max_mhz = NAN, .launch_ns = NAN},
    };
    /* At least one, for calloc(0) may give NULL. */
    result->cells = calloc(count ? count : 1, sizeof(*result->cells));
    if (!result->cells)
        return log_error(STATUS_ENVIRONMENT, "out of memory for %zu cells; ask for fewer at a time", count);
    result->cell_count = count;
    for (size_t i = 0; i < count; i++) {
        struct cell_time *time = &result->cells[i].time;

        result->cells[i].cell = cells[i];
        time->summary = (struct summary){.median = NAN, .ci_low = NAN, .ci_high = NAN, .min = NAN, .mad = NAN};
        time->cycles = NAN;
        time->sm_clock_mhz = NAN;
    }
    return STATUS_OK;
}

const struct cell *result_cell(const void *result, size_t i)
{
    return &((const struct result *)result)->cells[i].cell;
}

void result_close(struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        free(result->cells[i].time.samples_ns);
        free(result->cells[i].counters);
    }
    free(result->cells);
    cJSON_Delete(result->storage);
    *result = (struct result){0};
}

static double counter_read(const struct cell_result *cell, const char *name)
{
    return counter_counted(cell->counters, cell->counter_count, name);
}

/* NaN where there are no bytes. */
static double per_byte(double operations, double bytes)
{
    return bytes > 0 ? operations / bytes : NAN;
}

struct operations_per_byte cell_operations_per_byte(const struct cell_result *cell)
{
    enum { PRODUCT_OPERATIONS = 2, ELEMENT_BYTES = 4, L2_SECTOR_BYTES = 32 };
    const double operations = cell->operations ? (double)cell->operations : NAN;
    const double global_bytes = cell->cell.path->home == TABLE_GLOBAL ? 2 * ELEMENT_BYTES : ELEMENT_BYTES;
    const bool products = cell->cell.path->loads && workload_steps(cell->cell.workload, cell->cell.parameters) > 1;

    return (struct operations_per_byte){
        .ideal = products ? PRODUCT_OPERATIONS / global_bytes : NAN,
        .dram = per_byte(operations, counter_read(cell, "dram_read_bytes") + counter_read(cell, "dram_write_bytes")),
        .l2 = per_byte(operations, L2_SECTOR_BYTES * counter_read(cell, "l2_sectors")),
    };
}

static enum status cell_verdict(const struct cell_result *cell)
{
    if (cell->status == CELL_FAILED || cell->flags & FLAG_COUNTER_DIFFERS)
        return STATUS_FINDING;
    for (size_t i = 0; i < cell->counter_count; i++)
        if (counter_differs(&cell->counters[i]))
            return STATUS_FINDING;
    return cell->flags & FLAG_UNSTABLE ? STATUS_INCONCLUSIVE : STATUS_OK;
}

enum status result_verdict(const struct result *result)
{
    enum status verdict = STATUS_OK;

    for (size_t i = 0; i < result->cell_count; i++)
        verdict = status_worse(verdict, cell_verdict(&result->cells[i]));
    return verdict;
}
