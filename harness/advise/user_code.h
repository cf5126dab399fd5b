/* SPDX-License-Identifier: MIT
 * The user's kernels, and how their loads compare with the advice. */
#ifndef CBANK_USER_CODE_H
#define CBANK_USER_CODE_H

#include "advise.h"
#include "field.h"
#include "kernel_loads.h"

/* Loads of one kind and width. */
struct user_load {
    char name[48]; /* "LDC.64 c[3][register]" */
    const char *means;
    bool said;               /* the previous load has the same explanation */
    const char *place; /* the fastest path whose loads are of that kind; NULL: none is ranked */
    const char *standing;
    double relative;   /* time of that place relative to the best one; NaN if there is none */
    unsigned kind, bytes;
    uint32_t count, in_loops;
    bool loops_known;
};

enum { USER_VERDICT_BYTES = 512 };

struct user_kernel {
    char *name; /* owned: mangled */
    bool calls_out;
    struct user_load *loads; /* owned: in the order of loads.def */
    size_t load_count;
    const char *standing; /* standing of the slowest place with a table of the kernel; NULL: none */
    char verdict[USER_VERDICT_BYTES]; /* whether the kernel follows the advice */
};

struct user_code {
    const char *path;
    uint32_t architecture; /* 90 for sm_90 */
    struct user_kernel *kernels; /* owned */
    size_t count;
};

/* Reads the kernels of a cubin; only those called `function`, mangled or not, if that is not NULL. STATUS_USAGE,
 * logged, if the file is not a cubin, is damaged, or has no such kernel. STATUS_ENVIRONMENT for an architecture whose
 * code cannot be read, or when out of memory. On success the caller closes *out. */
enum status user_code_open(const char *path, const char *function, struct user_code *out);

/* The same for a file in memory, called `path`. */
enum status user_code_parse(const char *path, const void *data, size_t bytes, const char *function,
                            struct user_code *out);

/* Sets the verdicts of each load and kernel by the advice, whose places must live as long as the code. */
void user_code_judge(struct user_code *code, const struct advice *advice);

/* Releases; accepts a zeroed struct. */
void user_code_close(struct user_code *code);

/* The fields of the document. */
extern const struct fields user_code_fields;

#endif
