/* SPDX-License-Identifier: MIT */
#include "cuda_device.h"

#include <stdlib.h>

#include "log.h"
#include "random.h"

enum { FLUSH_THREADS = 1024, STIR_THREADS = 1024, STIR_BLOCKS = 16 /* an SM */, CLOCK_SPIN_NS = 10000 };

/* -- modules ------------------------------------------------------------------------------------------ */

static enum status open_tools(struct cuda_device *device)
{
    const struct {
        const char *name;
        CUfunction *function;
    } tools[] = {
        {"tool_empty", &device->tool_empty}, {"tool_stir", &device->tool_stir},   {"tool_flush", &device->tool_flush},
        {"tool_stamp", &device->tool_stamp}, {"tool_clock", &device->tool_clock},
    };

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (!cuda_module_function(device, &device->tools, tools[i].name, tools[i].function))
            return log_error(STATUS_ENVIRONMENT, "%s has no kernel %s", device->tools.image, tools[i].name);
    return STATUS_OK;
}

/* Makes room for stamps, and lets the tick of the timer be found. */
static enum status open_timer(struct cuda_device *device)
{
    const size_t bytes = TOOL_STAMPS_MAX * sizeof(*device->stamps_ns);

    if (!CUDA(device, cudaMalloc, (void **)&device->stamps_ns, bytes) ||
        !cuda_device_set(device, device->stamps_ns, 0, bytes) || !cuda_launch_tick(device))
        return log_error(STATUS_ENVIRONMENT, "cannot read the timer of the device: %s", cuda_device_error(device));
    return STATUS_OK;
}

/* Writes a table into the constant bank of a module. */
static enum status fill_bank(struct cuda_device *device, struct cuda_module *module, const uint32_t *values)
{
    const enum status status = cuda_module_find_bank(device, "cbank_values", module);

    if (status != STATUS_OK ||
        CUDA(device, cudaMemcpy, (void *)(uintptr_t)module->bank, values, CBANK_TABLE_BYTES, cudaMemcpyHostToDevice))
        return status;
    return log_error(STATUS_ENVIRONMENT, "cannot fill the constant bank of %s: %s", module->image,
                     cuda_device_error(device));
}

const struct cuda_module *cuda_device_module(struct cuda_device *device, const struct workload *workload, uint32_t k,
                                             CUdeviceptr *bank)
{
    struct cuda_module *module = &device->modules[(size_t)(workload - workloads) * CUDA_MODULES_MAX + k];

    if (!module->module && (cuda_module_load(device, workload->name, module) != STATUS_OK ||
                            fill_bank(device, module, cuda_device_values(device, k)) != STATUS_OK)) {
        cuda_module_unload(device, module);
        return NULL;
    }
    *bank = module->bank;
    return module;
}

/* -- tables ------------------------------------------------------------------------------------------- */

uint32_t *cuda_device_table(const struct cuda_device *device, uint32_t k)
{
    return k == CUDA_LARGE_TABLE ? device->large : device->table + k * CBANK_TABLE_LENGTH;
}

const uint32_t *cuda_device_values(const struct cuda_device *device, uint32_t k)
{
    return k == CUDA_LARGE_TABLE ? device->large_values : device->host_values + k * CBANK_TABLE_LENGTH;
}

bool cuda_device_texture(struct cuda_device *device, const uint32_t *table, size_t bytes, uint32_t width,
                         cudaTextureObject_t *texture)
{
    const int bits = width < sizeof(uint32_t) ? 8 * (int)width : 32, rest = width > 8 ? bits : 0;
    const struct cudaResourceDesc resource = {
        .resType = cudaResourceTypeLinear,
        .res.linear = {.devPtr = (void *)(uintptr_t)table,
                       .desc = {bits, width > sizeof(uint32_t) ? bits : 0, rest, rest, cudaChannelFormatKindUnsigned},
                       .sizeInBytes = bytes},
    };
    const struct cudaTextureDesc description = {.readMode = cudaReadModeElementType};

    return CUDA(device, cudaCreateTextureObject, texture, &resource, &description, NULL);
}

bool cuda_device_need_texture(struct cuda_device *device, uint32_t k, uint32_t width)
{
    cudaTextureObject_t *texture = &device->textures[k][__builtin_ctz(width)];

    const size_t bytes = k == CUDA_LARGE_TABLE ? device->large_bytes : CBANK_TABLE_BYTES;

    return *texture || cuda_device_texture(device, cuda_device_table(device, k), bytes, width, texture);
}

static void close_textures(struct cuda_device *device, uint32_t k)
{
    for (uint32_t i = 0; i < SASS_WIDTH_COUNT; i++) {
        if (device->textures[k][i])
            CUDA_TRY(device, cudaDestroyTextureObject, device->textures[k][i]);
        device->textures[k][i] = 0;
    }
}

static void close_large(struct cuda_device *device)
{
    close_textures(device, CUDA_LARGE_TABLE);
    CUDA_TRY(device, cudaFree, device->large);
    free(device->large_values);
    device->large = NULL;
    device->large_values = NULL;
    device->large_bytes = 0;
}

bool cuda_device_need_large(struct cuda_device *device, uint64_t bytes)
{
    const size_t words = (bytes + sizeof(uint32_t) - 1) / sizeof(uint32_t), whole = words * sizeof(uint32_t);

    if (device->large_bytes >= bytes)
        return true;
    close_large(device);
    device->large_values = malloc(whole);
    if (device->large_values)
        random_fill_floats(device->seed, device->large_values, words);
    if (!device->large_values || !CUDA(device, cudaMalloc, (void **)&device->large, whole) ||
        !cuda_device_write(device, device->large, device->large_values, whole) || !cuda_device_wait(device)) {
        close_large(device);
        return false;
    }
    device->large_bytes = whole;
    return true;
}

/* Random tables, on the host and in global memory. */
static enum status fill_tables(struct cuda_device *device)
{
    const size_t bytes = (size_t)CUDA_MODULES_MAX * CBANK_TABLE_BYTES;
    bool filled = CUDA(device, cudaMallocHost, (void **)&device->host_values, bytes) &&
                  CUDA(device, cudaMalloc, (void **)&device->table, bytes);

    if (filled) {
        random_fill_floats(device->seed, device->host_values, (size_t)CUDA_MODULES_MAX * CBANK_TABLE_LENGTH);
        filled = CUDA(device, cudaMemcpy, device->table, device->host_values, bytes, cudaMemcpyHostToDevice);
    }
    for (uint32_t k = 0; filled && k < CUDA_MODULES_MAX; k++)
        filled = cuda_device_need_texture(device, k, sizeof(uint32_t));
    return filled ? STATUS_OK : log_error(STATUS_ENVIRONMENT, "cannot fill the tables: %s", cuda_device_error(device));
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
        .clock_reading_count = request->cells + 2,
        .modules = calloc(workload_count * CUDA_MODULES_MAX, sizeof(*device->modules)),
    };
    status = device->modules && device->calls.suspects ? cuda_driver_open(&device->driver) : log_memory("the device");
    if (status == STATUS_OK &&
        (!CUDA(device, cudaSetDevice, (int)device->ordinal) ||
         !CUDA(device, cudaStreamCreateWithFlags, &device->stream, cudaStreamNonBlocking) ||
         !CUDA(device, cudaHostAlloc, (void **)&device->clock_readings,
               device->clock_reading_count * sizeof(*device->clock_readings), cudaHostAllocMapped) ||
         !DRIVER(device, cuCtxGetCurrent, &device->context)))
        status = log_error(STATUS_ENVIRONMENT, "cannot open device %u: %s", (unsigned)device->ordinal,
                           cuda_device_error(device));
    if (status == STATUS_OK)
        status = cuda_module_load(device, "tools", &device->tools);
    if (status == STATUS_OK)
        status = open_tools(device);
    if (status == STATUS_OK)
        status = open_timer(device);
    if (status == STATUS_OK)
        status = fill_tables(device);
    if (status != STATUS_OK)
        cuda_device_close(device);
    return status;
}

void cuda_device_close(struct cuda_device *device)
{
    if (device->context) {
        cuda_buffers_close(device);
        cuda_indices_close(device);
        for (uint32_t k = 0; k < CUDA_MODULES_MAX; k++)
            close_textures(device, k);
        close_large(device);
        CUDA_TRY(device, cudaFree, device->table);
        CUDA_TRY(device, cudaFree, device->flush_buffer);
        CUDA_TRY(device, cudaFree, device->other);
        CUDA_TRY(device, cudaFree, device->stamps_ns);
        CUDA_TRY(device, cudaFreeHost, device->clock_readings);
        CUDA_TRY(device, cudaFreeHost, device->host_values);
        for (size_t i = 0; i < workload_count * CUDA_MODULES_MAX; i++)
            cuda_module_unload(device, &device->modules[i]);
        cuda_module_unload(device, &device->tools);
        CUDA_TRY(device, cudaStreamDestroy, device->stream);
    }
    free(device->calls.suspects);
    free(device->modules);
    *device = (struct cuda_device){0};
}

/* -- memory ------------------------------------------------------------------------------------------- */

bool cuda_device_prepare_flush(struct cuda_device *device, uint64_t l2_bytes)
{
    const size_t bytes = 2 * l2_bytes;

    if (device->flush_buffer)
        return true;
    if (CUDA(device, cudaMalloc, (void **)&device->flush_buffer, bytes) &&
        CUDA(device, cudaMemset, device->flush_buffer, 0, bytes)) {
        device->flush_words = bytes / sizeof(uint32_t);
        return true;
    }
    return false;
}

bool cuda_device_need_other(struct cuda_device *device, uint64_t bytes)
{
    if (device->other_bytes >= bytes)
        return true;
    CUDA_TRY(device, cudaFree, device->other);
    device->other = NULL;
    device->other_bytes = 0;
    if (!CUDA(device, cudaMalloc, (void **)&device->other, bytes) || !CUDA(device, cudaMemset, device->other, 0, bytes))
        return false;
    device->other_bytes = bytes;
    return true;
}

/* -- launches ----------------------------------------------------------------------------------------- */

bool cuda_device_launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads,
                        uint32_t shared_bytes, void **parameters)
{
    return DRIVER(device, cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, shared_bytes, device->stream,
                  parameters, NULL);
}

/* A launch of a tool, whose only parameter is a struct. */
static bool launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads, void *arguments)
{
    void *parameters[] = {arguments};

    return cuda_device_launch(device, function, blocks, threads, 0, arguments ? parameters : NULL);
}

static bool launch_flush(struct cuda_device *device, const uint32_t *buffer, uint64_t words)
{
    struct tool_flush_args arguments = {.buffer = buffer, .words = words, .sink = device->flush_buffer, .never = 1};

    return launch(device, device->tool_flush, device->info->sm_count, FLUSH_THREADS, &arguments);
}

bool cuda_launch_flush(struct cuda_device *device)
{
    return launch_flush(device, device->flush_buffer, device->flush_words);
}

bool cuda_launch_empty(struct cuda_device *device)
{
    return launch(device, device->tool_empty, 1, CBANK_WARP_THREADS, NULL);
}

bool cuda_launch_stir(struct cuda_device *device)
{
    return launch(device, device->tool_stir, STIR_BLOCKS * device->info->sm_count, STIR_THREADS, NULL);
}

bool cuda_launch_stamp(struct cuda_device *device, size_t stamp)
{
    struct tool_stamp_args arguments = {.stamp_ns = &device->stamps_ns[stamp]};

    return launch(device, device->tool_stamp, 1, 1, &arguments);
}

static bool launch_probe(struct cuda_device *device, size_t reading, const uint64_t *stamps_ns, uint64_t spin_ns)
{
    struct tool_clock_args arguments = {.reading = &device->clock_readings[reading],
                                        .stamps_ns = stamps_ns,
                                        .spin_ns = spin_ns};

    return launch(device, device->tool_clock, 1, 1, &arguments);
}

bool cuda_launch_clock(struct cuda_device *device, size_t cell)
{
    return launch_probe(device, cell, device->stamps_ns, CLOCK_SPIN_NS);
}

bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns)
{
    return launch_probe(device, device->clock_reading_count - 2, NULL, spin_ns);
}

bool cuda_launch_tick(struct cuda_device *device)
{
    return launch_probe(device, device->clock_reading_count - 1, NULL, 0);
}

double cuda_tick_ns(const struct cuda_device *device)
{
    return (double)device->clock_readings[device->clock_reading_count - 1].ns;
}

bool cuda_launch_fault(struct cuda_device *device, const struct fault *fault)
{
    static const uint64_t far_words = 1ull << 38, ten_minutes_ns = 600000000000;

    return fault->endless ? cuda_launch_spin(device, ten_minutes_ns)
                          : launch_flush(device, device->table + far_words, 4 * FLUSH_THREADS);
}

bool cuda_clock_was_read(const struct cuda_device *device, size_t cell)
{
    return *(const volatile uint64_t *)&device->clock_readings[cell].ns != 0;
}

void cuda_clock_clear(struct cuda_device *device, size_t cell)
{
    device->clock_readings[cell] = (struct clock_reading){0};
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

bool cuda_device_wait(struct cuda_device *device)
{
    return CUDA(device, cudaStreamSynchronize, device->stream);
}
