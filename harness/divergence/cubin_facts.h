/* SPDX-License-Identifier: MIT
 * What a cubin says of all its kernels. It is read once: a file may have thousands of kernels. */
#pragma once

#include "code_facts.h"
#include "cubin.h"
#include "ptx.h"

enum { SYMBOLS_MAX = 0xbfff }; /* of those that origins of pointers name */

/* Where the lines of a function begin. */
struct line_sequence {
    const char *symbol;
    uint64_t offset; /* bytes in its section */
    bool of_ptx;
};

struct cubin_facts {
    const struct cubin *cubin; /* not owned */
    struct cubin_section source_lines, ptx_lines; /* programs of lines; no data: there are none */
    struct line_sequence *sequences; /* owned: by symbol, then in the order of the relocations */
    size_t sequence_count;
    struct code_fact_list addresses; /* owned: see code_facts */
    struct ptx ptx;
};

/* Damaged parts are left out. STATUS_ENVIRONMENT, logged, when out of memory. On success the caller
 * closes *out, before the cubin. */
enum status cubin_facts_open(const struct cubin *cubin, struct cubin_facts *out);

/* The lines of a function; *count of them. */
const struct line_sequence *cubin_facts_sequences(const struct cubin_facts *facts,
                                                  const char *symbol, size_t *count);

/* Releases; accepts a zeroed struct. */
void cubin_facts_close(struct cubin_facts *facts);
