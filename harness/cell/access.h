/* SPDX-License-Identifier: MIT
 * Exact counts of one launch: the requests that the pattern makes every warp of the real grid send
 * to the memory system. They do not depend on the chip. */
#pragma once

#include "cell.h"

enum {
    ACCESS_SECTOR_BYTES = 32, /* unit of L1 and L2 traffic */
    ACCESS_LINE_BYTES = 64,   /* line that groups addresses of the constant path */
    /* banks of shared memory; consecutive words lie in consecutive banks */
    ACCESS_BANKS = 32,
    ACCESS_BANK_BYTES = 4,
    ACCESS_TAG_BYTES = 128, /* line of L1 */
    ACCESS_TAG_BANKS = 4, /* banks in which L1 looks up lines; consecutive lines lie in consecutive
                           * banks: see docs/chip.md */
};

/* All counts are of one launch of the whole grid. A load is a warp-level instruction with at least
 * one active thread; threads beyond the last element do not load. */
struct access_counts {
    uint64_t blocks; /* thread blocks of the grid */
    uint64_t warps_launched; /* warps of the grid */
    uint64_t warps_active; /* warps with at least one element; in a grid-stride loop, each counts
                            * once for every element */
    uint64_t stream_loads; /* input load instructions in which at least one thread loads */
    uint64_t stream_sectors; /* sectors of the input that these loads read */
    /* load instructions that copy the table into shared memory or into registers */
    uint64_t staging_loads;
    uint64_t staging_sectors; /* sectors of the table that these loads read */
    uint64_t operations; /* arithmetic operations on elements: see workload_operations */

    /* The payload, and nothing else from here on: cells that make the same loads share these
     * counts. */
    uint64_t payload_loads; /* payload load instructions: warps_active x steps x payload_pieces; 0
                             * for paths that load nothing */
    uint64_t addresses; /* sum over payload loads of the distinct addresses in the warp */
    /* sum over payload loads of the distinct ACCESS_LINE_BYTES lines of the table */
    uint64_t lines;
    /* sum over the blocks and the payload loads of a thread of the distinct lines in the block */
    uint64_t block_lines;
    /* sum over payload loads of the distinct ACCESS_SECTOR_BYTES sectors of the table */
    uint64_t sectors;
    uint64_t wavefronts; /* sum over payload loads of the most distinct words in one of ACCESS_BANKS
                          * banks: the cycles of a load from shared memory. Elements of 8 and 16
                          * bytes count the sum over halves and quarters of a warp, assumed to be
                          * served one after the other; 1 where all threads read one element */
    uint64_t tag_wavefronts; /* sum over payload loads of the most distinct lines of
                              * ACCESS_TAG_BYTES in one of ACCESS_TAG_BANKS: the cycles in which L1
                              * looks up a load from global memory */
    /* distinct bytes of the table that the payload loads of the grid read */
    uint64_t footprint_bytes;
    uint64_t footprint_lines; /* distinct ACCESS_LINE_BYTES lines that hold these bytes */
};

/* Counts one launch of a cell. The time is proportional to the payload loads of all threads (about
 * 10 ms for 12,800,000); it is negligible where the pattern's scope is INDEX_IMMEDIATE. Returns
 * STATUS_USAGE when the pattern reads beyond the table, STATUS_ENVIRONMENT when out of memory. The
 * cache state does not matter. The table and the input are assumed to start at a line. */
enum status access_count(const struct cell *cell, struct access_counts *out);

/* The wavefronts of one load from shared memory by a whole warp, whose threads read entries of
 * `width` bytes at these offsets in bytes, from -1 GB to 1 GB: see access_counts.wavefronts. */
uint32_t access_warp_wavefronts(const uint32_t offsets[CBANK_WARP_THREADS], uint32_t width);

/* The same of the lines of L1: see access_counts.tag_wavefronts. Offset 0 is where a line begins.
 */
uint32_t access_warp_tag_wavefronts(const uint32_t offsets[CBANK_WARP_THREADS], uint32_t width);

/* The distinct sectors that parts of a table lie in, of `width` bytes each, at these offsets in
 * bytes, from -1 GB to 1 GB, in ascending order. Offset 0 is where a sector begins. */
uint32_t access_sectors(const int32_t *offsets, size_t count, uint32_t width);

/* Average number of requests that one payload load sends to the unit that answers its path. They
 * are distinct addresses for UNIT_IDC, sectors for UNIT_L1, UNIT_L2 and UNIT_TEXTURE, wavefronts
 * for UNIT_SHARED, and 1 for the other units. NaN where nothing is loaded. `access` holds the
 * counts of `cell`. */
double access_requests_per_load(const struct cell *cell, const struct access_counts *access);

/* Writes the counts of cell `index` of a list into counts[index]. A cell that makes the same loads
 * as an earlier one takes its counts. Nothing is known of a launch of unknown blocks: its counts
 * are zero. Earlier entries of `counts` hold the counts of earlier cells, or zeros where nobody
 * wanted them. cell_at(list, i) returns cell i. */
enum status access_count_next(const struct cell *(*cell_at)(const void *list, size_t i),
                              const void *list, size_t index, struct access_counts *counts);
