/* SPDX-License-Identifier: MIT
 * Who walks memory and times every access: a GPU, a simulator, or a file of recorded walks. */
#ifndef CBANK_PROBE_H
#define CBANK_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* One walk: a single thread loads table[address / 4] one after the other, each load depending on the one before. */
struct probe_walk {
    const uint32_t *address; /* count byte offsets, multiples of 4, below prober.bytes, no two the same: a chain of
                                pointers in the table can hold them */
    size_t count;
    uint32_t warm_up; /* walks of the whole list before the first timed one; 0: caches are as the launch finds them */
    uint32_t timed;   /* timed walks of the whole list, one behind the other in the same launch; at least 1 */
};

struct prober {
    void *context;
    uint32_t bytes;         /* of the memory that can be walked: 65536 for a constant bank */
    uint32_t bank_bytes; /* the memory is several banks of so many bytes, a power of two, whose lines may go into sets
                               in an order of the bank's own; 0: it is one */
    size_t samples_max; /* most accesses that one walk can time: count x timed */
    uint32_t foreign_lines; /* lines at most that the walk keeps in use beside its list's, in any one level (kernel
                               parameters, say); 0: none. Nothing that could be such a line is said to be known. */
    /* Cycles of each access of the timed walks (the clock's own included, the same for all): count x timed of them,
     * pass after pass. */
    enum status (*walk)(void *context, const struct probe_walk *walk, uint32_t *cycles);
    bool (*answers)(void *context, const struct probe_walk *walk); /* whether it has such a walk; NULL: every one */
};

#endif
