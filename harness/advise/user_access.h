/* SPDX-License-Identifier: MIT
 * The parts of reading a kernel's loads, which user_access.c, user_flow.c, user_group.c and
 * user_compares.c share. */
#pragma once

#include "facts.h"
#include "user_code.h"

/* Read while the loads of a kernel are visited. */
struct accesses {
    const struct cubin *cubin;
    const struct flow *flow;
    const struct facts *facts;
    struct cubin_kernel *kernel;
    struct analysed_load *loads; /* owned: of the analysis, as many as accesses */
    size_t count;
    bool full;
};

/* A text of an access that the kernel keeps, once, in characters that can be printed. Out of
 * memory, it is "" and `full` is set. */
const char *accesses_keep(struct accesses *all, const char *text);

/* A place in the code, in bytes, as a place in its section. */
uint32_t accesses_place(const struct accesses *all, uint32_t address);

/* -- user_flow.c: what the code does beside its loads ------------------------------------------ */

/* Whether the block of code stores what a load brings in shared memory, or passes it on by a
 * shuffle, as it is: kernels fill their tables so. */
bool flow_stores_shared(const struct flow *flow, const struct analysed_load *load);
bool flow_shuffles(const struct flow *flow, const struct analysed_load *load);

/* Whether the code stores to the stack at an index that is known at run time alone. */
bool flow_writes_local(const struct flow *flow);

/* What the code stores to the stack elsewhere. What all threads store alike is known where one
 * block of code stores it all. */
enum local_content flow_local_content(const struct flow *flow);

/* Whether a loop of the kernel does more than copy tables, or than read those of the compiler. Its
 * accesses are known. */
bool flow_works_in_loops(const struct flow *flow, const struct cubin_kernel *kernel);

/* -- user_group.c: what several loads say together --------------------------------------------- */

/* Gives each load from shared memory the name of an array, "offset 0x400". The machine code has no
 * names of these. Loads whose bytes touch are taken to be of one array, called by its first byte,
 * and so are loads at indices that are not known, if no array that is known begins between them.
 * STATUS_ENVIRONMENT, logged, when out of memory. */
enum status accesses_name_shared(struct accesses *all);

/* Counts the sectors of the loads from global memory. The begin of such a table is not known: the
 * counts are the least over all. A load that reads what others leave out of the same sectors has
 * its share of their sectors. */
void accesses_count_sectors(struct accesses *all);

/* -- user_compares.c: loads that the compiler did without ----------------------------------------
 */

/* Finds the small arrays of the kernel that became compares. STATUS_ENVIRONMENT, logged, when out
 * of memory. */
enum status accesses_find_compared(struct accesses *all);
