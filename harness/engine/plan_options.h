/* SPDX-License-Identifier: MIT
 * The options that select cells and the way of measuring them, for run and for every command that
 * calls it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counter.h"
#include "engine.h"
#include "option.h"
#include "parameter_index.h"

/* Users' kernels, in place of the workloads of this program. */
struct kernel_options {
    const char *paths;            /* of kernel files, comma-separated; NULL: none */
    const char *spaces;           /* see struct kernel_request; NULL: all */
    struct integers sizes;        /* none: those of the case */
    const char *compiler;         /* NULL: the one that is found */
    const char *compiler_options; /* NULL: none */
    double compiler_seconds; /* of one call of nvcc */
    /* another kernel file that is compared with the one; NULL: none */
    const char *against;
    const char *against_compiler, *against_options; /* for it; NULL: as for the one */
    const char *expected; /* hashes of kernel files: others are refused; NULL: any */
    bool given; /* spaces, sizes or a comparison */
};

/* Selection of cells. */
struct plan_options {
    struct kernel_options kernel;
    const struct preset *sweep; /* NULL: none; its values are already in the other members */
    struct selection workloads, paths, patterns,
        cache_states; /* rows of these tables; no patterns: each workload's own */
    struct selection sources; /* for workloads that read indices; none: the workload's
                               * own */
    struct selection launch_paths; /* for workloads that read no table; none: all */
    const char *indices_path; /* a file of indices in addition; NULL: none */
    struct integers elements, block_sizes; /* none: each workload's own */
    struct integers parameters[PARAMETERS_MAX]; /* by enum parameter_index */
    bool named[PARAMETERS_MAX]; /* those of them that were given */
    bool jit; /* the driver compiles the kernels */
    bool paths_given, cache_states_given;
    bool given; /* one of the others was given */
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

/* The way of measuring. */
struct measure_options {
    const struct engine_row *engine; /* NULL: auto */
    struct integers devices;
    struct counters_option counters;
    double max_noise_percent;
    double sample_us; /* approximate length of a hot sample */
    uint64_t samples_max;
    double seconds_max; /* for each cell */
    double watchdog_slack_seconds; /* 0: not given */
    uint64_t seed;
    bool seed_given;
    const char *card_path; /* NULL: the built-in card */
    const struct fault *fault;
    struct slow_option slow;
    bool durations; /* also measure those of launches alone */
    bool energy;    /* also measure the energy of launches, ... */
    double energy_seconds; /* ... of each cell for so long */
    bool anonymous; /* the result does not tell where it was measured */
    bool given; /* one of these except the card and the slack was given */
};

/* Plans with a name, each of at most 1,000 cells. */
extern const struct preset sweeps[];
extern const size_t sweep_count;

enum { PLAN_OPTION_COUNT = 12 + PARAMETER_COUNT, MEASURE_OPTION_COUNT = 16 };

enum { KERNEL_OPTION_COUNT = 10 };

/* Number of --duration among these. The rows before it choose the GPU and how times are taken. */
enum { MEASURE_OPTION_DURATION = 10 };

/* Rows of these: --jit and, the last, --cache-state are also for kernels of users. */
enum { PLAN_OPTION_JIT = 5, PLAN_OPTION_CACHE_STATE = PLAN_OPTION_COUNT - 1 };
extern const struct option_row plan_option_rows[PLAN_OPTION_COUNT];
extern const struct option_row kernel_option_rows[KERNEL_OPTION_COUNT]; /* of plan_options.kernel */
extern const struct option_row measure_option_rows[MEASURE_OPTION_COUNT];

/* Parses text as the value of an option of plan_option_rows that is a list of integers. */
enum status plan_integers(const char *option, const char *text, struct integers *out);

/* Whether an option chooses cells: then --resume is refused. */
bool plan_options_given(const struct plan_options *options);

/* Checks that workloads take the options for workloads of their kind: patterns, or sources, a file
 * of indices and large tables, or launch paths; a user's kernel takes cache states alone.
 * STATUS_USAGE, logged, if one would be ignored. */
enum status plan_options_check(const struct plan_options *options);
