/* SPDX-License-Identifier: MIT
 * Probes on a device: pointer chases by one thread, loads by warps, SMs that load one after the other, and counted
 * launches. */
#include "cuda_probe.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_probe_parts.h"
#include "log.h"

enum {
    LINK_WORDS = 1 << 20,   /* of the table in global memory */
    SAMPLES_MAX = 1 << 17,  /* of one pointer chase */
    READINGS_MAX = 1 << 16, /* warps of one launch */
    STAGED_BYTES = 8192,    /* of the table in shared memory */
    SM_TRIES = 8,           /* attempts until two launches ran on the same SM */
    WARPS_OF_BLOCK_MAX = 32,
    SMS_MAX = 1024,
};

/* -- shared by probes --------------------------------------------------------------------------------- */

static enum status ask_failed(struct cuda_probe *probe, const struct probe_request *request)
{
    return log_error(STATUS_ENVIRONMENT, "the probe %s on %s failed: %s", probe_kind_names[request->kind],
                     request->path->name, cuda_device_error(&probe->device));
}

/* Bytes for each unit of an offset in the path's table: textures count in elements. */
static uint32_t unit_of(const struct path *path)
{
    return path->unit == UNIT_TEXTURE ? sizeof(uint32_t) : 1;
}

static struct probe_args args_of(const struct cuda_probe *probe)
{
    return (struct probe_args){.table = probe->table,
                               .texture = probe->texture,
                               .readings = probe->readings,
                               .cycles = probe->cycles,
                               .staged_words = STAGED_BYTES / sizeof(uint32_t),
                               .distinct = 1};
}

/* Copies the first words of probe->links to the path's table. Every launch reads parameters directly from there. */
static bool copy_links(struct cuda_probe *probe, const struct path *path, size_t words)
{
    void *const home = path->home == TABLE_CONSTANT ? (void *)(uintptr_t)probe->module.bank : probe->table;

    return path->home == TABLE_PARAMETER ||
           cuda_device_write(&probe->device, home, probe->links, words * sizeof(uint32_t));
}

/* Writes links that lead to themselves. */
static bool link_to_self(struct cuda_probe *probe, const struct path *path)
{
    for (uint32_t i = 0; i < CBANK_TABLE_LENGTH; i++)
        probe->links[i] = i * (uint32_t)sizeof(uint32_t) / unit_of(path);
    return copy_links(probe, path, CBANK_TABLE_LENGTH) && cuda_device_wait(&probe->device);
}

/* Enqueues a launch of the request's kernel. */
static bool launch(struct cuda_probe *probe, const struct probe_request *request, struct probe_args *args,
                   uint32_t blocks, uint32_t threads)
{
    const uint32_t *restricted = probe->table;
    void *parameters[] = {args, &restricted, probe->links};
    const uint32_t staged = request->path->unit == UNIT_SHARED ? STAGED_BYTES : 0;

    return cuda_device_launch(&probe->device, probe->kernels[request->kind][request->path - paths].function, blocks,
                              threads, staged, parameters);
}

/* Fetches the readings of `count` warps, and clears them on the device. Waits for the device. */
static bool read_readings(struct cuda_probe *probe, size_t count)
{
    const size_t bytes = count * sizeof(*probe->readings);

    return cuda_device_read(&probe->device, probe->host_readings, probe->readings, bytes) &&
           cuda_device_set(&probe->device, probe->readings, 0, bytes) && cuda_device_wait(&probe->device);
}

/* -- lists that one thread walks ----------------------------------------------------------------------- */

/* A requested pointer chase: its arguments, and the words of the table up to the last link. */
struct walk {
    struct probe_args args;
    size_t words;
};

/* Writes the links of the list, from the last address back to the first. */
static struct walk open_walk(struct cuda_probe *probe, const struct probe_request *request)
{
    struct walk walk = {.args = args_of(probe)};

    for (size_t i = 0; i < request->count; i++) {
        const size_t word = request->address[i] / sizeof(uint32_t);

        probe->links[word] = request->address[(i + 1) % request->count] / unit_of(request->path);
        walk.words = word + 1 > walk.words ? word + 1 : walk.words;
    }
    walk.args.start = probe->links[request->address[request->count - 1] / sizeof(uint32_t)];
    walk.args.warm_up = (uint32_t)(request->count * request->warm_up);
    walk.args.timed = (uint32_t)(request->count * request->timed);
    return walk;
}

/* Enqueues the chase that brings in the list, and the step that the request has after it. Nothing else may come between
 * this and the launch that is timed or counted: clearing and reading happen before or after both. */
static bool walk_before(struct cuda_probe *probe, const struct probe_request *request, const struct walk *walk)
{
    struct probe_request before = *request;
    struct probe_args args = walk->args;

    before.kind = PROBE_WALK;
    args.warm_up = (uint32_t)request->count;
    args.timed = 0;
    args.readings = probe->readings + 1;
    if (!launch(probe, &before, &args, 1, 1))
        return false;
    switch (request->before) {
    case PROBE_BEFORE_COPY:
        return copy_links(probe, request->path, walk->words);
    case PROBE_BEFORE_MODULE:
        return cuda_launch_empty(&probe->device);
    case PROBE_BEFORE_FLUSH:
        return cuda_flush_prepare(&probe->device, probe->info.l2_bytes) && cuda_launch_flush(&probe->device);
    default:
        return true;
    }
}

/* Runs the chase once. Sets its last address, its SM, and the SM of the launch before it. */
static bool walk_once(struct cuda_probe *probe, const struct probe_request *request, struct walk *walk, uint32_t *end,
                      uint32_t *sm, uint32_t *before_sm)
{
    struct cuda_device *device = &probe->device;
    const bool has_before = request->before != PROBE_BEFORE_NOTHING;
    const size_t bytes = walk->args.timed * sizeof(uint32_t);
    bool walked = cuda_device_set(device, probe->cycles, 0, bytes);

    if (request->kind == PROBE_RELAY) {
        struct probe_args before = walk->args;

        before.warm_up = (uint32_t)request->count;
        before.timed = 0;
        return walked && (!has_before || cuda_relay_walk(&probe->relay, &before, end, before_sm)) &&
               cuda_relay_walk(&probe->relay, &walk->args, end, sm) &&
               cuda_device_read(device, probe->host_cycles, probe->cycles, bytes) && cuda_device_wait(device);
    }
    if (request->kind == PROBE_CODE) {
        struct probe_code_args code = {.start = walk->args.start,
                                       .warm_up = walk->args.warm_up,
                                       .timed = walk->args.timed,
                                       .chunks = request->chunks,
                                       .one = 1,
                                       .cycles = probe->cycles,
                                       .readings = probe->readings};
        void *parameters[] = {&code};

        walked = walked && cuda_device_launch(device, probe->kernels[PROBE_CODE][0].function, 1, 1, 0, parameters);
    } else {
        walked =
            walked && (!has_before || walk_before(probe, request, walk)) && launch(probe, request, &walk->args, 1, 1);
    }
    walked = walked && cuda_device_read(device, probe->host_cycles, probe->cycles, bytes) && read_readings(probe, 2);
    *end = probe->host_readings[0].end;
    *sm = probe->host_readings[0].sm;
    *before_sm = probe->host_readings[1].sm;
    return walked;
}

static enum status ask_list(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    struct walk walk = open_walk(probe, request);
    uint32_t tries = 0, end = 0, sm = 0, before_sm = 0;

    if (!(request->kind == PROBE_RELAY ? cuda_relay_copy(&probe->relay, probe->links, walk.words)
                                       : copy_links(probe, request->path, walk.words)))
        return ask_failed(probe, request);
    do {
        if (!walk_once(probe, request, &walk, &end, &sm, &before_sm))
            return ask_failed(probe, request);
    } while (request->before != PROBE_BEFORE_NOTHING && sm != before_sm && ++tries < SM_TRIES);
    if (tries == SM_TRIES)
        return log_error(STATUS_ENVIRONMENT,
                         "two launches of one block do not run on the same SM; try it on a GPU that "
                         "nothing else uses");
    if (end != walk.args.start)
        return log_error(STATUS_ENVIRONMENT,
                         "a walk on %s did not end where its links lead: the GPU, or this program, is wrong",
                         request->path->name);
    memcpy(answer, probe->host_cycles, walk.args.timed * sizeof(uint32_t));
    return STATUS_OK;
}

/* -- loads by warps ------------------------------------------------------------------------------------ */

/* A launch of loads by warps. */
struct span {
    struct probe_args args;
    uint32_t blocks, threads;
    size_t warps; /* of all blocks */
};

static struct span open_span(const struct cuda_probe *probe, const struct probe_request *request)
{
    const bool every_sm = request->warps > WARPS_OF_BLOCK_MAX;
    struct span span = {
        .args = args_of(probe),
        .blocks = every_sm ? 2 * probe->info.sm_count : 1,
        .threads = CBANK_WARP_THREADS * (every_sm ? request->warps / 2 : request->warps),
    };

    span.args.distinct = request->distinct;
    span.args.stride = request->stride / unit_of(request->path);
    span.args.iterations = request->iterations;
    span.warps = (size_t)span.blocks * span.threads / CBANK_WARP_THREADS;
    return span;
}

/* The cycles from the first start to the last end of one SM's warps. False if there are not `warps` warps, or if they
 * never all loaded at the same time: blocks that run one after the other do not count. */
static bool span_of(const struct probe_reading *readings, size_t count, uint32_t sm, uint32_t warps, uint32_t *cycles)
{
    uint32_t begin = 0, last = 0, seen = 0, last_begin = 0, first_end = 0;

    for (const struct probe_reading *one = readings; one < readings + count; one++) {
        if (one->sm != sm)
            continue;
        begin = seen == 0 || (int32_t)(one->begin - begin) < 0 ? one->begin : begin;
        last_begin = seen == 0 || (int32_t)(one->begin - last_begin) > 0 ? one->begin : last_begin;
        first_end = seen == 0 || (int32_t)(one->end - first_end) < 0 ? one->end : first_end;
        last = seen == 0 || (int32_t)(one->end - last) > 0 ? one->end : last;
        seen++;
    }
    *cycles = last - begin;
    return seen == warps && (int32_t)(first_end - last_begin) > 0;
}

/* Sets each answer to the median over the SMs that ran all warps of the request at the same time. */
static enum status ask_span(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    const struct probe_reading *readings = probe->host_readings;
    struct span span = open_span(probe, request);
    const bool every_sm = span.blocks > 1;

    if (span.warps > READINGS_MAX || !link_to_self(probe, request->path))
        return ask_failed(probe, request);
    for (uint32_t r = 0; r < request->repeats; r++) {
        uint32_t spans[SMS_MAX], count = 0, last = 0;

        if (!launch(probe, request, &span.args, span.blocks, span.threads) || !read_readings(probe, span.warps))
            return ask_failed(probe, request);
        for (size_t i = 0; i < span.warps; i++) {
            if (!readings[i].valid)
                return log_error(STATUS_ENVIRONMENT, "the probe %s on %s loaded what is not in its table",
                                 probe_kind_names[request->kind], request->path->name);
            last = readings[i].sm > last ? readings[i].sm : last;
        }
        for (uint32_t sm = 0; sm < (every_sm ? SMS_MAX : 1u) && sm <= last; sm++)
            count += span_of(readings, span.warps, every_sm ? sm : readings[0].sm, request->warps, &spans[count]) &&
                     count < SMS_MAX - 1;
        stats_sort_uint32(spans, count);
        answer[r] = count ? spans[(count - 1) / 2] : PROBE_NOT_AT_ONCE;
    }
    return STATUS_OK;
}

/* -- SMs that load one after the other ------------------------------------------------------------------ */

static enum status ask_sharing(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
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

    /* Requests enough shared memory that no two blocks fit on an SM. */
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)device->ordinal);
    shared -= 64; /* the probe's own shared memory */
    if (!link_to_self(probe, request->path) || !cuda_flush_prepare(device, probe->info.l2_bytes) ||
        !cuda_launch_flush(device) || !cuda_device_set(device, probe->turn, 0, sizeof(uint32_t)) ||
        !DRIVER(device, cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared) ||
        !cuda_device_launch(device, function, request->blocks, 1, (uint32_t)shared, parameters) ||
        !read_readings(probe, request->blocks))
        return ask_failed(probe, request);
    for (uint32_t i = 0; i < request->blocks; i++) {
        answer[2 * i] = probe->host_readings[i].sm;
        answer[2 * i + 1] = probe->host_readings[i].end - probe->host_readings[i].begin;
    }
    return STATUS_OK;
}

/* -- counted launches ---------------------------------------------------------------------------------- */

struct counted {
    struct cuda_probe *probe;
    struct probe_request request; /* of the counted probe */
    struct span span;
    struct walk walk; /* for PROBE_WALK */
};

static bool prepare_counted(void *context, size_t i)
{
    struct counted *counted = context;

    (void)i;
    return (counted->request.before == PROBE_BEFORE_NOTHING ||
            walk_before(counted->probe, &counted->request, &counted->walk)) &&
           cuda_device_wait(&counted->probe->device);
}

static bool launch_counted(void *context, size_t i)
{
    struct counted *counted = context;
    struct span *span = &counted->span;

    (void)i;
    return launch(counted->probe, &counted->request, &span->args, span->blocks, span->threads) &&
           cuda_device_wait(&counted->probe->device);
}

static enum status ask_count(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    struct counted counted = {.probe = probe, .request = *request};
    const struct cupti_ranges ranges = {.count = 1,
                                        .prepare = prepare_counted,
                                        .launch = launch_counted,
                                        .context = &counted};
    char reason[CUPTI_REASON_BYTES];
    bool copied;

    counted.request.kind = request->counted;
    if (request->counted == PROBE_WALK) {
        counted.walk = open_walk(probe, request);
        counted.span = (struct span){.args = counted.walk.args, .blocks = 1, .threads = 1};
        copied = copy_links(probe, request->path, counted.walk.words);
    } else {
        counted.span = open_span(probe, request);
        copied = link_to_self(probe, request->path);
    }
    if (!copied)
        return ask_failed(probe, request);
    if (!cuda_count_launch(&probe->count, &ranges, answer, reason))
        return log_error(STATUS_ENVIRONMENT, "counting the probe %s failed: %s", probe_kind_names[request->counted],
                         reason);
    return STATUS_OK;
}

/* -- the source ---------------------------------------------------------------------------------------- */

static enum status ask(void *context, const struct probe_request *request, uint32_t *answer)
{
    switch (request->kind) {
    case PROBE_CHAIN:
    case PROBE_STREAM:
        return ask_span(context, request, answer);
    case PROBE_SHARING:
        return ask_sharing(context, request, answer);
    case PROBE_COUNT:
        return ask_count(context, request, answer);
    default:
        return ask_list(context, request, answer);
    }
}

/* The kernel that answers. The relay and the counters take long to open; the first request opens them. */
static const struct probe_kernel *kernel_of(void *context, enum probe_kind kind, const struct path *path)
{
    struct cuda_probe *probe = context;
    struct probe_kernel *kernel = &probe->kernels[kind][probe_is_single(kind) ? 0 : path - paths].found;
    const bool tried = probe->tried[kind];

    probe->tried[kind] = true;
    if (kind == PROBE_RELAY && !tried && kernel->usable) {
        kernel->usable = cuda_relay_open(&probe->device, &probe->relay, kernel->reason);
        for (size_t i = 0; i < PROBE_MEMBERS; i++)
            probe->bank_address[i] = probe->relay.modules[i].bank;
    }
    if (kind == PROBE_COUNT && !tried)
        kernel->usable = cuda_count_open(probe->device.ordinal, probe->device.context, &probe->count, kernel->reason);
    return kernel;
}

/* -- open and close ------------------------------------------------------------------------------------ */

static bool allocate(struct cuda_probe *probe)
{
    struct cuda_device *device = &probe->device;
    const size_t links = LINK_WORDS * sizeof(uint32_t), cycles = SAMPLES_MAX * sizeof(uint32_t);
    const size_t readings = READINGS_MAX * sizeof(*probe->readings);

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
    memset(probe->links, 0, LINK_WORDS * sizeof(uint32_t));
    return STATUS_OK;
}

void cuda_probe_close(struct cuda_probe *probe)
{
    struct cuda_device *device = probe ? &probe->device : NULL;

    if (!probe)
        return;
    cuda_count_close(&probe->count);
    cuda_relay_close(&probe->relay);
    if (device->context) {
        CUDA_TRY(device, cudaDestroyTextureObject, probe->texture);
        CUDA_TRY(device, cudaFreeHost, probe->links);
        CUDA_TRY(device, cudaFree, probe->table);
        CUDA_TRY(device, cudaFree, probe->cycles);
        CUDA_TRY(device, cudaFreeHost, probe->host_cycles);
        CUDA_TRY(device, cudaFree, probe->readings);
        CUDA_TRY(device, cudaFreeHost, probe->host_readings);
        CUDA_TRY(device, cudaFree, probe->turn);
        cuda_module_unload(device, &probe->module);
    }
    cuda_device_close(device);
    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++)
        free(probe->kernels[kind]);
    free(probe);
}

/* Bytes of a chunk of straight code. From Volta on, an instruction takes 16 bytes. Before, it takes 8, and 8 bytes of
 * control come with every 3 of them (Maxwell, Pascal) or every 7 (Kepler). */
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
    struct cuda_request request = {.ordinal = ordinal, .watchdog = watchdog, .patience = patience};
    struct cuda_probe *probe;
    enum status status;

    if (ordinal >= devices)
        return log_error(STATUS_ENVIRONMENT, "no GPU to characterize: %s; or analyse a recorded file with --replay",
                         reason);
    probe = calloc(1, sizeof(*probe));
    if (!probe)
        return log_memory("the probes");
    request.info = &probe->info;
    status = open_parts(probe, &request);
    if (status != STATUS_OK) {
        cuda_probe_close(probe);
        return status;
    }
    *out = probe;
    *info = probe->info;
    *source = (struct probe_source){
        .context = probe,
        .samples_max = SAMPLES_MAX,
        .sm_count = probe->info.sm_count,
        .bank_address = probe->bank_address,
        .chunk_bytes = chunk_bytes(probe->info.cc_major),
        .shared_carve_out = "preferred carve-out 0 %; the probe itself uses 4 bytes of shared memory",
        .ask = ask,
        .kernel = kernel_of,
    };
    return STATUS_OK;
}
