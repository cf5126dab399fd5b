/* SPDX-License-Identifier: MIT
 * The constant levels by simulation: what a launch asks of them, and what they miss.
 *
 * The warp loads of the SMs that share an instance of the last level go through set-associative caches of the card's
 * geometry and replacement. The simulation assumes that
 *   - block b runs on SM b modulo sm_count: the first wave of blocks fills the SMs in turn, and as all blocks
 *     take alike, each frees its place for the next in the same order;
 *   - the blocks that are resident together (warps_per_sm, blocks_per_sm) step together, one after the other
 *     at each step, and so do the SMs that share a level;
 *   - the warps of a block load in their order, and a load asks for its distinct addresses in the order of
 *     the threads;
 *   - the SMs that share an instance are numbered in a row. Real GPCs interleave, and are not all of a size.
 * Real warps interleave: where lines conflict, model_warps.h says how often a line of the first level is filled, and
 * this counts what comes once.
 * A launch finds a level empty, unless the regime is hot and the card says that the level is kept between
 * launches: then it holds what the same stream left. Of a long stream some MODEL_LOOKUPS_MAX lookups are
 * simulated, from its beginning, and the rate of their second half is taken for the rest. */
#ifndef CBANK_MODEL_LEVELS_H
#define CBANK_MODEL_LEVELS_H

#include "access.h"
#include "card.h"

/* Lookups of the first level that are simulated of one launch, give or take a wave of blocks. */
enum { MODEL_LOOKUPS_MAX = 1 << 19 };

/* Predicted lookups of the constant levels in one launch of the whole grid (hot: after an earlier launch).
 * Payload loads alone. Zero for paths that do not use them. A miss is the fill of a line: those who ask for
 * it again before it has come are not counted. */
struct model_levels {
    double requests[CARD_LEVELS_MAX];
    double misses[CARD_LEVELS_MAX];
    /* Of lines of parameters, into the first level, that were there before; 0 where warps were not simulated. */
    double parameter_refills;
};

/* Byte of their bank at which the parameters of a kernel begin, with compute capability 9.0. */
enum { MODEL_PARAMETERS_BEGIN = 0x210 };

/* Lines that a warp reads beside the table, before it: from the first `line_bytes` of the bank of parameters, with the stack
 * pointer, and from the kernel's own; where the pattern is chosen at run time, that of its number and one of the compiler's bank.
 * So by the code of kernels for sm_90. Returns how many, at most MODEL_OTHER_LINES_MAX; their numbers in lines[]. Those of the
 * table's bank are the line's number there. Those of others are beyond it, in the sets that they share with it: that follows from
 * where the driver lays the banks. On GH100 the first line of the parameters is in the set of the table's sixth line, by the
 * fills of results/h200/sizes.json; of the compiler's bank it is not known. */
enum { MODEL_OTHER_LINES_MAX = 4, MODEL_OTHER_BANK_LINE = 1 << 20 };
uint32_t model_other_lines(const struct cell *cell, uint32_t line_bytes, uint64_t lines[MODEL_OTHER_LINES_MAX]);

/* Byte of its bank at which the table begins: 0, or behind the other parameters. */
uint32_t model_table_begin(const struct cell *cell);

/* Simulates a cell; access are its exact counts. What does not follow from what the card knows is NaN: what a level misses
 * of which size, line or SMs are not known, of unknown ways where the table has no room in it, and of one that may have kept
 * the table where the launch before left it; and what those behind it are asked for. STATUS_ENVIRONMENT when out of memory. */
enum status model_simulate(const struct cell *cell, const struct access_counts *access, const struct card *card,
                           struct model_levels *out);

#endif
