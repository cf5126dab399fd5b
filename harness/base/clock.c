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
    if (utc.tm_year < 1000 - 1900 || utc.tm_year >= 10000 - 1900) {
        strftime(out, CLOCK_UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
        return;
    }
    /* As strftime does, which takes long: a history has many. */
    const int year = 1900 + utc.tm_year;
    const int pairs[] = {year / 100, year % 100, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec};
    static const char after[] = {'\0', '-', '-', 'T', ':', ':', 'Z'};

    for (size_t i = 0; i < sizeof(after); i++) {
        *out++ = (char)('0' + pairs[i] / 10);
        *out++ = (char)('0' + pairs[i] % 10);
        if (after[i])
            *out++ = after[i];
    }
    *out = '\0';
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
