/* SPDX-License-Identifier: MIT
 * What the files of the store share. */
#ifndef CBANK_STORE_PARTS_H
#define CBANK_STORE_PARTS_H

#include "store.h"

/* Its statements, by name. */
enum store_statement {
#define STATEMENT(name, text) STORE_##name,
#include "store_statements.def"
    STORE_STATEMENTS
};

/* A row of counter_names that is known. */
struct store_counter {
    char *name, *unit; /* owned; the unit is known where runs are read */
    enum counter_kind kind;
    int64_t id;
};

/* Statements by which runs are read, prepared with the first. */
enum { READ_RUN, READ_TIMES, READ_SET, READ_MEASURED, STORE_READING };

struct store {
    struct sql *sql;
    struct sql_statement *statements[STORE_STATEMENTS], *reading[STORE_READING];
    struct store_counter *counters; /* owned */
    size_t counter_count;
};

/* Adds to `counters` one of that name, kind and unit. */
void store_know_counter(struct store *store, const struct counter_value *of, int64_t id);

/* Empties `counters`: what was added is not there after a rollback. */
void store_forget_counters(struct store *store);

/* Deletes a run and all that is of it alone. */
void store_remove(struct store *store, int64_t run_id);

#endif
