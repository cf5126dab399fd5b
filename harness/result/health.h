/* SPDX-License-Identifier: MIT
 * Errors of the device before and after a run, as the driver counts them, and its temperature. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optional.h"

enum health_quantity {
    HEALTH_ECC_CORRECTED,
    HEALTH_ECC_UNCORRECTED,
    HEALTH_RETIRED_PAGES_SINGLE_BIT,
    HEALTH_RETIRED_PAGES_DOUBLE_BIT,
    HEALTH_RETIREMENT_PENDING,
    HEALTH_REMAPPED_ROWS_CORRECTABLE,
    HEALTH_REMAPPED_ROWS_UNCORRECTABLE,
    HEALTH_REMAP_PENDING,
    HEALTH_REMAP_FAILED,
    HEALTH_XIDS, /* faults of other processes among them */
    HEALTH_QUANTITIES
};

/* A quantity: a count, or a state that is so or not. */
struct health_row {
    const char *words;  /* for people */
    const char *remedy; /* what to do; NULL: nothing */
    bool state;
    bool grave; /* what was computed while it grew may be wrong: the run is a finding */
};

extern const struct health_row health_rows[HEALTH_QUANTITIES];

/* Their keys in health.before and health.after of a result. */
extern const char *const health_keys[HEALTH_QUANTITIES];

enum { HEALTH_XIDS_MAX = 16 };

struct health_reading {
    struct optional values[HEALTH_QUANTITIES]; /* a state is 0 or 1 */
};

/* An error with the driver's number. */
struct xid {
    uint32_t number;
};

struct health {
    bool known;                             /* it was read before and after */
    struct health_reading before, after; /* of the process that last wrote the result; ECC errors
                                            since the driver was loaded, Xids since `before` */
    const char *reasons[HEALTH_QUANTITIES]; /* why one is not known; NULL if it is; not owned */
    uint32_t grew; /* bits by enum health_quantity: in this process or in one that it
                    * resumed */
    struct xid xids[HEALTH_XIDS_MAX]; /* the first ones reported, in order */
    size_t xid_count;
};

/* The GPU's temperature from NVML, while cells were timed. */
struct temperature {
    bool known;
    double before_celsius, after_celsius; /* of the process that last wrote the result */
};

/* Records the quantities that grew in `grew`, and returns their bits. */
uint32_t health_settle(struct health *health);

/* Writes the present errors, "2 corrected ECC errors, rows wait to be remapped", as far as there is
 * room; "none", or "not known". Returns out. */
const char *health_reading_text(const struct health_reading *reading, char *out, size_t bytes);

/* Writes the increases, "2 more uncorrected ECC errors, Xid 48", as far as there is room; "" for
 * none. Returns out. */
const char *health_text(const struct health *health, char *out, size_t bytes);
