/* SPDX-License-Identifier: MIT
 * Launchables of launch paths: what one more launch of a cell is, and how a check sees that it
 * happened. The kernels are those of launches.cu. There are two sets of arguments: the first word
 * is even in those of timed launches, which write one word, and odd in those of checks, which write
 * all:
 *
 *     stream, graph   arguments -----------------------> launch_received
 *     symbol_copy     pinned table --> constant bank --> launch_received, by launch_held
 *     module_load     image ---------> constant bank --> launch_received, by launch_held */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cell_launch.h"
#include "cuda_check.h"
#include "cuda_sample.h"
#include "engine_cuda.h"
#include "launch_path.h"
#include "launches.h"
#include "log.h"
#include "random.h"

enum { SET_OF_TIMED, SET_OF_CHECK, SETS }; /* of arguments */

/* The filler's own. */
struct launch_origin {
    struct cuda_buffer received; /* the variable of the module; not owned */
    CUfunction held; /* writes what the constant bank holds */
};

static const char held_name[] = "launch_held", received_name[] = "launch_received";

/* -- actions ----------------------------------------------------------------------------------- */

static struct cuda_turn checked(struct cuda_turn turn)
{
    return (struct cuda_turn){.number = turn.number, .buffer_set = SET_OF_CHECK};
}

static bool check_stream(struct cuda_device *device, const struct launchable *launchable,
                         struct cuda_turn turn)
{
    return launchable_launch_kernel(device, launchable, checked(turn));
}

/* A launch in a graph of its own. */
static bool check_graph(struct cuda_device *device, const struct launchable *launchable,
                        struct cuda_turn turn)
{
    const struct cuda_chain chain = {.device = device,
                                     .launchable = launchable,
                                     .launches = 1,
                                     .buffer_sets = SETS,
                                     .table_offsets = 1};
    struct cuda_sample sample = {0};
    const bool launched =
        cuda_sample_make(&sample, &chain, SET_OF_CHECK, 1) &&
        CUDA(device, cudaGraphLaunch, sample.graphs[SET_OF_CHECK], device->stream) &&
        cuda_device_wait(device);

    (void)turn;
    cuda_sample_close(&sample, device);
    return launched;
}

static bool show_bank(struct cuda_device *device, const struct launchable *launchable,
                      CUfunction held)
{
    void *output = launchable_buffer_at(launchable, 0, (struct cuda_turn){0});
    void *parameters[] = {&output};

    return cuda_device_launch(device, held, 1, CBANK_WARP_THREADS, 0, parameters);
}

static bool check_copy(struct cuda_device *device, const struct launchable *launchable,
                       struct cuda_turn turn)
{
    return launchable_launch_before(device, launchable, turn) &&
           show_bank(device, launchable, ((struct launch_origin *)launchable->origin)->held);
}

/* Loads the module again, and finds its kernel: a driver may load code at the first request. */
static bool load(struct cuda_device *device, const struct launchable *launchable,
                 struct cuda_module *loaded, CUfunction *held)
{
    *loaded = (struct cuda_module){.cubin = launchable->module->cubin};
    return DRIVER(device, cuModuleLoadData, &loaded->module, loaded->cubin) &&
           cuda_module_function(device, loaded, held_name, held);
}

static bool act_load(struct cuda_device *device, const struct launchable *launchable,
                     struct cuda_turn turn)
{
    struct cuda_module loaded;
    CUfunction held;
    bool done = load(device, launchable, &loaded, &held);

    (void)turn;
    if (loaded.module)
        done = DRIVER(device, cuModuleUnload, loaded.module) && done;
    return done;
}

static bool check_load(struct cuda_device *device, const struct launchable *launchable,
                       struct cuda_turn turn)
{
    struct cuda_module loaded;
    CUfunction held;
    const bool shown = load(device, launchable, &loaded, &held) &&
                       show_bank(device, launchable, held) && cuda_device_wait(device);

    (void)turn;
    cuda_module_unload(device, &loaded);
    return shown;
}

/* By the launch path: launches of the kernel in a graph or in a stream, copies, loads. */
static const struct launchable_action graph_action = {.act = launchable_launch_kernel,
                                                      .check = check_graph},
                                      host_actions[] = {
                                          [WORK_KERNEL] = {.act = launchable_launch_kernel,
                                                           .check = check_stream,
                                                           .by_host = true},
                                          [WORK_COPY] = {.act = launchable_launch_before,
                                                         .check = check_copy,
                                                         .by_host = true,
                                                         .uncounted = "a copy launches no kernel, "
                                                                      "so there is nothing to "
                                                                      "count"},
                                          [WORK_LOAD] = {.act = act_load,
                                                         .check = check_load,
                                                         .by_host = true,
                                                         .uncounted = "loading a module launches "
                                                                      "no kernel, so there is "
                                                                      "nothing to count"},
};

/* -- filling ----------------------------------------------------------------------------------- */

static bool has_code(struct engine_session *session, const struct cell *cell, const char *sha256)
{
    const struct cuda_module *module = cuda_memory_module(&session->device, cell, 0, 0);
    struct kernel_sass sass;

    return module && image_kernel(module->cubin, module->cubin_bytes, cell, &sass) &&
           strcmp(sass.sha256, sha256) == 0;
}

/* Why this build, or this driver, has no such launch. NULL: it has. */
static const char *lacks_parameters(const struct cuda_device *device, const struct cell *cell)
{
    if (!launch_needs_more_parameters(cell))
        return NULL;
    return CUDA_VERSION < 12010 ? "kernels have 4 KB of parameters: build with CUDA 12.1 or later "
                                  "for more"
           : device->info->cuda_driver_api < 12010
               ? "this driver passes 4 KB of parameters: those of CUDA 12.1 and later pass more"
               : NULL;
}

/* Finds the kernel of the cell, that of checks, and the variable that they write. */
static bool find_kernels(struct cuda_device *device, struct launchable *launchable,
                         struct launch_origin *origin, char reason[CELL_REASON_BYTES])
{
    const struct cell *cell = launchable->cell;
    const struct cuda_module *module = cuda_memory_module(device, cell, 0, 0);
    CUdeviceptr received = 0;
    size_t bytes = 0;
    CUfunction function = NULL;

    if (!module)
        return !cell_refuse(reason, "cannot load the module of %s", cell->workload->name);
    if (!image_kernel(module->cubin, module->cubin_bytes, cell, &launchable->sass) ||
        !cuda_module_function(device, module, launchable->sass.symbol, &function) ||
        !cuda_module_function(device, module, held_name, &origin->held) ||
        !DRIVER(device, cuModuleGetGlobal, &received, &bytes, module->module, received_name) ||
        bytes != CBANK_TABLE_BYTES)
        return !cell_refuse(reason, "the program has no kernel for this cell");
    for (uint32_t copy = 0; copy < CUDA_MODULE_COPIES; copy++)
        launchable->code[0][copy] = (struct launchable_code){function, module->bank};
    launchable->image = module->image;
    launchable->module = module;
    origin->received = (struct cuda_buffer){.bytes = bytes, .count = 1};
    origin->received.allocated[0] = (unsigned char *)(uintptr_t)received;
    return true;
}

static bool fill(struct engine_session *session, struct launchable *launchable,
                 enum cell_status *end, enum status *status, char reason[CELL_REASON_BYTES])
{
    static const double call_seconds = 1e-3, load_seconds = 1; /* at most */
    struct cuda_device *device = &session->device;
    const struct launch_path *path = cell_launch_path(launchable->cell);
    const char *lacks = lacks_parameters(device, launchable->cell);
    struct launch_origin *origin;

    if (lacks) {
        *end = CELL_SKIPPED;
        return !cell_refuse(reason, "%s", lacks);
    }
    origin = launchable->origin = calloc(1, sizeof(*origin));
    if (!origin) {
        *status = log_memory("a launch");
        return false;
    }
    launchable->modules = 1;
    if (!find_kernels(device, launchable, origin, reason))
        return false;
    launchable->action = path->by_host ? &host_actions[path->work] : &graph_action;
    launchable->buffer_count = 1;
    launchable->buffers[0] = (struct launchable_buffer){&origin->received, CBANK_TABLE_BYTES,
                                                        sizeof(uint32_t), CBANK_ROLE_OUTPUT};
    launchable->table_count = 1;
    launchable->tables[0] = (struct launchable_table){.table = &device->memory->tables[0],
                                                      .bytes = CBANK_TABLE_BYTES,
                                                      .width = sizeof(uint32_t),
                                                      .name = launchable->cell->pattern->name};
    launchable->copied_bytes = cell_copied_bytes(launchable->cell);
    launchable->grid[1] = launchable->grid[2] = 1;
    launchable->block[0] = CBANK_WARP_THREADS;
    launchable->block[1] = launchable->block[2] = 1;
    launchable->launch_seconds = path->work == WORK_LOAD ? load_seconds : call_seconds;
    launchable->reference = &launch_reference;
    launchable->check_launches = 1;
    return true;
}

static enum cell_status fit(struct engine_session *session, struct launchable *launchable,
                            struct cell_result *cell, uint32_t room, char reason[CELL_REASON_BYTES])
{
    (void)session, (void)cell, (void)room, (void)reason;
    launchable->grid[0] = 1;
    return CELL_PENDING;
}

static bool place(struct engine_session *session, struct launchable *launchable,
                  char reason[CELL_REASON_BYTES])
{
    (void)launchable;
    return cuda_host_need(&session->device, CBANK_TABLE_LENGTH) ||
           !cell_refuse(reason, "out of memory for outputs");
}

/* Fills the arguments with random words. The first word tells the kernel how many it writes. */
static bool make_arguments(struct engine_session *session, struct launchable *launchable,
                           char reason[CELL_REASON_BYTES])
{
    const uint32_t bytes = cell_launch(launchable->cell).parameter_bytes;
    uint32_t *words = calloc(SETS, bytes + sizeof(uint32_t));

    if (!words)
        return !cell_refuse(reason, "out of memory for arguments");
    random_fill_floats(session->device.memory->seed, words, SETS * bytes / sizeof(uint32_t));
    words[0] &= ~1u;
    words[SET_OF_CHECK * bytes / sizeof(uint32_t)] |= 1;
    launchable->arguments = (unsigned char *)words;
    launchable->argument_sets = SETS;
    launchable->argument_bytes = bytes;
    launchable->argument_count = bytes > 0;
    return true;
}

static const void *toolkit(const struct engine_session *session,
                           const struct launchable *launchable, size_t *bytes, char name[64])
{
    return workload_filler.toolkit(session, launchable, bytes, name);
}

static void close(struct cuda_device *device, struct launchable *launchable)
{
    (void)device;
    free(launchable->origin);
}

const struct launchable_filler launch_filler = {
    .has_code = has_code,
    .fill = fill,
    .fit = fit,
    .place = place,
    .make_arguments = make_arguments,
    .toolkit = toolkit,
    .close = close,
};

/* -- the reference ----------------------------------------------------------------------------- */

static bool open_check(struct engine_session *session, struct result *result, struct check *check,
                       enum status *status)
{
    (void)result, (void)status;
    check->seen[CHECK_FIRST][0] =
        session->device.memory->host_output[session->checks++ % CUDA_HOST_OUTPUTS];
    return true;
}

/* Word i that a check must find. Behind the parameters is the poison, and behind what was copied
 * the zeros that were there before. */
static uint32_t expected_word(const struct launchable *launchable, uint32_t i)
{
    const enum launch_work work = cell_launch_path(launchable->cell)->work;
    const uint32_t *const values = launchable->tables[0].table->values;
    uint32_t word = 0x01010101u * check_poisons[CHECK_FIRST];

    if (work == WORK_LOAD)
        return CBANK_IMAGE_WORD(i);
    if (work == WORK_COPY)
        return i < launchable->copied_bytes / sizeof(uint32_t) ? values[i] : 0;
    if (i < launchable->argument_bytes / sizeof(uint32_t))
        memcpy(&word,
               launchable->arguments + SET_OF_CHECK * launchable->argument_bytes + i * sizeof(word),
               sizeof(word));
    return word;
}

static void compare(struct engine_session *session, struct check *check)
{
    const uint32_t *const seen = check->seen[CHECK_FIRST][0];

    (void)session;
    for (uint32_t i = 0; i < CBANK_TABLE_LENGTH; i++) {
        const uint32_t expected = expected_word(check->launchable, i);

        if (seen[i] == expected)
            continue;
        check_fails(check,
                    "wrong output: word %" PRIu32 " is 0x%08" PRIx32 ", expected 0x%08" PRIx32, i,
                    seen[i], expected);
        return;
    }
}

const struct launchable_reference launch_reference = {.open = open_check, .compare = compare};
