/* SPDX-License-Identifier: MIT
 * Probes on a device: what they share, and the source that asks them. */
#include "cuda_probe.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_probe_parts.h"
#include "log.h"

enum { STAGED_BYTES = 8192 }; /* of the table in shared memory */

/* -- open and close ------------------------------------------------------------------------------------ */

static bool allocate(struct cuda_probe *probe)
{
    struct cuda_device *device = &probe->device;
    const size_t links = PROBE_LINK_WORDS * sizeof(uint32_t), cycles = PROBE_SAMPLES_MAX * sizeof(uint32_t);
    const size_t readings = PROBE_READINGS_MAX * sizeof(*probe->readings);

    return CUDA(device, cudaMallocHost, (void **)&probe->links, links) &&
           CUDA(device, cudaMalloc, (void **)&probe->table, links) &&
           CUDA(device, cudaMalloc, (void **)&probe->cycles, cycles) &&
           CUDA(device, cudaMallocHost, (void **)&probe->host_cycles, cycles) &&
           CUDA(device, cudaMalloc, (void **)&probe->readings, readings) &&
           CUDA(device, cudaMallocHost, (void **)&probe->host_readings, readings) &&
           CUDA(device, cudaMalloc, (void **)&probe->turn, sizeof(uint32_t)) &&
           CUDA(device, cudaMemset, probe->table, 0, links) && CUDA(device, cudaMemset, probe->readings, 0, readings) &&
           cuda_table_texture(device, probe->table, CBANK_TABLE_BYTES, sizeof(uint32_t), &probe->texture);
}

static enum status open_parts(struct cuda_probe *probe, const struct cuda_request *request)
{
    enum status status = cuda_device_describe(request->ordinal, &probe->info);

    if (status == STATUS_OK)
        status = cuda_device_open(&probe->device, request);
    if (status == STATUS_OK)
        status = cuda_module_load(&probe->device, "probes", &probe->module);
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

    struct cuda_device *device = &probe->device;

    cuda_count_close(&probe->count);
    cuda_relay_close(&probe->relay);
    if (probe->device.context) {
        CUDA_TRY(device, cudaDestroyTextureObject, probe->texture);
        CUDA_TRY(device, cudaFreeHost, probe->links);
        CUDA_TRY(device, cudaFree, probe->table);
        CUDA_TRY(device, cudaFree, probe->cycles);
        CUDA_TRY(device, cudaFreeHost, probe->host_cycles);
        CUDA_TRY(device, cudaFree, probe->readings);
        CUDA_TRY(device, cudaFreeHost, probe->host_readings);
        CUDA_TRY(device, cudaFree, probe->turn);
        cuda_module_unload(&probe->device, &probe->module);
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

static enum status cuda_ask(void *context, const struct probe_request *request, uint32_t *answer)
{
    switch (request->kind) {
    case PROBE_CHAIN:
    case PROBE_STREAM:
        return cuda_probe_ask_span(context, request, answer);
    case PROBE_SHARING:
        return cuda_probe_ask_sharing(context, request, answer);
    case PROBE_COUNT:
        return cuda_probe_ask_count(context, request, answer);
    default:
        return cuda_probe_ask_list(context, request, answer);
    }
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

/* Bytes of a chunk: instructions of 16 from Volta on; of 8 before, with as many of control for every 3 (Maxwell, Pascal)
 * or every 7 (Kepler). */
static uint32_t chunk_bytes(uint32_t cc_major)
{
    const uint32_t count = PROBE_CHUNK_INSTRUCTIONS;

    return cc_major >= 7 ? 16 * count : 8 * (count + count / (cc_major >= 5 ? 3 : 7));
}

enum status cuda_probe_open(uint32_t ordinal, struct watchdog *watchdog, double patience, struct cuda_probe **out,
                            struct device_info *info, struct probe_source *source)
{
    const char *reason = "there are fewer; cbank list devices names them";
    const uint32_t devices = cuda_device_count(&reason);
    struct cuda_probe *probe;
    enum status status;

    if (ordinal >= devices)
        return log_error(STATUS_ENVIRONMENT, "no GPU to characterize: %s; or analyse a recorded file with --replay",
                         reason);
    probe = calloc(1, sizeof(*probe));
    if (!probe)
        return log_memory("the probes");

    const struct cuda_request request = {
        .ordinal = ordinal, .info = &probe->info, .watchdog = watchdog, .patience = patience};

    status = open_parts(probe, &request);
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
        .chunk_bytes = chunk_bytes(probe->info.cc_major),
        .shared_carve_out = "preferred carve-out 0 %; the probe itself uses 4 bytes of shared memory",
        .ask = cuda_ask,
        .kernel = cuda_kernel,
    };
    return STATUS_OK;
}
