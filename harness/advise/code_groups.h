/* SPDX-License-Identifier: MIT
 * The kernels and tables of a file, each told once: instances of a template together, and a
 * variable that several kernels read. */
#pragma once

#include "user_code.h"

enum { GROUP_NAME_BYTES = 256, CONDITIONS_MAX = 3 };

/* Conditions of answers, each told once, below: an answer has their marks. */
struct conditions {
    const char *texts[CONDITIONS_MAX];
    size_t count;
};

void conditions_find(const struct user_code *code, struct conditions *out);

/* " *" for the first, " **" for the second; "" for NULL, of either. */
const char *condition_mark(const struct conditions *conditions, const char *text);

/* Whether what a load reads is a variable or an argument. */
bool load_is_named(const struct user_access *load);

/* The name of what a load reads for people: "lut", or "shared memory at 0x400" where it has none.
 */
void load_table_name(const struct user_access *load, char *out, size_t bytes);

/* Kernels of one template, or one kernel. */
struct kernel_group {
    char name[GROUP_NAME_BYTES]; /* see kernel_base_name */
    size_t first, count; /* in `members` */
};

struct kernel_groups {
    struct kernel_group *groups; /* owned; in the order of the file */
    size_t count;
    size_t *members; /* owned: indices of kernels, group by group, in the order of the file */
};

/* STATUS_ENVIRONMENT, logged, when out of memory. On success the caller closes *out. */
enum status kernel_groups_open(const struct user_code *code, struct kernel_groups *out);

/* Releases; accepts a zeroed struct. */
void kernel_groups_close(struct kernel_groups *groups);

/* Verdicts by what a reader can do about them, and their words. */
struct verdict_words {
    const char *verdict;
    const char *few, *many; /* "would be faster elsewhere" of one table, and of several */
    bool open; /* there is something to do */
};

enum { VERDICT_WORDS = 7 };
extern const struct verdict_words verdict_words[VERDICT_WORDS];

/* A table with one verdict, in all the kernels where it has that. A variable is one table in the
 * whole file; an argument, or memory without a name, is one in the instances of a template. */
struct table_row {
    const struct user_table *table; /* that of the greatest gain */
    const struct verdict_words *verdict;
    size_t group; /* the first */
    size_t kernels, groups;
    double addresses_low, addresses_high; /* of a warp's load, over the kernels; NaN: not known */
    bool declared; /* a variable */
    bool worst; /* of the rows of this table, the one that counts in sums of tables */
    bool reasons_differ; /* among the kernels */
    struct conditions conditions; /* of the answers about all these kernels */
};

struct table_rows {
    struct table_row *rows; /* owned; by verdict, then by gain, then by the number of kernels */
    size_t count;
};

/* As kernel_groups_open. The tables have been judged. */
enum status table_rows_open(const struct user_code *code, const struct kernel_groups *groups,
                            struct table_rows *out);
void table_rows_close(struct table_rows *rows);
