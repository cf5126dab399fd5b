/* SPDX-License-Identifier: MIT
 * Whole numbers with a scale. The suffixes are a table, in which 1000 and 1024 stand side by side.
 */
#include "parse_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t exact_max = (uint64_t)1 << 53; /* a double has every whole number below */

/* A suffix of a number; it multiplies the number. */
struct scale {
    const char *name;
    double factor;
};

static const struct scale scales[] = {
    {"", 1},         {"k", 1e3},      {"M", 1e6},       {"G", 1e9},      {"K", 1024},
    {"Ki", 1024},    {"KiB", 1024},   {"KB", 1024},     {"Mi", 1048576}, {"MiB", 1048576},
    {"MB", 1048576}, {"Gi", 1 << 30}, {"GiB", 1 << 30}, {"GB", 1 << 30}, {"B", 1},
};

bool parse_size(const char *text, uint64_t *value)
{
    static const char digits[] = "0123456789";
    const size_t whole = strspn(text, digits), point = text[whole] == '.';
    const size_t rest = point ? strspn(text + whole + 1, digits) : 0;
    const char *scale = text + whole + point + rest;
    double number;

    if (strncmp(text, "0x", 2) == 0) {
        const size_t hex = strspn(text + 2, "0123456789abcdefABCDEF");

        *value = strtoull(text, NULL, 16);
        *value = *value < exact_max ? *value : UINT64_MAX;
        return hex > 0 && !text[2 + hex];
    }
    if (whole == 0 || (point && rest == 0))
        return false;
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
        if (strcmp(scale, scales[i].name) == 0) {
            /* In binary, the product of 12.8 and 1e6 may not be whole. */
            number = strtod(text, NULL) * scales[i].factor;
            *value = number < (double)exact_max ? (uint64_t)llround(number) : UINT64_MAX;
            return fabs(number - round(number)) < 1e-6 && (!point || scales[i].factor > 1);
        }
    return false;
}
