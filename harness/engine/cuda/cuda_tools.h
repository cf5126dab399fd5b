/* SPDX-License-Identifier: MIT
 * The kernels of tools.cu: what is launched beside cells, and what they write. Includes vendor headers. */
#ifndef CBANK_CUDA_TOOLS_H
#define CBANK_CUDA_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_module.h"
#include "tool_args.h"

struct cuda_device;
struct fault;

struct cuda_tools {
    struct cuda_module module;
    CUfunction empty, stir, flush, stamp, clock; /* NULL until the module is there */
    struct clock_reading *readings; /* pinned and mapped: `cells` of cells, then one of spins, one of a tick */
    size_t cells;
    uint64_t *stamps_ns; /* device: TOOL_STAMPS_MAX of the sample that is under way */
};

/* Loads the tools of the device, whose stream is there, and lets the tick of the timer be found. STATUS_ENVIRONMENT,
 * logged, when it cannot; cuda_tools_close in any case. `cells`: how many readings of the clock there can be. */
enum status cuda_tools_open(struct cuda_device *device, size_t cells);

/* Releases; accepts what nothing was allocated in. */
void cuda_tools_close(struct cuda_device *device);

/* Allocates what flushing needs, once. False when out of memory. */
bool cuda_flush_prepare(struct cuda_device *device, uint64_t l2_bytes);

/* Enqueues one launch of the flush, of the kernel that stirs the order of the SMs, of the empty kernel, of the one that
 * stamps the time (stamp number `stamp`), of the clock probe (into reading number `cell`, with the stamps), of a kernel
 * that just spins for at least spin_ns. True on success. */
bool cuda_launch_flush(struct cuda_device *device);
bool cuda_launch_stir(struct cuda_device *device);
bool cuda_launch_empty(struct cuda_device *device);
bool cuda_launch_stamp(struct cuda_device *device, size_t stamp);
bool cuda_launch_clock(struct cuda_device *device, size_t cell);
bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns);

/* How long one tick of the timer is that stamps read. */
double cuda_tick_ns(const struct cuda_device *device);

/* Reading number `cell`; clears it; whether the clock probe has written it since. It is the host's memory, which a device
 * that is lost leaves as it was. */
const struct clock_reading *cuda_clock_reading(const struct cuda_device *device, size_t cell);
void cuda_clock_clear(struct cuda_device *device, size_t cell);
bool cuda_clock_was_read(const struct cuda_device *device, size_t cell);

/* Enqueues a planted fault: a kernel that reads far behind the tables, or one that runs for ten minutes. True on
 * success. */
bool cuda_launch_fault(struct cuda_device *device, const struct fault *fault);

#endif
