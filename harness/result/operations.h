/* SPDX-License-Identifier: MIT
 * Arithmetic intensity: operations of a cell for each byte that it moves. */
#pragma once

#include "result.h"

/* Arithmetic operations for each byte of memory traffic; NaN where that is not known.
 *   ideal   as textbooks count a sum of products of an input element and a filter element, 4 bytes
 *           each, with no cache: 2 operations for 8 bytes from global memory, or for the 4 of the
 *           input where the filter is in constant memory. So 0.25 and 0.5: Hwu, Kirk, El Hajj,
 *           Programming Massively Parallel Processors, 4th edition, 2022, sections 7.2 and 7.3. NaN
 *           where nothing is multiplied: workloads of one load a thread, paths that load nothing
 *   dram    for each byte that device memory read and wrote: from the counters dram_read_bytes and
 *           dram_write_bytes
 *   l2      for each byte of the sectors that L2 handled: from the counter l2_sectors */
struct operations_per_byte {
    double ideal, dram, l2;
};

struct operations_per_byte cell_operations_per_byte(const struct cell_result *cell);
