/* SPDX-License-Identifier: MIT
 * Mutations that know JSON. */
#ifndef CBANK_MUTATE_H
#define CBANK_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mutates data, of at most `most` bytes; the seed says how. Returns its new length. */
size_t mutate_json(uint8_t *data, size_t bytes, size_t most, unsigned seed);

#endif
