/* SPDX-License-Identifier: MIT
 * SASS: what the machine code of a kernel says of its loads. Needs no disassembler and no CUDA toolkit. */
#ifndef CBANK_SASS_H
#define CBANK_SASS_H

#include "cell.h"

/* Instruction counts of a stretch of code that a warp executes once from end to end. */
struct sass_stretch {
    uint32_t instructions;
    uint32_t ldc_user;      /* LDC from the user bank with a register index */
    uint32_t ldc_parameter; /* every other: parameters, a table among them too, block size, stack */
    uint32_t uniform_constant; /* ULDC, LDCU */
};

/* What the SASS of one kernel does. Of straight-line code everything up to and including the first EXIT is executed by
 * every launched warp (prologue), what follows by warps with an element (body). Of a kernel that strides, behind it, a loop
 * for each element has another in it, for each group of lookups in flight: neither has a way around it, so that a warp
 * executes the first (round) as often as it has an element, the other (group) for each of its groups. */
struct sass_counts {
    uint32_t architecture; /* 90 for sm_90 */
    struct sass_stretch prologue, body, round, group;
};

/* The classes of instructions by which paths.def names payload loads. From SASS_SHFL on a kernel may have them for other
 * reasons, too. */
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
    SASS_CLASS_COUNT
};

/* How much a thread loads by one instruction, as the logarithm of its bytes; of a texture load, the registers written. */
enum { SASS_WORD = 2, SASS_WIDTH_COUNT = 5 };

/* "LDG.128.CONSTANT". Of a word the name of the class in paths.def. */
extern const char *const sass_names[SASS_CLASS_COUNT][SASS_WIDTH_COUNT];

/* Loads of each class, by width. */
typedef uint32_t sass_loads[SASS_CLASS_COUNT][SASS_WIDTH_COUNT];

enum { SASS_HASH_HEX_BYTES = 65 }; /* 64 digits and NUL */

struct kernel_sass {
    const char *symbol; /* mangled name, in the image */
    const void *code; /* in the image */
    size_t bytes;
    char sha256[SASS_HASH_HEX_BYTES]; /* of the code bytes, lower-case hex */
    bool known; /* the encoding is known here: of 128 bits */
    sass_loads classes; /* if known: instructions anywhere in the code */
    bool counted; /* counts is valid: known, and what is executed how often is as described there */
    uint32_t loops; /* of what was counted: 0 or 2 */
    struct sass_counts counts;
};

/* Reads code of an architecture into known, classes, counted and counts. */
void sass_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_sass *out);

/* -- the loads that there should be -------------------------------------------------------------------- */

/* Loads of a class, of any width. */
uint32_t image_class_loads(const struct kernel_sass *sass, enum sass_class class);

/* The class of the payload loads of a path. */
enum sass_class image_class(const struct path *path);

/* The most bytes of a thread's element that one instruction of the path loads: a wider element takes several. */
uint32_t image_widest(const struct path *path);

/* The instruction that the payload loads of a cell must be, of sass_names. */
const char *image_instruction(const struct cell *cell);

/* Instructions of that kind that a payload load of the cell takes: more than one where its elements are wider than one
 * such instruction loads, or where each has a choice of two. */
uint32_t image_pieces(const struct cell *cell);

/* "2 LDC, 1 LDG.64": the loads anywhere in known code, without SEL. */
void image_classes(const struct kernel_sass *sass, char text[CELL_REASON_BYTES]);

/* Whether the code is known and its loads are not those that the cell's path names, as many as its workload makes, and
 * no others; then with what was found in text. A fault where the path's `chosen` is 0, else the compiler's choice. */
bool image_kernel_differs(const struct cell *cell, const struct kernel_sass *sass, char text[CELL_REASON_BYTES]);

#endif
