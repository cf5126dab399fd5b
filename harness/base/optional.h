/* SPDX-License-Identifier: MIT
 * An integer that may be unknown: a driver, a chip or a code does not tell every quantity. Its unit
 * is that of the member that it is. JSON has null in its place, and whoever writes the document
 * gives the reason beside it. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed, it is not known. */
struct optional {
    bool known;
    uint64_t value; /* 0 when not known */
};

static inline struct optional optional_of(uint64_t value)
{
    return (struct optional){true, value};
}

/* Known unless it is 0, which some sources give for what they do not know. */
static inline struct optional optional_unless_zero(uint64_t value)
{
    return (struct optional){value != 0, value};
}

/* The nearest integer of a count that was read as a double. Not known: NaN, or below 0. */
static inline struct optional optional_nearest(double number)
{
    return number >= 0 && number < 0x1p63 ? optional_of((uint64_t)(number + 0.5))
                                          : (struct optional){0};
}

/* For arithmetic with real numbers: NaN when not known. */
static inline double optional_number(struct optional integer)
{
    return integer.known ? (double)integer.value : (double)NAN;
}
