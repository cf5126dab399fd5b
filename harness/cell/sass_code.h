/* SPDX-License-Identifier: MIT
 * The code of a kernel in short, so that two of them can be told apart without either: which instructions it has and in
 * which order, and a little of what else they are.
 *
 * The text has three parts with ';' between. First the opcodes with how many there are of each, in the order in which
 * they come: "MOV 3 S2R 1 LDC 2". Then a letter for each instruction: of A-Z a-z 0-9 + -, the first stands for the
 * first opcode, the second for the second. Then a letter for every eight instructions, a hash of all their bits.
 * Padding behind the last branch is left out. A letter and an eighth for each instruction are about a tenth of what
 * hexadecimal digits would be. */
#ifndef CBANK_SASS_CODE_H
#define CBANK_SASS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SASS_OPCODES_MAX = 64, SASS_OPCODE_BYTES = 12, SASS_DIGEST_INSTRUCTIONS = 8 };

/* The text of code of an architecture that sass_read knows. The caller's, to free; NULL when out of memory, and "" for
 * code with more different opcodes than there are letters. */
char *sass_code_text(const void *code, size_t bytes);

/* A text, taken apart. */
struct sass_code {
    struct sass_opcode {
        char name[SASS_OPCODE_BYTES];
        uint64_t count;
    } opcodes[SASS_OPCODES_MAX];
    size_t opcode_count;
    const char *sequence, *digests; /* in the text */
    size_t instructions, digest_count;
};

/* False for what is no such text. */
bool sass_code_parse(const char *text, struct sass_code *out);

/* The opcode of instruction `index`, from 0; "" behind the last. */
const char *sass_code_opcode(const struct sass_code *code, size_t index);

#endif
