/* SPDX-License-Identifier: MIT
 * Counters: the table of quantities read from the hardware, and the values of one cell. */
#pragma once

#include "access.h"
#include "optional.h"

enum counter_kind { COUNTER_EXACT, COUNTER_MEASURED };

/* The state of one counter of one cell. */
enum counter_status {
    COUNTER_NOT_COLLECTED, /* not requested, or the run ended before */
    COUNTER_OK,
    COUNTER_UNSUPPORTED,   /* no such metric on this chip */
    COUNTER_UNAVAILABLE,   /* the library or the driver cannot read it */
    COUNTER_NO_PERMISSION,
};

extern const char *const counter_kind_names[];   /* by enum counter_kind */
extern const char *const counter_status_names[]; /* by enum counter_status */

/* Instruction counts of a stretch of code that a warp executes from end to end, once. */
struct sass_stretch {
    uint32_t instructions;
    uint32_t ldc_user;      /* LDC from the user bank with a register index */
    /* every other LDC: parameters (also a table among them), block size, stack */
    uint32_t ldc_parameter;
    uint32_t uniform_constant; /* ULDC, LDCU */
};

/* The instructions of one kernel. In straight-line code, every launched warp executes everything up
 * to the first EXIT (prologue); warps with an element also execute the rest (body). A grid-stride
 * kernel then has a loop over elements, and in it a loop over groups of lookups in flight. A warp
 * executes the outer one (round) once for each element, and the inner one (group) once for each
 * group. */
struct sass_counts {
    uint32_t architecture; /* 90 for sm_90 */
    struct sass_stretch prologue, body, round, group;
};

/* The inputs of expected values. */
struct expectation {
    const struct cell *cell;
    const struct access_counts *access;
    /* NULL when the code is not known: then only payload can be expected */
    const struct sass_counts *sass;
};

enum { COUNTER_METRICS_MAX = 3 };

/* One row of the counter table. */
struct counter {
    const char *name; /* key in the result */
    const char *summary;
    const char *unit;
    const char *metrics[COUNTER_METRICS_MAX]; /* CUPTI names, the first known to the chip is used;
                                               * NULL after the last */
    enum counter_kind kind;
    struct optional (*expect)(const struct expectation *); /* of exact counters; else NULL */
};

extern const struct counter counters[];
extern const size_t counter_count;

/* The exact value of a counter; not known where it cannot be, as for a user's kernel, and for
 * measured counters. */
struct optional counter_expected(const struct counter *counter,
                                 const struct expectation *expectation);

/* The counters of a run: rows of the table, and rows made from the user's CUPTI metric names. */
struct counter_set {
    struct counter *counters; /* owned array */
    size_t count;
    char *names; /* owned: the user's names */
};

/* Parses "default", "none" or a comma-separated list of table names and CUPTI metric names
 * (anything with "__" in it) into *out. STATUS_USAGE, for an unknown one. */
enum status counter_set_parse(const char *text, struct counter_set *out);

/* Releases; accepts a zeroed struct. */
void counter_set_close(struct counter_set *set);

/* One counter of one cell. */
struct counter_value {
    const char *name; /* of the counter set, or owned by the result that was read */
    const char *metric; /* the CUPTI name that was read; NULL if none */
    const char *unit;
    enum counter_kind kind;
    enum counter_status status;
    double value; /* NaN unless status is COUNTER_OK */
    struct optional expected; /* of COUNTER_EXACT, where it can be known */
    const char *reason; /* why the status is not ok; else NULL */
};

/* The value with this name; NULL if there is none. */
const struct counter_value *counter_find(const struct counter_value *values, size_t count,
                                         const char *name);

/* The reading of the counter with this name; NaN where nothing was read. */
double counter_counted(const struct counter_value *values, size_t count, const char *name);

/* Whether an exact counter was read and differs from its expected value. */
bool counter_differs(const struct counter_value *value);

/* The counters that a chip supports. */
struct chip_counters {
    const char *chip; /* CUPTI's name */
    const char *reason; /* why the chip is unknown; NULL when it is known */
    const bool *has; /* counter_count values: whether the chip has one of the row's metrics */
};

struct chip_visitor {
    void (*visit)(void *context, const struct chip_counters *chip);
    void *context;
};
