/* SPDX-License-Identifier: MIT
 * Elements of the buffers of a user's kernel: comparing and showing them by their type. */
#pragma once

#include <stdbool.h>

#include "cbank_case.h"

/* `report` has the number of elements, their type and size, and their tolerance. Floats are equal
 * if they differ by the absolute tolerance and the relative one times the expected element at most.
 * NaN is equal to NaN alone, whatever its payload. Elements of other types are equal if all bytes
 * are. */

/* The first element that differs from the expected one; their number if none does. */
uint64_t elements_differ(const struct cbank_buffer_report *report, const void *found,
                         const void *expected);

/* The first float that is NaN, or with `infinite` also the first that is infinite; their number if
 * there is none, or the elements are not floats. */
uint64_t elements_not_finite(const struct cbank_buffer_report *report, const void *values,
                             bool infinite);

/* The first element that has only bytes `a` in one array and only bytes `b` in the other; their
 * number if there is none. */
uint64_t elements_untouched(const struct cbank_buffer_report *report, const void *values_a, int a,
                            const void *values_b, int b);

/* Writes an element as a number, or as hexadecimal bytes, the lowest first. Returns text. */
enum { ELEMENT_TEXT_BYTES = 40 };
const char *element_text(const struct cbank_buffer_report *report, const void *values,
                         uint64_t index, char text[ELEMENT_TEXT_BYTES]);
