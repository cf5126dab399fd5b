/* SPDX-License-Identifier: MIT
 * Whole numbers as people write them: 128000, 128k, 12.8M, 64Ki. */
#ifndef CBANK_PARSE_SIZE_H
#define CBANK_PARSE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* Reads digits, a point, digits and a scale, which must make a whole number. False if they do not; UINT64_MAX stands
 * for all values from 2^53 on. */
bool parse_size(const char *text, uint64_t *value);

#endif
