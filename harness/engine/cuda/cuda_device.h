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
#include "cuda_tools.h"
#include "engine.h"
#include "image.h"
#include "status.h"

/* The modules of a workload. Each is loaded several times, and placements take the copies in turn: code and constant bank lie at
 * another address in each. */
enum { CUDA_MODULE_COPIES = 4 };

struct workload_modules {
    struct cuda_module copies[CUDA_MODULES_MAX][CUDA_MODULE_COPIES];
};

/* Zeros on the device. */
struct cuda_zeros {
    uint32_t *words; /* owned */
    uint64_t bytes;
};

struct cuda_device {
    uint32_t ordinal;
    const struct device_info *info; /* not owned */
    struct driver_functions driver;
    struct cuda_calls calls;
    CUcontext context;
    cudaStream_t stream;
    struct cuda_tools tools;
    struct workload_modules *modules; /* of each workload, loaded when they are first asked for */
    uint64_t seed; /* of the tables */
    struct cuda_table tables[CUDA_TABLES_MAX]; /* owned */
    struct cuda_memory memory; /* inputs and outputs */
    struct cuda_indices *indices; /* owned: a list */
    struct cuda_zeros other; /* which lookups load beside the table */
    struct cuda_zeros flushed; /* which a flush reads */
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

/* Sees to it that there are so many bytes of zeros. False when out of memory: then there are none. */
bool cuda_device_zeros(struct cuda_device *device, struct cuda_zeros *zeros, uint64_t bytes);

/* A copy (below CUDA_MODULE_COPIES) of module number k (below CUDA_MODULES_MAX) of a workload, with table k in its constant
 * bank. NULL, logged, when it cannot be loaded. */
const struct cuda_module *cuda_device_module(struct cuda_device *device, const struct workload *workload, uint32_t k,
                                             uint32_t copy);

/* Enqueues a launch with an array of pointers to its parameters. True on success. */
bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads,
                        uint32_t shared_bytes, void **parameters);

/* Enqueues writing to the device, reading from it, setting its bytes. True on success. */
bool cuda_device_write(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_read(struct cuda_device *device, void *to, const void *from, size_t bytes);
bool cuda_device_set(struct cuda_device *device, void *to, int byte, size_t bytes);

/* Whether something enqueued has not ended. False also when that cannot be told: waiting says why. */
bool cuda_device_is_busy(struct cuda_device *device);

/* Waits for everything enqueued. True when all went well. */
bool cuda_device_wait(struct cuda_device *device);

#endif
