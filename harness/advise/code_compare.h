/* SPDX-License-Identifier: MIT
 * The kernels of two files side by side: which loads, tables, registers and local memory changed.
 * It compares what was said of each; nothing is analysed again. */
#pragma once

#include "card.h"
#include "user_code.h"

/* What differs in one kernel: a number, or the verdict on a table. */
struct code_change {
    const char *kernel; /* as C++ has it; not owned, as all but `name` */
    const char *kind;   /* "use", "table" or "load" */
    char name[352];     /* "registers"; "lut in constant"; "LDC, k.cu:7: lut, data" */
    struct optional before, after; /* of a load: instructions; not known: there is none */
    const char *verdict_before, *verdict_after; /* of a table; NULL: there is none */
    const char *better_before, *better_after;
    double wavefronts_before, wavefronts_after; /* of a load of an array of shared memory; NaN */
};

/* A kernel that one of the files has alone. */
struct lone_kernel {
    const char *name; /* as C++ has it; not owned */
    bool before;      /* the older file has it */
};

struct code_comparison {
    const struct user_code *before, *after; /* not owned */
    size_t both, changed; /* kernels */
    struct code_change *changes; /* owned: kernel by kernel, in the order of `after` */
    size_t change_count;
    struct lone_kernel *lone; /* owned */
    size_t lone_count;
};

/* Compares kernels of one mangled name; of several with that name, the first with the first, and so
 * on. Loads are matched by instruction, line, table and variation of the address; lines count where
 * both name them, of one file. Both have been judged. STATUS_ENVIRONMENT, logged, if no kernel is
 * in both, or when out of memory. On success the caller closes *out. */
enum status code_comparison_open(const struct user_code *before, const struct user_code *after,
                                 struct code_comparison *out);

/* Prints it; kernels of one template with the same changes, once. card: what the tables were judged
 * by. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status code_comparison_print(FILE *stream, const struct code_comparison *comparison,
                                  const struct card *card, const struct print_style *look);

/* Releases; accepts a zeroed struct. */
void code_comparison_close(struct code_comparison *comparison);

/* The fields of the document. */
extern const struct fields code_comparison_fields;
