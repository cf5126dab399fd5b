/* SPDX-License-Identifier: MIT
 * What the payload loads of a path keep busy, by the unit that answers them; inside of the model. */
#ifndef CBANK_MODEL_UNIT_H
#define CBANK_MODEL_UNIT_H

#include "model.h"
#include "model_gather.h"

struct model_unit;

/* What is modelled. */
struct model_work {
    const struct cell *cell;
    const struct access_counts *access;
    const struct card *card;
    const struct model_kernel *kernel;
    const struct model_unit *unit;
    struct model_levels levels;
    struct model_first_touches first; /* where loads gather from L1 */
    struct model_l2_asked asked; /* of loads that go past L1, or gather from it */
    bool alone; /* blocks have their SM to themselves, and make more than one load */
    double waits_ns; /* of the busiest SM for its constants, beyond its first wave, or in all its waves */
    double steps; /* payload loads of a thread */
    double kept; /* part of the input, and of the output that the launch before wrote, that is still in L2 */
    double written; /* part of the output's size that L2 writes to DRAM during the launch */
};

typedef double model_part(const struct model_work *work);

/* What the payload loads of a path keep busy. NULL: nothing. Cycles are those of the whole grid on one SM. */
struct model_unit {
    size_t requests; /* of all payload loads: offset of a count of struct access_counts */
    uint32_t instructions; /* index and load */
    double latency_cycles; /* of a load that waits for nobody, as characterized on GH100; 0: simulated by warp */
    double strided_cycles; /* of a grid that strides, beside all else: by those lookups that take no more than 3 us */
    double output_cycles; /* of L1, for the output of a warp that strides: by lookups of one load a thread */
    bool through_levels; /* the table comes through the constant levels */
    bool through_l1; /* its sectors come through L1 */
    bool global; /* loads are global loads */
    bool shared; /* requests are turns of shared memory, or of what leads there */
    model_part *cycles; /* of the first level, for all payload requests */
    model_part *l1_cycles; /* of L1 for them, while it takes no other loads */
    model_part *other_cycles; /* of the first level, for what is no payload */
    model_part *beyond_ns; /* of what stands behind it, in the whole launch */
    model_part *turn_cycles; /* of a quarter of an SM, for a group of lookups of one warp */
    model_part *wait_cycles; /* of a block, for what stands behind it; NULL where waits_ns has it */
};

/* By enum load_unit. */
extern const struct model_unit model_units[];

/* Cycles of an SM as nanoseconds. */
double model_to_ns(const struct card *card, double cycles);

/* Part of the grid's work that falls on the busiest of the units that `sms` SMs share: 1 at most. */
double model_busiest_share(const struct cell *cell, const struct card *card, uint32_t sms);

/* Warps that a quarter of the busiest SM has at a time, of a grid that strides: 1 at least. */
double model_quarter_warps(const struct model_work *work);

/* Turns of L1 or of shared memory that a load takes one after the other, so that it ends so many cycles later: lines, or wavefronts.
 * In results/cards/h200.json its latency grows by a cycle with each (serialization_global, serialization_shared). */
double model_turns(const struct model_work *work);

/* Of all payload loads: the count that the unit names. */
uint64_t model_unit_requests(const struct model_unit *unit, const struct access_counts *access);

/* 0 where there is no such part. */
double model_part_of(model_part *part, const struct model_work *work);

/* Whether what the loads gather of the table is found to take L1 longer: then `asked` has to be known. */
bool model_gathers(const struct model_work *work);

/* Cycles of one SM's L1 for all that the grid asks of it, shared memory's turns among them. */
double model_l1_cycles(const struct model_work *work);

#endif
