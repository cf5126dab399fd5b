/* SPDX-License-Identifier: MIT
 * A cell: the unit of measuring, storing and comparing. */
#pragma once

#include <stdbool.h>

#include "status.h"
#include "user_kernel.h"
#include "workload.h"

struct table;
struct kernel_build;

/* The contents of the caches at the start of a launch. */
struct cache_state {
    const char *name;
    const char *summary;
    bool flush; /* caches are flushed before every launch */
};

extern const struct cache_state cache_states[];
extern const size_t cache_state_count;

struct cell {
    const struct workload *workload;
    const struct path *path;
    /* of sources.def where the workload reads indices, of launch_path.h where it reads nothing */
    const struct pattern *pattern;
    uint64_t elements; /* output elements, one for each thread; 1 to CELL_ELEMENTS_MAX */
    uint32_t block_size; /* threads in a block: a multiple of 32, 32 to 1024 */
    const struct cache_state *cache_state;
    /* by enum parameter_index; 0 for those that the cell does not take */
    uint32_t parameters[PARAMETERS_MAX];
    /* for the source `file`: the first 64 bits of the hash of its content; else 0 */
    uint64_t index_file_hash;
    /* compiled from PTX by the driver, and not by the toolkit of the build */
    bool jit;

    /* A user's kernel: the other rows are then those of user_cell.h, the elements are the size of
     * its case, the block size is 0, and there are no parameters. */
    struct user_kernel kernel;
    /* not part of the identity; not owned; NULL until the file is compiled */
    const struct kernel_build *build;

    /* For a workload that reads indices; not part of the identity. */
    const struct indices *indices; /* not owned; NULL until index_list.h gives them */
    /* thread blocks of a launch on this device; 0: as many as the elements need */
    uint32_t grid_blocks;
};

/* The rows that cells point to, by their names. */
extern const struct table table_of_workloads, table_of_paths;

/* Kernels number elements with 32 bits, and the last block may reach partly beyond the end. */
#define CELL_ELEMENTS_MAX   ((uint64_t)UINT32_MAX - 1023)
#define CELL_BLOCK_SIZE_MAX 1024u

/* Largest number of indices of a cell: elements times loads. */
#define CELL_INDICES_MAX (UINT64_C(1) << 30)

/* Longest identity that cell_identity writes, NUL included, and longest reason of cell_obstacle. */
enum { CELL_IDENTITY_BYTES = 320, CELL_REASON_BYTES = 256 };

/* Writes "workload/path/pattern/elements/block_size/cache state" into text. Then come "/name=value"
 * for each parameter that the cell takes, and "/indices=HASH" where its indices are in a file. For
 * a user's kernel the first is its name, the block size 0, and "/kernel=HASH" follows, with
 * "/spaces=TABLE=SPACE+..." for tables in several memory spaces. "/jit=driver" ends it where the
 * driver compiled the kernel. */
void cell_identity(const struct cell *cell, char text[CELL_IDENTITY_BYTES]);

/* Appends "NAME=VALUE" to out for each parameter of a set that is not the default, with the
 * separator before each but the first of out. The set has bits by enum parameter_index;
 * CELL_FILES_BIT stands for the file of the indices, or of the kernel, CELL_JIT_BIT for the
 * driver's compiler. out holds text, which may be "". */
#define CELL_FILES_BIT      (UINT32_C(1) << 31)
#define CELL_JIT_BIT        (UINT32_C(1) << 30)
#define CELL_PARAMETERS_ALL UINT32_MAX
void cell_parameters_text(const struct cell *cell, uint32_t set, const char *separator, char *out,
                          size_t room);

/* Writes the hash of a file as 16 hexadecimal digits, as in identities. Returns text. */
enum { CELL_HASH_TEXT_BYTES = 17 };
const char *cell_hash_text(uint64_t hash, char text[CELL_HASH_TEXT_BYTES]);

/* Whether the cell's indices come from a file. */
bool cell_reads_file(const struct cell *cell);

/* Whether `name` names the cell. It is an identity or a glob such as "add/constant*". */
bool cell_is_named(const struct cell *cell, const char *name);

/* Logs that no cell has this name. Returns STATUS_USAGE. */
enum status cell_unknown(const char *name);

/* The coordinates that distinguish cells. */
enum cell_axis {
    AXIS_WORKLOAD,
    AXIS_JIT,
    AXIS_ELEMENTS,
    AXIS_BLOCK_SIZE,
    AXIS_CACHE_STATE,
    AXIS_PATTERN,
    AXIS_INDEX_FILE,
    /* one for each parameter, by enum parameter_index; those behind the last one have no row */
    AXIS_PARAMETERS,
    AXIS_PATH = AXIS_PARAMETERS + PARAMETERS_MAX,
    AXIS_COUNT
};

/* The cell's coordinate on an axis: a number, or the address of a row. */
uint64_t cell_axis(const struct cell *cell, size_t axis);

/* Order of cells by the axes before `end`. Cells that are equal before AXIS_PATTERN share a table
 * of times, before AXIS_PATH a line of it, before AXIS_COUNT everything. */
int cell_order_before(const struct cell *a, const struct cell *b, size_t end);

/* Order of the paths of two cells of one workload, as tables show them; 0 if they are equal. */
int cell_path_order(const struct cell *a, const struct cell *b);

/* Order of cells for sorting and searching, with the signature for qsort and bsearch. It follows
 * the tables' order of workload, path and pattern, then elements, block size, cache state and
 * parameters. Users' kernels come last, by name and hash. 0 for equal cells. */
int cell_order(const struct cell *a, const struct cell *b);

/* The parameters that a cell with these rows takes: a set of PARAMETER_BIT. */
uint32_t cell_parameter_mask(const struct workload *workload, const struct pattern *pattern);

/* Whether the tables have no such cell on a chip of this architecture, with any toolkit; then
 * writes the reason into text. Reasons: the architecture lacks the path, the pattern hides more of
 * the index than the path needs, or a parameter asks for too much. `architecture` is 10 x compute
 * capability; 0: any. */
bool cell_obstacle(const struct cell *cell, uint32_t architecture, char text[CELL_REASON_BYTES]);

/* The same for a cell of rows of this program: the obstacle of such an origin (user_cell.h). */
bool rows_obstacle(const struct cell *cell, uint32_t architecture, char text[CELL_REASON_BYTES]);

/* Refuses a cell: writes the reason, and returns true. */
__attribute__((format(printf, 2, 3))) bool cell_refuse(char text[CELL_REASON_BYTES],
                                                       const char *format, ...);

/* Everything that the output of the cell depends on. */
struct problem cell_problem(const struct cell *cell);

/* Bytes of the table that the host copies to the device before every launch, or as the launch. 0:
 * none; kernel parameters do not count, since every launch has them. */
uint32_t cell_copied_bytes(const struct cell *cell);

/* Bytes of shared memory that a launch requests for the table or its copies. 0 for paths that do
 * not copy it there, and for users' kernels. */
uint32_t cell_staged_bytes(const struct cell *cell);

/* The same, plus the bytes of the parameter extra_shared_bytes. */
uint32_t cell_shared_bytes(const struct cell *cell);

/* Writes the table elements that the first `threads` threads of a block read at a step into
 * `index`. */
void cell_indices(const struct cell *cell, uint32_t block, uint32_t threads, uint32_t step,
                  uint32_t *index);

/* Entries of the table that the cell's path reads. */
uint32_t cell_length(const struct cell *cell);

/* The table with the pattern rows of a workload: patterns, sources or launch paths; and that with
 * its paths. */
const struct table *cell_pattern_table(const struct workload *workload);
const struct table *cell_path_table(const struct workload *workload);

/* Blocks of elements, one element for each thread; 0 where no table of the program is read: of a
 * user's kernel, and of launch paths. */
uint32_t cell_blocks(const struct cell *cell);

/* Whether the kernel has a grid-stride loop: threads go from element to element, and wait for an
 * index before each lookup. */
bool uses_grid_stride_loop(const struct cell *cell);

/* Thread blocks of a launch: cell_blocks, or fewer in a grid-stride loop. */
uint32_t cell_grid_blocks(const struct cell *cell);

/* Sets the grid of a cell with a grid-stride loop to the blocks that its parameter thread_elements
 * asks for. Without it, to those that the device runs at a time, if there are enough elements.
 * Leaves other cells unchanged. */
void cell_set_grid(struct cell *cell, uint64_t blocks_at_a_time);

/* Blocks that each SM should run at a time, from the parameter warps_per_sm; 0: as many as fit. */
uint32_t requested_blocks_per_sm(const struct cell *cell);

/* Whether the sm_count SMs cannot run that many; then writes the reason into text. Either an SM has
 * room for only `room` blocks, or there are too few elements. */
bool requested_blocks_obstacle(const struct cell *cell, uint32_t sm_count, uint32_t room,
                               char text[CELL_REASON_BYTES]);

/* Threads of a block that have an element: fewer in the last block. */
uint32_t cell_block_threads(const struct cell *cell, uint64_t block);
