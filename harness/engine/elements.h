/* SPDX-License-Identifier: MIT
 * Elements of the buffers of a user's kernel: comparing and showing them by their type. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The elements of a buffer. `type` is an enum cbank_type. Floats are equal if they differ by the absolute tolerance and
 * the relative one times the expected element at most. NaN is equal to NaN alone, whatever its payload. Elements of
 * other types are equal if all bytes are. */
struct elements {
    uint64_t count;
    uint32_t bytes, type; /* of one element */
    double relative, absolute;
};

/* The first element that differs from the expected one; `count` if none does. */
uint64_t elements_differ(const struct elements *of, const void *found, const void *expected);

/* The first float that is NaN, or with `infinite` also the first that is infinite; `count` if there is none, or the
 * elements are not floats. */
uint64_t elements_not_finite(const struct elements *of, const void *values, bool infinite);

/* The first element that has only bytes `a` in one array and only bytes `b` in the other; `count` if there is none. */
uint64_t elements_untouched(const struct elements *of, const void *values_a, int a, const void *values_b, int b);

/* Writes an element as a number, or as hexadecimal bytes, the lowest first. Returns text. */
enum { ELEMENT_TEXT_BYTES = 40 };
const char *element_text(const struct elements *of, const void *values, uint64_t index, char text[ELEMENT_TEXT_BYTES]);
