/* SPDX-License-Identifier: MIT
 * Parameters: numbers that a pattern or a workload takes. */
#ifndef CBANK_PARAMETER_H
#define CBANK_PARAMETER_H

#include <stddef.h>
#include <stdint.h>

/* Index of each row of parameters.def, and their number. */
enum parameter_index {
#define PARAMETER(name, option, summary, unit, min, max, multiple, fallback) PARAMETER_##name,
#include "parameters.def"
    PARAMETER_COUNT
};

/* A set of parameters has this bit for each that is in it. */
#define PARAMETER_BIT(name) (1u << PARAMETER_##name)

/* One row of parameters.def. */
struct parameter {
    const char *name;     /* key in the result */
    const char *option;   /* word of the command line, without the dashes */
    const char *summary;
    const char *unit;
    uint32_t min, max;
    uint32_t multiple;    /* values are multiples of it; 0: powers of two */
    const char *fallback; /* the values of a plan that names none, comma-separated */
};

/* All parameters, by enum parameter_index. */
extern const struct parameter parameters[PARAMETER_COUNT];
extern const size_t parameter_count;

/* Whether value is one that the parameter can have. */
int parameter_allows(const struct parameter *parameter, uint64_t value);

#endif
