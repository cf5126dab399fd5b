/* SPDX-License-Identifier: MIT
 * For tests: a directory of the file's own, from before its first test until after its last, and
 * the paths of two files there. */
#ifndef CBANK_TESTS_DIRECTORY_H
#define CBANK_TESTS_DIRECTORY_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"

static char directory[] = "/tmp/cbank-test-XXXXXX";
static char path[64], second_path[64];

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/a.json", directory);
    snprintf(second_path, sizeof(second_path), "%s/b.json", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    unlink(second_path);
    return rmdir(directory);
}

AROUND_ALL(make_directory, remove_directory)

#endif
