/* SPDX-License-Identifier: MIT
 * Clocks of the system: the monotonic one for durations, the same without corrections, and the real
 * one for dates. */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t clock_nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

double clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void clock_utc(char out[CLOCK_UTC_BYTES])
{
    struct timespec now;
    struct tm utc = {0};
    size_t used;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    used = strftime(out, CLOCK_UTC_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + used, CLOCK_UTC_BYTES - used, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

double clock_read(const char *utc)
{
    struct tm time = {0};
    const char *rest = strptime(utc, "%Y-%m-%dT%H:%M:%S", &time);

    return rest ? (double)timegm(&time) + (*rest == '.' ? strtod(rest, NULL) : 0) : 0;
}
