/* SPDX-License-Identifier: MIT
 * One CUDA device with everything that launching a cell needs: modules, table, inputs and outputs. */
#ifndef CBANK_CUDA_DEVICE_H
#define CBANK_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "cuda_module.h"
#include "engine.h"
#include "image.h"
#include "status.h"
#include "tool_args.h"

/* Modules of one workload at most: what the parameter `modules` goes up to. */
enum {
#define PARAMETER(name, option, summary, unit, min, max, multiple, fallback) CUDA_MAX_##name = max,
#include "parameters.def"
    CUDA_MODULES_MAX = CUDA_MAX_modules
};

struct cuda_device {
    uint32_t ordinal;
    const struct device_info *info; /* not owned */
    struct driver_functions driver;
    CUresult launch_code; /* of the last launch that the driver refused; the runtime does not know of it */
    CUcontext context;
    cudaStream_t stream;
    struct cuda_module tools;
    struct cuda_module *modules; /* of the workloads: CUDA_MODULES_MAX each, loaded when they are first asked for */
    CUfunction tool_empty, tool_flush, tool_clock;
    /* CUDA_MODULES_MAX tables of CBANK_TABLE_LENGTH values. Table k is also in the constant bank of module k of each
     * workload. */
    uint32_t *table; /* device */
    uint32_t *host_values; /* pinned */
    cudaTextureObject_t textures[CUDA_MODULES_MAX];
    uint32_t *input, *output; /* device */
    uint32_t *host_input; /* the same */
    uint32_t *host_output; /* pinned */
    uint32_t *flush_buffer; /* device: flush_words zeros */
    uint64_t flush_words;
    struct clock_reading *clock_readings; /* pinned and mapped: one for each cell, and one more for spins */
    size_t clock_reading_count;
};

/* Number of devices, with the reason and the remedy when there is none. */
uint32_t cuda_device_count(const char **reason);

/* Fills *info for one device from cudart and NVML. */
enum status cuda_device_describe(uint32_t ordinal, struct device_info *info);

/* Makes the device that info describes current, loads the tools (from machine code, else from PTX) and fills the tables
 * from the seed. info has to outlive the device. STATUS_ENVIRONMENT, logged, when it cannot. On success the caller
 * closes. */
enum status cuda_device_open(struct cuda_device *device, uint32_t ordinal, const struct device_info *info,
                             uint64_t seed, size_t cells);

/* Releases; accepts a zeroed struct. */
void cuda_device_close(struct cuda_device *device);

/* Allocates input and output for `elements` and fills the input with random values. False when there is
 * not enough memory, on the device or on the host: then nothing is allocated. */
bool cuda_device_allocate(struct cuda_device *device, uint64_t elements, uint64_t seed);

/* Allocates what flushing needs, once. False when out of memory. */
bool cuda_device_prepare_flush(struct cuda_device *device, uint64_t l2_bytes);

/* Module number k (below CUDA_MODULES_MAX) of a workload, with table k in its constant bank, whose address goes into
 * *bank. NULL, logged, when it cannot be loaded. */
const struct cuda_module *cuda_device_module(struct cuda_device *device, const struct workload *workload, uint32_t k,
                                             CUdeviceptr *bank);

/* Makes a texture object over a table on the device. True on success. */
bool cuda_device_texture(const uint32_t *table, cudaTextureObject_t *texture);

/* Enqueues one launch of the flush, of the empty kernel, of the clock probe (into reading number `cell`), of a kernel
 * that just spins for at least spin_ns. True on success. */
bool cuda_launch_flush(struct cuda_device *device);
bool cuda_launch_empty(struct cuda_device *device);
bool cuda_launch_clock(struct cuda_device *device, size_t cell);
bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns);

/* Enqueues a launch with an array of pointers to its parameters. True on success. */
bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads,
                        uint32_t shared_bytes, void **parameters);

/* Enqueues writing to the device, reading from it, setting its bytes. True on success. */
bool cuda_device_write(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_read(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_set(struct cuda_device *device, void *to, int byte, size_t bytes);

/* Waits for everything enqueued. True when all went well. */
bool cuda_device_wait(struct cuda_device *device);

/* Text of the last CUDA error, which it forgets. */
const char *cuda_device_error(struct cuda_device *device);

#endif
