/* SPDX-License-Identifier: MIT
 * Load paths: the way a payload load takes through the memory system. */
#ifndef CBANK_PATH_H
#define CBANK_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "pattern.h"

/* Where the table of a path lives. */
enum table_home { TABLE_CONSTANT, TABLE_GLOBAL, TABLE_PARAMETER };

/* The first-level unit that answers a path's payload loads. */
enum load_unit { UNIT_IDC, UNIT_UNIFORM, UNIT_IMC, UNIT_L1, UNIT_L2, UNIT_TEXTURE, UNIT_SHARED };

/* One row of paths.def. */
struct path {
    const char *name;
    const char *summary;
    enum table_home home;
    enum load_unit unit;
    enum index_scope scope; /* what a compiler has to see of the index */
    uint32_t bytes;         /* of the table; at most CBANK_TABLE_BYTES */
    int chosen;             /* the instruction is the compiler's choice */
    uint32_t architecture;  /* the oldest that has the path, as 10 x compute capability */
    int loads;              /* 0: everything is prepared and nothing loaded */
    const char *sass;       /* instruction class of the payload load in the disassembly */
    const char *ptx;        /* the same in PTX */
};

/* All paths in the order of paths.def. */
extern const struct path paths[];
extern const size_t path_count;

/* Elements of the path's table. */
uint32_t path_length(const struct path *path);

#endif
