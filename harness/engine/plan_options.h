/* SPDX-License-Identifier: MIT
 * The options that say which cells are measured and how: of run, and of whatever runs it. */
#ifndef CBANK_PLAN_OPTIONS_H
#define CBANK_PLAN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"
#include "engine.h"
#include "option.h"
#include "parameter.h"

/* Which cells. */
struct plan_options {
    const struct preset *sweep;                           /* NULL: none; its values are in the others */
    struct selection workloads, paths, patterns, regimes; /* rows of these tables; no patterns: each workload's own */
    struct selection sources;                             /* of workloads that read indices; none: their own */
    const char *indices_path;                             /* a file of indices beside them; NULL: none */
    struct integers elements, block_sizes;                /* none: each workload's own */
    struct integers parameters[PARAMETER_COUNT];          /* by enum parameter_index */
    bool named[PARAMETER_COUNT];                          /* of these, which stood on the line */
    bool given;                                           /* one of the others did */
};

/* --counters */
struct counters_option {
    struct counter_set set;
    const char *text;
};

/* --slow: cells of this path have this share of work added; NULL for none. */
struct slow_option {
    const struct path *path;
    double percent;
};

/* How they are measured. */
struct measure_options {
    const struct engine_row *engine; /* NULL: auto */
    struct integers devices;
    struct counters_option counters;
    double max_noise_percent;
    double sample_us; /* a hot sample is about this long */
    uint64_t samples_max;
    double seconds_max; /* for each cell */
    uint64_t seed;
    bool seed_given;
    const char *card_path; /* NULL: the built-in card */
    const struct fault *fault;
    struct slow_option slow;
    bool anonymous; /* the result does not say where it was measured */
    bool given; /* one of these, but for the card, stood on the line */
};

/* Plans by a name: surfaces of 1,000 cells or fewer each. */
extern const struct preset sweeps[];
extern const size_t sweep_count;

enum { PLAN_OPTION_COUNT = 9 + PARAMETER_COUNT, MEASURE_OPTION_COUNT = 12 };

extern const struct option_row plan_option_rows[PLAN_OPTION_COUNT];
extern const struct option_row measure_option_rows[MEASURE_OPTION_COUNT];

/* Whether workloads take what the options name for those of their kind: patterns, or sources, a file of indices and large
 * tables. STATUS_USAGE, logged, where it would be passed over. */
enum status plan_options_check(const struct plan_options *options);

/* Whether each parameter that stood on the line is taken by one of the cells. STATUS_USAGE, logged, where it would be passed
 * over. */
enum status plan_options_check_named(const struct plan_options *options, const struct cell *cells, size_t count);

/* Whether one of the options stood on the line. */
bool plan_options_given(const struct plan_options *options);

/* Sets what no option says, for commands that take none of these. STATUS_ENVIRONMENT when out of memory. On success the
 * caller closes. */
enum status measure_options_open(struct measure_options *out);

/* Releases; accepts a zeroed struct. */
void measure_options_close(struct measure_options *options);

#endif
