/* SPDX-License-Identifier: MIT
 * SASS: what the machine code of a kernel loads and executes, and whether its loads are those that
 * its cell names. */
#pragma once

#include "counter.h"
#include "payload.h"
#include "sha256.h"

/* Loads of each class, by width. */
typedef uint32_t sass_loads[SASS_CLASS_COUNT][SASS_WIDTH_COUNT];

/* Asynchronous copies from global into shared memory. */
enum sass_copy { SASS_LDGSTS, SASS_UBLKCP, SASS_COPY_COUNT };

struct kernel_sass {
    const char *symbol; /* mangled name, in the image */
    const void *code; /* in the image */
    size_t bytes;
    char sha256[SHA256_HEX_BYTES]; /* of the code bytes, lower-case hex */
    bool known; /* the encoding is known: instructions of 128 bits */
    sass_loads classes; /* if known: instructions anywhere in the code */
    uint32_t copies[SASS_COPY_COUNT]; /* the same */
    /* those of them with modifiers that no path names: a priority, an order, a predicate ... */
    uint32_t modified;
    /* counts is valid: known, and it is clear how often each instruction is executed */
    bool counted;
    uint32_t loops; /* loops that were counted: 0 or 2 */
    struct sass_counts counts;
};

/* Reads code of an architecture into known, classes, counted and counts. */
void sass_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_sass *out);

/* -- the loads that there should be ------------------------------------------------------------ */

/* Loads of a class, of any width. */
uint32_t sass_class_loads(const struct kernel_sass *sass, enum sass_class class);

/* Writes "2 LDC, 1 LDG.64, 4 LDGSTS": all loads in known code, without SEL and PRMT, and
 * asynchronous copies. */
void sass_classes_text(const struct kernel_sass *sass, char text[CELL_REASON_BYTES]);

/* Whether the code is known and its loads differ from those of the cell: the path's instruction, as
 * often as the workload loads, and no other, each without further modifiers. Then writes the loads
 * found into text. A difference is a fault where the path's `chosen` is 0, else the compiler's
 * choice. */
bool sass_differs(const struct cell *cell, const struct kernel_sass *sass,
                  char text[CELL_REASON_BYTES]);
