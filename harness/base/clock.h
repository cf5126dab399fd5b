/* SPDX-License-Identifier: MIT
 * Clocks. */
#pragma once

#include <stdint.h>

enum { CLOCK_UTC_BYTES = 32 };

/* Seconds since an arbitrary moment, for durations: this clock is never set back. */
double clock_seconds(void);

/* Nanoseconds since another one, for times of calls: nothing corrects the rate of this clock. */
uint64_t clock_nanoseconds(void);

/* Seconds since 1970, by the clock of dates. */
double clock_now(void);

/* Writes the date and time as ISO 8601, "2026-01-31T12:00:00.250Z". Milliseconds distinguish runs
 * within a second. */
void clock_utc(char out[CLOCK_UTC_BYTES]);

/* Seconds since 1970 of such a text, with or without milliseconds; 0 if it is none. */
double clock_read(const char *utc);
