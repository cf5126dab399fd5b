/* SPDX-License-Identifier: MIT
 * A cell made ready for launching on a device: its kernel in as many modules as it alternates between, and what is
 * done before every launch. */
#ifndef CBANK_CUDA_LAUNCH_H
#define CBANK_CUDA_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cell.h"
#include "cuda_memory.h"
#include "image.h"

struct cuda_launch {
    const struct cell *cell;
    uint32_t modules;                     /* 0: it cannot be launched */
    struct cuda_code {
        CUfunction function;
        CUdeviceptr bank; /* the constant bank of its module */
    } code[CUDA_MODULES_MAX][CUDA_MODULE_COPIES];
    uint64_t room;                        /* elements of the buffers that it takes */
};

/* Loads the modules of a cell and finds its kernel in each; *sass is what its code says. What they hold belongs to the device.
 * False, with the reason, when the program has no such kernel or it cannot be loaded. `cell` has to outlive *out. */
bool cuda_launch_open(struct cuda_device *device, const struct cell *cell, struct cuda_launch *out,
                      struct kernel_sass *sass, char reason[CELL_REASON_BYTES]);

/* Gives the kernels of a cell the shared memory that they ask for. False, with the reason, where the GPU has less. */
bool cuda_launch_allow_shared(struct cuda_device *device, const struct cuda_launch *launch,
                              char reason[CELL_REASON_BYTES]);

/* Which launch of a cell: launches of a chain go through the modules in turn. */
struct cuda_turn {
    uint32_t number;
    uint32_t placement; /* of input, output, indices, table and module: those that each has, in turn */
    uint32_t site; /* of the table in its placement: those that it has, in turn */
};

/* How many placements differ: those of what a launch reads or writes that has the most. */
uint32_t cuda_launch_placements(const struct cuda_device *device, const struct cuda_launch *launch);

/* Bytes that a launch reads and writes beside its table. */
uint64_t cuda_launch_bytes(const struct cuda_device *device, const struct cuda_launch *launch);

/* Sites that the table of a launch has in its placement; 1 where it is in a constant bank or in the parameters. */
uint32_t cuda_launch_sites(const struct cuda_device *device, const struct cuda_launch *launch);

/* Where the output of a launch is. */
uint32_t *cuda_launch_output(const struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn);

/* The table that launch number `turn` reads: its values on the host, owned by the device. */
const uint32_t *cuda_launch_values(const struct cuda_device *device, const struct cuda_launch *launch, uint32_t turn);

/* Enqueues what is done before a launch; the kernel itself; both. True on success. */
bool cuda_launch_before(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn);
bool cuda_launch_kernel(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn);
bool cuda_launch_cell(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn);

/* Whether the host writes the cell's table before every launch, and if so: clears what it writes to, or writes all of
 * it as it is for other cells. To see that the writing happens. */
bool cuda_launch_refills(const struct cuda_launch *launch);
bool cuda_launch_clear_table(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn);
bool cuda_launch_restore_table(struct cuda_device *device, const struct cuda_launch *launch, struct cuda_turn turn);

#endif
