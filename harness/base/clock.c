/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <time.h>

double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void clock_utc(char out[CLOCK_UTC_BYTES])
{
    const time_t now = time(NULL);
    struct tm utc = {0};

    gmtime_r(&now, &utc);
    strftime(out, CLOCK_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
}
