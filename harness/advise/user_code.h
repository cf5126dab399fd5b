/* SPDX-License-Identifier: MIT
 * The user's own kernels, and what their loads are in the light of an advice. */
#ifndef CBANK_USER_CODE_H
#define CBANK_USER_CODE_H

#include "advise.h"
#include "field.h"
#include "kernel_loads.h"

/* Loads of one kind and width. */
struct user_load {
    char name[48]; /* "LDC.64 c[3][register]" */
    const char *means;
    bool said;               /* the load before it means the same */
    const char *place; /* the path whose loads are of that kind, the fastest; NULL: none of the ranking */
    const char *standing;
    double relative;   /* time of the place to that of the best; NaN without one */
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
    const char *standing; /* of the slowest place that holds a table of the kernel; NULL: none does */
    char verdict[USER_VERDICT_BYTES]; /* whether it is what the advice says */
};

struct user_code {
    const char *path;
    uint32_t architecture; /* 90 for sm_90 */
    struct user_kernel *kernels; /* owned */
    size_t count;
};

/* Reads the kernels of a cubin, or those called `function`, mangled or not, where that is not NULL. STATUS_USAGE, logged,
 * for what is no cubin, is damaged, or has no such kernel; STATUS_ENVIRONMENT for an architecture whose code cannot be read,
 * or out of memory. On success the caller closes. */
enum status user_code_open(const char *path, const char *function, struct user_code *out);

/* The same of a file in memory, called `path`. */
enum status user_code_parse(const char *path, const void *data, size_t bytes, const char *function,
                            struct user_code *out);

/* Says of each load and kernel what it is in the light of the advice, whose places have to live as long. */
void user_code_judge(struct user_code *code, const struct advice *advice);

/* Releases; accepts a zeroed struct. */
void user_code_close(struct user_code *code);

/* As the document has it. */
extern const struct fields user_code_fields;

#endif
