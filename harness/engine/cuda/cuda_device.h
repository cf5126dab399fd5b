/* SPDX-License-Identifier: MIT
 * One CUDA device with everything that launching a cell needs: modules, table, inputs and outputs. */
#ifndef CBANK_CUDA_DEVICE_H
#define CBANK_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "cuda_buffers.h"
#include "cuda_call.h"
#include "cuda_indices.h"
#include "cuda_module.h"
#include "cuda_tables.h"
#include "engine.h"
#include "image.h"
#include "status.h"
#include "tool_args.h"

struct cuda_device {
    uint32_t ordinal;
    const struct device_info *info; /* not owned */
    struct driver_functions driver;
    struct cuda_calls calls;
    CUcontext context;
    cudaStream_t stream;
    struct cuda_module tools;
    struct cuda_module *modules; /* of the workloads: CUDA_MODULES_MAX each, loaded when they are first asked for */
    CUfunction tool_empty, tool_stir, tool_flush, tool_stamp, tool_clock;
    uint64_t seed; /* of the tables */
    struct cuda_table tables[CUDA_TABLES_MAX]; /* owned */
    struct cuda_memory memory; /* inputs and outputs */
    struct cuda_indices *indices; /* owned: a list */
    uint32_t *other; /* device: other_bytes zeros, which lookups load beside the table */
    uint64_t other_bytes;
    uint32_t *flush_buffer; /* device: flush_words zeros */
    uint64_t flush_words;
    struct clock_reading *clock_readings; /* pinned and mapped: cell_count of cells, then one of spins, one of a tick */
    size_t cell_count;
    uint64_t *stamps_ns; /* device: TOOL_STAMPS_MAX of the sample that is under way */
};

/* Number of devices, with the reason and the remedy when there is none. */
uint32_t cuda_device_count(const char **reason);

/* Fills *info for one device from cudart and NVML. */
enum status cuda_device_describe(uint32_t ordinal, struct device_info *info);

/* What a device is opened for. */
struct cuda_request {
    uint32_t ordinal;
    const struct device_info *info; /* outlives the device */
    uint64_t seed; /* of the tables */
    size_t cells; /* that will be timed */
    struct watchdog *watchdog; /* outlives the device; NULL: calls are not watched */
    double patience; /* seconds; 0: as cuda_expect says */
};

/* Makes the device current, loads the tools (from machine code, else from PTX) and fills table 0.
 * STATUS_ENVIRONMENT, logged, when it cannot. On success the caller closes. */
enum status cuda_device_open(struct cuda_device *device, const struct cuda_request *request);

/* Releases; accepts a zeroed struct. */
void cuda_device_close(struct cuda_device *device);

/* Allocates what flushing needs, once. False when out of memory. */
bool cuda_device_prepare_flush(struct cuda_device *device, uint64_t l2_bytes);

/* Sees to it that there are so many bytes of data that lookups load beside the table. False when out of memory. */
bool cuda_device_need_other(struct cuda_device *device, uint64_t bytes);

/* Module number k (below CUDA_MODULES_MAX) of a workload, with table k in its constant bank, whose address goes into
 * *bank. NULL, logged, when it cannot be loaded. */
const struct cuda_module *cuda_device_module(struct cuda_device *device, const struct workload *workload, uint32_t k,
                                             CUdeviceptr *bank);

/* Enqueues one launch of the flush, of the kernel that stirs the order of the SMs, of the empty kernel, of the one that
 * stamps the time (stamp number `stamp`), of the clock probe (into reading number `cell`, with the stamps), of a kernel
 * that just spins for at least spin_ns. True on success. */
bool cuda_launch_flush(struct cuda_device *device);
bool cuda_launch_stir(struct cuda_device *device);
bool cuda_launch_empty(struct cuda_device *device);
bool cuda_launch_stamp(struct cuda_device *device, size_t stamp);
bool cuda_launch_clock(struct cuda_device *device, size_t cell);
bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns);

/* Enqueues a spin of no time, which lasts for one tick of the timer that stamps read; and how long that was. True on
 * success. */
bool cuda_launch_tick(struct cuda_device *device);
double cuda_tick_ns(const struct cuda_device *device);

/* Whether the clock probe has written reading number `cell` since that was cleared. Both are the host's memory, which a
 * device that is lost leaves as it was. */
bool cuda_clock_was_read(const struct cuda_device *device, size_t cell);
void cuda_clock_clear(struct cuda_device *device, size_t cell);

/* Enqueues a planted fault: a kernel that reads far behind the tables, or one that runs for ten minutes. True on
 * success. */
bool cuda_launch_fault(struct cuda_device *device, const struct fault *fault);

/* Enqueues a launch with an array of pointers to its parameters. True on success. */
bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads,
                        uint32_t shared_bytes, void **parameters);

/* Enqueues writing to the device, reading from it, setting its bytes. True on success. */
bool cuda_device_write(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_read(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_set(struct cuda_device *device, void *to, int byte, size_t bytes);

/* Waits for everything enqueued. True when all went well. */
bool cuda_device_wait(struct cuda_device *device);

#endif
