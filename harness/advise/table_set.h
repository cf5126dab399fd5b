/* SPDX-License-Identifier: MIT
 * Several tables of one kernel: which of them should have the constant bank, shared memory and the
 * parameters, whose bytes they share. */
#pragma once

#include "advise.h"

/* Every assignment of the tables is tried: PLACES to the power of their number. */
enum { TABLE_SET_MAX = 10 };

/* Where a table can be. Each has a number of bytes for all tables together, but PLACE_ELSEWHERE. */
enum place { PLACE_ELSEWHERE, PLACE_CONSTANT, PLACE_SHARED, PLACE_PARAM, PLACES };

/* A table of the set. */
struct set_table {
    char name[32];
    uint64_t bytes, width_bytes;
    double reads; /* lookups of an element */
    const struct pattern *source; /* of its indices */
    /* see table_set_solve; infinite where it cannot be, NaN where not known */
    double busy_ns[PLACES][TIME_UNITS];
    double longest_ns[PLACES]; /* the longest of these; NaN where it cannot be, or not known */
    double copy_ns; /* of a block, to shared memory; NaN where it cannot be there */
    /* of L2, with PLACE_ELSEWHERE, if no lookup found its entry in L1 */
    double l2_ns;
    const char *path[PLACES]; /* the best path there; NULL where it cannot be */
    const char *chosen; /* the answer as a path */
};

/* An SM whose blocks take so much shared memory. The grid is the one that fits without it. */
struct shared_step {
    double waves; /* of blocks */
    double l1_bytes; /* that are left for L1, in the same memory */
};

/* Steps of a block's shared memory: 0 to 48 KB, by 1 KB. */
enum { SHARED_STEPS = 49, SHARED_STEP_BYTES = 1024 };

struct table_set {
    const struct card *card; /* not owned */
    struct set_table tables[TABLE_SET_MAX];
    size_t count;
    double loads; /* lookups of an element in the advice on one table */
    struct shared_step shared[SHARED_STEPS];
    double time_ns, elsewhere_ns; /* as answered, and without the places that have a limit */
    double copy_ns; /* the copies' part of time_ns */
    const char *bound; /* the longest unit */
    double constant_bytes, shared_bytes, param_bytes; /* that the answer takes */
};

/* Reads "NAME:BYTES:WIDTH:READS[:SOURCE],...". STATUS_USAGE, logged, with the table that is not
 * one. */
enum status table_set_parse(const char *text, struct table_set *out);

/* Takes the busy times of one table from its advice. */
void table_set_take(struct table_set *set, size_t index, const struct advice *advice);

/* Finds the assignment of the shortest time, by trying all. The time is that of the copies to
 * shared memory, wave after wave of blocks, and of the longest unit. Units work side by side, and
 * the busy time of one is the sum over the tables. Shared memory is taken from L1: lookups
 * elsewhere that L1 then misses go to L2, too. Loads of indices, input and output do not count:
 * they are the same wherever the tables are. If several are as good (ADVISE_EQUAL), it takes the
 * smallest sum of copies and units, then fewer limited places. STATUS_USAGE, logged, if the card
 * lacks a number, or the tables do not fit. */
enum status table_set_solve(struct table_set *set);

/* Prints the answer as text. STATUS_ENVIRONMENT when out of memory. */
enum status table_set_print(FILE *stream, const struct table_set *set,
                            const struct print_style *look);

/* The document of struct table_set, as in results/tables.schema.json; it is not read. */
extern const struct document table_set_document;
