/* SPDX-License-Identifier: MIT
 * The CUDA engine: measures a plan on a real device. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "card.h"
#include "cuda_device.h"
#include "cuda_launch.h"
#include "cuda_timing.h"
#include "cupti_reader.h"
#include "engine.h"
#include "log.h"
#include "model.h"
#include "nvml_reader.h"
#include "parallel.h"

enum {
    TIMING_CELLS = 64,   /* cells whose samples are interleaved; the result is saved after each such group */
    COUNTING_RANGES = 64, /* cells counted in one collection */
    COUNTING_WARM_UP = 2, /* launches before the one that is counted, in the regime hot */
    POISON = 0xA5,
    FAULT_BIT = 22, /* of an output element: a bit that matters in floats, too */
};

/* What the engine knows of a cell beside its result. */
struct cuda_cell {
    struct cuda_launch launch;   /* of no modules: skipped or failed */
    struct access_counts access;
    struct sass_counts sass;
    bool counted;                /* sass is valid */
};

/* CUPTI's libraries are large: they are loaded on a thread of their own while cells are prepared and
 * verified. The thread has ended before anything is timed, and touches no GPU. */
struct loading {
    pthread_t thread;
    bool running;
    struct cupti *cupti;
    enum counter_status status;
    char reason[CUPTI_REASON_BYTES];
};

struct engine_session {
    const struct engine_options *options;
    struct cuda_device device;
    struct nvml *nvml;
    struct cuda_cell *cells;     /* one for each cell of the result */
    struct loading loading;
    struct cupti_session *counting; /* NULL until counting is set up */
    uint32_t refilled_values[CBANK_TABLE_LENGTH]; /* scratch of verifying */
};

static void fail_cell(struct cell_result *cell, const char *what)
{
    cell->status = CELL_FAILED;
    snprintf(cell->reason, sizeof(cell->reason), "%s", what);
}

/* -- open and close ----------------------------------------------------------------------------------- */

static void *load_cupti(void *argument)
{
    struct loading *loading = argument;

    loading->status = cupti_open(&loading->cupti, loading->reason);
    return NULL;
}

static void loading_begin(struct loading *loading)
{
    loading->running = pthread_create(&loading->thread, NULL, load_cupti, loading) == 0;
    if (!loading->running)
        load_cupti(loading);
}

static void loading_end(struct loading *loading)
{
    if (loading->running)
        pthread_join(loading->thread, NULL);
    loading->running = false;
}

static void cuda_close(struct engine_session *session)
{
    if (!session)
        return;
    loading_end(&session->loading);
    cupti_session_close(session->counting);
    cupti_close(session->loading.cupti);
    cuda_device_close(&session->device);
    nvml_close(session->nvml);
    free(session->cells);
    free(session);
}

static enum status cuda_open(const struct engine_options *options, struct result *result, struct engine_session **out)
{
    struct engine_session *session = calloc(1, sizeof(*session));
    enum status status = STATUS_OK;

    if (session)
        session->cells = calloc(result->cell_count, sizeof(*session->cells));
    if (!session || !session->cells) {
        cuda_close(session);
        return log_error(STATUS_ENVIRONMENT, "out of memory");
    }
    session->options = options;
    if (options->counters->count > 0)
        loading_begin(&session->loading);
    session->nvml = nvml_open(result->device.pci_bus_id);
    status = cuda_device_open(&session->device, options->device, &result->device, result->seed, result->cell_count);
    if (status == STATUS_OK)
        *out = session;
    else
        cuda_close(session);
    return status;
}

/* -- prepare ------------------------------------------------------------------------------------------ */

static void skip_cell(struct cell_result *cell, const char *why)
{
    cell->status = CELL_SKIPPED;
    snprintf(cell->reason, sizeof(cell->reason), "%s", why);
}

/* The kernel of a cell, and what its code says. It must be what the path names: where the compiler may choose, the cell
 * is skipped if not, elsewhere it fails. */
static void prepare_kernel(struct engine_session *session, struct cell_result *cell, struct cuda_cell *cuda)
{
    struct cuda_device *device = &session->device;
    struct kernel_sass sass;
    char reason[CELL_REASON_BYTES];

    if (!cuda_launch_open(device, &cell->cell, &cuda->launch, &sass, reason)) {
        fail_cell(cell, reason);
        return;
    }
    cuda->sass = sass.counts;
    cuda->counted = sass.counted;
    cell->kernel = (struct cell_kernel){.known = true, .registers = cuda_launch_registers(device, &cuda->launch)};
    snprintf(cell->kernel.symbol, sizeof(cell->kernel.symbol), "%s", sass.symbol);
    snprintf(cell->kernel.image, sizeof(cell->kernel.image), "%s",
             cuda_device_module(device, cell->cell.workload, 0, &cuda->launch.banks[0])->image);
    memcpy(cell->kernel.sha256, sass.sha256, sizeof(sass.sha256));
    if (image_kernel_differs(&cell->cell, &sass, reason))
        (cell->cell.path->chosen ? skip_cell : fail_cell)(cell, reason);
    else if (!cuda_launch_allow_shared(device, &cuda->launch, reason))
        skip_cell(cell, reason);
}

/* Elements that a cell needs room for: its input may be larger than its output. */
static uint64_t cell_size(const struct cell *cell)
{
    return workload_input_elements(cell->workload, cell->elements);
}

/* The largest size of a pending cell that is less than `below`; 0 when there is none. */
static uint64_t largest_size(const struct result *result, uint64_t below)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < result->cell_count; i++) {
        const uint64_t size = cell_size(&result->cells[i].cell);

        if (result->cells[i].status == CELL_PENDING && size < below && size > largest)
            largest = size;
    }
    return largest;
}

/* Allocates for the largest size that fits; cells above it fail. */
static void prepare_memory(struct engine_session *session, struct result *result)
{
    const struct fault *fault = session->options->fault;
    uint64_t size = largest_size(result, UINT64_MAX);
    bool planted = fault && fault->memory;

    while (size > 0 && (planted || !cuda_device_allocate(&session->device, size, result->seed))) {
        for (size_t i = 0; i < result->cell_count; i++)
            if (result->cells[i].status == CELL_PENDING && cell_size(&result->cells[i].cell) == size)
                fail_cell(&result->cells[i], "out of memory for input and output; ask for fewer --elements");
        size = largest_size(result, size);
        planted = false;
    }
}

static void prepare_flush(struct engine_session *session, struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_PENDING && cell->cell.regime->flush &&
            !cuda_device_prepare_flush(&session->device, result->device.l2_bytes))
            fail_cell(cell, "out of memory for flushing the caches");
    }
}

/* Exact counts of every cell, and what the model says of it where the card is of this chip. */
static enum status prepare_model(struct engine_session *session, struct result *result)
{
    const struct device_info *device = &result->device;
    struct access_counts *access = calloc(result->cell_count, sizeof(*access));
    struct card card;
    enum status status = access ? STATUS_OK : log_error(STATUS_ENVIRONMENT, "out of memory");

    if (status == STATUS_OK)
        status = card_read(session->options->card, &card);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (cell->status == CELL_SKIPPED)
            continue;
        status = access_count_next(result_cell, result, i, access);
        session->cells[i].access = access[i];
        cell->operations = access[i].operations;
        if (status == STATUS_OK)
            status = model_explain(&cell->cell, &access[i], device, &card, &cell->model);
        cell->modelled = status == STATUS_OK;
    }
    free(access);
    return status;
}

/* A resumed result holds cells of another process: its kernels must be these. */
static enum status check_same_kernels(struct engine_session *session, const struct result *result)
{
    char identity[CELL_IDENTITY_BYTES], reason[CELL_REASON_BYTES];

    for (size_t i = 0; i < result->cell_count; i++) {
        const struct cell_result *cell = &result->cells[i];
        struct cuda_launch launch;
        struct kernel_sass sass;

        if (!cell->kernel.known || (cuda_launch_open(&session->device, &cell->cell, &launch, &sass, reason) &&
                                    strcmp(sass.sha256, cell->kernel.sha256) == 0))
            continue;
        cell_identity(&cell->cell, identity);
        return log_error(STATUS_ENVIRONMENT,
                         "%s was measured with another kernel than this program has; resume with "
                         "the cbank that began the run",
                         identity);
    }
    return STATUS_OK;
}

static enum status cuda_prepare(struct engine_session *session, struct result *result, const struct progress *progress)
{
    const enum status status = check_same_kernels(session, result);

    (void)progress;
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].status == CELL_PENDING)
            prepare_kernel(session, &result->cells[i], &session->cells[i]);
    prepare_memory(session, result);
    prepare_flush(session, result);
    return prepare_model(session, result);
}

/* -- verify ------------------------------------------------------------------------------------------- */

/* Runs launch number `turn` of a cell over poisoned output and fetches what it wrote. */
static bool run_once(struct cuda_device *device, const struct cuda_launch *launch, uint32_t turn)
{
    const size_t bytes = launch->cell->elements * sizeof(uint32_t);

    return cudaMemsetAsync(device->output, POISON, bytes, device->stream) == cudaSuccess &&
           cuda_launch_cell(device, launch, turn) &&
           cudaMemcpyAsync(device->host_output, device->output, bytes, cudaMemcpyDeviceToHost, device->stream) ==
               cudaSuccess &&
           cuda_device_wait(device);
}

/* The same for a cell whose table is written before every launch, over a cleared table. `values` gets what is in the
 * table then. */
static bool run_refilled(struct cuda_device *device, const struct cuda_launch *launch, uint32_t *values)
{
    memset(values, 0, CBANK_TABLE_BYTES);
    memcpy(values, cuda_launch_values(device, launch, 0), launch->cell->parameters[PARAMETER_refill_bytes]);
    return cuda_launch_clear_table(device, launch) && run_once(device, launch, 0) &&
           cuda_launch_restore_table(device, launch) && cuda_device_wait(device);
}

/* A comparison with the CPU reference, made in parts. */
struct checking {
    const struct cell *cell;
    const struct cuda_device *device;
    const uint32_t *values; /* the table */
    pthread_mutex_t lock; /* of what follows */
    bool equal;
    struct mismatch first;
};

static void check_range(void *context, uint64_t first, uint64_t count)
{
    struct checking *checking = context;
    const struct problem problem = cell_problem(checking->cell);
    const struct cuda_device *device = checking->device;
    const struct workload_data data = {device->host_input, checking->values, device->host_output};
    struct mismatch found;

    if (workload_check(&problem, &data, first, count, &found))
        return;
    pthread_mutex_lock(&checking->lock);
    if (checking->equal || found.element < checking->first.element)
        checking->first = found;
    checking->equal = false;
    pthread_mutex_unlock(&checking->lock);
}

/* Compares what a launch wrote with the reference. */
static void check_output(struct engine_session *session, struct cell_result *cell, const uint32_t *values)
{
    struct cuda_device *device = &session->device;
    const struct fault *fault = session->options->fault;
    struct checking checking = {.cell = &cell->cell, .device = device, .values = values, .equal = true};

    if (fault && fault->output)
        device->host_output[cell->cell.elements / 2] ^= 1u << FAULT_BIT;
    pthread_mutex_init(&checking.lock, NULL);
    parallel_ranges(cell->cell.elements, cell->cell.block_size, check_range, &checking);
    pthread_mutex_destroy(&checking.lock);
    cell->verified = checking.equal;
    if (checking.equal)
        return;
    cell->status = CELL_FAILED;
    snprintf(cell->reason, sizeof(cell->reason), "wrong output: %s", checking.first.text);
}

/* One launch in each module of the cell. */
static void verify_cell(struct engine_session *session, struct cell_result *cell, const struct cuda_launch *launch)
{
    struct cuda_device *device = &session->device;
    const bool refilled = cuda_launch_refills(launch);
    uint32_t *values = session->refilled_values;

    for (uint32_t turn = 0; cell->status == CELL_PENDING && turn < launch->modules; turn++)
        if (refilled ? run_refilled(device, launch, values) : run_once(device, launch, turn)) {
            check_output(session, cell, refilled ? values : cuda_launch_values(device, launch, turn));
        } else {
            cell->status = CELL_FAILED;
            snprintf(cell->reason, sizeof(cell->reason), "launch failed: %s", cuda_device_error(device));
        }
}

static enum status cuda_verify(struct engine_session *session, struct result *result, const struct progress *progress)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        if (progress->step(progress->context, "verifying", i, result->cell_count))
            return STATUS_OK;
        if (result->cells[i].status == CELL_PENDING && !result->cells[i].verified)
            verify_cell(session, &result->cells[i], &session->cells[i].launch);
    }
    return progress->checkpoint(progress->context);
}

/* -- time --------------------------------------------------------------------------------------------- */

static bool wants_time(const struct cell_result *cell)
{
    return cell->status == CELL_PENDING && cell->verified && cell->time.stop_reason == STOP_NONE;
}

/* Marks what was timed while the driver held the clock down. */
static void flag_throttled(struct result *result)
{
    if (!result->device.throttle_known ||
        !((result->device.throttle_before | result->device.throttle_after) & nvml_throttle_mask()))
        return;
    for (size_t i = 0; i < result->cell_count; i++)
        if (result->cells[i].time.stop_reason != STOP_NONE)
            result->cells[i].flags |= FLAG_THROTTLED;
}

static enum status cuda_time(struct engine_session *session, struct result *result, const struct progress *progress)
{
    struct timed_item items[TIMING_CELLS];
    struct device_info *info = &result->device;
    enum status status = STATUS_OK;
    size_t i = 0;

    loading_end(&session->loading);

    const struct empty_launch empty = cuda_time_empty_launch(&session->device);

    info->launch_ns = empty.chain_ns;
    info->throttle_known = nvml_throttle_reasons(session->nvml, &info->throttle_before);
    while (status == STATUS_OK && i < result->cell_count) {
        size_t count = 0;

        for (; i < result->cell_count && count < TIMING_CELLS; i++)
            if (wants_time(&result->cells[i]))
                items[count++] = (struct timed_item){&result->cells[i], &session->cells[i].launch};
        status = cuda_time_items(&session->device, items, count, &empty, session->options, progress);
        info->throttle_known = info->throttle_known && nvml_throttle_reasons(session->nvml, &info->throttle_after);
        flag_throttled(result);
        if (status == STATUS_OK)
            status = progress->checkpoint(progress->context);
    }
    return status;
}

/* -- count -------------------------------------------------------------------------------------------- */

/* The cells of one collection. */
struct counting {
    struct engine_session *session;
    struct result *result;
    size_t cells[COUNTING_RANGES]; /* indices into the result */
    size_t count;
};

static bool counting_launch(void *context, size_t i)
{
    const struct counting *counting = context;
    struct cuda_device *device = &counting->session->device;

    return cuda_launch_kernel(device, &counting->session->cells[counting->cells[i]].launch, 0) &&
           cuda_device_wait(device);
}

/* The caches as in timing: flushed, or as earlier launches of the cell leave them. */
static bool counting_prepare(void *context, size_t i)
{
    const struct counting *counting = context;
    struct cuda_device *device = &counting->session->device;
    const struct cuda_launch *launch = &counting->session->cells[counting->cells[i]].launch;

    if (launch->cell->regime->flush && !cuda_launch_flush(device))
        return false;
    for (uint32_t turn = 0; !launch->cell->regime->flush && turn < COUNTING_WARM_UP * launch->modules; turn++)
        if (!cuda_launch_cell(device, launch, turn))
            return false;
    return cuda_launch_before(device, launch, 0) && cuda_device_wait(device);
}

static bool wants_counters(const struct cell_result *cell)
{
    return cell->status == CELL_PENDING && cell->time.stop_reason != STOP_NONE && cell->counter_count == 0;
}

static void fill_expected(const struct cuda_cell *cuda, const struct cell *cell, const struct counter *counter,
                          const struct fault *fault, struct counter_value *value)
{
    const struct expectation expectation = {.cell = cell,
                                            .access = &cuda->access,
                                            .sass = cuda->counted ? &cuda->sass : NULL};

    if (counter->kind != COUNTER_EXACT)
        return;
    counter->expect(&expectation, &value->expected);
    if (fault && fault->counter)
        value->value += 1;
}

/* One counter of one cell; `read` is what the hardware gave. */
static struct counter_value counter_value(const struct engine_session *session, struct cupti_session *cupti,
                                          size_t cell, const struct cell *c, size_t index, double read)
{
    const struct counter *counter = &session->options->counters->counters[index];
    struct counter_value value = {
        .name = counter->name, .unit = counter->unit, .kind = counter->kind, .value = read, .expected = NAN};
    const char *metric, *reason;

    value.status = cupti_session_counter(cupti, index, &metric, &reason);
    value.metric = metric;
    value.reason = reason;
    if (value.status == COUNTER_OK && isnan(read)) {
        value.status = COUNTER_UNAVAILABLE;
        value.reason = "the hardware gave no value (MIG or vGPU shares this unit)";
    }
    fill_expected(&session->cells[cell], c, counter, session->options->fault, &value);
    return value;
}

/* Values of one range into its cell. */
static enum status take_counters(struct counting *counting, struct cupti_session *cupti, size_t range)
{
    const size_t count = counting->session->options->counters->count, index = counting->cells[range];
    struct cell_result *cell = &counting->result->cells[index];
    double *read = calloc(count, sizeof(*read));

    cell->counters = calloc(count, sizeof(*cell->counters));
    if (!cell->counters || !read) {
        free(read);
        return log_error(STATUS_ENVIRONMENT, "out of memory");
    }
    cell->counter_count = count;
    cupti_session_values(cupti, range, read);
    for (size_t i = 0; i < count; i++) {
        cell->counters[i] = counter_value(counting->session, cupti, index, &cell->cell, i, read[i]);
        if (counter_differs(&cell->counters[i]))
            cell->flags |= FLAG_COUNTER_DIFFERS;
    }
    free(read);
    return STATUS_OK;
}

/* Every counter of every cell that lacks them gets one status and reason. */
static enum status no_counters(struct engine_session *session, struct result *result, enum counter_status why,
                               const char *reason)
{
    const struct counter_set *set = session->options->counters;

    snprintf(result->counters_reason, sizeof(result->counters_reason), "%s", reason);
    for (size_t i = 0; i < result->cell_count; i++) {
        struct cell_result *cell = &result->cells[i];

        if (!wants_counters(cell))
            continue;
        cell->counters = calloc(set->count, sizeof(*cell->counters));
        if (!cell->counters)
            return log_error(STATUS_ENVIRONMENT, "out of memory");
        cell->counter_count = set->count;
        for (size_t k = 0; k < set->count; k++) {
            cell->counters[k] = (struct counter_value){.name = set->counters[k].name,
                                                       .unit = set->counters[k].unit,
                                                       .kind = set->counters[k].kind,
                                                       .status = why,
                                                       .value = NAN,
                                                       .expected = NAN,
                                                       .reason = result->counters_reason};
            fill_expected(&session->cells[i], &cell->cell, &set->counters[k], NULL, &cell->counters[k]);
        }
    }
    return STATUS_OK;
}

/* Counts all cells that lack counters, a group at a time. */
static enum status count_groups(struct engine_session *session, struct result *result, struct cupti_session *cupti,
                                const struct progress *progress)
{
    struct counting counting = {.session = session, .result = result};
    const struct cupti_ranges ranges = {.prepare = counting_prepare, .launch = counting_launch, .context = &counting};
    enum status status = STATUS_OK;
    char reason[CUPTI_REASON_BYTES];
    size_t i = 0;

    while (status == STATUS_OK && i < result->cell_count) {
        if (progress->step(progress->context, "counting", i, result->cell_count))
            return STATUS_OK;
        for (counting.count = 0; i < result->cell_count && counting.count < COUNTING_RANGES; i++)
            if (wants_counters(&result->cells[i]))
                counting.cells[counting.count++] = i;

        struct cupti_ranges group = ranges;

        group.count = counting.count;
        if (counting.count == 0)
            break;

        const enum counter_status collected = cupti_session_collect(cupti, &group, reason);

        if (collected != COUNTER_OK)
            return no_counters(session, result, collected, reason);
        for (size_t k = 0; status == STATUS_OK && k < counting.count; k++)
            status = take_counters(&counting, cupti, k);
        if (status == STATUS_OK && i < result->cell_count)
            status = progress->checkpoint(progress->context);
    }
    return status;
}

/* Opens counting on the device. Where that cannot be, all counters say why. */
static enum status cuda_set_up_counting(struct engine_session *session, struct result *result,
                                        const struct progress *progress)
{
    struct loading *loading = &session->loading;

    (void)progress;
    if (session->options->counters->count == 0)
        return STATUS_OK;
    if (loading->status == COUNTER_OK)
        loading->status =
            cupti_session_open(loading->cupti, session->device.ordinal, session->device.context,
                               session->options->counters, COUNTING_RANGES, &session->counting, loading->reason);
    if (loading->status != COUNTER_OK)
        return no_counters(session, result, loading->status, loading->reason);
    snprintf(result->device.chip, sizeof(result->device.chip), "%s", cupti_session_chip(session->counting));
    return STATUS_OK;
}

static enum status cuda_count(struct engine_session *session, struct result *result, const struct progress *progress)
{
    return session->counting ? count_groups(session, result, session->counting, progress) : STATUS_OK;
}

/* -- what this machine can do ------------------------------------------------------------------------- */

/* Whether one of the metrics of a counter is on the chip. */
static bool chip_has_counter(const struct cupti_chip *chip, const struct counter *counter)
{
    const char *reason;

    for (size_t i = 0; i < COUNTER_METRICS_MAX && counter->metrics[i]; i++)
        if (cupti_chip_has(chip, counter->metrics[i], &reason))
            return true;
    return false;
}

/* Who wants to know of the chips. */
struct chip_listing {
    const struct cupti *cupti;
    void (*each)(void *context, const struct chip_counters *chip);
    void *context;
    bool *has; /* counter_count values */
};

static void list_chip(void *context, const char *name)
{
    const struct chip_listing *listing = context;
    char reason[CUPTI_REASON_BYTES];
    struct cupti_chip *chip = cupti_chip_open(listing->cupti, name, NULL, reason);

    for (size_t i = 0; i < counter_count; i++)
        listing->has[i] = chip && chip_has_counter(chip, &counters[i]);
    listing->each(listing->context, &(struct chip_counters){name, chip ? NULL : reason, listing->has});
    cupti_chip_close(chip);
}

static bool cuda_chips(void (*each)(void *context, const struct chip_counters *chip), void *context,
                       const char **reason)
{
    struct cupti *cupti = NULL;
    struct chip_listing listing = {.each = each, .context = context, .has = calloc(counter_count, sizeof(bool))};
    static char text[CUPTI_REASON_BYTES]; /* goes out as *reason */
    bool listed = false;

    snprintf(text, sizeof(text), "CUPTI does not name its chips");
    *reason = text;
    if (listing.has && cupti_open(&cupti, text) == COUNTER_OK) {
        listing.cupti = cupti;
        listed = cupti_each_chip(cupti, list_chip, &listing);
    }
    cupti_close(cupti);
    free(listing.has);
    return listed;
}

static void report(const struct diagnosis *diagnosis, enum finding finding, const char *subject, const char *detail,
                   const char *remedy)
{
    diagnosis->report(diagnosis->context, finding, subject, detail, remedy);
}

/* Reports a reason of the form "what is wrong; what to do". */
static void report_reason(const struct diagnosis *diagnosis, enum finding finding, const char *subject,
                          const char *reason)
{
    const char *remedy = strstr(reason, "; ");
    char detail[CUPTI_REASON_BYTES];

    snprintf(detail, sizeof(detail), "%.*s", (int)(remedy ? remedy - reason : (ptrdiff_t)strlen(reason)), reason);
    report(diagnosis, finding, subject, detail, remedy ? remedy + 2 : NULL);
}

static void diagnose_program(const struct diagnosis *diagnosis)
{
    const int runtime = CUDART_VERSION; /* linked in; asking it needs a driver */
    char text[128];
    struct image image;
    size_t images = 0;

    while (image_at(images, &image))
        images++;
    snprintf(text, sizeof(text), "CUDA runtime %d.%d, %zu kernel images", runtime / 1000, runtime % 1000 / 10, images);
    report(diagnosis, images ? FINDING_OK : FINDING_PROBLEM, "program", text,
           images ? NULL : "build with a CUDA toolkit");
}

static void diagnose_cupti(const struct diagnosis *diagnosis)
{
    struct cupti *cupti = NULL;
    char text[CUPTI_REASON_BYTES + 64], reason[CUPTI_REASON_BYTES];

    if (cupti_open(&cupti, reason) == COUNTER_OK) {
        snprintf(text, sizeof(text), "API version %u in %s", (unsigned)cupti_version(cupti),
                 cupti_folder(cupti)[0] ? cupti_folder(cupti) : "the loader's path");
        report(diagnosis, FINDING_OK, "CUPTI", text, NULL);
    } else {
        report_reason(diagnosis, FINDING_WARNING, "CUPTI", reason);
    }
    cupti_close(cupti);
}

/* Whether this user may read counters on this device: by trying. */
static void diagnose_permission(const struct diagnosis *diagnosis, uint32_t ordinal)
{
    struct cupti *cupti = NULL;
    struct cupti_session *session = NULL;
    struct counter_set set = {0};
    char reason[CUPTI_REASON_BYTES];
    enum counter_status status;

    /* cudaFree makes a context current; NULL stands for it. */
    if (cudaSetDevice((int)ordinal) == cudaSuccess && cudaFree(NULL) == cudaSuccess &&
        counter_set_parse("instructions", &set) == STATUS_OK && cupti_open(&cupti, reason) == COUNTER_OK) {
        status = cupti_session_open(cupti, ordinal, NULL, &set, 1, &session, reason);
        if (status == COUNTER_OK)
            report(diagnosis, FINDING_OK, "hardware counters", "can be read", NULL);
        else
            report_reason(diagnosis, FINDING_WARNING, "hardware counters", reason);
    }
    cupti_session_close(session);
    cupti_close(cupti);
    counter_set_close(&set);
}

static void diagnose_clocks(const struct diagnosis *diagnosis, const struct nvml *nvml)
{
    char text[256], words[192];
    unsigned mhz = 0, processes = 0;
    uint64_t reasons = 0;

    if (nvml_sm_clock(nvml, &mhz) && nvml_throttle_reasons(nvml, &reasons)) {
        nvml_throttle_text(reasons, words, sizeof(words));
        snprintf(text, sizeof(text), "SM at %u MHz now; %s", mhz, words[0] ? words : "no throttling");
        report(diagnosis, words[0] ? FINDING_WARNING : FINDING_OK, "clocks", text,
               words[0] ? "let the GPU cool, or raise its power limit; cells are marked while it lasts" : NULL);
    }
    if (nvml_process_count(nvml, &processes)) {
        snprintf(text, sizeof(text), "%u compute on this GPU now", processes);
        report(diagnosis, processes ? FINDING_WARNING : FINDING_OK, "other processes", text,
               processes ? "end them: they disturb times, and L2 and DRAM counters" : NULL);
    }
}

static void diagnose_device(const struct diagnosis *diagnosis, uint32_t ordinal)
{
    struct device_info info;
    struct image image;
    struct nvml *nvml;
    char text[512], remedy[64];

    if (cuda_device_describe(ordinal, &info) != STATUS_OK)
        return;
    snprintf(text, sizeof(text), "%s, compute capability %u.%u, driver %s (CUDA %u.%u)", info.name,
             (unsigned)info.cc_major, (unsigned)info.cc_minor, info.driver[0] ? info.driver : "unknown",
             (unsigned)info.cuda_driver_api / 1000, (unsigned)info.cuda_driver_api % 1000 / 10);
    report(diagnosis, FINDING_OK, "GPU", text, NULL);
    snprintf(remedy, sizeof(remedy), "make ARCHS=%u%u", (unsigned)info.cc_major, (unsigned)info.cc_minor);
    if (image_for_chip("tools", info.cc_major, info.cc_minor, &image))
        report(diagnosis, FINDING_OK, "kernels", "machine code for this GPU", NULL);
    else if (image_ptx("tools", info.cc_major, info.cc_minor, &image))
        report(diagnosis, FINDING_WARNING, "kernels", "PTX alone: the driver compiles at start", remedy);
    else
        report(diagnosis, FINDING_PROBLEM, "kernels", "none for this GPU", remedy);
    nvml = nvml_open(info.pci_bus_id);
    if (!nvml)
        report(diagnosis, FINDING_WARNING, "NVML", "not found: clocks and throttling cannot be recorded",
               "install the driver's libnvidia-ml.so.1");
    diagnose_clocks(diagnosis, nvml);
    nvml_close(nvml);
    diagnose_permission(diagnosis, ordinal);
}

static void cuda_diagnose(const struct diagnosis *diagnosis)
{
    const char *reason = NULL;
    const uint32_t count = cuda_device_count(&reason);

    diagnose_program(diagnosis);
    diagnose_cupti(diagnosis);
    if (count == 0)
        report_reason(diagnosis, FINDING_PROBLEM, "GPU", reason);
    for (uint32_t i = 0; i < count; i++)
        diagnose_device(diagnosis, i);
}

static enum status cuda_describe(uint32_t device, const char *card, struct device_info *out)
{
    (void)card;
    return cuda_device_describe(device, out);
}

const struct engine engine_cuda = {
    .name = "cuda",
    .summary = "measures on an NVIDIA GPU",
    .device_count = cuda_device_count,
    .describe = cuda_describe,
    .open = cuda_open,
    .prepare = cuda_prepare,
    .verify = cuda_verify,
    .time = cuda_time,
    .set_up_counting = cuda_set_up_counting,
    .count = cuda_count,
    .close = cuda_close,
    .chips = cuda_chips,
    .diagnose = cuda_diagnose,
};
