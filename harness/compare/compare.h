/* SPDX-License-Identifier: MIT
 * Compares results of two sides cell by cell, each GPU with itself: is NEW worse than BASE? It
 * pairs cells, finds cells that must not be compared, compares counters and code, and leaves times
 * to judge.h. */
#pragma once

#include "calibration.h"
#include "code_change.h"
#include "side.h"
#include "table.h"

/* A property that makes times incomparable if it differs between two sides. */
struct context_field {
    const char *name; /* word of --allow-diff */
    const char *summary;
    bool allowed;  /* may differ by default */
    /* offset of the text in struct side_identity; SIZE_MAX: a property of each cell */
    size_t offset;
    const char *then; /* what --allow-diff means, which is proposed; NULL: it is not */
};

extern const struct context_field context_fields[];
extern const size_t context_field_count;

/* indices of rows */
enum { CONTEXT_UUID = 2, CONTEXT_CLOCKS = 5, CONTEXT_SASS = 8, CONTEXT_COUNTERS = 9 };

/* The relative change of a measured counter that is shown. */
#define COUNTER_THRESHOLD 0.05

struct compare_options {
    struct judge_options judge; /* what may differ follows from the sides and from `allowed` */
    const struct selection *allowed;       /* context fields that may also differ; NULL: none */
    const struct calibration *calibration; /* NULL: none */
    const struct sides *boards; /* of other GPUs of the model; NULL: none */
    bool energy; /* energy of launches is compared, too, with the threshold of times */
    /* cells are paired whoever compiled them (sides.any_compiler), so that their code may differ */
    bool jit;
    bool one_process; /* both sides are of one: no more can be measured by cbank gate */
};

/* A counter that changed: NEW's value is NaN if it was not read. */
struct counter_change {
    const char *name; /* one of a side's texts */
    enum counter_kind kind;
    double base, new_value;
};

struct comparison_cell {
    struct cell cell;
    struct compared_gpu *gpu;
    const struct side_cell *sides[SIDES]; /* NULL if a side lacks the cell */
    enum cell_verdict verdict;
    bool timed; /* its times are judged */
    struct judged_cell judged;
    uint32_t differing; /* context fields that differ for this cell: bit i is row i */
    uint32_t code_moved; /* parts of the code that are known to differ: a set of enum code_part */
    /* by more than offsets in constant banks, which make no other code for a time */
    bool sass_differs;
    bool exact_differs;
    const char *lost_counter; /* the first of BASE that NEW lacks and may not; NULL: none */
    struct energy_change energy; /* not given: not asked for, or not on both sides */
    /* owned: exact counters that differ, measured ones beyond the threshold */
    struct counter_change *changes;
    size_t change_count;
    char note[256]; /* why it is invalid, and special facts; else "" */
    bool listed; /* in reports without --all: not the same, or paired with other code */
    bool note_shared; /* with every cell that is not the same; there are several */
};

/* The cells of a GPU: those of both sides with its UUID, or those of the only GPU of each side. */
struct compared_gpu {
    const struct side *sides[SIDES]; /* not owned; an empty side if it lacks the GPU */
    const struct side_identity *identity; /* from the side that has it */
    char name[DEVICE_TEXT_BYTES]; /* its UUID up to the first group, "GPU-33a20bea" */
    uint32_t differing; /* context fields that differ */
    bool plans_differ; /* a side has cells that the other lacks */
    double occasions, later; /* weights of what these add to its ratios, see deviation_weight */
    bool alone; /* a side lacks the GPU */
    bool comparable; /* all differing context fields are allowed */
    enum cell_verdict verdict; /* of its worst cell; missing or new if it is alone */
    size_t counts[VERDICTS];
};

struct comparison {
    const struct side *sides[SIDES]; /* not owned: totals */
    struct compare_options options; /* with the judge's as it got them */
    struct compared_gpu *gpus; /* owned; those of BASE, then those that only NEW has */
    size_t gpu_count;
    struct comparison_cell *cells; /* owned; worst first, then by size of the change; cells of GPUs
                                    * on one side come last */
    size_t cell_count;
    size_t counts[VERDICTS];
    size_t common; /* cells that both sides have */
    size_t unlisted; /* cells that are the same, and not listed */
    size_t decided; /* those of them whose times are the same, improved or regressed */
    enum board_kinds kinds; /* of the sides, where they are of two GPUs */
    uint32_t differing; /* context fields that differ in a GPU */
    uint32_t refused; /* those of them that are not allowed */
    bool comparable; /* a GPU is comparable, and both sides have a cell in common */
    bool plans_differ;
    /* cells whose change lies beyond the threshold: only a flag keeps them from that verdict, or
     * that they are withheld */
    size_t held;
    /* cells of users' kernels with one process a side that changed by more than any noise known */
    size_t withheld;
    size_t unguarded; /* judged cells whose BASE has a flag: its time is in doubt */
    size_t counters_lost; /* cells of which NEW lacks counters of BASE that may not be missing */
    const char *lost_counter; /* the first of those; NULL: none; one of a side's texts */
    size_t energies[ENERGY_VERDICTS]; /* cells with an energy on both sides, by verdict */
    size_t findings[SIDES]; /* programs that measured a side and exited with 1 */
};

/* Compares two sides. If they are not comparable, the comparison still has its cells, invalid where
 * times are meaningless. The sides must live as long as *out, which the caller closes.
 * STATUS_USAGE, logged, if UUIDs may differ and a side has several GPUs; STATUS_ENVIRONMENT when
 * out of memory. */
enum status compare_sides(const struct sides sides[SIDES], const struct compare_options *options,
                          struct comparison *out);

/* The exit code. STATUS_ENVIRONMENT: not comparable. Else STATUS_FINDING: a cell is regressed,
 * missing or invalid, or a program that measured a side exited with 1. Else STATUS_INCONCLUSIVE: a
 * cell is inconclusive and `strict` is set; NEW lacks a counter of BASE, or energy is asked for
 * that no cell has on both sides; no cell is decided at all, as where all are skipped; a cell is
 * contended; a change beyond the threshold is flagged, or of a user's kernel with one process a
 * side. */
enum status comparison_status(const struct comparison *comparison, bool strict);

/* Whether energy is asked for, and no cell has it on both sides. */
bool comparison_lacks_energy(const struct comparison *comparison);

/* Releases; accepts a zeroed struct. */
void comparison_close(struct comparison *comparison);
