/* SPDX-License-Identifier: MIT
 * A cell: the unit of measuring, storing and comparing. */
#ifndef CBANK_CELL_H
#define CBANK_CELL_H

#include <stdbool.h>

#include "status.h"
#include "workload.h"

struct table;

/* What the caches hold when a launch begins. */
struct regime {
    const char *name;
    const char *summary;
    bool flush; /* caches are flushed before every launch */
};

extern const struct regime regimes[];
extern const size_t regime_count;

struct cell {
    const struct workload *workload;
    const struct path *path;
    const struct pattern *pattern; /* of sources.def where the workload reads indices */
    uint64_t elements;   /* output elements, one a thread; 1 .. CELL_ELEMENTS_MAX */
    uint32_t block_size; /* threads a block: a multiple of 32, 32 .. 1024 */
    const struct regime *regime;
    uint32_t parameters[PARAMETER_COUNT]; /* by enum parameter_index; 0 for those that the cell does not take */
    uint64_t trace; /* where `pattern` is the source `file`: the first 64 bits of the hash of its content; else 0 */

    /* Of a workload that reads indices; no part of what the cell is. */
    const struct indices *indices; /* not owned; NULL until index_list.h gives them */
    uint32_t grid_blocks;          /* thread blocks of a launch on this device; 0: as many as elements need */
};

/* Kernels number elements with 32 bits, and the last block may be partly beyond the end. */
#define CELL_ELEMENTS_MAX   ((uint64_t)UINT32_MAX - 1023)
#define CELL_BLOCK_SIZE_MAX 1024u

/* Indices of a cell: elements times loads. */
#define CELL_INDICES_MAX (UINT64_C(1) << 30)

/* Longest identity that cell_identity writes, NUL included, and longest reason of cell_obstacle. */
enum { CELL_IDENTITY_BYTES = 256, CELL_REASON_BYTES = 256 };

/* Writes "workload/path/pattern/elements/block_size/regime" into text, and "/name=value" for each parameter that the
 * cell takes, and "/indices=HASH" where a file has its indices. */
void cell_identity(const struct cell *cell, char text[CELL_IDENTITY_BYTES]);

/* The trace of a cell in 16 hexadecimal digits, as identities have it. Returns text. */
enum { CELL_TRACE_BYTES = 17 };
const char *cell_trace_text(uint64_t trace, char text[CELL_TRACE_BYTES]);

/* Whether the cell's indices are those of a file. */
bool cell_reads_file(const struct cell *cell);

/* Whether `name`, an identity or a glob over identities as "add/constant*", names the cell. */
bool cell_is_named(const struct cell *cell, const char *name);

/* Logs that none of count cells is named so, with the nearest identity; cell_at gives cell i of what `context` is.
 * Returns STATUS_USAGE. */
enum status cell_unknown(const char *name, const struct cell *(*cell_at)(const void *context, size_t i),
                         const void *context, size_t count);

/* Whether two cells are the same measurement. */
bool cell_equal(const struct cell *a, const struct cell *b);

/* What makes a cell another one. */
enum cell_axis {
    AXIS_WORKLOAD,
    AXIS_ELEMENTS,
    AXIS_BLOCK_SIZE,
    AXIS_REGIME,
    AXIS_PATTERN,
    AXIS_TRACE,
    AXIS_PARAMETERS, /* as many as there are, by enum parameter_index */
    AXIS_PATH = AXIS_PARAMETERS + PARAMETER_COUNT,
    AXIS_COUNT
};

/* The cell's place on an axis: a number, or the address of a row. */
uint64_t cell_axis(const struct cell *cell, size_t axis);

/* Order of cells by the axes before `end` alone: before AXIS_PATTERN are those of one table of times, before AXIS_PATH
 * those of one line of it, before AXIS_COUNT all. */
int cell_order_before(const struct cell *a, const struct cell *b, size_t end);

/* Order of cells for sorting and searching, as qsort and bsearch take it: by the tables' order of workload, path,
 * pattern, then by elements, block size, regime and parameters. 0 for cells that are equal. */
int cell_order(const struct cell *a, const struct cell *b);

/* The parameters that a cell of these rows takes: a set of PARAMETER_BIT. */
uint32_t cell_takes(const struct workload *workload, const struct pattern *pattern);

/* Why the tables have no such cell on a chip of this architecture (10 x compute capability; 0: any), whatever the
 * toolkit: the path is not there, needs to see more of the index than the pattern shows, or has no room for what a
 * parameter asks. False when nothing stands in the way; else true, with the reason in text. */
bool cell_obstacle(const struct cell *cell, uint32_t architecture, char text[CELL_REASON_BYTES]);

/* What the output of the cell depends on. */
struct problem cell_problem(const struct cell *cell);

/* Bytes of the table that the host copies to the device before every launch. 0: none, also where they are among the parameters,
 * which every launch has anyway. */
uint32_t cell_copied_bytes(const struct cell *cell);

/* Bytes of shared memory that a launch asks for, for the staged table or its copies: 0 for paths that stage nothing. */
uint32_t cell_staged_bytes(const struct cell *cell);

/* ... and what the parameter taken_bytes has a block take beside. */
uint32_t cell_shared_bytes(const struct cell *cell);

/* The elements of the table that threads 0 .. threads - 1 of a block read at a step, into index[0 .. threads - 1]. */
void cell_indices(const struct cell *cell, uint32_t block, uint32_t threads, uint32_t step, uint32_t *index);

/* Entries of the table that the cell's path leads to. */
uint32_t cell_length(const struct cell *cell);

/* The table that the pattern of a workload is of: patterns, or sources. */
const struct table *cell_pattern_table(const struct workload *workload);

/* Blocks of elements, one a thread. */
uint32_t cell_blocks(const struct cell *cell);

/* Whether all blocks of as many threads make the same loads: their indices are no data, and have no block in their formula. */
bool cell_blocks_alike(const struct cell *cell);

/* Whether the grid may stride: threads go from element to element, and wait for an index before each lookup. */
bool cell_strides(const struct cell *cell);

/* Thread blocks of a launch: as many, or fewer that stride over them. */
uint32_t cell_grid_blocks(const struct cell *cell);

/* Makes the grid of a workload that strides as large as the blocks that the device runs at a time, if there are so many
 * elements. Other cells stay as they are. */
void cell_set_grid(struct cell *cell, uint64_t blocks_at_a_time);

/* Blocks that each SM is to run at a time, by the parameter warps_per_sm; 0: as many as it has room for. */
uint32_t cell_crowd(const struct cell *cell);

/* Why each of sm_count SMs does not run so many: it has room for `room` blocks, or there are too few elements. False where
 * nothing stands in the way; else true, with the reason in text. */
bool cell_crowd_obstacle(const struct cell *cell, uint32_t sm_count, uint32_t room, char text[CELL_REASON_BYTES]);

/* Threads of a block of elements that have one: fewer in the last. */
uint32_t cell_block_threads(const struct cell *cell, uint64_t block);

#endif
