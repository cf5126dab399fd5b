/* SPDX-License-Identifier: MIT
 * What differs between two codes of a kernel, as far as results hold them (sass_code.h). */
#ifndef CBANK_CODE_CHANGE_H
#define CBANK_CODE_CHANGE_H

#include "sass_code.h"

/* An opcode that occurs more or less often. */
struct opcode_change {
    char opcode[SASS_OPCODE_BYTES];
    uint64_t base, new_count;
};

struct code_change {
    uint64_t base_instructions, new_instructions;
    struct opcode_change opcodes[2 * SASS_OPCODES_MAX];
    size_t opcode_count;
    uint64_t opcode_at; /* the first instruction whose opcode differs, from 1; 0: none does */
    char base_opcode[SASS_OPCODE_BYTES], new_opcode[SASS_OPCODE_BYTES]; /* there; "" behind the end */
};

/* Compares two texts of sass_code.h. False where one of them is NULL or says nothing. */
bool code_compare(const char *base, const char *new_code, struct code_change *out);

/* The change in a line. */
void code_change_text(const struct code_change *change, char *out, size_t bytes);

#endif
