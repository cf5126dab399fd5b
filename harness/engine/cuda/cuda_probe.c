/* SPDX-License-Identifier: MIT
 * Probes on a device: what they share, and the source that asks them. */
#include "cuda_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_probe_parts.h"
#include "log.h"

enum { STAGED_BYTES = 8192 }; /* of the table in shared memory */

/* -- open and close ------------------------------------------------------------------------------------ */

static bool allocate(struct cuda_probe *probe)
{
    const size_t links = PROBE_LINK_WORDS * sizeof(uint32_t), cycles = PROBE_SAMPLES_MAX * sizeof(uint32_t);
    const size_t readings = PROBE_READINGS_MAX * sizeof(*probe->readings);

    return cudaMallocHost((void **)&probe->links, links) == cudaSuccess &&
           cudaMalloc((void **)&probe->table, links) == cudaSuccess &&
           cudaMalloc((void **)&probe->cycles, cycles) == cudaSuccess &&
           cudaMallocHost((void **)&probe->host_cycles, cycles) == cudaSuccess &&
           cudaMalloc((void **)&probe->readings, readings) == cudaSuccess &&
           cudaMallocHost((void **)&probe->host_readings, readings) == cudaSuccess &&
           cudaMalloc((void **)&probe->turn, sizeof(uint32_t)) == cudaSuccess &&
           cudaMemset(probe->table, 0, links) == cudaSuccess &&
           cudaMemset(probe->readings, 0, readings) == cudaSuccess &&
           cuda_device_texture(probe->table, &probe->texture);
}

static enum status open_parts(struct cuda_probe *probe, uint32_t ordinal)
{
    enum status status = cuda_device_describe(ordinal, &probe->info);

    if (status == STATUS_OK)
        status = cuda_device_open(&probe->device, ordinal, &probe->info, 1, 0);
    if (status == STATUS_OK)
        status = cuda_module_load(&probe->device.driver, &probe->info, "probes", &probe->module);
    if (status == STATUS_OK)
        status = cuda_probe_find_kernels(probe);
    if (status != STATUS_OK)
        return status;
    if (!allocate(probe))
        return log_error(STATUS_ENVIRONMENT, "cannot allocate for the probes: %s; free memory on the GPU",
                         cuda_device_error(&probe->device));
    memset(probe->links, 0, PROBE_LINK_WORDS * sizeof(uint32_t));
    return STATUS_OK;
}

void cuda_probe_close(struct cuda_probe *probe)
{
    if (!probe)
        return;
    cuda_count_close(&probe->count);
    cuda_relay_close(&probe->relay);
    if (probe->device.context) {
        cudaDestroyTextureObject(probe->texture);
        cudaFreeHost(probe->links);
        cudaFree(probe->table);
        cudaFree(probe->cycles);
        cudaFreeHost(probe->host_cycles);
        cudaFree(probe->readings);
        cudaFreeHost(probe->host_readings);
        cudaFree(probe->turn);
        cuda_module_unload(&probe->device.driver, &probe->module);
    }
    cuda_device_close(&probe->device);
    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++)
        free(probe->kernels[kind]);
    free(probe);
}

/* -- what probes share --------------------------------------------------------------------------------- */

enum status cuda_probe_failed(struct cuda_probe *probe, const struct probe_request *request)
{
    return log_error(STATUS_ENVIRONMENT, "the probe %s on %s failed: %s", probe_kind_names[request->kind],
                     request->path->name, cuda_device_error(&probe->device));
}

struct probe_args cuda_probe_args(const struct cuda_probe *probe)
{
    return (struct probe_args){.table = probe->table,
                               .texture = probe->texture,
                               .readings = probe->readings,
                               .cycles = probe->cycles,
                               .staged_words = STAGED_BYTES / sizeof(uint32_t),
                               .distinct = 1};
}

bool cuda_probe_copy_links(struct cuda_probe *probe, const struct path *path, size_t words)
{
    void *const home = path->home == TABLE_CONSTANT ? (void *)(uintptr_t)probe->module.bank : probe->table;

    return path->home == TABLE_PARAMETER ||
           cuda_device_write(&probe->device, home, probe->links, words * sizeof(uint32_t));
}

bool cuda_probe_launch(struct cuda_probe *probe, const struct probe_request *request, struct probe_args *args,
                       uint32_t blocks, uint32_t threads)
{
    const uint32_t *restricted = probe->table;
    void *parameters[] = {args, &restricted, probe->links};
    const uint32_t staged = request->path->unit == UNIT_SHARED ? STAGED_BYTES : 0;

    return cuda_device_launch(&probe->device, probe->kernels[request->kind][request->path - paths].function, blocks,
                              threads, staged, parameters);
}

bool cuda_probe_read(struct cuda_probe *probe, size_t count)
{
    const size_t bytes = count * sizeof(*probe->readings);

    return cuda_device_read(&probe->device, probe->host_readings, probe->readings, bytes) &&
           cuda_device_set(&probe->device, probe->readings, 0, bytes) && cuda_device_wait(&probe->device);
}

/* -- the source ---------------------------------------------------------------------------------------- */

typedef enum status ask(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer);

static enum status cuda_ask(void *context, const struct probe_request *request, uint32_t *answer)
{
    static ask *const asks[PROBE_KIND_COUNT] = {
        [PROBE_WALK] = cuda_probe_ask_list,   [PROBE_RELAY] = cuda_probe_ask_list,
        [PROBE_CODE] = cuda_probe_ask_list,   [PROBE_CHAIN] = cuda_probe_ask_span,
        [PROBE_STREAM] = cuda_probe_ask_span, [PROBE_SHARING] = cuda_probe_ask_sharing,
        [PROBE_COUNT] = cuda_probe_ask_count,
    };

    return asks[request->kind](context, request, answer);
}

/* What takes long to open is opened when it is first asked for. */
static void open_late(struct cuda_probe *probe, enum probe_kind kind)
{
    struct probe_kernel *kernel = &probe->kernels[kind][0].found;

    if (probe->asked_for[kind])
        return;
    probe->asked_for[kind] = true;
    if (kind == PROBE_RELAY && kernel->usable)
        kernel->usable = cuda_relay_open(&probe->device, &probe->relay, kernel->reason);
    for (size_t i = 0; kind == PROBE_RELAY && i < PROBE_MEMBERS; i++)
        probe->bank_address[i] = probe->relay.modules[i].bank;
    if (kind == PROBE_COUNT)
        kernel->usable = cuda_count_open(probe->device.ordinal, probe->device.context, &probe->count, kernel->reason);
}

static const struct probe_kernel *cuda_kernel(void *context, enum probe_kind kind, const struct path *path)
{
    struct cuda_probe *probe = context;

    open_late(probe, kind);
    return &probe->kernels[kind][probe_is_single(kind) ? 0 : path - paths].found;
}

/* Bytes of so many instructions: of 16 from Volta on; of 8 before, with as many of control for every 3 (Maxwell, Pascal)
 * or every 7 (Kepler). */
static uint32_t code_bytes(uint32_t cc_major, uint32_t instructions)
{
    if (cc_major >= 7)
        return 16 * instructions;
    return 8 * (instructions + instructions / (cc_major >= 5 ? 3 : 7));
}

enum status cuda_probe_open(uint32_t ordinal, struct cuda_probe **out, struct device_info *info,
                            struct probe_source *source)
{
    const char *reason = "there are fewer; cbank list devices names them";
    const uint32_t devices = cuda_device_count(&reason);
    struct cuda_probe *probe;
    enum status status;

    if (ordinal >= devices)
        return log_error(STATUS_ENVIRONMENT, "no GPU to characterize: %s; or analyse a recorded file with --replay",
                         reason);
    probe = calloc(1, sizeof(*probe));
    status = probe ? open_parts(probe, ordinal) : log_error(STATUS_ENVIRONMENT, "out of memory");
    if (status != STATUS_OK) {
        cuda_probe_close(probe);
        return status;
    }
    *out = probe;
    *info = probe->info;
    *source = (struct probe_source){
        .context = probe,
        .samples_max = PROBE_SAMPLES_MAX,
        .sm_count = probe->info.sm_count,
        .bank_address = probe->bank_address,
        .chunk_bytes = code_bytes(probe->info.cc_major, PROBE_CHUNK_INSTRUCTIONS),
        .shared_carve_out = "preferred carve-out 0 %; the probe itself uses 4 bytes of shared memory",
        .ask = cuda_ask,
        .kernel = cuda_kernel,
    };
    return STATUS_OK;
}
