/* SPDX-License-Identifier: MIT
 * Elements by their type, which the report of a buffer says: floats are compared with a tolerance
 * and shown as numbers, everything else byte by byte. */
#include "elements.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const unsigned char *element_at(const struct cbank_buffer_report *of, const void *values,
                                       uint64_t index)
{
    return (const unsigned char *)values + index * of->element_bytes;
}

static bool is_float(const struct cbank_buffer_report *of)
{
    return of->type == CBANK_TYPE_FLOAT &&
           (of->element_bytes == 2 || of->element_bytes == 4 || of->element_bytes == 8);
}

static double float_value(const struct cbank_buffer_report *of, const void *at)
{
    uint16_t half;
    float single;
    double value;

    if (of->element_bytes == sizeof(half)) {
        int exponent, fraction;

        memcpy(&half, at, sizeof(half));
        exponent = half >> 10 & 31;
        fraction = half & 1023;
        if (exponent == 31)
            value = fraction ? NAN : INFINITY;
        else
            value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
        return half & 0x8000 ? -value : value;
    }
    if (of->element_bytes == sizeof(single)) {
        memcpy(&single, at, sizeof(single));
        return single;
    }
    memcpy(&value, at, sizeof(value));
    return value;
}

uint64_t elements_differ(const struct cbank_buffer_report *of, const void *found,
                         const void *expected)
{
    /* Equal bytes need no look at each element. */
    if (memcmp(found, expected, of->elements * of->element_bytes) == 0)
        return of->elements;
    for (uint64_t i = 0; i < of->elements; i++) {
        const unsigned char *a = element_at(of, found, i), *b = element_at(of, expected, i);
        double one, other;
        bool equal;

        if (memcmp(a, b, of->element_bytes) == 0)
            continue;
        if (!is_float(of))
            return i;
        one = float_value(of, a);
        other = float_value(of, b);
        equal = isinf(other) ? one == other
                             : fabs(one - other) <=
                                   of->tolerance_absolute + of->tolerance_relative * fabs(other);
        if (!equal && !(isnan(one) && isnan(other)))
            return i;
    }
    return of->elements;
}

uint64_t elements_not_finite(const struct cbank_buffer_report *of, const void *values,
                             bool infinite)
{
    for (uint64_t i = 0; is_float(of) && i < of->elements; i++) {
        const double value = float_value(of, element_at(of, values, i));

        if (isnan(value) || (infinite && isinf(value)))
            return i;
    }
    return of->elements;
}

static bool is_filled(const unsigned char *at, uint32_t bytes, int byte)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (at[i] != byte)
            return false;
    return true;
}

uint64_t elements_untouched(const struct cbank_buffer_report *of, const void *values_a, int a,
                            const void *values_b, int b)
{
    uint64_t i = 0;

    while (i < of->elements && !(is_filled(element_at(of, values_a, i), of->element_bytes, a) &&
                                 is_filled(element_at(of, values_b, i), of->element_bytes, b)))
        i++;
    return i;
}

const char *element_text(const struct cbank_buffer_report *of, const void *values, uint64_t index,
                         char text[ELEMENT_TEXT_BYTES])
{
    enum { BYTES_SHOWN = 8 };
    const unsigned char *at = element_at(of, values, index);
    const bool whole = of->element_bytes <= sizeof(uint64_t),
               is_signed = of->type == CBANK_TYPE_SIGNED;
    const uint32_t shown = of->element_bytes < BYTES_SHOWN ? of->element_bytes : BYTES_SHOWN;
    uint64_t number = 0;
    size_t used = 0;

    if (is_float(of)) {
        snprintf(text, ELEMENT_TEXT_BYTES, "%.9g", float_value(of, at));
    } else if (whole && (is_signed || of->type == CBANK_TYPE_UNSIGNED)) {
        memcpy(&number, at, of->element_bytes);
        if (is_signed && of->element_bytes < sizeof(number) &&
            number >> (8 * of->element_bytes - 1) & 1)
            number |= UINT64_MAX << 8 * of->element_bytes;
        snprintf(text, ELEMENT_TEXT_BYTES, is_signed ? "%" PRId64 : "%" PRIu64, number);
    } else {
        for (uint32_t i = 0; i < shown; i++)
            used += (size_t)snprintf(text + used, ELEMENT_TEXT_BYTES - used, "%s%02x", i ? " " : "",
                                     at[i]);
        snprintf(text + used, ELEMENT_TEXT_BYTES - used, "%s",
                 of->element_bytes > shown ? " ..." : "");
    }
    return text;
}
