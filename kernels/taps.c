/* SPDX-License-Identifier: MIT */
#include "taps.h"

#include <stddef.h>
#include <string.h>

void taps_read(const uint32_t *row, uint64_t width, int64_t x, uint32_t count, int64_t radius, double *input)
{
    for (int64_t k = 0; k < (int64_t)TAPS_INPUT(count, radius); k++) {
        const int64_t at = x - radius + k;
        float value = 0;

        if (at >= 0 && at < (int64_t)width)
            memcpy(&value, &row[at], sizeof(value));
        input[k] = (double)value;
    }
}

typedef double pair __attribute__((vector_size(2 * sizeof(double))));

static pair pair_at(const double *from)
{
    pair out;

    memcpy(&out, from, sizeof(out));
    return out;
}

/* TAPS_AT_ONCE sums of values[i] * input[k + i] over all taps. */
static void sum_taps(const double *input, const double *values, uint32_t taps, double sums[TAPS_AT_ONCE])
{
    pair a = {0}, b = {0}, c = {0}, d = {0};

    for (uint32_t tap = 0; tap < taps; tap++, input++) {
        const pair value = {values[tap], values[tap]};

        a += value * pair_at(input);
        b += value * pair_at(input + 2);
        c += value * pair_at(input + 4);
        d += value * pair_at(input + 6);
    }
    memcpy(sums, &a, sizeof(a));
    memcpy(sums + 2, &b, sizeof(b));
    memcpy(sums + 4, &c, sizeof(c));
    memcpy(sums + 6, &d, sizeof(d));
}

void taps_add(const double *input, const double *values, uint32_t taps, uint32_t count, double *sum)
{
    for (uint32_t first = 0; first < count; first += TAPS_AT_ONCE) {
        double sums[TAPS_AT_ONCE];

        sum_taps(input + first, values, taps, sums);
        for (uint32_t lane = 0; lane < TAPS_AT_ONCE && first + lane < count; lane++)
            sum[first + lane] += sums[lane];
    }
}
