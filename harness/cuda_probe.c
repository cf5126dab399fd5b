/* SPDX-License-Identifier: MIT */
#include "cuda_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_device.h"
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
    CUfunction *by_path[PROBE_KIND_COUNT];          /* [path_count], owned; NULL for PROBE_SHARING */
    struct probe_kernel *kernels[PROBE_KIND_COUNT]; /* [path_count], owned */
    uint32_t *links; /* pinned: LINK_WORDS of the next list; the first CBANK_TABLE_LENGTH of them for others */
    uint32_t *table;           /* device, LINK_WORDS */
    enum links held[3];        /* by enum table_home */
    uint32_t *cycles;          /* device, SAMPLES_MAX */
    uint32_t *host_cycles;     /* pinned */
    struct probe_reading *readings, *host_readings; /* device and pinned, READINGS_MAX */
    uint32_t *turn;            /* device */
    cudaTextureObject_t texture;
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

static enum status open_kernels(struct cuda_probe *probe)
{
    struct kernel_sass sass;
    struct probe_kernel *sharing;
    size_t bytes = 0;

    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++) {
        probe->by_path[kind] = calloc(path_count, sizeof(*probe->by_path[kind]));
        probe->kernels[kind] = calloc(path_count, sizeof(*probe->kernels[kind]));
        if (!probe->by_path[kind] || !probe->kernels[kind])
            return log_error(STATUS_ENVIRONMENT, "out of memory");
        for (size_t row = 0; kind != PROBE_SHARING && row < path_count; row++)
            open_kernel(probe, (enum probe_kind)kind, row);
    }
    sharing = probe->kernels[PROBE_SHARING];
    if (!image_function(probe->module.cubin, probe->module.cubin_bytes, "probe_sharing", &sass) ||
        probe->device.driver.module_function(&probe->functions[PROBE_SHARING], probe->module.module, sass.symbol) !=
            CUDA_SUCCESS ||
        probe->device.driver.module_global(&probe->bank, &bytes, probe->module.module, "probe_bank") != CUDA_SUCCESS ||
        bytes != CBANK_TABLE_BYTES)
        return log_error(STATUS_ENVIRONMENT, "%s has no probes; build the program again", probe->module.image);
    snprintf(sharing->name, sizeof(sharing->name), "%s", sass.symbol);
    snprintf(sharing->sha256, sizeof(sharing->sha256), "%s", sass.sha256);
    sharing->usable = !sass.known || sass.classes[SASS_LDC] == 2;
    if (sass.known)
        image_classes(&sass, sharing->loads);
    if (!sharing->usable)
        snprintf(sharing->reason, sizeof(sharing->reason), "it wants 2 LDC; the compiler made %.150s", sharing->loads);
    for (size_t row = 1; row < path_count; row++)
        sharing[row] = sharing[0];
    return STATUS_OK;
}

static bool open_texture(struct cuda_probe *probe)
{
    const struct cudaResourceDesc resource = {
        .resType = cudaResourceTypeLinear,
        .res.linear = {.devPtr = probe->table, .desc = {.x = 32, .f = cudaChannelFormatKindUnsigned},
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
    return (struct probe_args){.table = probe->table, .texture = probe->texture, .readings = probe->readings,
                               .cycles = probe->cycles, .staged_words = STAGED_BYTES / sizeof(uint32_t), .distinct = 1};
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

static enum status ask_walk(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    const size_t samples = request->count * request->timed, words = link_list(probe, request);
    const size_t bytes = samples * sizeof(uint32_t);
    struct probe_args args = common_args(probe);
    uint32_t tries = 0;
    bool same;

    args.start = probe->links[request->address[request->count - 1] / sizeof(uint32_t)];
    args.warm_up = (uint32_t)(request->count * request->warm_up);
    args.timed = (uint32_t)samples;
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
        return log_error(STATUS_ENVIRONMENT,
                         "launches of one block after another do not run on the same SM; try it on a GPU "
                         "that nothing else uses");
    if (probe->host_readings[0].end != args.start)
        return log_error(STATUS_ENVIRONMENT,
                         "a walk on %s did not end where its links lead: the GPU, or this program, is wrong",
                         request->path->name);
    memcpy(answer, probe->host_cycles, bytes);
    for (size_t i = 0; i < request->count; i++)
        probe->links[request->address[i] / sizeof(uint32_t)] = 0;
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

static enum status ask_span(struct cuda_probe *probe, const struct probe_request *request, uint32_t *answer)
{
    const bool every_sm = request->warps > WARPS_OF_BLOCK_MAX;
    const uint32_t blocks = every_sm ? 2 * probe->info.sm_count : 1;
    const uint32_t warps_of_block = every_sm ? WARPS_OF_BLOCK_MAX : request->warps;
    const size_t warps = (size_t)blocks * warps_of_block;
    const uint32_t unit = request->path->unit == UNIT_TEXTURE ? sizeof(uint32_t) : 1;
    struct probe_args args = common_args(probe);

    args.distinct = request->distinct;
    args.stride = request->stride / unit;
    args.iterations = request->iterations;
    if (warps > READINGS_MAX || !link_to_self(probe, request->path))
        return gpu_failed(probe, request);
    for (uint32_t r = 0; r < request->repeats; r++) {
        uint32_t spans[1024], count = 0;

        if (!launch_probe(probe, request, &args, blocks, 32 * warps_of_block) || !read_readings(probe, warps))
            return gpu_failed(probe, request);
        for (size_t i = 0; i < warps; i++)
            if (!probe->host_readings[i].valid)
                return log_error(STATUS_ENVIRONMENT, "the probe %s on %s loaded what is not in its table",
                                 probe_kind_names[request->kind], request->path->name);
        for (uint32_t sm = 0; sm < (every_sm ? 1024u : 1u); sm++)
            count += span_of(probe->host_readings, warps, every_sm ? sm : probe->host_readings[0].sm, request->warps,
                             &spans[count]) && count < 1023;
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
    struct probe_sharing_args args = {.turn = probe->turn, .first = request->first, .bytes = request->bytes,
                                      .step = request->step, .grain = request->grain, .readings = probe->readings};
    void *parameters[] = {&args};
    int shared = 0;

    /* So much shared memory that no two blocks share an SM. */
    cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)probe->device.ordinal);
    shared -= 64; /* what the probe has itself */
    if (!link_to_self(probe, request->path) || !cuda_device_prepare_flush(&probe->device, probe->info.l2_bytes) ||
        !cuda_launch_flush(&probe->device) ||
        cudaMemsetAsync(probe->turn, 0, sizeof(uint32_t), probe->device.stream) != cudaSuccess ||
        probe->device.driver.set_function_attribute(
            probe->functions[PROBE_SHARING], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared) != CUDA_SUCCESS ||
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

static enum status cuda_ask(void *context, const struct probe_request *request, uint32_t *answer)
{
    switch (request->kind) {
    case PROBE_WALK:
        return ask_walk(context, request, answer);
    case PROBE_SHARING:
        return ask_sharing(context, request, answer);
    default:
        return ask_span(context, request, answer);
    }
}

static const struct probe_kernel *cuda_kernel(void *context, enum probe_kind kind, const struct path *path)
{
    const struct cuda_probe *probe = context;

    return &probe->kernels[kind][path - paths];
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
    *source = (struct probe_source){.context = probe, .samples_max = SAMPLES_MAX, .sm_count = probe->info.sm_count,
                                    .ask = cuda_ask, .kernel = cuda_kernel};
    snprintf(source->shared_carve_out, sizeof(source->shared_carve_out),
             "preferred carve-out 0 %%; the probe itself uses 4 bytes of shared memory");
    return STATUS_OK;
}
