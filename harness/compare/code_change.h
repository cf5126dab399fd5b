/* SPDX-License-Identifier: MIT
 * The change of a kernel's machine code between two results. */
#ifndef CBANK_CODE_CHANGE_H
#define CBANK_CODE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

/* Compares two texts of sass_code.h and writes the change as one line. False, without a line, if one of them is NULL or
 * malformed. */
bool code_change(const char *base, const char *new_code, char *out, size_t bytes);

#endif
