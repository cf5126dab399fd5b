/* SPDX-License-Identifier: MIT
 * For tests: text against a golden file. CBANK_UPDATE_GOLDEN=1 writes the file instead. */
#ifndef CBANK_TESTS_GOLDEN_H
#define CBANK_TESTS_GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture.h"

/* Fails where text is not the golden file's. Paths are from the root of the repository. */
static inline void check_golden_text(const char *path, const char *text)
{
    char *golden;

    if (getenv("CBANK_UPDATE_GOLDEN"))
        file_put(path, text, strlen(text));
    golden = file_text(path);
    if (!golden)
        fail_msg("cannot read %s: run the test from the root of the repository", path);
    assert_string_equal(text, golden);
    free(golden);
}

/* The same, and frees text. */
static inline void check_golden(const char *path, char *text)
{
    check_golden_text(path, text);
    free(text);
}

#endif
