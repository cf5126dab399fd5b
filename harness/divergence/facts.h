/* SPDX-License-Identifier: MIT
 * Facts about a kernel in its cubin, besides the code: parameters, addresses of variables, targets
 * of jumps, lines of the source. */
#pragma once

#include "callees.h"
#include "cubin.h"
#include "cubin_facts.h"
#include "divergence.h"
#include "ptx.h"

struct facts {
    const struct cubin *cubin;
    struct callees callees; /* owned: the code that all this is of */
    struct code_facts code; /* its lists are owned */
    struct code_fact_list
        arguments; /* owned: offset in bank 0 where a parameter begins: its number */
    struct flow_jump *jumps; /* owned */
    size_t jump_count;
    struct code_fact_list lines,
        files; /* owned: byte offset in the code. A line counts from there on; `files` has the place
                * of its file's name in line_table, 0: not known */
    const char *line_table;
    const struct ptx *ptx; /* of the cubin, not owned */
    struct code_fact_list ptx_lines; /* owned: as `lines`, of the PTX */
};

/* Reads what belongs to a kernel and to the functions that it calls. Damaged parts are left out.
 * STATUS_ENVIRONMENT, logged, when out of memory. On success the caller closes *out, before the
 * facts of the cubin. */
enum status facts_read(const struct cubin_facts *file, const struct cubin_function *kernel,
                       struct facts *out);

/* Sets the shape of a block, unless it is known. One that no launch can have is ignored. */
void facts_set_block(struct facts *facts, const uint32_t block[3]);

/* The line of the source of a place in the code; 0: not known. *file: the name of its file, without
 * a folder; "": not known. It lives as long as the cubin. */
uint32_t facts_line(const struct facts *facts, uint32_t place, const char **file);

/* Releases; accepts a zeroed struct. */
void facts_close(struct facts *facts);
