/* SPDX-License-Identifier: MIT
 * Parameters: numbers that a pattern or a workload takes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The most rows of parameters.def: a set of them is the bits of a uint32_t. Arrays of values by
 * enum parameter_index are so long, the rest of them 0. Thus a new row changes no struct, and only
 * files that include parameter_index.h are compiled again. */
enum { PARAMETERS_MAX = 32 };

/* The value of default_value for parameters whose every value is named. */
#define PARAMETER_NAMED UINT32_MAX

/* In place of a multiple: powers of two; and those of them, 12 and 24 that are the width of an
 * entry. */
#define PARAMETER_POWERS 0u
#define PARAMETER_WIDTHS UINT32_MAX

/* What the value of a parameter changes: a set of them. */
enum parameter_reader {
    READER_PATTERN = 1 << 0, /* the index of a formula */
    READER_SOURCE = 1 << 1,  /* the indices that a source makes */
    READER_INDICES = 1 << 2, /* how many indices a thread loads, and of which table */
    READER_LAUNCH = 1 << 3,  /* the kernel, its arguments, its shared memory */
    READER_GRID = 1 << 4,    /* blocks of a launch */
    READER_MEMORY = 1 << 5,  /* tables, and other data of a launch */
};

/* One row of parameters.def. */
struct parameter {
    const char *name;     /* key in the result and variable in formulas */
    const char *option;   /* word of the command line, without the dashes */
    const char *summary;
    const char *unit;
    uint32_t min, max;
    uint32_t multiple; /* values are multiples of this; or PARAMETER_POWERS, PARAMETER_WIDTHS */
    /* default values of the plan, comma-separated; or a word for what 0 stands for */
    const char *plan_values;
    uint32_t default_value; /* identities leave this value out, and cells hold it as 0;
                             * PARAMETER_NAMED: every value is named */
    uint32_t readers; /* set of enum parameter_reader; never empty */
};

/* All parameters, by enum parameter_index. */
extern const struct parameter parameters[];
extern const size_t parameter_count;

/* Whether the parameter can have this value. */
int parameter_allows(const struct parameter *parameter, uint64_t value);

/* Which values it can have: "a multiple of 4 from 4 to 2048". Returns out. */
enum { PARAMETER_VALUES_BYTES = 96 };
const char *parameter_values_text(const struct parameter *parameter,
                                  char out[PARAMETER_VALUES_BYTES]);

/* A value as a cell holds it: 0 for the one that is left out. parameter_value converts back: it
 * gives the value of parameter i of a cell. */
uint32_t parameter_kept(const struct parameter *parameter, uint32_t value);
uint32_t parameter_value(const uint32_t values[PARAMETERS_MAX], size_t i);
