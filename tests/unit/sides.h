/* SPDX-License-Identifier: MIT
 * For tests: results made here, and the sides and comparisons of them. */
#ifndef CBANK_TESTS_SIDES_H
#define CBANK_TESTS_SIDES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cells.h"
#include "compare.h"

enum { RESULT_SAMPLES = 12 };

/* Gives a cell samples of about `ns`, in a pattern of its own: half widths are about 0.1 %. */
static inline void result_time(struct cell_result *cell, double ns)
{
    free(cell->time.samples_ns);
    cell->time.samples_ns = malloc(RESULT_SAMPLES * sizeof(double));
    assert_non_null(cell->time.samples_ns);
    for (int i = 0; i < RESULT_SAMPLES; i++)
        cell->time.samples_ns[i] = ns * (1 + 0.0002 * (i * 5 % RESULT_SAMPLES - 5.5));
    cell->time.summary.count = RESULT_SAMPLES;
    cell->time.summary.value = ns;
}

/* A result of process `process`: `count` cells of different sizes, which take 1 us each. The caller
 * closes it. */
static inline void result_fill(struct result *result, size_t count, unsigned process)
{
    struct cell cells[32];

    assert_true(count <= 32);
    for (size_t i = 0; i < count; i++) {
        cells[i] = cell_of(i % 3, i / 3 % 4);
        cells[i].elements = 1000 + i;
    }
    assert_int_equal(result_open(result, cells, count), STATUS_OK);
    result->engine = "cuda";
    result->complete = true;
    snprintf(result->started_utc, sizeof(result->started_utc), "2026-01-02T03:%02u:05Z",
             process % 60);
    strcpy(result->finished_utc, "2026-01-02T04:04:06Z");
    strcpy(result->argv, "cbank run");
    strcpy(result->counters_asked, "default");
    result->max_noise = 0.005;
    strcpy(result->device.name, "NVIDIA H200");
    strcpy(result->device.uuid, "GPU-11111111-2222");
    strcpy(result->device.driver, "570");
    strcpy(result->device.vbios, "96");
    strcpy(result->device.ecc, "on");
    strcpy(result->device.mig, "off");
    result->device.cc_major = 9;
    for (size_t i = 0; i < count; i++) {
        struct cell_result *cell = &result->cells[i];

        cell->status = CELL_OK;
        cell->verified = true;
        cell->time.launches_per_sample = 10;
        cell->time.stop_reason = STOP_CONVERGED;
        cell->time.sm_clock_mhz = 1980;
        cell->kernel = (struct cell_kernel){.symbol = "k", .sha256 = "aa"};
        result_time(cell, 1000);
    }
}

static inline void result_counter(struct cell_result *cell, const char *name,
                                  enum counter_kind kind, double value)
{
    struct counter_value *counters =
        realloc(cell->counters, (cell->counter_count + 1) * sizeof(*counters));

    assert_non_null(counters);
    cell->counters = counters;
    counters[cell->counter_count++] =
        (struct counter_value){.name = name,
                               .unit = "requests",
                               .kind = kind,
                               .status = isnan(value) ? COUNTER_NO_PERMISSION : COUNTER_OK,
                               .value = value};
}

/* Adds a result, which is closed. */
static inline void sides_put(struct sides *sides, struct result *result)
{
    assert_int_equal(sides_take(sides, "made here", result), STATUS_OK);
    result_close(result);
}

/* The cell that result_fill made as number `index`. */
static inline const struct comparison_cell *compared_cell(const struct comparison *comparison,
                                                          size_t index)
{
    for (size_t i = 0; i < comparison->cell_count; i++)
        if (comparison->cells[i].cell.elements == 1000 + index)
            return &comparison->cells[i];
    fail_msg("no cell %zu", index);
    return NULL;
}

/* Compares, and closes nothing. */
static inline struct comparison compared(const struct sides sides[SIDES],
                                         const struct compare_options *options)
{
    struct comparison comparison;

    assert_int_equal(compare_sides(sides, options, &comparison), STATUS_OK);
    return comparison;
}

static inline void compared_close(struct comparison *comparison, struct sides sides[SIDES])
{
    comparison_close(comparison);
    comparison_close(comparison);
    for (size_t i = 0; i < SIDES; i++)
        sides_close(&sides[i]);
}

#endif
