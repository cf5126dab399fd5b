/* SPDX-License-Identifier: MIT */
#include "cuda_call.h"

#include <math.h>
#include <stdio.h>

#include "cuda_device.h"

/* -- calls --------------------------------------------------------------------------------------------- */

static const double patience_least = 10, patience_share = 20; /* seconds, and of what is expected */

void cuda_expect(struct cuda_device *device, double seconds)
{
    device->calls.failed = NULL;
    device->calls.expected = seconds;
    device->calls.suspect_count = 0;
}

/* More than a launch of the cell takes on any GPU: each step of a thread waits for DRAM, and an SM alone does all loads. */
static double longest_ns(const struct cell *cell)
{
    static const double step_ns = 1000, load_ns = 1;
    const double steps = 1.0 + workload_steps(cell->workload, cell->parameters);

    return steps * (step_ns + load_ns * (double)cell->elements);
}

void cuda_expect_cell(struct cuda_device *device, struct cell_result *cell, uint32_t launches)
{
    static const double bytes_per_second = 1e9; /* of a copy, at least */
    const double streamed = 1.0 + workload_streamed(cell->cell.workload, cell->cell.parameters);
    const double bytes = streamed * sizeof(uint32_t) * (double)cell->cell.elements;

    cuda_expect(device, 1e-9 * launches * longest_ns(&cell->cell) + bytes / bytes_per_second);
    device->calls.suspects[0] = (struct cuda_suspect){cell, CUDA_NO_READING};
    device->calls.suspect_count = 1;
}

double cuda_patience(const struct cuda_device *device)
{
    const struct cuda_calls *calls = &device->calls;

    return calls->patience > 0 ? calls->patience + calls->expected
                               : fmax(patience_least, patience_share * calls->expected);
}

bool cuda_call_begin(struct cuda_device *device, const char *call)
{
    if (!device->calls.lost)
        watch_begin(device->calls.watchdog, call, cuda_patience(device));
    return !device->calls.lost;
}

static bool call_end(struct cuda_device *device, const char *call, const char *error)
{
    watch_end(device->calls.watchdog);
    if (error && !device->calls.failed) {
        device->calls.failed = call;
        device->calls.error = error;
    }
    return !error;
}

bool cuda_call_end(struct cuda_device *device, const char *call, cudaError_t code)
{
    return call_end(device, call, code == cudaSuccess ? NULL : cudaGetErrorString(code));
}

bool cuda_driver_call_end(struct cuda_device *device, const char *call, CUresult code)
{
    return call_end(device, call, code == CUDA_SUCCESS ? NULL : cuda_driver_error(&device->driver, code));
}

const char *cuda_device_error(struct cuda_device *device)
{
    struct cuda_calls *calls = &device->calls;
    const char *failed = calls->failed;

    calls->failed = NULL;
    if (!calls->lost)
        cudaGetLastError();
    if (!failed)
        return "";
    snprintf(calls->text, sizeof(calls->text), "%s: %s", failed, calls->error);
    return calls->text;
}

/* -- failures ------------------------------------------------------------------------------------------ */

bool cuda_device_lost(struct cuda_device *device)
{
    struct cuda_calls *calls = &device->calls;
    const struct cuda_calls before = *calls;

    if (calls->lost || !calls->failed || !device->tools.empty)
        return calls->lost;
    /* An error that the context keeps comes again, and one that is over does not. */
    cudaGetLastError();
    calls->lost = !(cuda_launch_empty(device) && cuda_device_wait(device));
    calls->failed = before.failed;
    calls->error = before.error;
    return calls->lost;
}

/* The cell that what went wrong is put down to: the first whose launches did not end. NULL when that cannot be told. */
static struct cell_result *find_culprit(const struct cuda_device *device)
{
    const struct cuda_calls *calls = &device->calls;

    for (size_t i = 0; i < calls->suspect_count; i++)
        if (calls->suspects[i].reading == CUDA_NO_READING || !cuda_clock_was_read(device, calls->suspects[i].reading))
            return calls->suspects[i].cell;
    return NULL;
}

enum status cuda_end_run(struct cuda_device *device, const char *reason)
{
    return engine_end_run(device->calls.result, find_culprit(device), device->calls.suspect_count, reason);
}

enum status cuda_fail(struct cuda_device *device, struct cell_result *cell, const char *what)
{
    const bool lost = cuda_device_lost(device);
    const char *error = cuda_device_error(device);
    char reason[CELL_REASON_BYTES];

    snprintf(reason, sizeof(reason), "%.120s%s%.120s", what, error[0] ? ": " : "", error);
    if (lost)
        return cuda_end_run(device, reason);
    engine_end_cell(cell, CELL_FAILED, "%s", reason);
    return STATUS_OK;
}
