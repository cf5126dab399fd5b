/* SPDX-License-Identifier: MIT
 * A launch of a cell's kernel, as far as its rows and numbers determine it. An engine adds the
 * addresses. Needs no device, so that a test can see what each parameter changes. */
#pragma once

#include "cell.h"
#include "kernel_args.h"

struct cell_launch {
    uint32_t variant; /* that the kernel is compiled for: see workload_variant */
    uint32_t grid_blocks, block_size;
    uint32_t shared_bytes; /* dynamic */
    uint32_t modules; /* that launches alternate between, each with a table of its own; 1 or more */
    /* bytes of a table, which a texture or a constant bank may hold rounded up; of its part that
     * the host writes before every launch; and of data that is loaded beside it */
    uint32_t table_bytes, copied_bytes, other_bytes;
    uint32_t parameter_bytes; /* of a kernel of launches.cu; 0: it has struct kernel_args */
    uint64_t room; /* elements of the input and of the output */
    struct kernel_args args; /* without addresses */
};

/* The launch of a cell of a row of workloads.def, which may have its grid already. */
struct cell_launch cell_launch(const struct cell *cell);
