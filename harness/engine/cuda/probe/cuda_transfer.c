/* SPDX-License-Identifier: MIT
 * The probe of streams. The source holds one word throughout, so that each warp knows its sum. What
 * was copied is read back once. */
#include "cuda_transfer.h"

#include <string.h>

#include "probe_args.h"
#include "probe_span.h"

enum {
    BLOCKS_OF_SM = 2,
    BYTE = 1, /* of all words of the source */
    WORD = 0x01010101,
    NEAR_BYTES = PROBE_TRANSFER_LOADS * CBANK_WARP_THREADS * 16, /* of the widest loads */
};

_Static_assert(NEAR_BYTES - PROBE_TRANSFER_TILE_BYTES <= 0, "a tile holds what warps read of L1");

bool cuda_transfer_open(struct cuda_device *device, CUfunction function, struct cuda_transfer *out)
{
    const size_t warps =
        (size_t)BLOCKS_OF_SM * device->info->sm_count * PROBE_TRANSFER_THREADS / CBANK_WARP_THREADS;
    const size_t bytes = warps * sizeof(*out->readings);

    *out = (struct cuda_transfer){.device = device, .function = function, .warps = warps};
    return CUDA(device, cudaMalloc, (void **)&out->readings, bytes) &&
           CUDA(device, cudaMallocHost, (void **)&out->host_readings, bytes);
}

/* Makes a buffer of at least `bytes`. False if the GPU has no room, which is no failure. */
static bool make_room(struct cuda_device *device, uint32_t **buffer, uint64_t *have, uint64_t bytes)
{
    if (*have >= bytes)
        return true;
    CUDA_TRY(device, cudaFree, *buffer);
    *buffer = NULL;
    *have = 0;
    if (!CUDA(device, cudaMalloc, (void **)buffer, bytes)) {
        cuda_device_error(device); /* it forgets the failure */
        return false;
    }
    *have = bytes;
    return true;
}

/* Launches, and waits for the readings. *wrong if a warp left none. */
static bool launch(struct cuda_transfer *transfer, struct probe_transfer_args *args, bool *wrong)
{
    struct cuda_device *device = transfer->device;
    const size_t bytes = transfer->warps * sizeof(*transfer->readings);
    void *parameters[] = {args};

    args->readings = transfer->readings;
    if (!cuda_device_set(device, transfer->readings, 0, bytes) ||
        !cuda_device_launch(device, transfer->function, BLOCKS_OF_SM * device->info->sm_count,
                            PROBE_TRANSFER_THREADS, 0, parameters) ||
        !cuda_device_read(device, transfer->host_readings, transfer->readings, bytes) ||
        !cuda_device_wait(device))
        return false;
    for (size_t i = 0; i < transfer->warps; i++)
        *wrong = *wrong || !transfer->host_readings[i].valid;
    return true;
}

bool cuda_transfer_ask(struct cuda_transfer *transfer, const struct probe_request *request,
                       uint32_t *answer, bool *wrong)
{
    struct cuda_device *device = transfer->device;
    const uint64_t bytes = request->width ? PROBE_TRANSFER_TILE_BYTES : request->bytes;
    struct probe_transfer_args args = {.bytes = bytes,
                                       .width = request->width,
                                       .iterations = request->iterations,
                                       .word = WORD};

    memset(answer, UINT8_MAX, request->repeats * sizeof(*answer));
    if (!make_room(device, &transfer->source, &transfer->bytes, bytes) ||
        (request->writes && !make_room(device, &transfer->target, &transfer->target_bytes, bytes)))
        return true;
    args.source = transfer->source;
    args.target = request->writes ? transfer->target : NULL;
    if (!cuda_device_set(device, transfer->source, BYTE, bytes) ||
        (args.target && !cuda_device_set(device, args.target, 0, bytes)))
        return false;
    for (uint32_t r = 0; r < request->repeats && !*wrong; r++) {
        if (!launch(transfer, &args, wrong))
            return false;
        answer[r] = request->width ? probe_median_span(transfer->host_readings, transfer->warps,
                                                       request->warps)
                                   : probe_whole_span(transfer->host_readings, transfer->warps);
    }
    if (!args.target || *wrong)
        return true;
    args.source = args.target;
    args.target = NULL;
    args.iterations = 1;
    return launch(transfer, &args, wrong);
}

void cuda_transfer_close(struct cuda_transfer *transfer)
{
    struct cuda_device *device = transfer->device;

    if (!device)
        return;
    CUDA_TRY(device, cudaFree, transfer->source);
    CUDA_TRY(device, cudaFree, transfer->target);
    CUDA_TRY(device, cudaFree, transfer->readings);
    CUDA_TRY(device, cudaFreeHost, transfer->host_readings);
    *transfer = (struct cuda_transfer){0};
}
