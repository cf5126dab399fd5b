/* SPDX-License-Identifier: MIT
 * Load paths: the way a payload load takes through the memory system. */
#ifndef CBANK_PATH_H
#define CBANK_PATH_H

#include <stddef.h>

/* Where the table of a path lives. */
enum table_home { TABLE_CONSTANT, TABLE_GLOBAL };

/* The first-level unit that answers a path's payload loads. */
enum load_unit { UNIT_IDC, UNIT_L1 };

/* One row of paths.def. */
struct path {
    const char *name;
    const char *summary;
    enum table_home home;
    enum load_unit unit;
    const char *sass; /* instruction class of the payload load in the disassembly */
    const char *ptx;  /* the same in PTX */
};

/* All paths in the order of paths.def. */
extern const struct path paths[];
extern const size_t path_count;

#endif
