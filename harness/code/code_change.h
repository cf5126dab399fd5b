/* SPDX-License-Identifier: MIT
 * What changed between two codes of a kernel, by their short texts (sass_code.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of code: opcodes and their order, and those of enum sass_part. */
enum code_part { CODE_OPCODES, CODE_OPERANDS, CODE_OFFSETS, CODE_SCHEDULING, CODE_PARTS };
extern const char *const code_part_names[CODE_PARTS];

/* The parts that differ between two texts of sass_code.h: a set of bits. Older texts tell of
 * opcodes alone. 0 if nothing is known to differ. */
uint32_t code_moved(const char *base, const char *new_code);

/* Compares two texts of sass_code.h and writes the change as one line. False, without a line, if
 * one of them is NULL or malformed. */
bool code_change(const char *base, const char *new_code, char *out, size_t bytes);
