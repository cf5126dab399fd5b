/* SPDX-License-Identifier: MIT
 * Whole numbers as people write them: 128000, 128k, 12.8M, 3K, 64KB, 64KiB, 0x400. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads digits, a point, digits and a scale, which must make a whole number, or hexadecimal digits
 * after 0x. k, M and G are powers of 1000; K and all that end in i or B are powers of 1024, as in
 * the "64 KB" of constant memory. False for other text; UINT64_MAX stands for all values from 2^53
 * on. */
bool parse_size(const char *text, uint64_t *value);
