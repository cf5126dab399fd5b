/* SPDX-License-Identifier: MIT
 * A short text of a kernel's code, which shows how two kernels differ without their code. It tells
 * which instructions a kernel has, in which order, and a hash of their other bits.
 *
 * The text has four parts with ';' between. First the opcodes with their counts, in order of
 * appearance: "MOV 3 S2R 1 LDC 2". Then one letter of A-Z a-z 0-9 + - for each instruction: the
 * first letter stands for the first opcode. Then one letter for every eight instructions: a hash of
 * all their bits. Then ten letters for each part of instructions: a hash of the operands with
 * modifiers, of the offsets in constant banks, and of the scheduling bits. Older texts lack the
 * fourth part. Padding after the last branch is left out. The text has about a tenth of the length
 * of hexadecimal digits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SASS_OPCODES_MAX = 64, SASS_OPCODE_BYTES = 12, SASS_DIGEST_INSTRUCTIONS = 8 };

/* Makes the text of code of an architecture that sass_read knows. The caller frees it. NULL when
 * out of memory; "" if the code has more different opcodes than there are letters. */
char *sass_code_text(const void *code, size_t bytes, uint32_t architecture);

/* The parts of instructions besides opcodes. */
enum sass_part {
    SASS_OPERANDS,
    SASS_OFFSETS,
    SASS_SCHEDULING,
    SASS_PART_COUNT,
    SASS_PART_LETTERS = 10
};

/* A text, taken apart. */
struct sass_code {
    struct sass_opcode {
        char name[SASS_OPCODE_BYTES];
        uint64_t count;
    } opcodes[SASS_OPCODES_MAX];
    size_t opcode_count;
    const char *sequence, *digests; /* in the text */
    const char *parts; /* in the text: SASS_PART_LETTERS letters for each part; NULL: older texts */
    size_t instructions, digest_count;
};

/* Parses a text. False if the text is malformed. */
bool sass_code_parse(const char *text, struct sass_code *out);

/* The opcode of instruction `index`, from 0; "" after the last. */
const char *sass_code_opcode(const struct sass_code *code, size_t index);
