/* SPDX-License-Identifier: MIT
 * Probes on a device: pointer chases by one thread, loads by warps, and SMs that load one after the
 * other. */
#include "cuda_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_relay.h"
#include "cuda_sharing.h"
#include "cuda_transfer.h"
#include "log.h"
#include "probe_span.h"

enum {
    LINK_WORDS = 1 << 20,   /* of the table in global memory */
    SAMPLES_MAX = 1 << 17,  /* of one pointer chase */
    READINGS_MAX = 1 << 16, /* warps of one launch */
    STAGED_BYTES = 8192,    /* of the table in shared memory */
    SM_TRIES = 8,           /* attempts until two launches ran on the same SM */
    WARPS_OF_BLOCK_MAX = 32,
    LOADS_OF_CHASE = 2, /* one untimed, one timed */
    /* blocks to launch for each SM, so that one comes to the SM that is asked for */
    BLOCKS_OF_SM = 4,
};

/* A kernel, and the loads in its code. */
struct cuda_probe_kernel {
    CUfunction function;
    struct probe_kernel found;
};

struct cuda_probe {
    struct device_info info;
    struct cuda_device device;
    struct cuda_module module;
    struct cuda_probe_kernel *kernels[PROBE_KIND_COUNT]; /* owned: [path_count]; the first entry
                                                          * where one kernel serves all paths */
    uint32_t *links; /* pinned, LINK_WORDS: the next table to copy */
    uint32_t *table; /* device, LINK_WORDS */
    uint32_t *cycles, *host_cycles; /* device and pinned, SAMPLES_MAX */
    struct probe_reading *readings, *host_readings; /* device and pinned, READINGS_MAX */
    uint32_t *turn; /* device, 2 */
    cudaTextureObject_t texture;
    struct cuda_sharing sharing;
    struct cuda_relay relay; /* open if its probe is usable; the same holds for the next member */
    struct cuda_transfer transfer;
    bool relay_tried; /* whether opening the relay was attempted */
};

/* -- shared by probes -------------------------------------------------------------------------- */

static enum status ask_failed(struct cuda_probe *probe, const struct probe_request *request)
{
    return log_error(STATUS_ENVIRONMENT, "the probe %s on %s failed: %s",
                     probe_kind_names[request->kind], request->path->name,
                     cuda_device_error(&probe->device));
}

static enum status loaded_wrong(const struct probe_request *request)
{
    return log_error(STATUS_ENVIRONMENT, "the probe %s on %s loaded what is not in its table",
                     probe_kind_names[request->kind], request->path->name);
}

/* Bytes for each unit of an offset in the path's table: textures count in elements. */
static uint32_t unit_of(const struct path *path)
{
    return path->unit == UNIT_TEXTURE ? sizeof(uint32_t) : 1;
}

/* Copies the first words of probe->links to the path's table. Every launch reads parameters
 * directly from there. */
static bool copy_links(struct cuda_probe *probe, const struct path *path, size_t words)
{
    void *const home =
        path->home == TABLE_CONSTANT ? (void *)(uintptr_t)probe->module.bank : probe->table;

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

/* A launch of a list or of loads by warps. */
struct launching {
    struct probe_args args;
    uint32_t blocks, threads;
    size_t warps; /* of all blocks */
    size_t words; /* of the table up to the last link of a list */
};

/* Writes the table, and says how to launch the probe. A list is linked from its last address back
 * to the first. */
static bool prepare(struct cuda_probe *probe, const struct probe_request *request,
                    struct launching *out)
{
    const uint32_t unit = unit_of(request->path);

    *out = (struct launching){.args = {.table = probe->table,
                                       .texture = probe->texture,
                                       .readings = probe->readings,
                                       .cycles = probe->cycles,
                                       .staged_words = STAGED_BYTES / sizeof(uint32_t),
                                       .distinct = 1,
                                       .sm = request->sm,
                                       .taken = probe->turn},
                              .blocks = request->sm ? BLOCKS_OF_SM * probe->info.sm_count : 1,
                              .threads = 1};
    if (request->kind == PROBE_CHAIN || request->kind == PROBE_STREAM) {
        const bool every_sm = request->warps > WARPS_OF_BLOCK_MAX;

        out->blocks = every_sm ? 2 * probe->info.sm_count : 1;
        out->threads = CBANK_WARP_THREADS * (every_sm ? request->warps / 2 : request->warps);
        out->args.distinct = request->distinct;
        out->args.stride = request->stride / unit;
        out->args.iterations = request->iterations;
        out->warps = (size_t)out->blocks * out->threads / CBANK_WARP_THREADS;
        return out->warps <= READINGS_MAX && link_to_self(probe, request->path);
    }
    for (size_t i = 0; i < request->count; i++) {
        const size_t word = request->address[i] / sizeof(uint32_t);

        probe->links[word] = request->address[(i + 1) % request->count] / unit;
        out->words = word + 1 > out->words ? word + 1 : out->words;
    }
    out->args.start = probe->links[request->address[request->count - 1] / sizeof(uint32_t)];
    out->args.warm_up = (uint32_t)(request->count * request->warm_up);
    out->args.timed = (uint32_t)(request->count * request->timed);
    return request->kind == PROBE_RELAY ? cuda_relay_copy(&probe->relay, probe->links, out->words)
                                        : copy_links(probe, request->path, out->words);
}

/* Enqueues a launch of the request's kernel. */
static bool launch(struct cuda_probe *probe, const struct probe_request *request,
                   struct probe_args *args, uint32_t blocks, uint32_t threads)
{
    const uint32_t *restricted = probe->table;
    void *parameters[] = {args, &restricted, probe->links};
    const uint32_t staged = request->path->unit == UNIT_SHARED ? STAGED_BYTES : 0;

    return cuda_device_launch(&probe->device,
                              probe->kernels[request->kind][request->path - paths].function, blocks,
                              threads, staged, parameters);
}

/* Fetches the readings of `count` warps, and clears them on the device. Waits for the device. */
static bool read_readings(struct cuda_probe *probe, size_t count)
{
    const size_t bytes = count * sizeof(*probe->readings);

    return cuda_device_read(&probe->device, probe->host_readings, probe->readings, bytes) &&
           cuda_device_set(&probe->device, probe->readings, 0, bytes) &&
           cuda_device_wait(&probe->device);
}

/* -- lists that one thread pointer chases ------------------------------------------------------ */

/* Enqueues the chase that brings in the list, and the step that the request has after it. Nothing
 * else may come between this and the launch that is timed or counted: clearing and reading happen
 * before or after both. */
static bool chase_before(struct cuda_probe *probe, const struct probe_request *request,
                         const struct launching *chase)
{
    struct probe_request before = *request;
    struct probe_args args = chase->args;

    before.kind = PROBE_CHASE;
    args.warm_up = (uint32_t)request->count;
    args.timed = 0;
    args.readings = probe->readings + 1;
    args.taken = probe->turn + 1;
    if (!launch(probe, &before, &args, chase->blocks, 1))
        return false;
    switch (request->before) {
    case PROBE_BEFORE_COPY:
        return copy_links(probe, request->path, chase->words);
    case PROBE_BEFORE_MODULE:
        return cuda_launch_empty(&probe->device);
    case PROBE_BEFORE_FLUSH:
        return cuda_flush_prepare(&probe->device, probe->info.l2_bytes) &&
               cuda_launch_flush(&probe->device);
    default:
        return true;
    }
}

static enum status ask_list(struct cuda_probe *probe, const struct probe_request *request,
                            uint32_t *answer)
{
    const bool has_before = request->before != PROBE_BEFORE_NOTHING;
    struct cuda_device *device = &probe->device;
    uint32_t tries = 0, end = 0, sm = 0, before_sm = 0;
    struct launching chase;
    size_t bytes;

    if (!prepare(probe, request, &chase))
        return ask_failed(probe, request);
    bytes = chase.args.timed * sizeof(uint32_t);
    do {
        bool walked =
            cuda_device_set(device, probe->cycles, 0, bytes) &&
            (!request->sm || cuda_device_set(device, probe->turn, 0, 2 * sizeof(*probe->turn)));

        if (request->kind == PROBE_RELAY) {
            struct probe_args before = chase.args;

            before.warm_up = (uint32_t)request->count;
            before.timed = 0;
            walked = walked &&
                     (!has_before || cuda_relay_chase(&probe->relay, &before, &end, &before_sm)) &&
                     cuda_relay_chase(&probe->relay, &chase.args, &end, &sm) &&
                     cuda_device_read(device, probe->host_cycles, probe->cycles, bytes) &&
                     cuda_device_wait(device);
        } else {
            walked = walked && (!has_before || chase_before(probe, request, &chase)) &&
                     launch(probe, request, &chase.args, chase.blocks, 1) &&
                     cuda_device_read(device, probe->host_cycles, probe->cycles, bytes) &&
                     read_readings(probe, 2);
            end = probe->host_readings[0].end;
            sm = probe->host_readings[0].sm;
            before_sm = probe->host_readings[1].sm;
        }
        if (!walked)
            return ask_failed(probe, request);
        if (request->sm && !probe->host_readings[0].valid) {
            memset(answer, UINT8_MAX, bytes);
            return STATUS_OK;
        }
    } while (has_before && !request->sm && sm != before_sm && ++tries < SM_TRIES);
    if (tries == SM_TRIES)
        return log_error(STATUS_ENVIRONMENT, "two launches of one block do not run on the same SM; "
                                             "try it on a GPU that "
                                             "nothing else uses");
    if (end != chase.args.start)
        return log_error(STATUS_ENVIRONMENT,
                         "a pointer chase on %s did not end where its links lead: the GPU, or this "
                         "program, is wrong",
                         request->path->name);
    memcpy(answer, probe->host_cycles, bytes);
    return STATUS_OK;
}

/* -- loads by warps ---------------------------------------------------------------------------- */

/* Sets each answer to the median over the SMs that ran all warps of the request at the same
 * time. */
static enum status ask_span(struct cuda_probe *probe, const struct probe_request *request,
                            uint32_t *answer)
{
    const struct probe_reading *readings = probe->host_readings;
    struct launching span;

    if (!prepare(probe, request, &span))
        return ask_failed(probe, request);
    for (uint32_t r = 0; r < request->repeats; r++) {
        if (!launch(probe, request, &span.args, span.blocks, span.threads) ||
            !read_readings(probe, span.warps))
            return ask_failed(probe, request);
        for (size_t i = 0; i < span.warps; i++)
            if (!readings[i].valid)
                return loaded_wrong(request);
        answer[r] = probe_median_span(readings, span.warps, request->warps);
    }
    return STATUS_OK;
}

static enum status ask_transfer(struct cuda_probe *probe, const struct probe_request *request,
                                uint32_t *answer)
{
    const CUfunction function = probe->kernels[PROBE_TRANSFER][0].function;
    bool wrong = false;

    if ((!probe->transfer.device &&
         !cuda_transfer_open(&probe->device, function, &probe->transfer)) ||
        !cuda_transfer_ask(&probe->transfer, request, answer, &wrong))
        return ask_failed(probe, request);
    return wrong ? loaded_wrong(request) : STATUS_OK;
}

/* -- the source -------------------------------------------------------------------------------- */

static enum status ask(void *context, const struct probe_request *request, uint32_t *answer)
{
    switch (request->kind) {
    case PROBE_CHAIN:
    case PROBE_STREAM:
        return ask_span(context, request, answer);
    case PROBE_SHARING:
        return cuda_sharing_ask(&((struct cuda_probe *)context)->sharing, request, answer)
                   ? STATUS_OK
                   : ask_failed(context, request);
    case PROBE_TRANSFER:
        return ask_transfer(context, request, answer);
    default:
        return ask_list(context, request, answer);
    }
}

/* The kernel that answers. The relay takes long to open; the first request opens it. */
static const struct probe_kernel *kernel_of(void *context, enum probe_kind kind,
                                            const struct path *path)
{
    struct cuda_probe *probe = context;
    struct probe_kernel *kernel =
        &probe->kernels[kind][probe_is_single(kind) ? 0 : path - paths].found;

    if (kind == PROBE_RELAY && !probe->relay_tried && kernel->usable) {
        probe->relay_tried = true;
        kernel->usable = cuda_relay_open(&probe->device, &probe->relay, kernel->reason);
    }
    return kernel;
}

/* -- kernels ----------------------------------------------------------------------------------- */

/* The loads of a class that a kernel has to have: those of its path's class, and none of others.
 * The kernels for all paths load as that of the constant bank does, but streams read global
 * memory. */
static uint32_t wanted_loads(enum probe_kind kind, const struct path *path, enum sass_class class)
{
    if (kind == PROBE_TRANSFER) /* by three widths; for reading and for copying */
        return class == SASS_LDG          ? 3 * PROBE_TRANSFER_LOADS
               : class == SASS_LDG_STRONG ? 2 * PROBE_TRANSFER_TILE
                                          : 0;
    if (strcmp(sass_names[class][SASS_WORD], path->sass) != 0)
        return 0;
    return probe_is_single(kind) || kind == PROBE_CHASE ? LOADS_OF_CHASE : PROBE_LOADS;
}

/* Finds the kernel of a path, or of the row 0 the one for all paths, and checks its loads. Without
 * one, or with other loads than it wants, it has a reason and is not usable. */
static void find_kernel(struct cuda_probe *probe, enum probe_kind kind, size_t row)
{
    const bool single = probe_is_single(kind);
    const struct path *path = &paths[row];
    const struct cuda_module *module =
        kind == PROBE_SHARING ? &probe->sharing.module : &probe->module;
    struct cuda_probe_kernel *kernel = &probe->kernels[kind][row];
    struct probe_kernel *found = &kernel->found;
    struct kernel_sass sass;
    char name[128];

    /* Itanium C++ ABI name of probe_KIND<path_NAME>. */
    if (single)
        snprintf(name, sizeof(name), "probe_%s", probe_kind_names[kind]);
    else
        snprintf(name, sizeof(name), "_Z%zuprobe_%sI%zupath_%sE",
                 strlen("probe_") + strlen(probe_kind_names[kind]), probe_kind_names[kind],
                 strlen("path_") + strlen(path->name), path->name);
    if (!image_function(module->cubin, module->cubin_bytes, name, &sass) ||
        !cuda_module_function(&probe->device, module, sass.symbol, &kernel->function)) {
        snprintf(found->reason, sizeof(found->reason), "%s",
                 !single && path->scope == INDEX_IMMEDIATE
                     ? "an index that the compiler knows depends on no load"
                     : "the program has no such probe for this GPU");
        return;
    }
    snprintf(found->name, sizeof(found->name), "%s", sass.symbol);
    snprintf(found->sha256, sizeof(found->sha256), "%s", sass.sha256);
    if (sass.known)
        sass_classes_text(&sass, found->loads);
    found->usable = true;
    /* All loads must have the path's class, except those that copy a table into shared memory. */
    for (size_t i = 0; sass.known && i < SASS_SEL; i++) {
        const uint32_t wanted = wanted_loads(kind, path, (enum sass_class)i);

        if (sass_class_loads(&sass, (enum sass_class)i) == wanted ||
            (path->unit == UNIT_SHARED && i == SASS_LDG) || (single && !wanted))
            continue;
        found->usable = false;
        snprintf(found->reason, sizeof(found->reason),
                 "%.60s wants %u %s; the compiler made %.150s", single ? name : path->name,
                 (unsigned)wanted, sass_names[i][SASS_WORD],
                 found->loads[0] ? found->loads : "no load of any class");
    }
    /* The pointer chase gets all of the L1 data cache. */
    if (kind == PROBE_CHASE && path->unit != UNIT_SHARED)
        DRIVER_TRY(&probe->device, cuFuncSetAttribute, kernel->function,
                   CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0);
}

/* Finds the kernels of all probes. */
static enum status find_kernels(struct cuda_probe *probe)
{
    for (size_t i = 0; i < PROBE_KIND_COUNT; i++) {
        const enum probe_kind kind = (enum probe_kind)i;
        const bool single = probe_is_single(kind);
        const struct cuda_probe_kernel *first = probe->kernels[kind] =
            calloc(path_count, sizeof(*first));

        if (!first)
            return log_memory("the kernels of probes");
        for (size_t row = 0; row < (single ? 1 : path_count); row++)
            find_kernel(probe, kind, row);
        if (single && !first->found.name[0])
            return log_error(STATUS_ENVIRONMENT,
                             "the program has no probe_%s; build the program again",
                             probe_kind_names[kind]);
    }
    return STATUS_OK;
}

/* -- open and close ---------------------------------------------------------------------------- */

#define ROOM(member, elements) \
    offsetof(struct cuda_probe, member), (elements) * sizeof(*((struct cuda_probe *)0)->member)

/* The memory of a probe, which is all cleared. */
static const struct {
    size_t offset, bytes;
    bool pinned;
} rooms[] = {
    {ROOM(links, LINK_WORDS), true},
    {ROOM(table, LINK_WORDS), false},
    {ROOM(cycles, SAMPLES_MAX), false},
    {ROOM(host_cycles, SAMPLES_MAX), true},
    {ROOM(readings, READINGS_MAX), false},
    {ROOM(host_readings, READINGS_MAX), true},
    {ROOM(turn, 2), false},
};

enum { ROOMS = sizeof(rooms) / sizeof(rooms[0]) };

static void **room_of(struct cuda_probe *probe, size_t i)
{
    return (void **)((char *)probe + rooms[i].offset);
}

/* Allocates the rooms, clears them, and makes a texture of the table. */
static enum status make_rooms(struct cuda_probe *probe)
{
    struct cuda_device *device = &probe->device;
    bool made = true;

    for (size_t i = 0; made && i < ROOMS; i++) {
        void **room = room_of(probe, i);

        made = rooms[i].pinned ? CUDA(device, cudaMallocHost, room, rooms[i].bytes)
                               : CUDA(device, cudaMalloc, room, rooms[i].bytes) &&
                                     CUDA(device, cudaMemset, *room, 0, rooms[i].bytes);
        if (made && rooms[i].pinned)
            memset(*room, 0, rooms[i].bytes);
    }
    if (made && cuda_table_texture(device, probe->table, CBANK_TABLE_BYTES, sizeof(uint32_t),
                                   &probe->texture))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT,
                     "cannot allocate for the probes: %s; free memory on the GPU",
                     cuda_device_error(device));
}

static enum status open_sharing(struct cuda_probe *probe)
{
    if (cuda_sharing_open(&probe->device, &probe->sharing))
        return STATUS_OK;
    return log_error(STATUS_ENVIRONMENT, "cannot open the probe of SMs that share a cache: %s",
                     cuda_device_error(&probe->device));
}

/* Opens the device, its kernels and their memory. */
static enum status open_device(struct cuda_probe *probe, const struct cuda_request *request)
{
    struct cuda_device *device = &probe->device;
    enum status status = cuda_device_describe(request->ordinal, NULL, &probe->info);

    if (status == STATUS_OK)
        status = cuda_device_open(device, request);
    if (status == STATUS_OK)
        status = cuda_module_load(device, "probes", false, &probe->module);
    if (status == STATUS_OK)
        status = open_sharing(probe);
    if (status == STATUS_OK)
        status = find_kernels(probe);
    if (status == STATUS_OK)
        status = cuda_module_find_bank(device, "probe_bank", &probe->module);
    if (status == STATUS_OK)
        status = make_rooms(probe);
    return status;
}

void cuda_probe_close(struct cuda_probe *probe)
{
    struct cuda_device *device = probe ? &probe->device : NULL;

    if (!probe)
        return;
    cuda_relay_close(&probe->relay);
    cuda_sharing_close(&probe->sharing);
    cuda_transfer_close(&probe->transfer);
    if (device->context) {
        CUDA_TRY(device, cudaDestroyTextureObject, probe->texture);
        for (size_t i = 0; i < ROOMS; i++)
            if (rooms[i].pinned)
                CUDA_TRY(device, cudaFreeHost, *room_of(probe, i));
            else
                CUDA_TRY(device, cudaFree, *room_of(probe, i));
        cuda_module_unload(device, &probe->module);
    }
    cuda_device_close(device);
    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++)
        free(probe->kernels[kind]);
    free(probe);
}

enum status cuda_probe_open(uint32_t ordinal, struct watchdog *watchdog, double watchdog_slack,
                            struct cuda_probe **out, struct device_info *info,
                            struct probe_source *source)
{
    const char *reason = "there are fewer; cbank list devices names them";
    struct cuda_request request = {.ordinal = ordinal,
                                   .watchdog = watchdog,
                                   .watchdog_slack = watchdog_slack};
    struct cuda_probe *probe;
    enum status status;

    if (ordinal >= cuda_device_count(&reason))
        return log_error(STATUS_ENVIRONMENT,
                         "no GPU to characterize: %s; or analyse a recorded file with --replay",
                         reason);
    probe = calloc(1, sizeof(*probe));
    if (!probe)
        return log_memory("the probes");
    request.info = &probe->info;
    status = open_device(probe, &request);
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
        .shared_carve_out =
            "preferred carve-out 0 %; the probe itself uses 4 bytes of shared memory",
        .ask = ask,
        .kernel = kernel_of,
    };
    return STATUS_OK;
}
