/* SPDX-License-Identifier: MIT
 * How much a test repeats: what is said by many repetitions is tried with few in `make test`, and
 * under sanitizers, and with all in `make test-all`. tests/end_to_end/common.py reads the same
 * variable. */
#ifndef CBANK_TESTS_SIZE_H
#define CBANK_TESTS_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static inline bool test_is_full(void)
{
    const char *const size = getenv("CBANK_TEST");

    return size && strcmp(size, "full") == 0;
}

/* `all` repetitions, or `few` of them. */
static inline size_t repetitions(size_t all, size_t few)
{
    return test_is_full() ? all : few;
}

/* The first under sanitizers, which take ten times as long and look for other mistakes than wrong
 * numbers; else the second. */
static inline size_t sanitized(size_t with, size_t without)
{
#ifdef CBANK_SANITIZED
    (void)without;
    return with;
#else
    (void)with;
    return without;
#endif
}

#endif
