/* SPDX-License-Identifier: MIT
 * A cell prepared for launching on a device: its kernel in each module that it alternates between,
 * and the work before every launch. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cell.h"
#include "cuda_memory.h"
#include "image.h"

struct cuda_user;

struct cuda_launch {
    const struct cell *cell;
    const struct cuda_user
        *user; /* the build of a user's kernel: see cuda_user.h. Then the number of modules is 1,
                * and the next members are not used. NULL: a kernel of this program */
    uint32_t modules; /* 0: it cannot be launched */
    struct cuda_code {
        CUfunction function;
        CUdeviceptr bank; /* the constant bank of its module */
    } code[CUDA_MODULES_MAX][CUDA_MODULE_COPIES];
    uint64_t room; /* elements of its buffers */
};

/* Loads the modules of a cell and finds its kernel in each. *sass describes its code. The device
 * owns the modules' memory. False, with the reason, if the program has no such kernel or cannot
 * load it. `cell` must outlive *out. */
bool cuda_launch_open(struct cuda_device *device, const struct cell *cell, struct cuda_launch *out,
                      struct kernel_sass *sass, char reason[CELL_REASON_BYTES]);

/* Allows the kernels of a cell the shared memory that they need. False, with the reason, if the GPU
 * has less. */
bool cuda_launch_allow_shared(struct cuda_device *device, const struct cuda_launch *launch,
                              char reason[CELL_REASON_BYTES]);

/* The number of a launch of the cell: launches of a chain take the modules in turn. */
struct cuda_turn {
    uint32_t number;
    /* buffer set of input, output, indices, table and module, modulo the number that each has */
    uint32_t buffer_set;
    /* table offset of the table in its buffer set, modulo the number of table offsets */
    uint32_t table_offset;
};

/* Number of different buffer sets: the largest number among the buffers that a launch reads or
 * writes. */
uint32_t cuda_launch_buffer_sets(const struct cuda_device *device,
                                 const struct cuda_launch *launch);

/* Bytes that a launch reads and writes, without its table. */
uint64_t cuda_launch_bytes(const struct cuda_device *device, const struct cuda_launch *launch);

/* Number of table offsets of the table in its buffer set; 1 if it is in a constant bank or in the
 * parameters. */
uint32_t cuda_launch_table_offsets(const struct cuda_device *device,
                                   const struct cuda_launch *launch);

/* The output of a launch. */
uint32_t *cuda_launch_output(const struct cuda_device *device, const struct cuda_launch *launch,
                             struct cuda_turn turn);

/* The values on the host of the table that launch number `turn` reads; owned by the device. */
const uint32_t *cuda_launch_values(const struct cuda_device *device,
                                   const struct cuda_launch *launch, uint32_t turn);

/* Enqueues the kernel itself, or also the work before it. True on success. */
bool cuda_launch_kernel(struct cuda_device *device, const struct cuda_launch *launch,
                        struct cuda_turn turn);
bool cuda_launch_cell(struct cuda_device *device, const struct cuda_launch *launch,
                      struct cuda_turn turn);

/* Brings the caches to the cell's state during timing, flushed or as earlier launches leave them,
 * and enqueues the work before the launch. Returns when the device is idle. */
bool cuda_launch_prepare(struct cuda_device *device, const struct cuda_launch *launch,
                         struct cell_result *cell, struct cuda_turn turn);

/* Whether the host writes the cell's table before every launch. If so, clears the part that it
 * writes, or restores all of it for other cells. This shows whether the writing happens. */
bool cuda_launch_refills(const struct cuda_launch *launch);
bool cuda_launch_clear_table(struct cuda_device *device, const struct cuda_launch *launch,
                             struct cuda_turn turn);
bool cuda_launch_restore_table(struct cuda_device *device, const struct cuda_launch *launch,
                               struct cuda_turn turn);
