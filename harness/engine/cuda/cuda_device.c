/* SPDX-License-Identifier: MIT */
#include "cuda_device.h"

#include <stdlib.h>

#include "log.h"

/* -- modules ------------------------------------------------------------------------------------------ */

/* Writes table k into the constant bank of a module. */
static enum status fill_bank(struct cuda_device *device, struct cuda_module *module, uint32_t k)
{
    const enum status status = cuda_module_find_bank(device, "cbank_values", module);

    if (status != STATUS_OK || (cuda_table_need(device, k, CBANK_TABLE_BYTES) &&
                                CUDA(device, cudaMemcpy, (void *)(uintptr_t)module->bank, device->tables[k].values,
                                     CBANK_TABLE_BYTES, cudaMemcpyHostToDevice)))
        return status;
    return log_error(STATUS_ENVIRONMENT, "cannot fill the constant bank of %s: %s", module->image,
                     cuda_device_error(device));
}

const struct cuda_module *cuda_device_module(struct cuda_device *device, const struct workload *workload, uint32_t k,
                                             uint32_t copy)
{
    const struct cuda_module *const first = copy > 0 ? cuda_device_module(device, workload, k, 0) : NULL;
    struct cuda_module *const module = &device->modules[workload - workloads].copies[k][copy];
    enum status status;

    if (module->module)
        return module;
    if (copy > 0)
        status = first ? cuda_module_copy(device, first, module) : STATUS_ENVIRONMENT;
    else
        status = cuda_module_load(device, workload->name, module);
    if (status == STATUS_OK && fill_bank(device, module, k) == STATUS_OK)
        return module;
    cuda_module_unload(device, module);
    return NULL;
}

static void unload_modules(struct cuda_device *device, struct workload_modules *modules)
{
    for (size_t k = 0; k < CUDA_MODULES_MAX; k++)
        for (size_t copy = CUDA_MODULE_COPIES; copy-- > 0;)
            cuda_module_unload(device, &modules->copies[k][copy]);
}

enum status cuda_device_open(struct cuda_device *device, const struct cuda_request *request)
{
    static const double open_seconds = 6; /* a context, or a module that the driver compiles */
    enum status status;

    *device = (struct cuda_device){
        .ordinal = request->ordinal,
        .info = request->info,
        .seed = request->seed,
        .calls = {.watchdog = request->watchdog,
                  .patience = request->patience,
                  .expected = open_seconds,
                  .suspects = calloc(request->cells + 1, sizeof(*device->calls.suspects))},
        .modules = calloc(workload_count, sizeof(*device->modules)),
    };
    status = device->modules && device->calls.suspects ? cuda_driver_open(&device->driver) : log_memory("the device");
    if (status == STATUS_OK && (!CUDA(device, cudaSetDevice, (int)device->ordinal) ||
                                !CUDA(device, cudaStreamCreateWithFlags, &device->stream, cudaStreamNonBlocking) ||
                                !DRIVER(device, cuCtxGetCurrent, &device->context)))
        status = log_error(STATUS_ENVIRONMENT, "cannot open device %u: %s", (unsigned)device->ordinal,
                           cuda_device_error(device));
    if (status == STATUS_OK)
        status = cuda_tools_open(device, request->cells);
    if (status == STATUS_OK && !cuda_table_need(device, 0, CBANK_TABLE_BYTES))
        status = log_error(STATUS_ENVIRONMENT, "cannot fill a table: %s", cuda_device_error(device));
    if (status != STATUS_OK)
        cuda_device_close(device);
    return status;
}

void cuda_device_close(struct cuda_device *device)
{
    if (device->context) {
        cuda_buffers_close(device);
        cuda_indices_close(device);
        cuda_tables_close(device);
        CUDA_TRY(device, cudaFree, device->flushed.words);
        CUDA_TRY(device, cudaFree, device->other.words);
        for (size_t i = 0; i < workload_count; i++)
            unload_modules(device, &device->modules[i]);
        cuda_tools_close(device);
        CUDA_TRY(device, cudaStreamDestroy, device->stream);
    }
    free(device->calls.suspects);
    free(device->modules);
    *device = (struct cuda_device){0};
}

/* -- memory ------------------------------------------------------------------------------------------- */

bool cuda_device_zeros(struct cuda_device *device, struct cuda_zeros *zeros, uint64_t bytes)
{
    if (zeros->bytes >= bytes)
        return true;
    CUDA_TRY(device, cudaFree, zeros->words);
    *zeros = (struct cuda_zeros){0};
    if (!CUDA(device, cudaMalloc, (void **)&zeros->words, bytes) || !CUDA(device, cudaMemset, zeros->words, 0, bytes))
        return false;
    zeros->bytes = bytes;
    return true;
}

/* -- launches ----------------------------------------------------------------------------------------- */

bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads,
                        uint32_t shared_bytes, void **parameters)
{
    return DRIVER(device, cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, shared_bytes, device->stream,
                  parameters, NULL);
}

bool cuda_device_write(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return CUDA(device, cudaMemcpyAsync, to, from, bytes, cudaMemcpyHostToDevice, device->stream);
}

bool cuda_device_read(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return CUDA(device, cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToHost, device->stream);
}

bool cuda_device_set(struct cuda_device *device, void *to, int byte, size_t bytes)
{
    return CUDA(device, cudaMemsetAsync, to, byte, bytes, device->stream);
}

bool cuda_device_is_busy(struct cuda_device *device)
{
    cudaError_t code = cudaSuccess;

    if (cuda_call_begin(device, "cudaStreamQuery")) {
        code = cudaStreamQuery(device->stream);
        cuda_call_end(device, "cudaStreamQuery", cudaSuccess);
    }
    return code == cudaErrorNotReady;
}

bool cuda_device_wait(struct cuda_device *device)
{
    return CUDA(device, cudaStreamSynchronize, device->stream);
}
