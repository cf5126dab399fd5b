/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <string.h>
#include <time.h>

double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void clock_utc(char out[CLOCK_UTC_BYTES])
{
    clock_write_utc(time(NULL), out);
}

void clock_write_utc(int64_t seconds, char out[CLOCK_UTC_BYTES])
{
    const time_t when = (time_t)seconds;
    struct tm utc = {0};

    gmtime_r(&when, &utc);
    strftime(out, CLOCK_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

bool clock_read_utc(const char *text, int64_t *seconds)
{
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    char again[CLOCK_UTC_BYTES];

    *seconds = timegm(&utc);
    clock_write_utc(*seconds, again);
    return end && *end == '\0' && strcmp(again, text) == 0;
}
