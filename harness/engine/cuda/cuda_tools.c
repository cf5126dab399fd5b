/* SPDX-License-Identifier: MIT */
#include "cuda_tools.h"

#include "cuda_device.h"
#include "log.h"

enum { FLUSH_THREADS = 1024, STIR_THREADS = 1024, STIR_BLOCKS = 16 /* an SM */, CLOCK_SPIN_NS = 10000 };

/* Readings of the clock probe behind those of cells. */
enum { SPIN_READING, TICK_READING, OTHER_READINGS };

/* -- launches ----------------------------------------------------------------------------------------- */

/* A launch of a tool, whose only parameter is a struct. */
static bool launch(struct cuda_device *device, CUfunction function, uint32_t blocks, uint32_t threads, void *arguments)
{
    void *parameters[] = {arguments};

    return cuda_device_launch(device, function, blocks, threads, 0, arguments ? parameters : NULL);
}

static bool launch_flush(struct cuda_device *device, const uint32_t *buffer, uint64_t words)
{
    struct tool_flush_args arguments = {.buffer = buffer, .words = words, .sink = device->flushed.words, .never = 1};

    return launch(device, device->tools.flush, device->info->sm_count, FLUSH_THREADS, &arguments);
}

bool cuda_launch_flush(struct cuda_device *device)
{
    return launch_flush(device, device->flushed.words, device->flushed.bytes / sizeof(uint32_t));
}

bool cuda_launch_empty(struct cuda_device *device)
{
    return launch(device, device->tools.empty, 1, CBANK_WARP_THREADS, NULL);
}

bool cuda_launch_stir(struct cuda_device *device)
{
    return launch(device, device->tools.stir, STIR_BLOCKS * device->info->sm_count, STIR_THREADS, NULL);
}

bool cuda_launch_stamp(struct cuda_device *device, size_t stamp)
{
    struct tool_stamp_args arguments = {.stamp_ns = &device->tools.stamps_ns[stamp]};

    return launch(device, device->tools.stamp, 1, 1, &arguments);
}

static bool launch_probe(struct cuda_device *device, size_t reading, const uint64_t *stamps_ns, uint64_t spin_ns)
{
    struct tool_clock_args arguments = {.reading = &device->tools.readings[reading],
                                        .stamps_ns = stamps_ns,
                                        .spin_ns = spin_ns};

    return launch(device, device->tools.clock, 1, 1, &arguments);
}

bool cuda_launch_clock(struct cuda_device *device, size_t cell)
{
    return launch_probe(device, cell, device->tools.stamps_ns, CLOCK_SPIN_NS);
}

bool cuda_launch_spin(struct cuda_device *device, uint64_t spin_ns)
{
    return launch_probe(device, device->tools.cells + SPIN_READING, NULL, spin_ns);
}

bool cuda_launch_fault(struct cuda_device *device, const struct fault *fault)
{
    static const uint64_t far_words = 1ull << 38, ten_minutes_ns = 600000000000;

    return fault->endless
               ? cuda_launch_spin(device, ten_minutes_ns)
               : launch_flush(device, (const uint32_t *)device->tools.stamps_ns + far_words, 4 * FLUSH_THREADS);
}

/* -- readings ----------------------------------------------------------------------------------------- */

double cuda_tick_ns(const struct cuda_device *device)
{
    return (double)device->tools.readings[device->tools.cells + TICK_READING].ns;
}

const struct clock_reading *cuda_clock_reading(const struct cuda_device *device, size_t cell)
{
    return &device->tools.readings[cell];
}

void cuda_clock_clear(struct cuda_device *device, size_t cell)
{
    device->tools.readings[cell] = (struct clock_reading){0};
}

bool cuda_clock_was_read(const struct cuda_device *device, size_t cell)
{
    return *(const volatile uint64_t *)&device->tools.readings[cell].ns != 0;
}

/* -- open and close ----------------------------------------------------------------------------------- */

bool cuda_flush_prepare(struct cuda_device *device, uint64_t l2_bytes)
{
    return cuda_device_zeros(device, &device->flushed, 2 * l2_bytes);
}

static enum status find_kernels(struct cuda_tools *tools, struct cuda_device *device)
{
    const struct {
        const char *name;
        CUfunction *function;
    } rows[] = {
        {"tool_empty", &tools->empty}, {"tool_stir", &tools->stir},   {"tool_flush", &tools->flush},
        {"tool_stamp", &tools->stamp}, {"tool_clock", &tools->clock},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!cuda_module_function(device, &tools->module, rows[i].name, rows[i].function))
            return log_error(STATUS_ENVIRONMENT, "%s has no kernel %s", tools->module.image, rows[i].name);
    return STATUS_OK;
}

enum status cuda_tools_open(struct cuda_device *device, size_t cells)
{
    const size_t bytes = TOOL_STAMPS_MAX * sizeof(uint64_t);
    struct cuda_tools *tools = &device->tools;
    enum status status;

    tools->cells = cells;
    if (!CUDA(device, cudaHostAlloc, (void **)&tools->readings, (cells + OTHER_READINGS) * sizeof(*tools->readings),
              cudaHostAllocMapped))
        return log_error(STATUS_ENVIRONMENT, "cannot open device %u: %s", (unsigned)device->ordinal,
                         cuda_device_error(device));
    status = cuda_module_load(device, "tools", &tools->module);
    if (status == STATUS_OK)
        status = find_kernels(tools, device);
    if (status != STATUS_OK)
        return status;
    /* A spin of no time lasts for one tick. */
    if (!CUDA(device, cudaMalloc, (void **)&tools->stamps_ns, bytes) ||
        !cuda_device_set(device, tools->stamps_ns, 0, bytes) || !launch_probe(device, cells + TICK_READING, NULL, 0))
        return log_error(STATUS_ENVIRONMENT, "cannot read the timer of the device: %s", cuda_device_error(device));
    return STATUS_OK;
}

void cuda_tools_close(struct cuda_device *device)
{
    CUDA_TRY(device, cudaFree, device->tools.stamps_ns);
    CUDA_TRY(device, cudaFreeHost, device->tools.readings);
    cuda_module_unload(device, &device->tools.module);
}
