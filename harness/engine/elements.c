/* SPDX-License-Identifier: MIT
 * Elements by their type, which the report of a buffer says: floats are compared with a tolerance
 * and shown as numbers, everything else byte by byte. */
#include "elements.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const unsigned char *element_at(const struct cbank_buffer_report *report, const void *values,
                                       uint64_t index)
{
    return (const unsigned char *)values + index * report->element_bytes;
}

static bool is_float(const struct cbank_buffer_report *report)
{
    return report->type == CBANK_TYPE_FLOAT &&
           (report->element_bytes == 2 || report->element_bytes == 4 || report->element_bytes == 8);
}

static double float_value(const struct cbank_buffer_report *report, const void *element)
{
    uint16_t half;
    float single;
    double value;

    if (report->element_bytes == sizeof(half)) {
        int exponent, fraction;

        memcpy(&half, element, sizeof(half));
        exponent = half >> 10 & 31;
        fraction = half & 1023;
        if (exponent == 31)
            value = fraction ? NAN : INFINITY;
        else
            value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
        return half & 0x8000 ? -value : value;
    }
    if (report->element_bytes == sizeof(single)) {
        memcpy(&single, element, sizeof(single));
        return single;
    }
    memcpy(&value, element, sizeof(value));
    return value;
}

uint64_t elements_differ(const struct cbank_buffer_report *report, const void *found,
                         const void *expected)
{
    /* Equal bytes need no look at each element. */
    if (memcmp(found, expected, report->elements * report->element_bytes) == 0)
        return report->elements;
    for (uint64_t i = 0; i < report->elements; i++) {
        const unsigned char *a = element_at(report, found, i), *b = element_at(report, expected, i);
        double value, due;
        bool equal;

        if (memcmp(a, b, report->element_bytes) == 0)
            continue;
        if (!is_float(report))
            return i;
        value = float_value(report, a);
        due = float_value(report, b);
        equal = isinf(due) ? value == due
                           : fabs(value - due) <= report->tolerance_absolute +
                                                      report->tolerance_relative * fabs(due);
        if (!equal && !(isnan(value) && isnan(due)))
            return i;
    }
    return report->elements;
}

uint64_t elements_not_finite(const struct cbank_buffer_report *report, const void *values,
                             bool infinite)
{
    for (uint64_t i = 0; is_float(report) && i < report->elements; i++) {
        const double value = float_value(report, element_at(report, values, i));

        if (isnan(value) || (infinite && isinf(value)))
            return i;
    }
    return report->elements;
}

static bool is_filled(const unsigned char *element, uint32_t bytes, int byte)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (element[i] != byte)
            return false;
    return true;
}

uint64_t elements_untouched(const struct cbank_buffer_report *report, const void *values_a, int a,
                            const void *values_b, int b)
{
    uint64_t i = 0;

    while (i < report->elements &&
           !(is_filled(element_at(report, values_a, i), report->element_bytes, a) &&
             is_filled(element_at(report, values_b, i), report->element_bytes, b)))
        i++;
    return i;
}

const char *element_text(const struct cbank_buffer_report *report, const void *values,
                         uint64_t index, char text[ELEMENT_TEXT_BYTES])
{
    enum { BYTES_SHOWN = 8 };
    const unsigned char *element = element_at(report, values, index);
    const bool whole = report->element_bytes <= sizeof(uint64_t),
               is_signed = report->type == CBANK_TYPE_SIGNED;
    const uint32_t shown =
        report->element_bytes < BYTES_SHOWN ? report->element_bytes : BYTES_SHOWN;
    uint64_t number = 0;
    size_t used = 0;

    if (is_float(report)) {
        snprintf(text, ELEMENT_TEXT_BYTES, "%.9g", float_value(report, element));
    } else if (whole && (is_signed || report->type == CBANK_TYPE_UNSIGNED)) {
        memcpy(&number, element, report->element_bytes);
        if (is_signed && report->element_bytes < sizeof(number) &&
            number >> (8 * report->element_bytes - 1) & 1)
            number |= UINT64_MAX << 8 * report->element_bytes;
        snprintf(text, ELEMENT_TEXT_BYTES, is_signed ? "%" PRId64 : "%" PRIu64, number);
    } else {
        for (uint32_t i = 0; i < shown; i++)
            used += (size_t)snprintf(text + used, ELEMENT_TEXT_BYTES - used, "%s%02x", i ? " " : "",
                                     element[i]);
        snprintf(text + used, ELEMENT_TEXT_BYTES - used, "%s",
                 report->element_bytes > shown ? " ..." : "");
    }
    return text;
}
