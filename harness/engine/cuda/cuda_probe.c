/* SPDX-License-Identifier: MIT */
#include "cuda_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_count.h"
#include "cuda_device.h"
#include "cuda_relay.h"
#include "image.h"
#include "log.h"
#include "probe_args.h"

enum {
    LINK_WORDS = 1 << 20,     /* of the table in global memory */
    SAMPLES_MAX = 1 << 17,    /* of one walk */
    STAGED_BYTES = 8192,      /* of the table in shared memory */
    WARPS_OF_BLOCK_MAX = 32,
    READINGS_MAX = 1 << 16,
    SM_TRIES = 8,             /* until two launches ran on the same SM */
    LOADS_OF_WALK = 2,        /* one untimed, one timed */
};

/* What the table of a home holds. */
enum links { LINKS_UNKNOWN, LINKS_BYTES, LINKS_ELEMENTS, LINKS_LIST };

struct cuda_probe {
    struct device_info info;
    struct cuda_device device;
    struct cuda_module module;
    CUdeviceptr bank;
    CUfunction functions[PROBE_KIND_COUNT];
    CUfunction *by_path[PROBE_KIND_COUNT];          /* [path_count], owned; none for what is one for all paths */
    struct probe_kernel *kernels[PROBE_KIND_COUNT]; /* [path_count], owned */
    uint32_t *links; /* pinned: LINK_WORDS of the next list; the first CBANK_TABLE_LENGTH of them for others */
    uint32_t *table;           /* device, LINK_WORDS */
    enum links held[3];        /* by enum table_home */
    uint32_t *cycles;          /* device, SAMPLES_MAX */
    uint32_t *host_cycles;     /* pinned */
    struct probe_reading *readings, *host_readings; /* device and pinned, READINGS_MAX */
    uint32_t *turn;            /* device */
    cudaTextureObject_t texture;
    struct cuda_relay relay; /* these two are open where their probe is usable */
    struct cuda_count count;
    uint64_t bank_address[PROBE_MEMBERS];
    bool asked_for[PROBE_KIND_COUNT]; /* what is opened when it is first asked for, has been tried */
};

/* -- open and close ------------------------------------------------------------------------------------ */

static void describe_kernel(const struct path *path, uint32_t loads, const struct kernel_sass *sass,
                            struct probe_kernel *kernel)
{
    snprintf(kernel->name, sizeof(kernel->name), "%s", sass->symbol);
    snprintf(kernel->sha256, sizeof(kernel->sha256), "%s", sass->sha256);
    kernel->usable = true;
    if (!sass->known)
        return;
    image_classes(sass, kernel->loads);
    for (size_t i = 0; i < SASS_CLASS_COUNT; i++) {
        const uint32_t wanted = strcmp(sass_class_names[i], path->sass) == 0 ? loads : 0;

        if (sass->classes[i] == wanted || (path->unit == UNIT_SHARED && i == SASS_LDG))
            continue;
        kernel->usable = false;
        snprintf(kernel->reason, sizeof(kernel->reason), "%s wants %u %s; the compiler made %.150s", path->name,
                 (unsigned)loads, path->sass, kernel->loads[0] ? kernel->loads : "no load of any class");
    }
}

static void open_kernel(struct cuda_probe *probe, enum probe_kind kind, size_t row)
{
    const struct path *path = &paths[row];
    struct probe_kernel *kernel = &probe->kernels[kind][row];
    struct kernel_sass sass;
    char prefix[128];

    /* Itanium C++ ABI name of probe_KIND<path_NAME>. */
    snprintf(prefix, sizeof(prefix), "_Z%zuprobe_%sI%zupath_%sE", strlen("probe_") + strlen(probe_kind_names[kind]),
             probe_kind_names[kind], strlen("path_") + strlen(path->name), path->name);
    if (!image_function(probe->module.cubin, probe->module.cubin_bytes, prefix, &sass) ||
        probe->device.driver.module_function(&probe->by_path[kind][row], probe->module.module, sass.symbol) !=
            CUDA_SUCCESS) {
        snprintf(kernel->reason, sizeof(kernel->reason), "%s",
                 path->scope == INDEX_IMMEDIATE ? "an index that the compiler knows depends on no load"
                                                : "the program has no such probe for this GPU");
        return;
    }
    describe_kernel(path, kind == PROBE_WALK ? LOADS_OF_WALK : PROBE_LOADS, &sass, kernel);
    /* As much of the L1 data cache as there is. */
    if (kind == PROBE_WALK && path->unit != UNIT_SHARED)
        probe->device.driver.set_function_attribute(probe->by_path[kind][row],
                                                    CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0);
}

/* The probes that are one for all paths: the row of each path is the same. */
static void all_paths(struct cuda_probe *probe, enum probe_kind kind)
{
    for (size_t row = 1; row < path_count; row++)
        probe->kernels[kind][row] = probe->kernels[kind][0];
}

/* A kernel of the constant bank, with so many loads from it. */
static bool open_bank_kernel(struct cuda_probe *probe, enum probe_kind kind, const char *symbol, uint32_t loads)
{
    struct probe_kernel *kernel = probe->kernels[kind];
    struct kernel_sass sass;

    if (!image_function(probe->module.cubin, probe->module.cubin_bytes, symbol, &sass) ||
        probe->device.driver.module_function(&probe->functions[kind], probe->module.module, sass.symbol) !=
            CUDA_SUCCESS)
        return false;
    snprintf(kernel->name, sizeof(kernel->name), "%s", sass.symbol);
    snprintf(kernel->sha256, sizeof(kernel->sha256), "%s", sass.sha256);
    kernel->usable = !sass.known || sass.classes[SASS_LDC] == loads;
    if (sass.known)
        image_classes(&sass, kernel->loads);
    if (!kernel->usable)
        snprintf(kernel->reason, sizeof(kernel->reason), "it wants %u LDC; the compiler made %.150s", (unsigned)loads,
                 kernel->loads);
    all_paths(probe, kind);
    return true;
}

static enum status open_kernels(struct cuda_probe *probe)
{
    static const struct {
        enum probe_kind kind;
        const char *symbol;
        uint32_t loads;
    } of_bank[] = {{PROBE_SHARING, "probe_sharing", 2}, {PROBE_RELAY, "probe_relay", 2}, {PROBE_CODE, "probe_code", 2}};
    size_t bytes = 0;

    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++) {
        probe->by_path[kind] = calloc(path_count, sizeof(*probe->by_path[kind]));
        probe->kernels[kind] = calloc(path_count, sizeof(*probe->kernels[kind]));
        if (!probe->by_path[kind] || !probe->kernels[kind])
            return log_error(STATUS_ENVIRONMENT, "out of memory");
        for (size_t row = 0; !probe_is_single((enum probe_kind)kind) && row < path_count; row++)
            open_kernel(probe, (enum probe_kind)kind, row);
    }
    for (size_t i = 0; i < sizeof(of_bank) / sizeof(of_bank[0]); i++)
        if (!open_bank_kernel(probe, of_bank[i].kind, of_bank[i].symbol, of_bank[i].loads))
            return log_error(STATUS_ENVIRONMENT, "%s has no %s; build the program again", probe->module.image,
                             of_bank[i].symbol);
    if (probe->device.driver.module_global(&probe->bank, &bytes, probe->module.module, "probe_bank") != CUDA_SUCCESS ||
        bytes != CBANK_TABLE_BYTES)
        return log_error(STATUS_ENVIRONMENT, "%s has no constant bank; build the program again", probe->module.image);
    return STATUS_OK;
}

static bool open_texture(struct cuda_probe *probe)
{
    const struct cudaResourceDesc resource = {
        .resType = cudaResourceTypeLinear,
        .res.linear = {.devPtr = probe->table,
                       .desc = {.x = 32, .f = cudaChannelFormatKindUnsigned},
                       .sizeInBytes = CBANK_TABLE_BYTES},
    };
    const struct cudaTextureDesc description = {.readMode = cudaReadModeElementType};

    return cudaCreateTextureObject(&probe->texture, &resource, &description, NULL) == cudaSuccess;
}

static enum status open_memory(struct cuda_probe *probe)
{
    if (cudaMallocHost((void **)&probe->links, LINK_WORDS * sizeof(uint32_t)) == cudaSuccess &&
        cudaMalloc((void **)&probe->table, LINK_WORDS * sizeof(uint32_t)) == cudaSuccess &&
        cudaMalloc((void **)&probe->cycles, SAMPLES_MAX * sizeof(uint32_t)) == cudaSuccess &&
        cudaMallocHost((void **)&probe->host_cycles, SAMPLES_MAX * sizeof(uint32_t)) == cudaSuccess &&
        cudaMalloc((void **)&probe->readings, READINGS_MAX * sizeof(*probe->readings)) == cudaSuccess &&
        cudaMallocHost((void **)&probe->host_readings, READINGS_MAX * sizeof(*probe->readings)) == cudaSuccess &&
        cudaMalloc((void **)&probe->turn, sizeof(uint32_t)) == cudaSuccess &&
        cudaMemset(probe->table, 0, LINK_WORDS * sizeof(uint32_t)) == cudaSuccess &&
        cudaMemset(probe->readings, 0, READINGS_MAX * sizeof(*probe->readings)) == cudaSuccess && open_texture(probe)) {
        memset(probe->links, 0, LINK_WORDS * sizeof(uint32_t));
        return STATUS_OK;
    }
    return log_error(STATUS_ENVIRONMENT, "cannot allocate for the probes: %s; free memory on the GPU",
                     cuda_device_error(&probe->device));
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
        cuda_device_unload(&probe->device, &probe->module);
    }
    cuda_device_close(&probe->device);
    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++) {
        free(probe->by_path[kind]);
        free(probe->kernels[kind]);
    }
    free(probe);
}

/* -- tables -------------------------------------------------------------------------------------------- */

static enum status gpu_failed(struct cuda_probe *probe, const struct probe_request *request)
{
    return log_error(STATUS_ENVIRONMENT, "the probe %s on %s failed: %s", probe_kind_names[request->kind],
                     request->path->name, cuda_device_error(&probe->device));
}

/* Copies the first words of probe->links to where the path's table is. */
static bool copy_links(struct cuda_probe *probe, const struct path *path, size_t words)
{
    void *const home = path->home == TABLE_CONSTANT ? (void *)(uintptr_t)probe->bank : probe->table;

    return path->home == TABLE_PARAMETER ||
           cudaMemcpyAsync(home, probe->links, words * sizeof(uint32_t), cudaMemcpyHostToDevice,
                           probe->device.stream) == cudaSuccess;
}

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
    return copy_links(probe, path, CBANK_TABLE_LENGTH) && cuda_device_wait(&probe->device);
}

/* The list, and back to its beginning. Returns the words up to the last. */
static size_t link_list(struct cuda_probe *probe, const struct probe_request *request)
{
    const uint32_t unit = request->path->unit == UNIT_TEXTURE ? sizeof(uint32_t) : 1;
    size_t words = 0;

    for (size_t i = 0; i < request->count; i++) {
        const size_t word = request->address[i] / sizeof(uint32_t);

        probe->links[word] = request->address[(i + 1) % request->count] / unit;
        words = word + 1 > words ? word + 1 : words;
    }
    probe->held[request->path->home] = LINKS_LIST;
    return words;
}

/* -- launches ------------------------------------------------------------------------------------------ */

static struct probe_args common_args(const struct cuda_probe *probe)
{
    return (struct probe_args){.table = probe->table,
                               .texture = probe->texture,
                               .readings = probe->readings,
                               .cycles = probe->cycles,
                               .staged_words = STAGED_BYTES / sizeof(uint32_t),
                               .distinct = 1};
}

static bool launch_probe(struct cuda_probe *probe, const struct probe_request *request, struct probe_args *args,
                         uint32_t blocks, uint32_t threads)
{
    const uint32_t *restricted = probe->table;
    void *parameters[] = {args, &restricted, probe->links};
    const uint32_t staged = request->path->unit == UNIT_SHARED ? STAGED_BYTES : 0;

    return cuda_device_launch(&probe->device, probe->by_path[request->kind][request->path - paths], blocks, threads,
                              staged, parameters);
}

/* Readings of `count` warps to the host. */
static bool read_readings(struct cuda_probe *probe, size_t count)
{
    return cudaMemcpyAsync(probe->host_readings, probe->readings, count * sizeof(*probe->readings),
                           cudaMemcpyDeviceToHost, probe->device.stream) == cudaSuccess &&
           cudaMemsetAsync(probe->readings, 0, count * sizeof(*probe->readings), probe->device.stream) == cudaSuccess &&
           cuda_device_wait(&probe->device);
}

static bool launch_before(struct cuda_probe *probe, const struct probe_request *request, size_t words)
{
    switch (request->before) {
    case PROBE_BEFORE_COPY:
        return copy_links(probe, request->path, words);
    case PROBE_BEFORE_MODULE:
        return cuda_launch_empty(&probe->device);
    case PROBE_BEFORE_FLUSH:
        return cuda_device_prepare_flush(&probe->device, probe->info.l2_bytes) && cuda_launch_flush(&probe->device);
    default:
        return true;
    }
}

/* The walk that brings the list, with its reading behind that of the walk that is timed. Nothing else comes between the
 * two than what the request says: what is to be cleared or read is before or after. */
static bool walk_before(struct cuda_probe *probe, const struct probe_request *request, size_t words)
{
    struct probe_args args = common_args(probe);

    args.start = probe->links[request->address[request->count - 1] / sizeof(uint32_t)];
    args.warm_up = (uint32_t)request->count;
    args.readings = probe->readings + 1;
    return launch_probe(probe, request, &args, 1, 1) && launch_before(probe, request, words);
}

/* What a request that walks is asked with. */
static struct probe_args walk_args(const struct cuda_probe *probe, const struct probe_request *request)
{
    struct probe_args args = common_args(probe);

    args.start = probe->links[request->address[request->count - 1] / sizeof(uint32_t)];
    args.warm_up = (uint32_t)(request->count * request->warm_up);
    args.timed = (uint32_t)(request->count * request->timed);
    return args;
}

static void unlink_list(struct cuda_probe *probe, const struct probe_request *request)
{
    for (size_t i = 0; i < request->count; i++)
        probe->links[request->address[i] / sizeof(uint32_t)] = 0;
}

static enum status wrong_end(const struct probe_request *request)
{
    return log_error(STATUS_ENVIRONMENT,
                     "a walk on %s did not end where its links lead: the GPU, or this program, is wrong",
                     request->path->name);
}

static enum status other_sms(void)
{
    return log_error(STATUS_ENVIRONMENT, "launches of one block after another do not run on the same SM; try it on a "
                                         "GPU that nothing else uses");
}

static enum status ask_walk(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    const size_t words = link_list(probe, request);
    struct probe_args args = walk_args(probe, request);
    const size_t bytes = args.timed * sizeof(uint32_t);
    uint32_t tries = 0;
    bool same;

    if (!copy_links(probe, request->path, words))
        return gpu_failed(probe, request);
    do {
        if (cudaMemsetAsync(probe->cycles, 0, bytes, probe->device.stream) != cudaSuccess ||
            (request->before != PROBE_BEFORE_NOTHING && !walk_before(probe, request, words)) ||
            !launch_probe(probe, request, &args, 1, 1) ||
            cudaMemcpyAsync(probe->host_cycles, probe->cycles, bytes, cudaMemcpyDeviceToHost, probe->device.stream) !=
                cudaSuccess ||
            !read_readings(probe, 2))
            return gpu_failed(probe, request);
        same = request->before == PROBE_BEFORE_NOTHING || probe->host_readings[0].sm == probe->host_readings[1].sm;
    } while (!same && ++tries < SM_TRIES);
    if (!same)
        return other_sms();
    if (probe->host_readings[0].end != args.start)
        return wrong_end(request);
    memcpy(answer, probe->host_cycles, bytes);
    unlink_list(probe, request);
    return STATUS_OK;
}

/* The same over the banks of several modules. */
static enum status ask_relay(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    const size_t words = link_list(probe, request);
    const struct probe_args args = walk_args(probe, request);
    const size_t bytes = args.timed * sizeof(uint32_t);
    uint32_t end, sm, before_sm = 0, tries = 0;

    probe->held[request->path->home] = LINKS_UNKNOWN;
    if (!cuda_relay_copy(&probe->relay, probe->links, words))
        return gpu_failed(probe, request);
    do {
        if ((request->before != PROBE_BEFORE_NOTHING &&
             !cuda_relay_walk(&probe->relay, args.start, (uint32_t)request->count, 0, probe->cycles, &end,
                              &before_sm)) ||
            cudaMemsetAsync(probe->cycles, 0, bytes, probe->device.stream) != cudaSuccess ||
            !cuda_relay_walk(&probe->relay, args.start, args.warm_up, args.timed, probe->cycles, &end, &sm))
            return gpu_failed(probe, request);
    } while (request->before != PROBE_BEFORE_NOTHING && sm != before_sm && ++tries < SM_TRIES);
    if (tries == SM_TRIES)
        return other_sms();
    if (end != args.start)
        return wrong_end(request);
    if (cudaMemcpy(answer, probe->cycles, bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
        return gpu_failed(probe, request);
    unlink_list(probe, request);
    return STATUS_OK;
}

static enum status ask_code(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    const size_t words = link_list(probe, request);
    const struct probe_args args = walk_args(probe, request);
    const size_t bytes = args.timed * sizeof(uint32_t);
    struct probe_code_args code = {.start = args.start,
                                   .warm_up = args.warm_up,
                                   .timed = args.timed,
                                   .chunks = request->chunks,
                                   .one = 1,
                                   .cycles = probe->cycles,
                                   .readings = probe->readings};
    void *parameters[] = {&code};

    if (!copy_links(probe, request->path, words) ||
        cudaMemsetAsync(probe->cycles, 0, bytes, probe->device.stream) != cudaSuccess ||
        !cuda_device_launch(&probe->device, probe->functions[PROBE_CODE], 1, 1, 0, parameters) ||
        cudaMemcpyAsync(probe->host_cycles, probe->cycles, bytes, cudaMemcpyDeviceToHost, probe->device.stream) !=
            cudaSuccess ||
        !read_readings(probe, 1))
        return gpu_failed(probe, request);
    if (probe->host_readings[0].end != args.start)
        return wrong_end(request);
    memcpy(answer, probe->host_cycles, bytes);
    unlink_list(probe, request);
    return STATUS_OK;
}

static int compare_cycles(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* From the first begin to the last end of the readings of one SM that are of `warps` warps; false where they are not.
 */
static bool span_of(const struct probe_reading *readings, size_t count, uint32_t sm, uint32_t warps, uint32_t *cycles)
{
    uint32_t begin = 0, last = 0, seen = 0;

    for (size_t i = 0; i < count; i++) {
        if (readings[i].sm != sm)
            continue;
        if (seen == 0 || (int32_t)(readings[i].begin - begin) < 0)
            begin = readings[i].begin;
        if (seen++ == 0 || (int32_t)(readings[i].end - last) > 0)
            last = readings[i].end;
    }
    *cycles = last - begin;
    return seen == warps;
}

/* What a request of loads by warps is asked with, on so many blocks. */
static struct probe_args span_args(const struct cuda_probe *probe, const struct probe_request *request,
                                   uint32_t *blocks, uint32_t *threads)
{
    const bool every_sm = request->warps > WARPS_OF_BLOCK_MAX;
    const uint32_t unit = request->path->unit == UNIT_TEXTURE ? sizeof(uint32_t) : 1;
    struct probe_args args = common_args(probe);

    *blocks = every_sm ? 2 * probe->info.sm_count : 1;
    *threads = CBANK_WARP_THREADS * (every_sm ? WARPS_OF_BLOCK_MAX : request->warps);
    args.distinct = request->distinct;
    args.stride = request->stride / unit;
    args.iterations = request->iterations;
    return args;
}

static enum status ask_span(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    uint32_t blocks, threads;
    struct probe_args args = span_args(probe, request, &blocks, &threads);
    const size_t warps = (size_t)blocks * threads / CBANK_WARP_THREADS;
    const bool every_sm = blocks > 1;

    if (warps > READINGS_MAX || !link_to_self(probe, request->path))
        return gpu_failed(probe, request);
    for (uint32_t r = 0; r < request->repeats; r++) {
        uint32_t spans[1024], count = 0;

        if (!launch_probe(probe, request, &args, blocks, threads) || !read_readings(probe, warps))
            return gpu_failed(probe, request);
        for (size_t i = 0; i < warps; i++)
            if (!probe->host_readings[i].valid)
                return log_error(STATUS_ENVIRONMENT, "the probe %s on %s loaded what is not in its table",
                                 probe_kind_names[request->kind], request->path->name);
        for (uint32_t sm = 0; sm < (every_sm ? 1024u : 1u); sm++)
            count += span_of(probe->host_readings, warps, every_sm ? sm : probe->host_readings[0].sm, request->warps,
                             &spans[count]) &&
                     count < 1023;
        if (count == 0)
            return log_error(STATUS_ENVIRONMENT, "no SM ran %u warps of the probe %s on %s at once",
                             (unsigned)request->warps, probe_kind_names[request->kind], request->path->name);
        qsort(spans, count, sizeof(spans[0]), compare_cycles);
        answer[r] = spans[(count - 1) / 2];
    }
    return STATUS_OK;
}

static enum status ask_sharing(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    struct probe_sharing_args args = {.turn = probe->turn,
                                      .first = request->first,
                                      .bytes = request->bytes,
                                      .step = request->step,
                                      .grain = request->grain,
                                      .readings = probe->readings};
    void *parameters[] = {&args};
    int shared = 0;

    /* So much shared memory that no two blocks share an SM. */
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)probe->device.ordinal);
    shared -= 64; /* what the probe has itself */
    if (!link_to_self(probe, request->path) || !cuda_device_prepare_flush(&probe->device, probe->info.l2_bytes) ||
        !cuda_launch_flush(&probe->device) ||
        cudaMemsetAsync(probe->turn, 0, sizeof(uint32_t), probe->device.stream) != cudaSuccess ||
        probe->device.driver.set_function_attribute(probe->functions[PROBE_SHARING],
                                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                    shared) != CUDA_SUCCESS ||
        !cuda_device_launch(&probe->device, probe->functions[PROBE_SHARING], request->blocks, 1, (uint32_t)shared,
                            parameters) ||
        !read_readings(probe, request->blocks))
        return gpu_failed(probe, request);
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
    struct probe_args args;
    uint32_t blocks, threads;
};

static bool prepare_counted(void *context, size_t i)
{
    struct counted *counted = context;

    (void)i;
    return cuda_device_wait(&counted->probe->device);
}

static bool launch_counted(void *context, size_t i)
{
    struct counted *counted = context;

    (void)i;
    return launch_probe(counted->probe, &counted->request, &counted->args, counted->blocks, counted->threads) &&
           cuda_device_wait(&counted->probe->device);
}

static enum status ask_count(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    struct counted counted = {.probe = probe, .request = *request, .blocks = 1, .threads = 1};
    char reason[CUPTI_REASON_BYTES];
    bool ready;

    counted.request.kind = request->counted;
    if (request->counted == PROBE_WALK) {
        const size_t words = link_list(probe, request);

        counted.args = walk_args(probe, request);
        ready = copy_links(probe, request->path, words);
    } else {
        counted.args = span_args(probe, request, &counted.blocks, &counted.threads);
        ready = link_to_self(probe, request->path);
    }
    if (!ready)
        return gpu_failed(probe, request);
    if (!cuda_count_launch(&probe->count, prepare_counted, launch_counted, &counted, answer, reason))
        return log_error(STATUS_ENVIRONMENT, "counting the probe %s failed: %s", probe_kind_names[request->counted],
                         reason);
    if (request->counted == PROBE_WALK)
        unlink_list(probe, request);
    return STATUS_OK;
}

/* -- the source ---------------------------------------------------------------------------------------- */

static enum status cuda_ask(void *context, const struct probe_request *request, uint32_t *answer)
{
    switch (request->kind) {
    case PROBE_WALK:
        return ask_walk(context, request, answer);
    case PROBE_SHARING:
        return ask_sharing(context, request, answer);
    case PROBE_RELAY:
        return ask_relay(context, request, answer);
    case PROBE_CODE:
        return ask_code(context, request, answer);
    case PROBE_COUNT:
        return ask_count(context, request, answer);
    default:
        return ask_span(context, request, answer);
    }
}

/* What takes long to open is opened when it is first asked for. */
static void open_late(struct cuda_probe *probe, enum probe_kind kind)
{
    struct probe_kernel *kernel = probe->kernels[kind];

    if (probe->asked_for[kind])
        return;
    probe->asked_for[kind] = true;
    if (kind == PROBE_RELAY && kernel->usable)
        kernel->usable = cuda_relay_open(&probe->device, &probe->relay, kernel->reason);
    for (size_t i = 0; kind == PROBE_RELAY && i < PROBE_MEMBERS; i++)
        probe->bank_address[i] = probe->relay.modules[i].bank;
    if (kind == PROBE_COUNT)
        kernel->usable = cuda_count_open(probe->device.ordinal, probe->device.context, &probe->count, kernel->reason);
    if (probe_is_single(kind))
        all_paths(probe, kind);
}

static const struct probe_kernel *cuda_kernel(void *context, enum probe_kind kind, const struct path *path)
{
    struct cuda_probe *probe = context;

    open_late(probe, kind);
    return &probe->kernels[kind][path - paths];
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
    struct cuda_probe *probe;
    const char *reason;
    enum status status;

    if (ordinal >= cuda_device_count(&reason))
        return log_error(STATUS_ENVIRONMENT, "no GPU to characterize: %s; or analyse a recorded file with --replay",
                         cuda_device_count(&reason) ? "there are fewer; cbank list devices names them" : reason);
    probe = calloc(1, sizeof(*probe));
    if (!probe)
        return log_error(STATUS_ENVIRONMENT, "out of memory");
    status = cuda_device_describe(ordinal, &probe->info);
    if (status == STATUS_OK)
        status = cuda_device_open(&probe->device, ordinal, &probe->info, 1, 0);
    if (status == STATUS_OK)
        status = cuda_device_load(&probe->device, "probes", &probe->module);
    if (status == STATUS_OK)
        status = open_kernels(probe);
    if (status == STATUS_OK)
        status = open_memory(probe);
    if (status != STATUS_OK) {
        cuda_probe_close(probe);
        return status;
    }
    *out = probe;
    *info = probe->info;
    *source = (struct probe_source){.context = probe,
                                    .samples_max = SAMPLES_MAX,
                                    .sm_count = probe->info.sm_count,
                                    .bank_address = probe->bank_address,
                                    .chunk_bytes = code_bytes(probe->info.cc_major, PROBE_CHUNK_INSTRUCTIONS),
                                    .ask = cuda_ask,
                                    .kernel = cuda_kernel};
    snprintf(source->shared_carve_out, sizeof(source->shared_carve_out),
             "preferred carve-out 0 %%; the probe itself uses 4 bytes of shared memory");
    return STATUS_OK;
}
