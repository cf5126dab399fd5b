/* SPDX-License-Identifier: MIT
 * The outcome of every function that can fail. The values are the exit codes of the program. */
#pragma once

enum status {
    STATUS_OK = 0,           /* done, nothing worse */
    /* verification failed, an exact counter differs, a cell failed, a regression */
    STATUS_FINDING = 1,
    STATUS_USAGE = 2,        /* usage, I/O or malformed input */
    STATUS_ENVIRONMENT = 3,  /* the environment cannot do what was asked */
    STATUS_INCONCLUSIVE = 4, /* under --strict: a cell did not settle */
};

/* The function that finds an error logs it once; callers pass the status up. Returns the more
 * severe of two: usage and environment over findings, findings over inconclusive, anything over
 * OK. */
enum status status_worse(enum status a, enum status b);
