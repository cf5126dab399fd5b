/* SPDX-License-Identifier: MIT
 * Loads by warps: how long they take, on one SM or all, what an SM's loads do to another's, and what is counted of a
 * launch. */
#include "cuda_probe_parts.h"
#include "log.h"

enum { WARPS_OF_BLOCK_MAX = 32, SMS_MAX = 1024 };

/* Every link leads to itself. */
static bool link_to_self(struct cuda_probe *probe, const struct path *path)
{
    const enum links wanted = path->unit == UNIT_TEXTURE ? LINKS_ELEMENTS : LINKS_BYTES;
    const uint32_t unit = wanted == LINKS_ELEMENTS ? 1 : sizeof(uint32_t);

    /* Parameters are read from probe->links by every launch. */
    if (probe->held[path->home] == wanted && path->home != TABLE_PARAMETER)
        return true;
    for (uint32_t i = 0; i < CBANK_TABLE_LENGTH; i++)
        probe->links[i] = i * unit;
    probe->held[path->home] = wanted;
    return cuda_probe_copy_links(probe, path, CBANK_TABLE_LENGTH) && cuda_device_wait(&probe->device);
}

/* From the first begin to the last end of the readings of one SM, if they are of `warps` warps and there was a moment when
 * all of them were loading: blocks that run one after the other are no such warps. */
static bool span_of(const struct probe_reading *readings, size_t count, uint32_t sm, uint32_t warps, uint32_t *cycles)
{
    uint32_t begin = 0, last = 0, seen = 0, last_begin = 0, first_end = 0;

    for (size_t i = 0; i < count; i++) {
        if (readings[i].sm != sm)
            continue;
        if (seen == 0 || (int32_t)(readings[i].begin - begin) < 0)
            begin = readings[i].begin;
        if (seen == 0 || (int32_t)(readings[i].begin - last_begin) > 0)
            last_begin = readings[i].begin;
        if (seen == 0 || (int32_t)(readings[i].end - first_end) < 0)
            first_end = readings[i].end;
        if (seen++ == 0 || (int32_t)(readings[i].end - last) > 0)
            last = readings[i].end;
    }
    *cycles = last - begin;
    return seen == warps && (int32_t)(first_end - last_begin) > 0;
}

/* A launch of loads by warps. */
struct span {
    struct probe_args args;
    uint32_t blocks, threads;
    size_t warps; /* of all blocks */
};

static struct span span_open(const struct cuda_probe *probe, const struct probe_request *request)
{
    const bool every_sm = request->warps > WARPS_OF_BLOCK_MAX;
    const uint32_t unit = request->path->unit == UNIT_TEXTURE ? sizeof(uint32_t) : 1;
    struct span span = {
        .args = cuda_probe_args(probe),
        .blocks = every_sm ? 2 * probe->info.sm_count : 1,
        .threads = CBANK_WARP_THREADS * (every_sm ? request->warps / 2 : request->warps),
    };

    span.args.distinct = request->distinct;
    span.args.stride = request->stride / unit;
    span.args.iterations = request->iterations;
    span.warps = (size_t)span.blocks * span.threads / CBANK_WARP_THREADS;
    return span;
}

/* The median over the SMs that ran all warps of the request at once, of what probe->host_readings say. */
static enum status span_cycles(const struct cuda_probe *probe, const struct probe_request *request,
                               const struct span *span, uint32_t *cycles)
{
    const struct probe_reading *readings = probe->host_readings;
    const bool every_sm = span->blocks > 1;
    uint32_t spans[SMS_MAX], count = 0, last = 0;

    for (size_t i = 0; i < span->warps; i++) {
        if (!readings[i].valid)
            return log_error(STATUS_ENVIRONMENT, "the probe %s on %s loaded what is not in its table",
                             probe_kind_names[request->kind], request->path->name);
        last = readings[i].sm > last ? readings[i].sm : last;
    }
    for (uint32_t sm = 0; sm < (every_sm ? SMS_MAX : 1u) && sm <= last; sm++)
        count += span_of(readings, span->warps, every_sm ? sm : readings[0].sm, request->warps, &spans[count]) &&
                 count < SMS_MAX - 1;
    stats_sort_uint32(spans, count);
    *cycles = count ? spans[(count - 1) / 2] : PROBE_NOT_AT_ONCE;
    return STATUS_OK;
}

enum status cuda_probe_ask_span(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    struct span span = span_open(probe, request);
    enum status status = STATUS_OK;

    if (span.warps > PROBE_READINGS_MAX || !link_to_self(probe, request->path))
        return cuda_probe_failed(probe, request);
    for (uint32_t r = 0; status == STATUS_OK && r < request->repeats; r++) {
        if (!cuda_probe_launch(probe, request, &span.args, span.blocks, span.threads) ||
            !cuda_probe_read(probe, span.warps))
            return cuda_probe_failed(probe, request);
        status = span_cycles(probe, request, &span, &answer[r]);
    }
    return status;
}

enum status cuda_probe_ask_sharing(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    struct cuda_device *device = &probe->device;
    const CUfunction function = probe->kernels[PROBE_SHARING][0].function;
    struct probe_sharing_args args = {.turn = probe->turn,
                                      .first = request->first,
                                      .bytes = request->bytes,
                                      .step = request->step,
                                      .grain = request->grain,
                                      .readings = probe->readings};
    void *parameters[] = {&args};
    int shared = 0;

    /* So much shared memory that no two blocks share an SM. */
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)device->ordinal);
    shared -= 64; /* what the probe has itself */
    if (!link_to_self(probe, request->path) || !cuda_flush_prepare(device, probe->info.l2_bytes) ||
        !cuda_launch_flush(device) || !cuda_device_set(device, probe->turn, 0, sizeof(uint32_t)) ||
        !DRIVER(device, cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared) ||
        !cuda_device_launch(device, function, request->blocks, 1, (uint32_t)shared, parameters) ||
        !cuda_probe_read(probe, request->blocks))
        return cuda_probe_failed(probe, request);
    for (uint32_t i = 0; i < request->blocks; i++) {
        answer[2 * i] = probe->host_readings[i].sm;
        answer[2 * i + 1] = probe->host_readings[i].end - probe->host_readings[i].begin;
    }
    return STATUS_OK;
}

/* -- counted launches ---------------------------------------------------------------------------------- */

struct counted {
    struct cuda_probe *probe;
    struct probe_request request; /* of the probe that is counted */
    struct span span;
    size_t words; /* of links of a walk */
};

static bool prepare_counted(void *context, size_t i)
{
    struct counted *counted = context;

    (void)i;
    if (counted->request.before != PROBE_BEFORE_NOTHING &&
        !cuda_probe_walk_before(counted->probe, &counted->request, counted->span.args, counted->words))
        return false;
    return cuda_device_wait(&counted->probe->device);
}

static bool launch_counted(void *context, size_t i)
{
    struct counted *counted = context;
    struct span *span = &counted->span;

    (void)i;
    return cuda_probe_launch(counted->probe, &counted->request, &span->args, span->blocks, span->threads) &&
           cuda_device_wait(&counted->probe->device);
}

enum status cuda_probe_ask_count(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    const bool walks = request->counted == PROBE_WALK;
    struct counted counted = {.probe = probe, .request = *request};
    const struct cupti_ranges ranges = {.count = 1,
                                        .prepare = prepare_counted,
                                        .launch = launch_counted,
                                        .context = &counted};
    char reason[CUPTI_REASON_BYTES];

    counted.request.kind = request->counted;
    if (walks) {
        counted.words = cuda_probe_link(probe, request);
        counted.span = (struct span){.args = cuda_probe_walk_args(probe, request), .blocks = 1, .threads = 1};
        if (!cuda_probe_copy_links(probe, request->path, counted.words))
            return cuda_probe_failed(probe, request);
    } else {
        counted.span = span_open(probe, request);
        if (!link_to_self(probe, request->path))
            return cuda_probe_failed(probe, request);
    }
    if (!cuda_count_launch(&probe->count, &ranges, answer, reason))
        return log_error(STATUS_ENVIRONMENT, "counting the probe %s failed: %s", probe_kind_names[request->counted],
                         reason);
    if (walks)
        cuda_probe_unlink(probe, request);
    return STATUS_OK;
}
