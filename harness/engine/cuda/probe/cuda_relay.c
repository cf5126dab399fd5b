/* SPDX-License-Identifier: MIT
 * A chase that goes from one module's constant bank to the next. The kernels of all modules run at
 * once and hand over by flags in memory; their banks are sorted by address first, so that one list
 * of links spans all of them. */
#include "cuda_relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_US = 50000 };

static int compare_banks(const void *left, const void *right)
{
    const struct cuda_module *a = left, *b = right;

    return (a->bank > b->bank) - (a->bank < b->bank);
}

static size_t state_bytes(const struct cuda_relay *relay)
{
    return sizeof(uint64_t) + (1 + relay->device->info->sm_count) * sizeof(uint32_t);
}

bool cuda_relay_open(struct cuda_device *device, struct cuda_relay *out,
                     char reason[CUDA_RELAY_REASON_BYTES])
{
    static const uint32_t no_links[CBANK_TABLE_LENGTH];
    struct probe_relay_args empty = {.members = 0};
    void *parameters[] = {&empty};
    struct probe_args args = {.timed = 1};
    uint32_t end, sm;
    bool opened = true;

    *out = (struct cuda_relay){.device = device};
    for (size_t i = 0; i < PROBE_MEMBERS; i++)
        opened = opened &&
                 cuda_module_load(device, "probes", false, &out->modules[i]) == STATUS_OK &&
                 cuda_module_find_bank(device, "probe_bank", &out->modules[i]) == STATUS_OK;
    /* Banks that lie one behind the other are visited in that order. */
    if (opened)
        qsort(out->modules, PROBE_MEMBERS, sizeof(out->modules[0]), compare_banks);
    for (size_t i = 0; i < PROBE_MEMBERS; i++)
        opened =
            opened &&
            cuda_module_function(device, &out->modules[i], "probe_relay", &out->functions[i]) &&
            CUDA(device, cudaStreamCreateWithFlags, &out->streams[i], cudaStreamNonBlocking);
    /* A kernel's first launch may wait for other running work: each member is first launched once
     * with nothing to do. */
    for (size_t i = 0; i < PROBE_MEMBERS; i++)
        opened = opened && cuda_device_launch(device, out->functions[i], 1, 1, 0, parameters);
    opened =
        opened && cuda_device_wait(device) &&
        CUDA(device, cudaMalloc, (void **)&out->state, state_bytes(out)) &&
        CUDA(device, cudaMalloc, (void **)&out->readings, PROBE_MEMBERS * sizeof(*out->readings)) &&
        CUDA(device, cudaMalloc, (void **)&args.cycles, sizeof(*args.cycles)) &&
        CUDA(device, cudaMemset, args.cycles, 0, sizeof(*args.cycles)) &&
        cuda_relay_copy(out, no_links, CBANK_TABLE_LENGTH) &&
        cuda_relay_chase(out, &args, &end, &sm);
    CUDA_TRY(device, cudaFree, args.cycles);
    if (opened)
        return true;
    snprintf(reason, CUDA_RELAY_REASON_BYTES,
             "the kernels of %u modules do not run side by side (%.100s); let nothing else use the "
             "GPU",
             PROBE_MEMBERS, cuda_device_error(device));
    cuda_relay_close(out);
    return false;
}

void cuda_relay_close(struct cuda_relay *relay)
{
    for (size_t i = 0; relay->device && i < PROBE_MEMBERS; i++) {
        if (relay->streams[i])
            CUDA_TRY(relay->device, cudaStreamDestroy, relay->streams[i]);
        cuda_module_unload(relay->device, &relay->modules[i]);
    }
    if (relay->device) {
        CUDA_TRY(relay->device, cudaFree, relay->state);
        CUDA_TRY(relay->device, cudaFree, relay->readings);
    }
    *relay = (struct cuda_relay){0};
}

bool cuda_relay_copy(struct cuda_relay *relay, const uint32_t *links, size_t words)
{
    for (size_t i = 0, first = 0; first < words; i++, first += CBANK_TABLE_LENGTH) {
        const size_t count =
            words - first < CBANK_TABLE_LENGTH ? words - first : CBANK_TABLE_LENGTH;

        if (!cuda_device_write(relay->device, (void *)(uintptr_t)relay->modules[i].bank,
                               links + first, count * sizeof(*links)))
            return false;
    }
    return cuda_device_wait(relay->device);
}

bool cuda_relay_chase(struct cuda_relay *relay, const struct probe_args *chase, uint32_t *end,
                      uint32_t *sm)
{
    struct cuda_device *device = relay->device;
    const uint32_t sms = device->info->sm_count;
    struct probe_reading readings[PROBE_MEMBERS];
    uint64_t baton = chase->start;
    uint32_t *const words = (uint32_t *)(relay->state + 1);
    struct probe_relay_args args = {.baton = relay->state,
                                    .arrived = words,
                                    .present = words + 1,
                                    .members = PROBE_MEMBERS,
                                    .blocks = PROBE_MEMBERS * sms,
                                    .sm_count = sms,
                                    .wait_us = WAIT_US,
                                    .warm_up = chase->warm_up,
                                    .timed = chase->timed,
                                    .cycles = chase->cycles,
                                    .readings = relay->readings};

    void *parameters[] = {&args};
    bool launched = cuda_device_set(device, relay->state, 0, state_bytes(relay)) &&
                    cuda_device_set(device, relay->readings, 0, sizeof(readings)) &&
                    cuda_device_write(device, relay->state, &baton, sizeof(baton)) &&
                    cuda_device_wait(device);

    /* If one launch fails, the running kernels wait for it no longer than args.wait_us. */
    for (args.member = 0; args.member < PROBE_MEMBERS; args.member++)
        launched = launched && DRIVER(device, cuLaunchKernel, relay->functions[args.member], sms, 1,
                                      1, 1, 1, 1, 0, relay->streams[args.member], parameters, NULL);
    for (uint32_t i = 0; i < PROBE_MEMBERS; i++)
        launched = CUDA(device, cudaStreamSynchronize, relay->streams[i]) && launched;
    if (!launched ||
        !CUDA(device, cudaMemcpy, readings, relay->readings, sizeof(readings),
              cudaMemcpyDeviceToHost) ||
        !CUDA(device, cudaMemcpy, &baton, relay->state, sizeof(baton), cudaMemcpyDeviceToHost))
        return false;
    *end = (uint32_t)baton;
    *sm = readings[0].sm;
    for (size_t i = 0; i < PROBE_MEMBERS; i++)
        if (!readings[i].valid || readings[i].sm != *sm)
            return false;
    return true;
}
