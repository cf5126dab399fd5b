/* SPDX-License-Identifier: MIT
 * The kernel images built into the program, and what is in them.
 *
 * The build puts one cubin per architecture and module, and PTX of the newest, into an ar archive, and the
 * archive into the program's section .cbank_images. The harness reads SASS from the very bytes that it
 * loads: its hash is the identity of the kernel, and its instructions give what parameter loads add to a
 * counter. Needs no CUDA toolkit. */
#ifndef CBANK_IMAGE_H
#define CBANK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell.h"
#include "status.h"

/* A member of the archive, in place. */
struct image {
    const char *name; /* "kernels.sm_90.cubin", "tools.sm_90.cubin", "kernels.compute_121.ptx" */
    size_t name_bytes;
    const void *data;
    size_t bytes;
};

/* Instruction counts of a stretch of code that a warp executes once from end to end. */
struct sass_stretch {
    uint32_t instructions;
    uint32_t ldc_user;      /* LDC from the user bank with a register index */
    uint32_t ldc_parameter; /* every other: parameters, a table among them too, block size, stack */
    uint32_t uniform_constant; /* ULDC, LDCU */
    uint32_t ldg;           /* LDG of every kind */
};

/* What the SASS of one kernel does, for straight-line code: everything up to and including the first EXIT is executed
 * by every launched warp (prologue), what follows by warps with an element (body). */
struct sass_counts {
    uint32_t architecture; /* 90 for sm_90 */
    struct sass_stretch prologue, body;
};

/* The classes of instructions by which paths.def names payload loads. */
enum sass_class {
    SASS_LDC,           /* user bank, with a register index */
    SASS_LDC_PARAMETER, /* parameter bank, with a register index */
    SASS_ULDC,          /* user bank, into uniform registers: ULDC or LDCU */
    SASS_OPERAND,       /* user bank, in an arithmetic instruction */
    SASS_LDG,           /* plain */
    SASS_LDG_CONSTANT,
    SASS_LDG_STRONG,
    SASS_TLD,           /* TLD or TEX */
    SASS_LDS,
    SASS_CLASS_COUNT
};

/* Their names in paths.def. */
extern const char *const sass_class_names[SASS_CLASS_COUNT];

enum { SASS_HASH_HEX_BYTES = 65 }; /* 64 digits and NUL */

struct kernel_sass {
    const char *symbol;           /* mangled name, in the image */
    char sha256[SASS_HASH_HEX_BYTES]; /* of the code bytes, lower-case hex */
    bool known;                   /* the encoding is known here: of 128 bits */
    uint32_t classes[SASS_CLASS_COUNT]; /* if known: instructions anywhere in the code */
    bool counted;                 /* counts is valid: known, and a warp executes the code once from end to end */
    struct sass_counts counts;
};

/* Steps through the images: index 0, 1, ... until it returns false. A build without CUDA has none. */
bool image_at(size_t index, struct image *out);

/* Image of module ("kernels" or "tools") that runs on compute capability major.minor: the exact sm_, else
 * the highest sm_ of the same major not above minor. False when there is none. */
bool image_for_chip(const char *module, uint32_t major, uint32_t minor, struct image *out);

/* PTX of module that the driver can compile for major.minor. False when there is none. */
bool image_ptx(const char *module, uint32_t major, uint32_t minor, struct image *out);

/* Finds the kernel of a cell in a cubin (ELF image in memory) and reads its code. False when it is not
 * there or the image is not an ELF file. */
bool image_kernel(const void *cubin, size_t bytes, const struct cell *cell, struct kernel_sass *out);

/* The same for the first function whose mangled name begins so. */
bool image_function(const void *cubin, size_t bytes, const char *prefix, struct kernel_sass *out);

/* "2 LDC, 1 LDG": the loads anywhere in known code. */
void image_classes(const struct kernel_sass *sass, char text[CELL_REASON_BYTES]);

/* Whether the code is known and its loads are not those that the cell's path names, as many as its workload makes, and
 * no others; then with what was found in text. A fault where the path's `chosen` is 0, else the compiler's choice. */
bool image_kernel_differs(const struct cell *cell, const struct kernel_sass *sass, char text[CELL_REASON_BYTES]);

#endif
