/* SPDX-License-Identifier: MIT */
#include "cuda_device.h"

#include <stdlib.h>

#include "log.h"

enum { FLUSH_THREADS = 1024, STIR_THREADS = 1024, STIR_BLOCKS = 16 /* an SM */, CLOCK_SPIN_NS = 10000 };

/* Readings of the clock probe behind those of cells. */
enum { SPIN_READING, TICK_READING, OTHER_READINGS };

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
                                             CUdeviceptr *bank)
{
    struct cuda_module *module = &device->modules[(size_t)(workload - workloads) * CUDA_MODULES_MAX + k];

    if (!module->module &&
        (cuda_module_load(device, workload->name, module) != STATUS_OK || fill_bank(device, module, k) != STATUS_OK)) {
        cuda_module_unload(device, module);
        return NULL;
    }
    *bank = module->bank;
    return module;
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
        .cell_count = request->cells,
        .modules = calloc(workload_count * CUDA_MODULES_MAX, sizeof(*device->modules)),
    };
    status = device->modules && device->calls.suspects ? cuda_driver_open(&device->driver) : log_memory("the device");
    if (status == STATUS_OK &&
        (!CUDA(device, cudaSetDevice, (int)device->ordinal) ||
         !CUDA(device, cudaStreamCreateWithFlags, &device->stream, cudaStreamNonBlocking) ||
         !CUDA(device, cudaHostAlloc, (void **)&device->clock_readings,
               (device->cell_count + OTHER_READINGS) * sizeof(*device->clock_readings), cudaHostAllocMapped) ||
         !DRIVER(device, cuCtxGetCurrent, &device->context)))
        status = log_error(STATUS_ENVIRONMENT, "cannot open device %u: %s", (unsigned)device->ordinal,
                           cuda_device_error(device));
    if (status == STATUS_OK)
        status = cuda_module_load(device, "tools", &device->tools);
    if (status == STATUS_OK)
        status = open_tools(device);
    if (status == STATUS_OK)
        status = open_timer(device);
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
        CUDA_TRY(device, cudaFree, device->flush_buffer);
        CUDA_TRY(device, cudaFree, device->other);
        CUDA_TRY(device, cudaFree, device->stamps_ns);
        CUDA_TRY(device, cudaFreeHost, device->clock_readings);
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
    return launch_probe(device, device->cell_count + SPIN_READING, NULL, spin_ns);
}

bool cuda_launch_tick(struct cuda_device *device)
{
    return launch_probe(device, device->cell_count + TICK_READING, NULL, 0);
}

double cuda_tick_ns(const struct cuda_device *device)
{
    return (double)device->clock_readings[device->cell_count + TICK_READING].ns;
}

bool cuda_launch_fault(struct cuda_device *device, const struct fault *fault)
{
    static const uint64_t far_words = 1ull << 38, ten_minutes_ns = 600000000000;

    return fault->endless ? cuda_launch_spin(device, ten_minutes_ns)
                          : launch_flush(device, (const uint32_t *)device->stamps_ns + far_words, 4 * FLUSH_THREADS);
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
