/* SPDX-License-Identifier: MIT
 * What a launch counts. */
#ifndef SIMULATED_COUNTING_H
#define SIMULATED_COUNTING_H

#include "kernel.h"

/* The counted quantities: the rows of the counter table, and metrics that they lack. */
size_t counting_count(void);

/* Adds what a launch counts to values[counting_count()]. */
void counting_add(const struct launch *launch, double cycles, double *values);

/* The place of a metric, with its rollup, among them; counting_count() where there is none. */
size_t counting_row(const char *metric);

/* The metric of a place: that alternative, where the counter has one. */
const char *counting_metric(size_t row, size_t alternative);

#endif
