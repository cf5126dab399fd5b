/* SPDX-License-Identifier: MIT
 * Exact counts of one launch: what the pattern makes every warp of the real grid ask of the memory system.
 * Nothing here depends on a chip. */
#ifndef CBANK_ACCESS_H
#define CBANK_ACCESS_H

#include "cell.h"

enum {
    ACCESS_SECTOR_BYTES = 32, /* unit of L1 and L2 traffic */
    ACCESS_LINE_BYTES = 64,   /* line that addresses of the constant path are grouped by */
    ACCESS_BANKS = 32,        /* banks of shared memory, neighbours in neighbouring banks */
    ACCESS_BANK_BYTES = 4,
    ACCESS_TAG_BYTES = 128, /* line of L1 */
    ACCESS_TAG_BANKS = 4,   /* in which L1 looks up lines, neighbours in neighbouring banks: see docs/chip.md */
};

/* All counts are of one launch of the whole grid. "Load" is a warp-level instruction with at least one
 * active thread; threads beyond the last element do not load. */
struct access_counts {
    uint64_t blocks;          /* thread blocks of the grid */
    uint64_t warps_launched;  /* warps of the grid */
    uint64_t warps_active; /* warps with at least one element; where the grid strides, each as often as it has one */
    uint64_t payload_loads; /* payload load instructions: warps_active x steps x image_pieces, which have an address
                                 of each thread's element each; 0 for paths that load nothing */
    uint64_t addresses; /* sum over payload loads of the distinct addresses in the warp */
    uint64_t lines; /* sum over them of the distinct ACCESS_LINE_BYTES lines of the table */
    uint64_t block_lines; /* sum over the blocks, and the payload loads of a thread, of the distinct lines in the block */
    uint64_t sectors; /* sum over them of the distinct ACCESS_SECTOR_BYTES sectors of the table */
    uint64_t wavefronts; /* sum over them of the most distinct words in one of ACCESS_BANKS banks: what a load from
                                 shared memory takes turns for. Of elements of 8 and 16 bytes, the sum over the halves
                                 and the quarters of a warp, taken to be served one after the other; 1 where all
                                 threads read one element */
    uint64_t tag_wavefronts; /* sum over them of the most distinct lines of ACCESS_TAG_BYTES in one of ACCESS_TAG_BANKS:
                                 what L1 takes turns for to look up a load from global memory */
    uint64_t stream_loads; /* input load instructions in which at least one thread loads */
    uint64_t stream_sectors; /* sectors of the input that they read */
    uint64_t staging_loads; /* load instructions that copy the table into shared memory, or into registers of a warp */
    uint64_t staging_sectors; /* sectors of the table that they read */
    uint64_t footprint_bytes; /* distinct bytes of the table that the payload loads of the grid read */
    uint64_t footprint_lines; /* distinct ACCESS_LINE_BYTES lines that hold them */
    uint64_t operations; /* arithmetic operations on elements: see workload_operations */
};

/* Walks the grid, in time proportional to the payload loads of all threads (about 10 ms for 12,800,000); at once where
 * the pattern's scope is INDEX_IMMEDIATE. STATUS_OK; STATUS_USAGE when the pattern reads beyond the table,
 * STATUS_ENVIRONMENT out of memory. The regime of the cell does not matter. The table and the input are taken to begin on
 * a line. */
enum status access_count(const struct cell *cell, struct access_counts *out);

/* Requests that one payload load makes of the unit that answers its path, on average: distinct addresses for UNIT_IDC,
 * sectors for UNIT_L1, UNIT_L2 and UNIT_TEXTURE, wavefronts for UNIT_SHARED, 1 for the other units. NaN where nothing is
 * loaded. `access` holds the counts of `cell`. */
double access_requests_per_load(const struct cell *cell, const struct access_counts *access);

/* Numbers of what tells that an element came before: the turn that is now, and for each element the one in which it did. */
#define ACCESS_TURNS(elements) (1 + (size_t)(elements))

/* The distinct elements that one warp load reads, in the order of the first thread that reads each.
 * index: the elements of the active threads; threads: 1 .. 32. distinct: room for as many. turns is scratch,
 * ACCESS_TURNS of the table's elements: zeroed before the first call. Returns how many are in distinct. */
uint32_t access_distinct(const uint32_t *index, uint32_t threads, uint32_t *turns, uint32_t *distinct);

/* The counts of a cell, if it makes the same loads as another one, which were counted. */
bool access_take(const struct cell *other, const struct access_counts *its, const struct cell *cell,
                 struct access_counts *counts);

/* The counts of cell `index` of a list into counts[index]: a cell that makes the same loads as an earlier one is not
 * walked again. counts[0 .. index - 1] are those of the cells before it, or zeroed where nobody wanted them.
 * cell_at(list, i) gives cell i. */
enum status access_count_next(const struct cell *(*cell_at)(const void *list, size_t i), const void *list, size_t index,
                              struct access_counts *counts);

#endif
