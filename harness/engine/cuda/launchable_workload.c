/* SPDX-License-Identifier: MIT
 * Launchables of cells of this program: rows of workloads.def, paths.def and patterns.def. Their
 * outputs are compared with the CPU reference of kernels/workload.c. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell_launch.h"
#include "cuda_check.h"
#include "engine_cuda.h"
#include "log.h"

enum { INPUT, OUTPUT, BUFFERS };                    /* buffers of a launch */
enum { ARGUMENTS, ARGUMENT_TABLE, ARGUMENT_ENTRIES, ARGUMENT_COUNT }; /* see kernel_args.h */

/* -- input, output and indices ----------------------------------------------------------------- */

static bool open_room(struct cuda_device *device, struct cuda_data *data,
                      const struct launchable *launchable, enum status *status,
                      char reason[CELL_REASON_BYTES])
{
    struct cuda_buffer *input = &data->buffers[INPUT];

    (void)launchable, (void)status;
    return (cuda_buffers_extend(device, data->buffers, data->buffer_count, NULL) &&
            cuda_host_need(device, data->elements) &&
            cuda_device_write(device, cuda_buffer_at(input, 0), device->memory->host_input,
                              input->bytes) &&
            /* Copies and launches use one stream, which waits for no other. */
            cuda_device_wait(device)) ||
           !cell_refuse(reason, "out of memory for %s", data->kind->what);
}

static void close_data(struct cuda_data *data)
{
    free(data);
}

static const struct cuda_data_kind room_kind = {
    .what = "input and output; ask for fewer --elements",
    .open = open_room,
    .close = close_data,
};

/* Indices that are data, as 32-bit integers whatever the type in the file. */
struct indices_data {
    struct cuda_data data;
    const struct indices *indices; /* not owned */
};

static bool open_indices(struct cuda_device *device, struct cuda_data *data,
                         const struct launchable *launchable, enum status *status,
                         char reason[CELL_REASON_BYTES])
{
    /* indices: a file may be larger than the host's memory, so it is copied in pieces */
    enum { PIECE = 1 << 22 };
    const struct indices *indices = ((const struct indices_data *)data)->indices;
    const uint64_t room = indices->count < PIECE ? indices->count : PIECE;
    uint32_t *piece = malloc(room * sizeof(*piece));
    bool written = piece && cuda_buffers_extend(device, data->buffers, data->buffer_count, NULL);

    (void)launchable, (void)status;
    for (uint64_t first = 0; written && first < indices->count; first += PIECE) {
        const uint64_t left = indices->count - first, count = left < PIECE ? left : PIECE;

        indices_read(indices, first, (uint32_t)count, piece);
        written =
            cuda_device_write(device, (uint32_t *)cuda_buffer_at(&data->buffers[0], 0) + first,
                              piece, count * sizeof(*piece)) &&
            cuda_device_wait(device);
    }
    free(piece);
    return written || !cell_refuse(reason, "out of memory for %s", data->kind->what);
}

static const struct cuda_data_kind indices_kind = {
    .what = "indices; ask for fewer --elements",
    .open = open_indices,
    .close = close_data,
};

/* The data of that room, or of these indices: found, or declared. NULL when out of memory. */
static struct cuda_data *find_room(struct cuda_device *device, uint64_t elements)
{
    const size_t bytes = elements * sizeof(uint32_t);
    struct cuda_data *data = device->memory->data;

    while (data && (data->kind != &room_kind || data->elements != elements))
        data = data->next;
    if (data || !(data = calloc(1, sizeof(*data))))
        return data;
    *data = (struct cuda_data){.kind = &room_kind,
                               .elements = elements,
                               .buffers = {[INPUT] = {.bytes = bytes},
                                           [OUTPUT] = {.bytes = bytes, .output = true}},
                               .buffer_count = BUFFERS,
                               .limited_bytes = BUFFERS * bytes};
    cuda_data_add(device, data);
    return data;
}

static struct cuda_data *find_indices(struct cuda_device *device, const struct indices *indices)
{
    const size_t bytes = indices->count * sizeof(uint32_t);
    struct cuda_data *data = device->memory->data;
    struct indices_data *made;

    while (data &&
           (data->kind != &indices_kind || ((const struct indices_data *)data)->indices != indices))
        data = data->next;
    if (data || !(made = calloc(1, sizeof(*made))))
        return data;
    *made = (struct indices_data){.data = {.kind = &indices_kind,
                                           .buffers = {{.bytes = bytes}},
                                           .buffer_count = 1,
                                           .limited_bytes = bytes},
                                  .indices = indices};
    cuda_data_add(device, &made->data);
    return &made->data;
}

/* -- filling ----------------------------------------------------------------------------------- */

static bool has_code(struct engine_session *session, const struct cell *cell, const char *sha256)
{
    const struct cuda_module *module = cuda_memory_module(&session->device, cell, 0, 0);
    struct kernel_sass sass;

    return module && image_kernel(module->cubin, module->cubin_bytes, cell, &sass) &&
           strcmp(sass.sha256, sha256) == 0;
}

/* The number of the table that launches in a module read. One larger than those of patterns is
 * separate, of CBANK_LARGE_BYTES at most. */
static uint32_t table_number(const struct cell *cell, uint32_t module)
{
    return table_bytes(cell->path, cell->parameters) > CBANK_TABLE_BYTES ? CUDA_LARGE_TABLE
                                                                         : module;
}

/* Loads all copies of a module, and makes its table. */
static bool fill_module(struct cuda_device *device, struct launchable *launchable, uint32_t k,
                        char reason[CELL_REASON_BYTES])
{
    const struct cell *cell = launchable->cell;
    const uint32_t asked = table_bytes(cell->path, cell->parameters);
    /* Tables of one number have the largest size that any cell needs: CBANK_TABLE_BYTES or, for the
     * large one, more. */
    const uint32_t bytes = asked < CBANK_TABLE_BYTES ? CBANK_TABLE_BYTES : asked;

    for (uint32_t copy = 0; copy < CUDA_MODULE_COPIES; copy++) {
        const struct cuda_module *module = cuda_memory_module(device, cell, k, copy);
        struct launchable_code *code = &launchable->code[k][copy];

        if (!module)
            return !cell_refuse(reason, "cannot load the module of %s", cell->workload->name);
        if ((k + copy == 0 &&
             !image_kernel(module->cubin, module->cubin_bytes, cell, &launchable->sass)) ||
            !cuda_module_function(device, module, launchable->sass.symbol, &code->function))
            return !cell_refuse(reason, "the program has no kernel for this cell");
        code->bank = module->bank;
        if (k + copy == 0) {
            launchable->image = module->image;
            launchable->module = module;
        }
    }
    if (!cuda_table_need(device, table_number(cell, k), bytes))
        return !cell_refuse(reason, "out of memory for a table of %" PRIu32 " bytes", bytes);
    launchable->tables[k] =
        (struct launchable_table){.table = &device->memory->tables[table_number(cell, k)],
                                  .bytes = bytes,
                                  .width = table_width(cell->parameters),
                                  .name = cell->path->name,
                                  .addressed = cell->path->home == TABLE_GLOBAL};
    return true;
}

/* An upper bound for any GPU: each step of a thread waits for DRAM, and a single SM makes all
 * loads. */
static double longest_seconds(const struct cell *cell)
{
    static const double step_ns = 1000, load_ns = 1;
    const double steps = 1.0 + workload_steps(cell->workload, cell->parameters);

    return 1e-9 * steps * (step_ns + load_ns * (double)cell->elements);
}

static double copy_seconds(const struct cell *cell)
{
    static const double bytes_per_second = 1e9; /* of a copy, at least */
    const double streamed = 1.0 + workload_streamed(cell->workload, cell->parameters);

    return streamed * sizeof(uint32_t) * (double)cell->elements / bytes_per_second;
}

/* Declares the buffers. False when out of memory. */
static bool fill_buffers(struct cuda_device *device, struct launchable *launchable,
                         const struct cell_launch *launch)
{
    const struct cell *cell = launchable->cell;
    struct cuda_data *room = find_room(device, launch->room), *read = room;

    if (room && cell->indices)
        read = find_indices(device, cell->indices);
    if (!room || !read)
        return false;
    launchable->data[OUTPUT] = room;
    launchable->data[INPUT] = read;
    launchable->buffer_count = BUFFERS;
    launchable->buffers[INPUT] =
        (struct launchable_buffer){&read->buffers[INPUT], read->buffers[INPUT].bytes,
                                   sizeof(uint32_t), CBANK_ROLE_INPUT};
    launchable->buffers[OUTPUT] =
        (struct launchable_buffer){&room->buffers[OUTPUT], cell->elements * sizeof(uint32_t),
                                   sizeof(uint32_t), CBANK_ROLE_OUTPUT};
    launchable->bytes =
        read->buffers[INPUT].bytes + room->buffers[OUTPUT].bytes + launch->other_bytes;
    return true;
}

/* What each launch writes into struct kernel_args, the pointer behind it, and the table by value,
 * if it lies in the parameters: it is never the large one. */
static void fill_addresses(struct launchable *launchable)
{
    static const struct launchable_address addresses[] = {
        {PLACE_BUFFER, ARGUMENTS, offsetof(struct kernel_args, input), INPUT},
        {PLACE_BUFFER, ARGUMENTS, offsetof(struct kernel_args, output), OUTPUT},
        {PLACE_TABLE, ARGUMENTS, offsetof(struct kernel_args, table), 0},
        {PLACE_TABLE, ARGUMENT_TABLE, 0, 0},
        {PLACE_ENTRIES, ARGUMENT_ENTRIES, 0, 0},
    };
    const size_t count = sizeof(addresses) / sizeof(addresses[0]);

    for (size_t i = 0; i < count; i++)
        launchable_add_address(launchable, addresses[i]);
    if (launchable->cell->path->unit == UNIT_TEXTURE)
        launchable_add_address(launchable,
                               (struct launchable_address){PLACE_TEXTURE, ARGUMENTS,
                                                           offsetof(struct kernel_args, texture),
                                                           0});
    launchable->argument_count = ARGUMENT_COUNT;
    launchable->offsets[ARGUMENT_TABLE] = sizeof(struct kernel_args);
    launchable->argument_bytes = sizeof(struct kernel_args) + sizeof(void *);
    launchable->argument_sets = 1;
}

static bool fill(struct engine_session *session, struct launchable *launchable,
                 enum cell_status *end, enum status *status, char reason[CELL_REASON_BYTES])
{
    struct cuda_device *device = &session->device;
    const struct cell *cell = launchable->cell;
    const struct cell_launch launch = cell_launch(cell);

    if (CUDA_VERSION < 12010 && cell->path->home == TABLE_PARAMETER &&
        cell->path->bytes > CBANK_PARAMETER_BYTES) {
        *end = CELL_SKIPPED;
        return !cell_refuse(reason, "kernels have 4 KB of parameters: build with CUDA 12.1 or "
                                    "later for more");
    }
    launchable->modules = launch.modules;
    launchable->table_count = 1;
    for (uint32_t k = 0; k < launch.modules; k++)
        if (!fill_module(device, launchable, k, reason))
            return false;
    if (!cuda_device_zeros(device, &device->memory->polluter, launch.other_bytes))
        return !cell_refuse(reason, "out of memory for --polluter-bytes");
    if (!fill_buffers(device, launchable, &launch)) {
        *status = log_memory("the buffers of a cell");
        return false;
    }
    fill_addresses(launchable);
    launchable->grid[1] = launchable->grid[2] = 1;
    launchable->block[0] = launch.block_size;
    launchable->block[1] = launchable->block[2] = 1;
    launchable->shared_bytes = launch.shared_bytes;
    launchable->copied_bytes = launch.copied_bytes;
    launchable->launch_seconds = longest_seconds(cell);
    launchable->copy_seconds = copy_seconds(cell);
    launchable->reference = &workload_reference;
    launchable->check_launches = 1;
    return true;
}

/* The code must have the path's instruction: otherwise the cell is skipped where the compiler may
 * choose, and fails elsewhere. A cell with a grid-stride loop gets its grid: the blocks that fit
 * the device, or that the cell names. */
static enum cell_status fit(struct engine_session *session, struct launchable *launchable,
                            struct cell_result *result, uint32_t room,
                            char reason[CELL_REASON_BYTES])
{
    struct cell *cell = &result->cell;
    const uint32_t sm_count = session->device.info->sm_count,
                   requested = requested_blocks_per_sm(cell);

    if (sass_differs(cell, &launchable->sass, reason))
        return cell->path->chosen ? CELL_SKIPPED : CELL_FAILED;
    if (uses_grid_stride_loop(cell)) {
        if (requested_blocks_obstacle(cell, sm_count, room, reason))
            return CELL_SKIPPED;
        cell_set_grid(cell, (uint64_t)sm_count * (requested ? requested : room));
    }
    launchable->grid[0] = cell_grid_blocks(cell);
    return CELL_PENDING;
}

static bool place(struct engine_session *session, struct launchable *launchable,
                  char reason[CELL_REASON_BYTES])
{
    for (uint32_t k = 0; k < launchable->modules; k++)
        if (launchable->cell->path->unit == UNIT_TEXTURE &&
            !cuda_table_need_texture(&session->device, launchable->tables[k].table,
                                     launchable->tables[k].width))
            return !cell_refuse(reason, "cannot make the texture");
    return true;
}

static bool make_arguments(struct engine_session *session, struct launchable *launchable,
                           char reason[CELL_REASON_BYTES])
{
    const struct cell_launch launch = cell_launch(launchable->cell);
    struct kernel_args args = launch.args;

    if (launch.other_bytes)
        args.polluter = session->device.memory->polluter.words;
    launchable->arguments = calloc(1, launchable->argument_bytes);
    if (!launchable->arguments)
        return !cell_refuse(reason, "out of memory for arguments");
    memcpy(launchable->arguments, &args, sizeof(args));
    return true;
}

static const void *toolkit(const struct engine_session *session,
                           const struct launchable *launchable, size_t *bytes, char name[64])
{
    const struct device_info *info = session->device.info;
    struct image image;

    if (!image_for_chip(launchable->cell->workload->name, info->cc_major, info->cc_minor, &image))
        return NULL;
    snprintf(name, 64, "%.*s", (int)image.name_bytes, image.name);
    *bytes = image.bytes;
    return image.data;
}

const struct launchable_filler workload_filler = {
    .has_code = has_code,
    .fill = fill,
    .fit = fit,
    .place = place,
    .make_arguments = make_arguments,
    .toolkit = toolkit,
};

/* -- the reference ----------------------------------------------------------------------------- */

/* One output of the host is compared while the other one is read. */
static bool open_check(struct engine_session *session, struct result *result, struct check *check,
                       enum status *status)
{
    uint32_t *output = session->device.memory->host_output[session->checks++ % CUDA_HOST_OUTPUTS];

    (void)result, (void)status;
    check->seen[CHECK_FIRST][OUTPUT] = output;
    return true;
}

static void compare(struct engine_session *session, struct check *check)
{
    const struct launchable *launchable = check->launchable;
    const struct workload_data data =
        {session->device.memory->host_input,
         launchable_table_of(launchable, 0, check->turns[CHECK_FIRST])->table->values,
         check->seen[CHECK_FIRST][OUTPUT]};
    struct mismatch first;

    if (!reference_check(&session->reference, launchable->cell, &data, launchable->copied_bytes > 0,
                         &first))
        check_fails(check, "wrong output: %s", first.text);
}

const struct launchable_reference workload_reference = {.open = open_check, .compare = compare};
