/* SPDX-License-Identifier: MIT
 * How the machine code of a kernel changed between two results. */
#ifndef CBANK_CODE_CHANGE_H
#define CBANK_CODE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

/* Compares two texts of sass_code.h and writes the change as one line. False, and no line, where one of them is NULL or
 * malformed. */
bool code_change(const char *base, const char *new_code, char *out, size_t bytes);

#endif
