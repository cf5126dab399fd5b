/* SPDX-License-Identifier: MIT
 * Load paths: the way a payload load takes through the memory system. */
#ifndef CBANK_PATH_H
#define CBANK_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "pattern.h"

/* What the load expressions of paths.def read where a kernel says nothing else. */
typedef uint32_t table_element;

/* Where the table of a path lives. */
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

/* Shared memory that copies of a table fill together, where a path makes several. */
#define CBANK_COPIES_BYTES 32768u

/* A table in global memory, where lookups read it from there: as many bytes as every chip's texture has elements. */
#define CBANK_LARGE_BYTES 134217728u

/* One row of paths.def. */
struct path {
    const char *name;
    const char *summary;
    enum table_home home;
    enum load_unit unit;
    enum index_scope scope; /* what a compiler has to see of the index */
    uint32_t bytes;         /* of the table that the plan has where nobody names one; at most CBANK_TABLE_BYTES */
    uint32_t copies;        /* of the table in shared memory, at most; a power of two */
    int chosen;             /* the instruction is the compiler's choice */
    uint32_t architecture;  /* the oldest that has the path, as 10 x compute capability */
    int loads;              /* 0: everything is prepared and nothing loaded */
    const char *sass;       /* instruction class of the payload load in the disassembly */
    const char *ptx;        /* the same in PTX */
};

/* All paths in the order of paths.def. */
extern const struct path paths[];
extern const size_t path_count;

/* The table that a path leads to, of a cell with these parameters: bytes of an element, of the table, and elements. Of
 * several tables at a time, which lie one behind the other: of all of them. */
uint32_t table_width(const uint32_t values[PARAMETER_COUNT]);
uint32_t table_bytes(const struct path *path, const uint32_t values[PARAMETER_COUNT]);

/* Places that a table in global memory lies in, in turn, where there is room; and the bytes from a multiple of CBANK_TABLE_BYTES to
 * where it begins in one: a multiple of 512, as allocations and textures begin at. As many places as there are such multiples are
 * different, and any few of them lie far apart. */
enum { TABLE_PLACEMENTS = 24 };
uint32_t table_placement_bytes(uint32_t placement);
uint32_t table_length(const struct path *path, const uint32_t values[PARAMETER_COUNT]);

/* Whether the path holds small tables: it is for workloads alone whose indices are data, and has no probes. */
int path_is_small(const struct path *path);

/* Registers of a thread that hold a part of the table before it loads: an entry, all of its words, or none. */
uint32_t path_held(const struct path *path);

/* Bytes of the largest table that lookups, whose indices are data, read by the path: more than `bytes` where they read it from
 * global memory itself. */
uint32_t path_largest(const struct path *path);

/* Entries that a table of the path has at most, whatever its bytes: those that a warp has threads, or any number. */
uint32_t path_entries(const struct path *path);

/* Whether the table is larger than those of patterns: it is another one, of CBANK_LARGE_BYTES at most. */
int table_is_large(const struct path *path, const uint32_t values[PARAMETER_COUNT]);

/* Copies that a block makes of the table in shared memory: a power of two. */
uint32_t table_copies(const struct path *path, const uint32_t values[PARAMETER_COUNT]);

/* Tables at a time, and entries of each. */
uint32_t table_count(const uint32_t values[PARAMETER_COUNT]);
uint32_t table_entries(const struct path *path, const uint32_t values[PARAMETER_COUNT]);

/* Adds to sum[i] what a kernel makes of element index[i] of a table with elements of `width` bytes, for i below count: 32
 * bits, the sum of its words where it has several. */
void table_add(const void *table, uint32_t width, const uint32_t *index, uint32_t count, uint32_t *sum);

/* Whether that is all of the path's table, as 32-bit values: there are kernels for that alone. */
int table_is_whole(const uint32_t values[PARAMETER_COUNT]);

#endif
