/* SPDX-License-Identifier: MIT
 * The instructions that the payload loads of a path must be: their classes, names and widths. What
 * a kernel has is read in code/sass.h. */
#pragma once

#include "cell.h"

/* The classes of instructions that paths.def uses for payload loads. From SASS_SHFL on, a kernel
 * may also have them for other reasons. */
enum sass_class {
    SASS_LDC, /* user bank, with a register index */
    SASS_LDC_PARAMETER, /* parameter bank, with a register index */
    SASS_ULDC, /* user bank, into uniform registers: ULDC or LDCU */
    SASS_OPERAND, /* user bank, in an arithmetic instruction */
    SASS_LDG, /* plain */
    SASS_LDG_CONSTANT,
    SASS_LDG_STRONG,
    SASS_TLD, /* TLD or TEX */
    SASS_LDS,
    SASS_SHFL, /* from a register of another thread */
    SASS_SEL, /* from one of two registers: no load */
    SASS_PRMT, /* bytes of two registers: no load */
    SASS_CLASS_COUNT
};

/* The number of bytes that a thread loads by one instruction, as a logarithm; for a texture load,
 * the registers written. */
enum { SASS_WORD = 2, SASS_WIDTH_COUNT = 5 };

/* Names such as "LDG.128.CONSTANT". For a word, it is the name of the class in paths.def. */
extern const char *const sass_names[SASS_CLASS_COUNT][SASS_WIDTH_COUNT];

/* The class of the payload loads of a path. */
enum sass_class payload_class(const struct path *path);

/* Most bytes of an element that one instruction of the path loads. Wider elements take several
 * instructions. */
uint32_t payload_widest(const struct path *path);

/* The instruction that the payload loads of a cell must be, as in sass_names. */
const char *payload_instruction(const struct cell *cell);

/* Bytes that one of these instructions loads; 4 where it loads nothing, as selections do. */
uint32_t payload_bytes(const struct cell *cell);

/* Instructions that one payload load of the cell takes. It is more than one where the elements are
 * wider than one instruction loads, or where a selection takes several. */
uint32_t payload_pieces(const struct cell *cell);
