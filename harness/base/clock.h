/* SPDX-License-Identifier: MIT
 * What time it is. */
#ifndef CBANK_CLOCK_H
#define CBANK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_UTC_BYTES = 32 };

/* Seconds since some fixed moment, for durations: a clock that is never set back. */
double clock_seconds(void);

/* Writes the date and time as ISO 8601, "2026-01-31T12:00:00Z". */
void clock_utc(char out[CLOCK_UTC_BYTES]);

/* Seconds since 1970 of a time that is written so, to the second. False for any other text, and for days that no month
 * has. */
bool clock_read_utc(const char *text, int64_t *seconds);

/* Writes seconds since 1970 so. */
void clock_write_utc(int64_t seconds, char out[CLOCK_UTC_BYTES]);

#endif
