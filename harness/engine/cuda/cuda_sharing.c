/* SPDX-License-Identifier: MIT
 * The probe of SMs that share a cache. A block asks for all the shared memory of an SM, so that
 * each SM has one; flags in memory give the turns, and the answer is the SM and the cycles of each
 * block. */
#include "cuda_sharing.h"

#include <string.h>

#include "probe_args.h"

enum { OWN_SHARED_BYTES = 64 /* at least what the kernel itself uses of shared memory */ };

bool cuda_sharing_open(struct cuda_device *device, struct cuda_sharing *out)
{
    const size_t bytes = device->info->sm_count * sizeof(*out->readings);
    int shared = 0;

    *out = (struct cuda_sharing){.device = device};
    if (cuda_module_load(device, "sharing", false, &out->module) != STATUS_OK ||
        cuda_module_find_bank(device, "sharing_bank", &out->module) != STATUS_OK ||
        !cuda_module_function(device, &out->module, "probe_sharing", &out->function) ||
        !CUDA(device, cudaDeviceGetAttribute, &shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
              (int)device->ordinal))
        return false;
    out->shared_bytes = (uint32_t)shared - OWN_SHARED_BYTES;
    return DRIVER(device, cuFuncSetAttribute, out->function,
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)out->shared_bytes) &&
           CUDA(device, cudaMalloc, (void **)&out->readings, bytes) &&
           CUDA(device, cudaMallocHost, (void **)&out->host_readings, bytes) &&
           CUDA(device, cudaMalloc, (void **)&out->turn, sizeof(*out->turn));
}

bool cuda_sharing_ask(struct cuda_sharing *sharing, const struct probe_request *request,
                      uint32_t *answer)
{
    struct cuda_device *device = sharing->device;
    const struct probe_reading *readings = sharing->host_readings;
    const size_t bytes = request->blocks * sizeof(*readings);
    struct probe_sharing_args args = {.turn = sharing->turn,
                                      .first = request->first,
                                      .bytes = request->bytes,
                                      .step = request->step,
                                      .grain = request->grain,
                                      .readings = sharing->readings};
    void *parameters[] = {&args};
    bool all = true;

    if (!cuda_flush_prepare(device, device->info->l2_bytes) || !cuda_launch_flush(device) ||
        !cuda_device_set(device, sharing->turn, 0, sizeof(*sharing->turn)) ||
        !cuda_device_set(device, sharing->readings, 0, bytes) ||
        !cuda_device_launch(device, sharing->function, request->blocks, 1, sharing->shared_bytes,
                            parameters) ||
        !cuda_device_read(device, sharing->host_readings, sharing->readings, bytes) ||
        !cuda_device_wait(device))
        return false;
    for (uint32_t i = 0; i < request->blocks; i++) {
        answer[2 * i] = readings[i].sm;
        answer[2 * i + 1] = readings[i].end - readings[i].begin;
        all = all && readings[i].valid;
    }
    if (!all)
        memset(answer, UINT8_MAX, probe_answer_count(request) * sizeof(*answer));
    return true;
}

void cuda_sharing_close(struct cuda_sharing *sharing)
{
    struct cuda_device *device = sharing->device;

    if (!device)
        return;
    CUDA_TRY(device, cudaFree, sharing->readings);
    CUDA_TRY(device, cudaFreeHost, sharing->host_readings);
    CUDA_TRY(device, cudaFree, sharing->turn);
    cuda_module_unload(device, &sharing->module);
    *sharing = (struct cuda_sharing){0};
}
