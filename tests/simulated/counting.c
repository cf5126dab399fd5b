/* SPDX-License-Identifier: MIT
 * What a launch counts: what is expected of exact counters, and plausible numbers of others. */
#include "counting.h"

#include <math.h>
#include <string.h>

#include "counter.h"

/* Lines that each SM with a block fetches: those of the table that fit, and those of its
 * parameters. */
static double fills(const struct expectation *expectation)
{
    const struct access_counts *const access = expectation->access;
    const double sms = fmin((double)access->blocks, chip.sm_count);
    const bool constant = expectation->cell->path->unit == UNIT_IDC;

    return sms * chip.parameter_lines +
           (constant ? fmin((double)access->lines, sms * (double)access->footprint_lines) : 0);
}

/* Counters that are not exact. */
static double other_counter(const char *name, const struct expectation *expectation,
                            double idc_requests, double cycles)
{
    const double misses = fills(expectation);
    const double streamed_bytes = (double)expectation->cell->elements * sizeof(uint32_t);
    /* Shared with other instances where there is MIG. */
    const double dram_bytes = settings.mig ? NAN : streamed_bytes;
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"idc_hits", idc_requests - misses},
        {"idc_misses", misses},
        {"idc_misses_new", misses},
        {"idc_active_cycles", idc_requests * chip.levels[0].request_cycles},
        {"gcc_constant_requests",
         misses + fmin((double)expectation->access->blocks, chip.sm_count) * chip.immediate_lines},
        {"gcc_constant_misses", (double)expectation->access->footprint_lines},
        {"l2_sectors", 2 * dram_bytes / ACCESS_SECTOR_BYTES},
        {"dram_read_bytes", dram_bytes},
        {"dram_write_bytes", dram_bytes},
        {"shared_wavefronts", (double)expectation->access->wavefronts},
        {"sm_cycles", cycles},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].value;
    return 0;
}

static double count(const struct counter *counter, const struct expectation *expectation,
                    double idc_requests, double cycles)
{
    return counter->kind == COUNTER_EXACT
               ? (double)counter_expected(counter, expectation).value
               : other_counter(counter->name, expectation, idc_requests, cycles);
}

/* Metrics that are no counter of the table. */
static const char *const other_metrics[] = {"sm__cycles_active.sum"};

enum { OTHER_METRICS = sizeof(other_metrics) / sizeof(other_metrics[0]) };

static void add_cell(const struct launch *launch, double cycles, double *values)
{
    const struct behaviour *const behaviour = launch->behaviour;
    const struct kernel_sass *const sass = &launch->function->sass;
    const struct expectation expectation = {&behaviour->cell, &behaviour->access,
                                            sass->counted ? &sass->counts : NULL};
    const double idc_requests =
        count(&counters[counting_row("idc__requests.sum")], &expectation, 0, cycles);

    for (size_t i = 0; i < counter_count; i++)
        values[i] += count(&counters[i], &expectation, idc_requests, cycles);
    values[counter_count] += cycles * chip.sm_count;
}

/* Every warp executes all instructions once. */
static void add_user(const struct launch *launch, double cycles, double *values)
{
    static const struct {
        const char *metric;
        enum sass_class class;
    } rows[] = {{"smsp__inst_executed_op_ldc.sum", SASS_LDC},
                {"idc__requests.sum", SASS_LDC},
                {"smsp__inst_executed_op_global_ld.sum", SASS_LDG},
                {"smsp__inst_executed_op_texture.sum", SASS_TLD},
                {"smsp__inst_executed_op_shared_ld_pred_on_any.sum", SASS_LDS}};
    const struct kernel_sass *const sass = &launch->function->sass;
    const double warps = launch->blocks * ceil(launch->threads / (double)CBANK_WARP_THREADS);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        values[counting_row(rows[i].metric)] += warps * sass_class_loads(sass, rows[i].class);
    values[counting_row("smsp__inst_executed.sum")] += warps * sass->counts.prologue.instructions;
    values[counter_count] += cycles * chip.sm_count;
}

void counting_add(const struct launch *launch, double cycles, double *values)
{
    if (launch->function->row->of_cell)
        add_cell(launch, cycles, values);
    else if (launch->user || launch->function->row->of_launch_path)
        add_user(launch, cycles, values);
}

size_t counting_count(void)
{
    return counter_count + OTHER_METRICS;
}

size_t counting_row(const char *metric)
{
    for (size_t i = 0; i < counter_count; i++)
        for (size_t k = 0; k < COUNTER_METRICS_MAX && counters[i].metrics[k]; k++)
            if (strcmp(counters[i].metrics[k], metric) == 0)
                return i;
    for (size_t i = 0; i < OTHER_METRICS; i++)
        if (strcmp(other_metrics[i], metric) == 0)
            return counter_count + i;
    return counting_count();
}

const char *counting_metric(size_t row, size_t alternative)
{
    if (row >= counter_count)
        return other_metrics[row - counter_count];
    return alternative < COUNTER_METRICS_MAX && counters[row].metrics[alternative]
               ? counters[row].metrics[alternative]
               : counters[row].metrics[0];
}
