/* SPDX-License-Identifier: MIT
 * The verdict on a fleet: rows that each say something of one GPU or many. */
#ifndef CBANK_FLEET_VERDICT_H
#define CBANK_FLEET_VERDICT_H

#include "fleet.h"
#include "fleet_finding.h"

enum fleet_kind {
    FLEET_MISSING,  /* it was expected, and did not answer */
    FLEET_REPLACED, /* where a board was, there is another */
    FLEET_FAILED,   /* cells of it failed */
    FLEET_COUNTER,  /* an exact counter is not what it should be, or not what others of its model read */
    FLEET_GEOMETRY, /* what the device says of itself differs from most of its model */
    FLEET_SLOWER,
    FLEET_APART,    /* slower than the others of its model */
    FLEET_FASTER,
    FLEET_MOVED,    /* it answered elsewhere */
    FLEET_ADDED,    /* it never answered before */
    FLEET_KINDS
};

struct fleet_kind_row {
    const char *name;
    bool fails; /* makes the exit code 1 */
};

extern const struct fleet_kind_row fleet_kinds[FLEET_KINDS];

enum { FLEET_TEXT_BYTES = 512 };

struct fleet_row {
    enum fleet_kind kind;
    size_t *gpus; /* owned; of the fleet */
    size_t gpu_count;
    char who[FLEET_TEXT_BYTES]; /* said of them: "all 8 GPUs of n17" */
    char what[FLEET_TEXT_BYTES]; /* "constant path, 8 cells"; of other kinds what is the matter */
    double change;   /* relative; NaN where no time is meant */
    double multiple; /* of the deviation that it is held against */
    int64_t since_utc; /* 0: not said */
    bool drift; /* slowly, from then on */
    char why[FLEET_TEXT_BYTES]; /* what else changed then: "driver 580.1 -> 590.2"; "" nothing that is known */
    const struct fleet_finding *finding; /* whose cells it is of; NULL: none */
};

struct fleet_verdict {
    const struct fleet *fleet;
    struct fleet_limits limits;
    const char *baseline; /* NULL: the past */
    struct fleet_row *rows; /* owned; by kind */
    size_t row_count;
    size_t expected, answered; /* GPUs */
    bool from_inventory;
    struct fleet_changes *changes; /* owned; [model] */
    struct fleet_findings *findings; /* owned; [model] */
};

/* Makes the verdict; inventory is a file, or NULL: then those are expected that answered in the night before. STATUS_USAGE,
 * logged, for an inventory that is none and errors of the store. The caller closes *out, on an error, too. */
enum status fleet_decide(struct store *store, const struct fleet *fleet, const char *inventory,
                         struct fleet_verdict *out);

/* STATUS_FINDING where a row fails. */
enum status fleet_status(const struct fleet_verdict *verdict);

/* A new row of that kind, of no GPU; NULL, logged, out of memory. It is valid until the next one is added. */
struct fleet_row *fleet_add_row(struct fleet_verdict *verdict, enum fleet_kind kind);

/* Adds a GPU to the row of that kind with that text, which may be a new one. */
enum status fleet_add_gpu(struct fleet_verdict *verdict, enum fleet_kind kind, size_t gpu, const char *what);

/* Adds a GPU to a row. */
enum status fleet_row_gpu(struct fleet_row *row, size_t gpu);

/* The parts of the verdict: who answered; what the last night's cells, counters and devices say. */
enum status fleet_census(const char *inventory, struct fleet_verdict *verdict);
enum status fleet_differ(struct store *store, struct fleet_verdict *verdict);

/* Releases; accepts a zeroed struct. */
void fleet_verdict_close(struct fleet_verdict *verdict);

#endif
