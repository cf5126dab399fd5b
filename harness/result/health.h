/* SPDX-License-Identifier: MIT
 * Errors of the device before and after a run, as the driver counts them (health.def has the
 * quantities), and its temperature. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum health_quantity {
#define HEALTH(key, kind, grave, words, remedy) HEALTH_##key,
#include "health.def"
    HEALTH_QUANTITIES
};

/* A row of health.def. */
struct health_row {
    bool state; /* a state, true or false; else a count */
    bool grave;
    const char *words, *remedy;
};

extern const struct health_row health_rows[HEALTH_QUANTITIES];

enum { HEALTH_XIDS_MAX = 16 };

/* One reading; NaN for quantities that could not be read. */
struct health_reading {
    double values[HEALTH_QUANTITIES]; /* by enum health_quantity; a state is 0 or 1 */
};

/* An error with the driver's number. */
struct xid {
    uint32_t number;
};

struct health {
    bool known;                             /* it was read before and after */
    struct health_reading before, after; /* of the process that last wrote the result; ECC errors
                                            since the driver was loaded, Xids since `before` */
    const char *reasons[HEALTH_QUANTITIES]; /* why a value is NaN; NULL if none is; not owned */
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
