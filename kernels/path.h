/* SPDX-License-Identifier: MIT
 * Load paths: the way a payload load takes through the memory system. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pattern.h"

/* The type that the load expressions of paths.def read, unless a kernel defines another. */
typedef uint32_t table_element;

/* The memory in which the table of a path lives. */
enum table_home { TABLE_CONSTANT, TABLE_GLOBAL, TABLE_PARAMETER };

/* The first-level unit that answers a path's payload loads. */
enum load_unit {
    UNIT_IDC,
    UNIT_UNIFORM,
    UNIT_IMC,
    UNIT_L1,
    UNIT_L2,
    UNIT_TEXTURE,
    UNIT_SHARED,
    UNIT_REGISTERS,
    UNIT_SELECT
};

/* Bytes of shared memory for all copies of a table together, where a path makes several. */
#define CBANK_COPIES_BYTES 32768u

/* Bytes of a table by value. The parameters of a kernel have 4 KB. From CUDA 12.1 and sm_70 on they
 * have 32,764 bytes (CUDA C++ Programming Guide); the table then leaves room for the others, and
 * holds whole lines. */
#define CBANK_PARAMETER_BYTES       2048u
#define CBANK_LARGE_PARAMETER_BYTES 32640u

/* Largest table in global memory that lookups read from there. Every chip's texture has at least as
 * many elements. */
#define CBANK_LARGE_BYTES 134217728u

/* One row of paths.def. */
struct path {
    const char *name;
    const char *summary;
    enum table_home home;
    enum load_unit unit;
    enum index_scope scope; /* what a compiler has to know about the index */
    uint32_t bytes; /* of the default table; at most CBANK_TABLE_BYTES */
    uint32_t entry_bytes; /* of the widest entry; 0: of any */
    uint32_t copies; /* of the table in shared memory, at most; a power of two */
    int lookups; /* 1: only for workloads whose indices are data, and without probes */
    int chosen; /* 1: the compiler chooses the instruction */
    uint32_t architecture; /* the oldest that supports the path, as 10 x compute capability */
    int loads; /* 0: the path prepares everything and loads nothing */
    const char *sass; /* instruction class of the payload load in the disassembly */
    const char *ptx; /* the same in PTX */
};

/* All paths in the order of paths.def. */
extern const struct path paths[];
extern const size_t path_count;

/* Bytes of an element, and bytes and elements of the table, of a cell with this path and these
 * parameters. A table whose size is not named has whole elements. Several tables lie one after the
 * other, and count together. */
uint32_t table_width(const uint32_t values[PARAMETERS_MAX]);
uint32_t table_bytes(const struct path *path, const uint32_t values[PARAMETERS_MAX]);

/* Number of positions that a table in global memory takes in turn, where there is room.
 * table_buffer_set_bytes gives the distance in bytes from a multiple of CBANK_TABLE_BYTES to the
 * start of the table: a multiple of 512, since allocations and textures start at one. All positions
 * within CBANK_TABLE_BYTES are different, and any few consecutive ones lie far apart. */
enum { TABLE_BUFFER_SETS = 24 };
uint32_t table_buffer_set_bytes(uint32_t buffer_set);
uint32_t table_length(const struct path *path, const uint32_t values[PARAMETERS_MAX]);

/* Whether the path holds small tables, in registers or in several copies. */
int path_is_small(const struct path *path);

/* Whether the width is a power of two up to 16 bytes, so that one load can read an element. Others
 * are for lookups, and not in textures or small tables. */
#define CBANK_WIDTH_IS_PLAIN(width) ((width) <= 16 && ((width) & ((width) - 1)) == 0)

/* Registers of a thread that hold a part of the table before it loads: an entry, all of its words,
 * or 0. */
uint32_t path_held(const struct path *path);

/* Bytes of the largest table that lookups read by the path. It exceeds `bytes` where they read from
 * global memory itself. */
uint32_t path_largest(const struct path *path);

/* Most entries that a table of the path can have, whatever their bytes: the threads of a warp, or
 * UINT32_MAX. */
uint32_t path_entries(const struct path *path);

/* Copies of the table that a block makes in shared memory: a power of two. */
uint32_t table_copies(const struct path *path, const uint32_t values[PARAMETERS_MAX]);

/* Number of tables that a cell reads at a time, and entries of each. */
uint32_t table_count(const uint32_t values[PARAMETERS_MAX]);
uint32_t table_entries(const struct path *path, const uint32_t values[PARAMETERS_MAX]);

/* Adds element index[i] of the table to sum[i], as a kernel does, for i < count. Elements have
 * `width` bytes; an element of several words adds their sum, modulo 2^32. */
void table_add(const void *table, uint32_t width, const uint32_t *index, uint32_t count,
               uint32_t *sum);

/* Whether the cell reads all of the path's table, as 32-bit values. These cells have kernels of
 * their own. */
int table_is_whole(const uint32_t values[PARAMETERS_MAX]);
