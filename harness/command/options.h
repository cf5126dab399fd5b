/* SPDX-License-Identifier: MIT
 * The command line: one table of options, from which parsing, help and limits follow. */
#ifndef CBANK_OPTIONS_H
#define CBANK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter.h"
#include "engine.h"
#include "export.h"
#include "status.h"
#include "table.h"

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* A list of integers in the order given, each once; `all` when the word stood instead. */
struct integers {
    uint64_t *values; /* owned */
    size_t count;
    bool all;
};

/* Everything that any command takes. What was not given has its default. */
struct options {
    struct selection workloads, paths, patterns, regimes; /* rows of these tables; no patterns: each workload's own */
    struct integers elements, block_sizes;                /* none: each workload's own */
    struct integers parameters[PARAMETER_COUNT];          /* by enum parameter_index */
    struct integers devices;
    const struct engine_row *engine; /* NULL: auto */
    struct counter_set counters;
    const char *counters_text;
    const char *json_path;   /* NULL: a name made up in the current folder; "-": stdout */
    const char *resume_path; /* NULL: a new run */
    const char *card_path;   /* NULL: the built-in card */
    uint64_t seed;
    bool seed_given;
    double max_noise_percent;
    double sample_us;        /* a hot sample is about this long */
    uint64_t samples_max;
    double seconds_max;      /* for each cell */
    bool quiet;
    bool strict;
    bool json;               /* list, explain: print JSON */
    enum color_mode color;
    const struct fault *fault;
    const struct path *slow_path; /* planted slowdown: NULL for none */
    double slow_percent;
    double threshold_percent, counter_threshold_percent;
    struct selection allowed;     /* facets that may differ */
    const char *calibration_path;
    const char *markdown_path, *junit_path, *csv_path; /* reports of a comparison; its JSON is json_path */
    bool all;                     /* show cells that are the same, too */
    uint64_t launches;            /* of a calibration */
    const char *keep_path;        /* folder that the launches' results are kept in; NULL: nowhere */
    uint64_t ordinal;             /* GPU that is characterized */
    const char *replay_path;      /* file whose answers are analysed again; NULL: a GPU is asked */
    const char *new_card_path;    /* where the card of what was found goes; NULL: none */
    const char *output_path;      /* folder of a report; NULL: not given */
    const char *library_path;     /* what an interactive report works by; NULL: the distribution's */
    bool interactive;             /* report: with a script */
    const struct export_format *format;
    const char *cell;             /* identity, or part of one; NULL: none */
    bool plan_given;         /* an option that chooses cells or how to measure them was on the line */
    char **arguments;        /* what is not an option; points into argv */
    size_t argument_count;
};

/* What a command takes and is. */
struct command {
    const char *name;
    const char *summary;
    const char *arguments;   /* of its usage line: "FILE" */
    unsigned options;        /* set of enum option_group */
    size_t arguments_min, arguments_max;
    enum status (*run)(const struct options *options, int argc, char **argv);
};

/* Which options a command takes. */
enum option_group {
    OPTIONS_PLAN = 1 << 0,    /* which cells */
    OPTIONS_MEASURE = 1 << 1, /* how */
    OPTIONS_OUTPUT = 1 << 2,  /* where the result goes */
    OPTIONS_SHOW = 1 << 3,    /* how it is printed */
    OPTIONS_LIST = 1 << 4,
    OPTIONS_CARD = 1 << 5,
    OPTIONS_COMPARE = 1 << 6,
    OPTIONS_CALIBRATE = 1 << 7,
    OPTIONS_EXPORT = 1 << 8,
    OPTIONS_HISTORY = 1 << 9,
    OPTIONS_GATE = 1 << 10,   /* --strict, --quiet */
    OPTIONS_EXPLAIN = 1 << 11,
    OPTIONS_CHARACTERIZE = 1 << 12,
    OPTIONS_REPORT = 1 << 13,
};

/* Parses argv[0 .. argc - 1], argv[0] being the command's name. Prints help or version and sets *done when
 * that was asked for. STATUS_USAGE for an unknown option (with the closest), a bad value (with the limits)
 * or too few or too many arguments. On success the caller closes *out. */
enum status options_parse(const struct command *command, int argc, char **argv, struct options *out, bool *done);

/* Releases; accepts a zeroed struct. */
void options_close(struct options *options);

/* Whether to use colour on a stream, from --color, NO_COLOR, TERM and whether it is a terminal. */
bool options_color(const struct options *options, int descriptor);

#endif
