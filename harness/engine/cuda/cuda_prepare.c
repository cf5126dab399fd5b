/* SPDX-License-Identifier: MIT
 * The phase `prepare` of the CUDA engine: launchables, their memory, and exact counts.
 *
 *     fill each -> allocate and fill data -> place tables -> more buffer sets -> arguments */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_jit.h"
#include "engine_cuda.h"
#include "log.h"
#include "user_cell.h"

static const double load_seconds = 6; /* for a module that the driver compiles, or for memory */

/* The filler of a cell. */
static const struct launchable_filler *filler_of(const struct cell *cell)
{
    static const struct launchable_filler *const fillers[CELL_ORIGIN_COUNT] = {
        [CELL_OF_WORKLOAD] = &workload_filler,
        [CELL_OF_LAUNCH] = &launch_filler,
        [CELL_OF_FILE] = &case_filler,
    };

    return fillers[cell_origin(cell)->number];
}

/* -- exact counts ------------------------------------------------------------------------------ */

/* Counts accesses on a separate thread while memory is prepared. Until it ends, nobody may write to
 * a member `cell` of a result's cells. */
struct access_task {
    struct parallel_task task;
    const struct result *result;
    struct access_counts *access; /* owned; one for each cell of the result, like `wanted` */
    bool *wanted; /* owned: the cells that are not skipped */
    enum status status;
};

static void *count_accesses(void *argument)
{
    struct access_task *counting = argument;

    for (size_t i = 0; counting->status == STATUS_OK && i < counting->result->cell_count; i++)
        if (counting->wanted[i])
            counting->status =
                access_count_next(result_cell, counting->result, i, counting->access);
    return NULL;
}

/* Call counting_end in any case. */
static void counting_begin(struct access_task *counting)
{
    const size_t count = counting->result->cell_count;

    counting->access = calloc(count, sizeof(*counting->access));
    counting->wanted = calloc(count, sizeof(*counting->wanted));
    if (!counting->access || !counting->wanted) {
        counting->status = log_memory("counts of accesses");
        return;
    }
    for (size_t i = 0; i < count; i++)
        counting->wanted[i] = counting->result->cells[i].status != CELL_SKIPPED;
    parallel_begin(&counting->task, count_accesses, counting);
}

static enum status counting_end(struct engine_session *session, struct result *result,
                                struct access_task *counting)
{
    watch_begin(session->options->watchdog, "counting accesses", INFINITY);
    parallel_end(&counting->task);
    watch_end(session->options->watchdog);
    for (size_t i = 0; counting->status == STATUS_OK && i < result->cell_count; i++)
        if (counting->wanted[i]) {
            session->cells[i].access = counting->access[i];
            result_set_counts(&result->cells[i], &counting->access[i]);
        }
    free(counting->access);
    free(counting->wanted);
    return counting->status;
}

/* -- launchables ------------------------------------------------------------------------------- */

/* A launchable of an earlier cell that differs by its cache state alone. */
static struct launchable *find_launchable(const struct engine_session *session,
                                          const struct cell *cell)
{
    for (struct launchable *launchable = session->launchables; launchable;
         launchable = launchable->next) {
        struct cell like = *launchable->cell;

        like.cache_state = cell->cache_state;
        if (like.path == cell->path && like.elements == cell->elements &&
            cell_order(&like, cell) == 0)
            return launchable;
    }
    return NULL;
}

/* Adds a launchable at the end, or before the others of its data if it leads them. */
static void add_launchable(struct engine_session *session, struct launchable *launchable)
{
    struct launchable **place = &session->launchables;

    while (*place && !(launchable->leads && (*place)->data[0] == launchable->data[0]))
        place = &(*place)->next;
    launchable->next = *place;
    *place = launchable;
}

/* Fills the launchable of a cell. *out is NULL if the cell cannot go on. */
static enum status open_launchable(struct engine_session *session, struct cell_result *cell,
                                   size_t number, struct launchable **out)
{
    struct launchable *launchable = calloc(1, sizeof(*launchable));
    enum cell_status end = CELL_FAILED;
    enum status status = STATUS_OK;
    char reason[CELL_REASON_BYTES];

    *out = NULL;
    if (!launchable)
        return log_memory("a launch");
    launchable->filler = filler_of(&cell->cell);
    launchable->cell = &cell->cell;
    launchable->number = number;
    if (launchable->filler->fill(session, launchable, &end, &status, reason)) {
        add_launchable(session, launchable);
        *out = launchable;
        return STATUS_OK;
    }
    if (status == STATUS_OK && end == CELL_FAILED)
        status = cuda_fail(&session->device, cell, reason);
    else if (status == STATUS_OK)
        engine_end_cell(cell, end, "%s", reason);
    launchable_close(&session->device, launchable);
    return status;
}

/* Blocks of a launch that an SM runs at a time; 0 if the call fails. */
static uint32_t blocks_at_a_time(struct cuda_device *device, const struct launchable *launchable)
{
    const uint32_t *block = launchable->block;
    int room = 0;

    DRIVER_TRY(device, cuOccupancyMaxActiveBlocksPerMultiprocessor, &room,
               launchable->code[0][0].function, (int)(block[0] * block[1] * block[2]),
               launchable->shared_bytes);
    return (uint32_t)room;
}

/* Says which kernel a cell has, and what its compiler made. */
static enum status describe_kernel(struct engine_session *session, struct cell_result *cell,
                                   const struct launchable *launchable)
{
    struct cuda_device *device = &session->device;
    const CUfunction function = launchable->code[0][0].function;
    struct cell_kernel *const kernel = &cell->kernel;
    size_t bytes = 0;
    char image[64] = "";
    const void *cubin;

    if (engine_set_kernel(kernel, &launchable->sass, launchable->image,
                          strlen(launchable->image)) != STATUS_OK)
        return STATUS_ENVIRONMENT;
    kernel->registers = cuda_function_attribute(device, function, CU_FUNC_ATTRIBUTE_NUM_REGS);
    kernel->local_bytes =
        optional_of(cuda_function_attribute(device, function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
    if (!cell->cell.jit)
        return STATUS_OK;
    cubin = launchable->filler->toolkit(session, launchable, &bytes, image);
    return cuda_jit_describe(launchable->module, cubin, bytes, image, kernel);
}

/* Gives a cell its launchable, and says which kernel it is. */
static enum status prepare_cell(struct engine_session *session, struct result *result, size_t i)
{
    struct cuda_device *device = &session->device;
    struct cell_result *cell = &result->cells[i];
    struct launchable *launchable = find_launchable(session, &cell->cell);
    enum cell_status fits = CELL_SKIPPED;
    enum status status = STATUS_OK;
    char reason[CELL_REASON_BYTES];

    cuda_expect_cell(device, cell, load_seconds);
    if (!launchable)
        status = open_launchable(session, cell, i, &launchable);
    if (!launchable)
        return status;
    status = describe_kernel(session, cell, launchable);
    if (status != STATUS_OK)
        return status;
    if (launchable_allow_shared(device, launchable, reason))
        fits = launchable->filler->fit(session, launchable, cell,
                                       blocks_at_a_time(device, launchable), reason);
    if (fits != CELL_PENDING)
        engine_end_cell(cell, fits, "%s", reason);
    else
        session->cells[i].launchable = launchable;
    return device->calls.failed ? cuda_fail(device, cell, "cannot prepare the kernel") : STATUS_OK;
}

/* -- memory ------------------------------------------------------------------------------------ */

/* The first pending cell whose launchable uses the data; NULL: none. */
static struct cell_result *cell_of_data(const struct engine_session *session, struct result *result,
                                        const struct cuda_data *data)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        const struct launchable *launchable = session->cells[i].launchable;

        if (result->cells[i].status != CELL_PENDING || !launchable)
            continue;
        for (size_t k = 0; k < LAUNCHABLE_DATA_MAX; k++)
            if (launchable->data[k] == data)
                return &result->cells[i];
    }
    return NULL;
}

/* Whether a planted fault takes the memory of these data: those of the most elements. */
static bool is_planted(const struct engine_session *session, const struct cuda_data *data)
{
    const struct fault *fault = session->options->fault;

    return fault && fault->memory && data->elements > 0 &&
           (!data->next || data->next->elements == 0);
}

/* Allocates and fills data, for the pending cells that use them; else these fail. */
static enum status open_data(struct engine_session *session, struct result *result,
                             struct cuda_data *data)
{
    struct cuda_device *device = &session->device;
    struct cell_result *first = cell_of_data(session, result, data), *cell;
    enum status status = STATUS_OK;
    char reason[CELL_REASON_BYTES];

    if (!first)
        return STATUS_OK;
    cuda_expect_cell(device, first, load_seconds);
    snprintf(reason, sizeof(reason), "out of memory for %s", data->kind->what);
    if (!is_planted(session, data) &&
        cuda_data_open(device, data, session->cells[first - result->cells].launchable, &status,
                       reason))
        return STATUS_OK;
    if (status == STATUS_OK)
        status = cuda_fail(device, first, reason);
    while (status == STATUS_OK && (cell = cell_of_data(session, result, data)))
        engine_end_cell(cell, CELL_FAILED, "%s", first->reason);
    return status;
}

/* Prepares what each pending cell needs itself: placed tables, or memory for a flush. */
static enum status place_tables(struct engine_session *session, struct result *result)
{
    struct cuda_device *device = &session->device;
    enum status status = STATUS_OK;
    char reason[CELL_REASON_BYTES];

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];
        struct launchable *launchable = session->cells[i].launchable;

        if (cell->status != CELL_PENDING)
            continue;
        cuda_expect_cell(device, cell, load_seconds);
        if (launchable->number == i && !launchable->filler->place(session, launchable, reason))
            status = cuda_fail(device, cell, reason);
        else if (cell->cell.cache_state->flush &&
                 !cuda_flush_prepare(device, device->info->l2_bytes))
            status = cuda_fail(device, cell,
                               "out of memory for flushing the caches; ask for fewer --elements");
    }
    return status;
}

/* The outcome of adding buffer sets: without memory for more there is one of each. */
static enum status multiplied(struct cuda_device *device, bool done)
{
    const bool lost = !done && cuda_device_lost(device);
    const char *error = cuda_device_error(device);

    return lost ? cuda_end_run(device, error) : STATUS_OK;
}

/* Adds buffer sets of the data that have tables of their own, or of those that have none. */
static enum status multiply_data(struct cuda_device *device, bool with_tables)
{
    enum status status = STATUS_OK;

    for (struct cuda_data *data = device->memory->data; status == STATUS_OK && data;
         data = data->next)
        if ((data->table_count > 0) == with_tables)
            status = multiplied(device, cuda_data_multiply(device, data));
    return status;
}

/* The program's tables come in between, so that neither's addresses depend on the other's. */
static enum status multiply(struct cuda_device *device)
{
    enum status status = multiply_data(device, false);

    if (status == STATUS_OK)
        status = multiplied(device, cuda_tables_multiply(device));
    return status == STATUS_OK ? multiply_data(device, true) : status;
}

static enum status make_arguments(struct engine_session *session, struct result *result)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        struct launchable *launchable = session->cells[i].launchable;
        char reason[CELL_REASON_BYTES];

        if (result->cells[i].status != CELL_PENDING || launchable->arguments ||
            launchable->filler->make_arguments(session, launchable, reason))
            continue;
        free(launchable->arguments);
        launchable->arguments = NULL;
        status = cuda_fail(&session->device, &result->cells[i], reason);
    }
    return status;
}

/* Allocates memory for the pending cells; those without memory fail. */
static enum status prepare_memory(struct engine_session *session, struct result *result)
{
    struct cuda_device *device = &session->device;
    enum status status = STATUS_OK;

    for (struct cuda_data *data = device->memory->data; status == STATUS_OK && data;
         data = data->next)
        status = open_data(session, result, data);
    if (status == STATUS_OK)
        status = place_tables(session, result);
    if (status == STATUS_OK)
        status = multiply(device);
    return status == STATUS_OK ? make_arguments(session, result) : status;
}

/* -- the phase --------------------------------------------------------------------------------- */

/* A resumed result holds cells of another process, which must have had the same kernels. */
static enum status check_kernels(struct engine_session *session, const struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];
        char identity[CELL_IDENTITY_BYTES];

        if (!cell->kernel.symbol[0] ||
            filler_of(&cell->cell)->has_code(session, &cell->cell, cell->kernel.sha256))
            continue;
        cell_identity(&cell->cell, identity);
        return log_error(STATUS_ENVIRONMENT,
                         "%s was measured with another kernel than this program has; resume with "
                         "the cbank that began the run",
                         identity);
    }
    return STATUS_OK;
}

enum status cuda_prepare(struct engine_session *session, struct result *result,
                         const struct progress *progress)
{
    struct access_task counting = {.result = result};
    enum status status = check_kernels(session, result);

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        if (progress->step(progress->context, "preparing", i, result->cell_count))
            return STATUS_OK;
        if (result->cells[i].status == CELL_PENDING)
            status = prepare_cell(session, result, i);
    }
    if (status != STATUS_OK)
        return status;
    counting_begin(&counting);
    if (counting.status == STATUS_OK)
        status = prepare_memory(session, result);
    return status_worse(status, counting_end(session, result, &counting));
}
