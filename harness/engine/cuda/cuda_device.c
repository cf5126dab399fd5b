/* SPDX-License-Identifier: MIT */
#include "cuda_device.h"

#include <stdlib.h>

#include "log.h"
#include "random.h"

enum { FLUSH_THREADS = 1024, CLOCK_SPIN_NS = 10000 };

const char *cuda_device_error(struct cuda_device *device)
{
    const cudaError_t code = cudaGetLastError();
    const CUresult launch_code = device->launch_code;

    device->launch_code = CUDA_SUCCESS;
    return code == cudaSuccess && launch_code != CUDA_SUCCESS ? cuda_driver_error(&device->driver, launch_code)
                                                              : cudaGetErrorString(code);
}

/* -- modules ------------------------------------------------------------------------------------------ */

static enum status open_tools(struct cuda_device *device)
{
    const struct {
        const char *name;
        CUfunction *function;
    } tools[] = {
        {"tool_empty", &device->tool_empty},
        {"tool_flush", &device->tool_flush},
        {"tool_clock", &device->tool_clock},
    };

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (device->driver.module_function(tools[i].function, device->tools.module, tools[i].name) != CUDA_SUCCESS)
            return log_error(STATUS_ENVIRONMENT, "%s has no kernel %s", device->tools.image, tools[i].name);
    return STATUS_OK;
}

/* Writes a table into the constant bank of a module. */
static enum status fill_bank(struct cuda_device *device, struct cuda_module *module, const uint32_t *values)
{
    const enum status status = cuda_module_find_bank(&device->driver, "cbank_values", module);

    if (status != STATUS_OK ||
        cudaMemcpy((void *)(uintptr_t)module->bank, values, CBANK_TABLE_BYTES, cudaMemcpyHostToDevice) == cudaSuccess)
        return status;
    return log_error(STATUS_ENVIRONMENT, "cannot fill the constant bank of %s: %s", module->image,
                     cuda_device_error(device));
}

const struct cuda_module *cuda_device_module(struct cuda_device *device, const struct workload *workload, uint32_t k,
                                             CUdeviceptr *bank)
{
    struct cuda_module *module = &device->modules[(size_t)(workload - workloads) * CUDA_MODULES_MAX + k];

    if (!module->module && (cuda_module_load(&device->driver, device->info, workload->name, module) != STATUS_OK ||
                            fill_bank(device, module, device->host_values + k * CBANK_TABLE_LENGTH) != STATUS_OK)) {
        cuda_module_unload(&device->driver, module);
        return NULL;
    }
    *bank = module->bank;
    return module;
}

bool cuda_device_texture(const uint32_t *table, cudaTextureObject_t *texture)
{
    const struct cudaResourceDesc resource = {
        .resType = cudaResourceTypeLinear,
        .res.linear = {.devPtr = (void *)(uintptr_t)table,
                       .desc = {.x = 32, .f = cudaChannelFormatKindUnsigned},
                       .sizeInBytes = CBANK_TABLE_BYTES},
    };
    const struct cudaTextureDesc description = {.readMode = cudaReadModeElementType};

    return cudaCreateTextureObject(texture, &resource, &description, NULL) == cudaSuccess;
}

/* Random tables, on the host and in global memory. */
static enum status fill_tables(struct cuda_device *device, uint64_t seed)
{
    const size_t bytes = (size_t)CUDA_MODULES_MAX * CBANK_TABLE_BYTES;
    bool filled = cudaMallocHost((void **)&device->host_values, bytes) == cudaSuccess &&
                  cudaMalloc((void **)&device->table, bytes) == cudaSuccess;

    if (filled) {
        random_fill_floats(seed, device->host_values, (size_t)CUDA_MODULES_MAX * CBANK_TABLE_LENGTH);
        filled = cudaMemcpy(device->table, device->host_values, bytes, cudaMemcpyHostToDevice) == cudaSuccess;
    }
    for (uint32_t k = 0; filled && k < CUDA_MODULES_MAX; k++)
        filled = cuda_device_texture(device->table + k * CBANK_TABLE_LENGTH, &device->textures[k]);
    return filled ? STATUS_OK : log_error(STATUS_ENVIRONMENT, "cannot fill the tables: %s", cuda_device_error(device));
}

enum status cuda_device_open(struct cuda_device *device, uint32_t ordinal, const struct device_info *info,
                             uint64_t seed, size_t cells)
{
    enum status status;

    *device = (struct cuda_device){.ordinal = ordinal,
                                   .info = info,
                                   .clock_reading_count = cells + 1,
                                   .modules = calloc(workload_count * CUDA_MODULES_MAX, sizeof(*device->modules))};
    status = device->modules ? cuda_driver_open(&device->driver) : log_error(STATUS_ENVIRONMENT, "out of memory");
    if (status == STATUS_OK &&
        (cudaSetDevice((int)ordinal) != cudaSuccess ||
         cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking) != cudaSuccess ||
         cudaHostAlloc((void **)&device->clock_readings, device->clock_reading_count * sizeof(*device->clock_readings),
                       cudaHostAllocMapped) != cudaSuccess ||
         device->driver.context_current(&device->context) != CUDA_SUCCESS))
        status =
            log_error(STATUS_ENVIRONMENT, "cannot open device %u: %s", (unsigned)ordinal, cuda_device_error(device));
    if (status == STATUS_OK)
        status = cuda_module_load(&device->driver, device->info, "tools", &device->tools);
    if (status == STATUS_OK)
        status = open_tools(device);
    if (status == STATUS_OK)
        status = fill_tables(device, seed);
    if (status != STATUS_OK)
        cuda_device_close(device);
    return status;
}

static void free_elements(struct cuda_device *device)
{
    cudaFree(device->input);
    cudaFree(device->output);
    cudaFreeHost(device->host_output);
    free(device->host_input);
    device->input = device->output = device->host_output = device->host_input = NULL;
}

void cuda_device_close(struct cuda_device *device)
{
    if (device->context) {
        free_elements(device);
        for (uint32_t k = 0; k < CUDA_MODULES_MAX; k++)
            cudaDestroyTextureObject(device->textures[k]);
        cudaFree(device->table);
        cudaFree(device->flush_buffer);
        cudaFreeHost(device->clock_readings);
        cudaFreeHost(device->host_values);
        for (size_t i = 0; i < workload_count * CUDA_MODULES_MAX; i++)
            cuda_module_unload(&device->driver, &device->modules[i]);
        cuda_module_unload(&device->driver, &device->tools);
        cudaStreamDestroy(device->stream);
    }
    free(device->modules);
    *device = (struct cuda_device){0};
}

/* -- memory ------------------------------------------------------------------------------------------- */

bool cuda_device_allocate(struct cuda_device *device, uint64_t elements, uint64_t seed)
{
    const size_t bytes = elements * sizeof(uint32_t);

    if (cudaMalloc((void **)&device->input, bytes) == cudaSuccess &&
        cudaMalloc((void **)&device->output, bytes) == cudaSuccess &&
        cudaMallocHost((void **)&device->host_output, bytes) == cudaSuccess &&
        (device->host_input = malloc(bytes)) != NULL) {
        random_fill_floats(seed + 1, device->host_input, elements);
        if (cudaMemcpy(device->input, device->host_input, bytes, cudaMemcpyHostToDevice) == cudaSuccess)
            return true;
    }
    cudaGetLastError();
    free_elements(device);
    return false;
}

bool cuda_device_prepare_flush(struct cuda_device *device, uint64_t l2_bytes)
{
    const size_t bytes = 2 * l2_bytes;

    if (device->flush_buffer)
        return true;
    if (cudaMalloc((void **)&device->flush_buffer, bytes) == cudaSuccess &&
        cudaMemset(device->flush_buffer, 0, bytes) == cudaSuccess) {
        device->flush_words = bytes / sizeof(uint32_t);
        return true;
    }
    cudaGetLastError();
    return false;
}

/* -- launches ----------------------------------------------------------------------------------------- */

bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads,
                        uint32_t shared_bytes, void **parameters)
{
    const CUresult code =
        device->driver.launch(function, blocks, 1, 1, threads, 1, 1, shared_bytes, device->stream, parameters, NULL);

    if (code != CUDA_SUCCESS)
        device->launch_code = code;
    return code == CUDA_SUCCESS;
}

/* A launch of a tool, whose only parameter is a struct. */
static bool launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads, void *arguments)
{
    void *parameters[] = {arguments};

    return cuda_device_launch(device, function, blocks, threads, 0, arguments ? parameters : NULL);
}

bool cuda_launch_flush(struct cuda_device *device)
{
    struct tool_flush_args arguments = {.buffer = device->flush_buffer,
                                        .words = device->flush_words,
                                        .sink = device->flush_buffer,
                                        .never = 1};

    return launch(device, device->tool_flush, device->info->sm_count, FLUSH_THREADS, &arguments);
}

bool cuda_launch_empty(struct cuda_device *device)
{
    return launch(device, device->tool_empty, 1, CBANK_WARP_THREADS, NULL);
}

static bool launch_probe(struct cuda_device *device, size_t reading, uint64_t spin_ns)
{
    struct tool_clock_args arguments = {.reading = &device->clock_readings[reading], .spin_ns = spin_ns};

    return launch(device, device->tool_clock, 1, 1, &arguments);
}

bool cuda_launch_clock(struct cuda_device *device, size_t cell)
{
    return launch_probe(device, cell, CLOCK_SPIN_NS);
}

bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns)
{
    return launch_probe(device, device->clock_reading_count - 1, spin_ns);
}

bool cuda_device_write(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device->stream) == cudaSuccess;
}

bool cuda_device_read(struct cuda_device *device, void *to, const void *from, size_t bytes)
{
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device->stream) == cudaSuccess;
}

bool cuda_device_set(struct cuda_device *device, void *to, int byte, size_t bytes)
{
    return cudaMemsetAsync(to, byte, bytes, device->stream) == cudaSuccess;
}

bool cuda_device_wait(struct cuda_device *device)
{
    return cudaStreamSynchronize(device->stream) == cudaSuccess;
}
