/* SPDX-License-Identifier: MIT
 * The phase `measure energy` of the CUDA engine: joules of a launch and of a lookup by NVML's
 * counter of total energy, after all times and counters are known.
 *
 *     idle | empty kernel, grid of cell 0 | cell 0 | cell 1 | ... | idle      a stretch each
 *
 * In a stretch the device does the same all the time. The host asks for the counter until it steps,
 * and keeps a few turns of launches enqueued; a turn is a graph, launched some times, and the clock
 * probe, whose reading says that the turn has ended. The first part of a stretch does not count:
 * clocks and the counter's own delay settle. energy.h makes rates and joules of the steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "cuda_sample.h"
#include "energy.h"
#include "engine_cuda.h"
#include "log.h"
#include "stats.h"
#include "workload.h"

enum {
    POLL_US = 500, /* between two questions */
    STEPS_PATIENT = 20, /* periods without a step after which the counter is stuck */
    CLOCKS_MAX = 256, /* of the last turns, for their median */
    LONGER = 4, /* stretches go on for so many times as long where the counter steps too seldom */
};

/* of launches, at most, and as a share of a stretch */
static const double turn_seconds = 0.02, turn_share = 0.02;
static const double settle_seconds =
    0.5; /* of a stretch, at most a quarter more of its length, ... */
static const double settle_share = 0.25, settle_periods = 3; /* ... and periods of the counter */
static const double launches_patience = 10; /* seconds without an end of a turn: something hangs */
static const double progress_seconds = 0.1;
static const double set_up_seconds = 6;

/* The counter, and what a stretch needs to know. */
struct meter {
    struct engine_session *session;
    struct result *result;
    const struct progress *progress;
    size_t number; /* of the cell, for progress */
    double progress_at;
    bool stopped; /* the user asked to stop */

    uint64_t mj, unit_mj; /* last reading; what all differences are multiples of */
    bool known; /* there is a reading, which began at `read_at` seconds */
    double read_at, period; /* seconds; period 0: not known */
};

/* Launches that follow each other. */
struct queue {
    struct cuda_chain chain;
    struct cuda_sample sample;
    double turn_launches;
    size_t launched, ended; /* turns */
    double ended_at; /* when the host last saw one end */
    double clocks_mhz[CLOCKS_MAX];
    size_t clocks;
};

/* The readings of a stretch, and what follows from them. */
struct stretch {
    struct energy_points steps, turns;
    struct energy_load load;
    bool known; /* the load is; else the reason */
    char reason[ENERGY_REASON_BYTES];
    uint32_t limits;
    double sm_clock_mhz, celsius; /* NaN: not known */
};

/* A stretch of the empty kernel, for all cells with that grid. */
struct empty {
    uint32_t blocks, threads;
    struct energy_load load;
    bool known;
    char reason[ENERGY_REASON_BYTES];
};

/* The phase. */
struct energy_phase {
    struct meter meter;
    struct empty *empties; /* owned; room for one a cell */
    size_t empty_count;
    /* of each cell: its load, and its empty kernel's; owned */
    struct energy_load *loads;
    size_t *empty_of;
    bool *measured; /* in this process; owned */
    struct energy_rate idle;
    char idle_reason[ENERGY_REASON_BYTES]; /* "": idle is known */
};

/* -- the counter ------------------------------------------------------------------------------- */

/* Reads the counter. If it has grown since the last reading, *step is when and how far. NULL, or
 * why it cannot be used. */
static const char *read_counter(struct meter *meter, struct energy_point *step, bool *stepped)
{
    struct watchdog *watchdog = meter->session->options->watchdog;
    const double before = meter->read_at, began = clock_seconds();
    const uint64_t last_mj = meter->mj;
    const char *reason;
    double ended;

    *stepped = false;
    watch_begin(watchdog, "reading energy by NVML", cuda_watchdog_slack(&meter->session->device));
    reason = nvml_energy(meter->session->nvml, &meter->mj);
    watch_end(watchdog);
    ended = clock_seconds();
    if (reason)
        return reason;
    if (meter->known && meter->mj < last_mj)
        return "the counter went back";
    if (meter->known && meter->mj > last_mj) {
        meter->unit_mj = energy_unit_mj(meter->unit_mj, meter->mj - last_mj);
        *step = (struct energy_point){.seconds = (before + ended) / 2,
                                      .bound = (ended - before) / 2,
                                      .count = 1e-3 * (double)meter->mj};
        *stepped = true;
    }
    meter->known = true;
    meter->read_at = began;
    return NULL;
}

static uint32_t read_limits(const struct meter *meter)
{
    struct watchdog *watchdog = meter->session->options->watchdog;
    uint64_t reasons = 0;
    bool known;

    watch_begin(watchdog, "asking NVML", cuda_watchdog_slack(&meter->session->device));
    known = nvml_throttle_reasons(meter->session->nvml, &reasons);
    watch_end(watchdog);
    return known ? (uint32_t)(reasons & NVML_THROTTLED) : ENERGY_LIMITS_UNKNOWN;
}

/* -- launches ---------------------------------------------------------------------------------- */

/* Records turns that have ended, and enqueues others. False if a call failed, or if nothing runs
 * and nothing has ended. */
static bool serve(struct queue *queue)
{
    struct cuda_device *device = queue->chain.device;
    const bool busy = cuda_device_is_busy(device);
    const size_t ended = queue->ended;

    for (; queue->ended < queue->launched &&
           cuda_clock_was_read(device, queue->ended % CUDA_ENERGY_SLOTS);
         queue->ended++) {
        const struct clock_reading *reading =
            &device->tools.readings[queue->ended % CUDA_ENERGY_SLOTS];

        queue->clocks_mhz[queue->clocks++ % CLOCKS_MAX] =
            1e3 * (double)reading->cycles / (double)reading->ns;
        queue->ended_at = clock_seconds();
    }
    if (!busy && queue->ended == ended && queue->launched > queue->ended)
        return false;
    for (; queue->launched < queue->ended + CUDA_ENERGY_SLOTS; queue->launched++) {
        queue->chain.reading = queue->launched % CUDA_ENERGY_SLOTS;
        device->tools.readings[queue->chain.reading] = (struct clock_reading){0};
        if (!cuda_sample_launch(&queue->sample, &queue->chain,
                                (uint32_t)(queue->launched % queue->chain.buffer_sets)))
            return false;
    }
    return clock_seconds() - queue->ended_at < launches_patience;
}

/* Makes the graphs of turns of so many seconds, of launches that take launch_ns each. False if a
 * call failed. */
static bool queue_open(struct queue *queue, double launch_ns, double seconds)
{
    struct cuda_chain *chain = &queue->chain;
    const double launches = fmax(1, round(1e9 * seconds / launch_ns));

    chain->launches = (uint32_t)fmin(launches, CUDA_LAUNCHES_MAX);
    chain->replays = (uint32_t)fmin(launches / chain->launches, CUDA_LAUNCHES_MAX) - 1;
    queue->turn_launches = (double)chain->launches * (chain->replays + 1);
    chain->device->calls.expected +=
        1e-9 * launch_ns * queue->turn_launches * (CUDA_ENERGY_SLOTS + 1);
    queue->ended_at = clock_seconds();
    return cuda_sample_make(&queue->sample, chain, 0, chain->buffer_sets) &&
           cuda_sample_upload(&queue->sample, chain);
}

/* -- a stretch --------------------------------------------------------------------------------- */

static void stretch_close(struct stretch *stretch)
{
    energy_points_close(&stretch->steps);
    energy_points_close(&stretch->turns);
}

/* Whether the user asks to stop, now and then. */
static bool asks_to_stop(struct meter *meter)
{
    const double now = clock_seconds();

    if (now < meter->progress_at)
        return meter->stopped;
    meter->progress_at = now + progress_seconds;
    meter->stopped = meter->progress->step(meter->progress->context, "measuring energy",
                                           meter->number, meter->result->cell_count);
    return meter->stopped;
}

/* Whether a stretch is long enough. It goes on for longer where it has too few steps, or turns. */
static bool has_enough(const struct meter *meter, const struct queue *queue,
                       const struct stretch *stretch)
{
    const double seconds = meter->result->energy_method.seconds;
    const struct energy_points *steps = &stretch->steps;
    const bool many =
        steps->count >= ENERGY_POINTS_MIN && (!queue || stretch->turns.count >= ENERGY_POINTS_MIN);
    double length;

    if (steps->count < 2)
        return false;
    length = steps->points[steps->count - 1].seconds - steps->points[0].seconds;
    return length >= (many ? seconds : LONGER * seconds);
}

/* Records steps of the counter, and launches that ended between them, until there are enough. False
 * if launches failed. The reason is set if the counter cannot be used. */
static bool observe(struct meter *meter, struct queue *queue, struct stretch *stretch)
{
    const double began = clock_seconds(), seconds = meter->result->energy_method.seconds;
    const double settled =
        began + fmin(settle_seconds, settle_share * seconds) + settle_periods * meter->period;
    double stepped_at = began, served_at = began;
    size_t ended = 0;

    meter->known = false;
    while (!has_enough(meter, queue, stretch) && !asks_to_stop(meter)) {
        const double now = clock_seconds();
        struct energy_point step;
        const char *reason;
        bool stepped;

        if (queue && !serve(queue))
            return false;
        if (queue && stretch->steps.count > 0 && queue->ended > ended &&
            !energy_points_add(&stretch->turns,
                               (struct energy_point){(served_at + queue->ended_at) / 2,
                                                     (queue->ended_at - served_at) / 2,
                                                     (double)queue->ended * queue->turn_launches}))
            reason = "out of memory";
        else
            reason = read_counter(meter, &step, &stepped);
        ended = queue ? queue->ended : 0;
        served_at = now;
        if (!reason && stepped) {
            stepped_at = now;
            if (now >= settled && !energy_points_add(&stretch->steps, step))
                reason = "out of memory";
            if (now >= settled)
                stretch->limits |= read_limits(meter);
        }
        if (reason)
            snprintf(stretch->reason, sizeof(stretch->reason),
                     "the counter of energy cannot be read: %s", reason);
        else if (now - stepped_at > seconds + STEPS_PATIENT * meter->period)
            snprintf(stretch->reason, sizeof(stretch->reason),
                     "the counter of energy did not move in %.1f s", now - stepped_at);
        if (stretch->reason[0])
            return true;
        usleep(POLL_US);
    }
    return true;
}

/* Makes rates of what was seen, or says why there are none. */
static void conclude(const struct meter *meter, const struct queue *queue, struct stretch *stretch)
{
    const double unit = 1e-3 * (double)meter->unit_mj;

    if (stretch->reason[0])
        return;
    if (!energy_rate_of(&stretch->steps, unit, &stretch->load.watts))
        snprintf(stretch->reason, sizeof(stretch->reason),
                 "the counter of energy steps too seldom: %zu times in a stretch, and %d are "
                 "needed; --energy-seconds makes it longer",
                 stretch->steps.count, ENERGY_POINTS_MIN);
    else if (queue && !energy_rate_of(&stretch->turns, 0, &stretch->load.launches))
        snprintf(stretch->reason, sizeof(stretch->reason),
                 "launches are too long for the stretch: %zu turns ended, and %d are needed; "
                 "--energy-seconds makes it longer",
                 stretch->turns.count, ENERGY_POINTS_MIN);
    stretch->known = !stretch->reason[0];
}

/* Measures a stretch of launches, or of an idle device (queue NULL). False if a call failed. The
 * caller closes *stretch. */
static bool measure_stretch(struct meter *meter, struct queue *queue, double launch_ns,
                            struct stretch *stretch)
{
    struct cuda_device *device = &meter->session->device;
    const double seconds = meter->result->energy_method.seconds;
    bool good;

    *stretch = (struct stretch){.sm_clock_mhz = NAN, .celsius = NAN};
    good = (!queue || queue_open(queue, launch_ns, fmin(turn_seconds, turn_share * seconds))) &&
           observe(meter, queue, stretch);
    if (!nvml_temperature(meter->session->nvml, &stretch->celsius))
        stretch->celsius = NAN;
    good = cuda_device_wait(device) && good;
    if (queue) {
        const size_t count = queue->clocks < CLOCKS_MAX ? queue->clocks : CLOCKS_MAX;

        cuda_sample_close(&queue->sample, device);
        stats_sort(queue->clocks_mhz, count);
        stretch->sm_clock_mhz = count ? stats_median(queue->clocks_mhz, count) : NAN;
    }
    if (good && !meter->stopped)
        conclude(meter, queue, stretch);
    return good;
}

/* -- the idle device --------------------------------------------------------------------------- */

static double median_period(const struct energy_points *steps)
{
    const size_t count = steps->count - 1;
    double *const periods = malloc(count * sizeof(*periods)), median;

    if (!periods)
        return 0;
    for (size_t i = 0; i < count; i++)
        periods[i] = steps->points[i + 1].seconds - steps->points[i].seconds;
    stats_sort(periods, count);
    median = stats_median(periods, count);
    free(periods);
    return median;
}

/* Measures the idle device, before the cells or after them. A counter that never moves has no
 * energy for any cell. */
static enum status measure_idle(struct energy_phase *phase, bool first)
{
    struct meter *meter = &phase->meter;
    struct energy_method *method = &meter->result->energy_method;
    struct stretch stretch;
    struct energy_rate idle;

    cuda_expect(&meter->session->device, set_up_seconds);
    if (!measure_stretch(meter, NULL, 0, &stretch)) {
        stretch_close(&stretch);
        return cuda_end_run(&meter->session->device, cuda_device_error(&meter->session->device));
    }
    if (first && stretch.steps.count > 1) {
        meter->period = median_period(&stretch.steps);
        method->period_ms = 1e3 * meter->period;
    }
    idle = stretch.load.watts;
    if (stretch.known && !first && !phase->idle_reason[0])
        idle = energy_between(&phase->idle, &idle);
    if (stretch.known) {
        phase->idle = idle;
        phase->idle_reason[0] = '\0';
        method->idle = (struct energy_value){idle.value, idle.value - idle.bound - idle.noise,
                                             idle.value + idle.bound + idle.noise};
    } else if (first) {
        snprintf(phase->idle_reason, sizeof(phase->idle_reason), "%.*s", ENERGY_REASON_BYTES - 1,
                 stretch.reason);
    }
    if (first && !stretch.known && stretch.steps.count == 0 && !meter->stopped)
        snprintf(method->reason, sizeof(method->reason), "%s", stretch.reason);
    stretch_close(&stretch);
    return STATUS_OK;
}

/* -- cells ------------------------------------------------------------------------------------- */

static bool wants_energy(const struct cell_result *cell)
{
    return cell->status == CELL_PENDING && cell->time.stop_reason != STOP_NONE &&
           !cell->energy.given;
}

/* Payload loads of a launch by its threads, or items of a user's kernel; 0: none. */
static uint64_t lookups_of(const struct cell_result *cell)
{
    if (cell->of_case.given)
        return cell->of_case.items;
    return cell->cell.path->loads
               ? cell->cell.elements * workload_steps(cell->cell.workload, cell->cell.parameters)
               : 0;
}

/* The grid of a cell's launches, as the empty kernel has it; 0 blocks: it has none. */
static struct empty empty_like(const struct launchable *launchable)
{
    const uint32_t *grid = launchable->grid, *block = launchable->block;
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];

    return (struct empty){.blocks = blocks <= INT32_MAX ? (uint32_t)blocks : 0,
                          .threads = block[0] * block[1] * block[2]};
}

/* Measures the empty kernel with the grid of a cell, unless it is known. */
static bool measure_empty(struct energy_phase *phase, const struct launchable *launchable,
                          double launch_ns, size_t *number)
{
    const double empty_ns = phase->meter.result->device.launch_ns; /* of one warp; NaN: not known */
    struct empty empty = empty_like(launchable);
    struct queue queue = {.chain = {.device = &phase->meter.session->device,
                                    .empty_blocks = empty.blocks,
                                    .empty_threads = empty.threads,
                                    .buffer_sets = 1,
                                    .table_offsets = 1}};
    struct stretch stretch;
    bool good = true;

    for (*number = 0; *number < phase->empty_count; ++*number)
        if (phase->empties[*number].blocks == empty.blocks &&
            phase->empties[*number].threads == empty.threads)
            return true;
    if (empty.blocks == 0) {
        snprintf(empty.reason, sizeof(empty.reason), "its grid is too large for the empty kernel");
    } else {
        good =
            measure_stretch(&phase->meter, &queue, empty_ns > 0 ? empty_ns : launch_ns, &stretch);
        empty.load = stretch.load;
        empty.known = stretch.known;
        snprintf(empty.reason, sizeof(empty.reason), "%s", stretch.reason);
        stretch_close(&stretch);
    }
    if (good && !phase->meter.stopped)
        phase->empties[phase->empty_count++] = empty;
    return good;
}

static struct energy_value unknown_value(void)
{
    return (struct energy_value){NAN, NAN, NAN};
}

/* Sets the joules of a lookup, and of the empty kernel, by the idle power that is known now. */
static void settle(const struct energy_phase *phase, size_t number)
{
    struct cell_energy *energy = &phase->meter.result->cells[number].energy;
    const struct energy_load *load = &phase->loads[number];
    const struct empty *empty = &phase->empties[phase->empty_of[number]];
    char *const reason = energy->lookup_reason;

    energy->empty = energy->lookup = unknown_value();
    reason[0] = '\0';
    if (!phase->idle_reason[0] && empty->known)
        energy->empty = energy_beyond_idle(&empty->load, &phase->idle);
    if (energy->lookups == 0)
        snprintf(reason, ENERGY_REASON_BYTES, "the path loads nothing from a table");
    else if (phase->idle_reason[0])
        snprintf(reason, ENERGY_REASON_BYTES, "of the idle GPU: %.170s", phase->idle_reason);
    else if (!empty->known)
        snprintf(reason, ENERGY_REASON_BYTES, "of the empty kernel: %.170s", empty->reason);
    else
        energy->lookup =
            energy_of_lookup(load, &empty->load, &phase->idle, (double)energy->lookups);
    if (energy->lookup.ci_low <= 0 && energy->lookup.ci_high >= 0) {
        energy->lookup.value = NAN;
        snprintf(reason, ENERGY_REASON_BYTES,
                 "not told from a launch of an empty kernel by this counter: the interval holds 0");
    }
}

/* Keeps what was seen of a cell. */
static void keep(struct energy_phase *phase, size_t number, const struct stretch *stretch)
{
    struct cell_result *cell = &phase->meter.result->cells[number];
    const struct energy_rate *watts = &stretch->load.watts;

    cell->energy = (struct cell_energy){
        .given = true,
        .launch = unknown_value(),
        .empty = unknown_value(),
        .lookup = unknown_value(),
        .lookups = lookups_of(cell),
        .watts = NAN,
        .watts_low = NAN,
        .watts_high = NAN,
        .launch_ns = NAN,
        .seconds = NAN,
        .steps = stretch->steps.count > 0 ? (uint32_t)stretch->steps.count - 1 : 0,
        .sm_clock_mhz = stretch->sm_clock_mhz,
        .celsius = stretch->celsius,
        .limits = stretch->limits,
    };
    snprintf(cell->energy.reason, sizeof(cell->energy.reason), "%s", stretch->reason);
    if (!stretch->known)
        return;
    cell->energy.launch = energy_of_launch(&stretch->load);
    cell->energy.watts = watts->value;
    cell->energy.watts_low = watts->value - watts->bound - watts->noise;
    cell->energy.watts_high = watts->value + watts->bound + watts->noise;
    cell->energy.launch_ns = 1e9 / stretch->load.launches.value;
    cell->energy.seconds = watts->seconds;
    phase->loads[number] = stretch->load;
    phase->measured[number] = true;
    settle(phase, number);
}

/* Measures a cell, after the empty kernel with its grid. */
static enum status measure_cell(struct energy_phase *phase, size_t number)
{
    struct meter *meter = &phase->meter;
    struct engine_session *session = meter->session;
    struct cell_result *cell = &meter->result->cells[number];
    const struct launchable *launchable = session->cells[number].launchable;
    const double launch_ns = cell->time.summary.value;
    struct queue queue = {
        .chain = {.device = &session->device,
                  .launchable = launchable,
                  .buffer_sets = launchable_buffer_sets(launchable),
                  .table_offsets = cell->time.table_offsets ? cell->time.table_offsets : 1}};
    struct stretch stretch = {.sm_clock_mhz = NAN, .celsius = NAN};
    bool good = true;

    meter->number = number;
    cuda_expect_cell(&session->device, cell, launchable_seconds(launchable, 1));
    if (cell->cell.cache_state->flush) {
        snprintf(stretch.reason, sizeof(stretch.reason),
                 "a cold launch takes less than the flush before it, and cannot be told from it");
    } else if (launchable_by_host(launchable)) {
        snprintf(stretch.reason, sizeof(stretch.reason),
                 "the host takes part in each launch, so that none can be enqueued ahead");
    } else {
        good = measure_empty(phase, launchable, launch_ns, &phase->empty_of[number]) &&
               (meter->stopped || measure_stretch(meter, &queue, launch_ns, &stretch));
    }
    if (good && !meter->stopped)
        keep(phase, number, &stretch);
    stretch_close(&stretch);
    return good ? STATUS_OK
                : cuda_fail(&session->device, cell, "launch failed while its energy was measured");
}

/* Measures all cells that lack it. */
static enum status measure_cells(struct energy_phase *phase)
{
    struct result *result = phase->meter.result;
    enum status status = measure_idle(phase, true);

    /* A reading may fail once. */
    if (status == STATUS_OK && result->energy_method.reason[0]) {
        result->energy_method.reason[0] = '\0';
        status = measure_idle(phase, true);
    }
    for (size_t i = 0; status == STATUS_OK && !phase->meter.stopped &&
                       !result->energy_method.reason[0] && i < result->cell_count;
         i++)
        if (wants_energy(&result->cells[i]))
            status = measure_cell(phase, i);
    if (status == STATUS_OK && !phase->meter.stopped && !result->energy_method.reason[0])
        status = measure_idle(phase, false);
    for (size_t i = 0; i < result->cell_count; i++)
        if (phase->measured[i])
            settle(phase, i);
    if (phase->meter.unit_mj > 0)
        result->energy_method.unit_mj = (double)phase->meter.unit_mj;
    return status;
}

enum status cuda_measure_energy(struct engine_session *session, struct result *result,
                                const struct progress *progress)
{
    struct energy_phase phase = {
        .meter = {.session = session, .result = result, .progress = progress}};
    enum status status = STATUS_OK;
    bool wanted = false;

    for (size_t i = 0; i < result->cell_count; i++)
        wanted = wanted || wants_energy(&result->cells[i]);
    if (!result->energy_method.given || !wanted)
        return STATUS_OK;
    cuda_expect(&session->device, set_up_seconds);
    cupti_session_close(session->counting);
    session->counting = NULL;
    result->energy_method.reason[0] = '\0';
    phase.empties = calloc(result->cell_count, sizeof(*phase.empties));
    phase.loads = calloc(result->cell_count, sizeof(*phase.loads));
    phase.empty_of = calloc(result->cell_count, sizeof(*phase.empty_of));
    phase.measured = calloc(result->cell_count, sizeof(*phase.measured));
    status = phase.empties && phase.loads && phase.empty_of && phase.measured
                 ? measure_cells(&phase)
                 : log_memory("energy");
    free(phase.empties);
    free(phase.loads);
    free(phase.empty_of);
    free(phase.measured);
    if (result->energy_method.reason[0])
        log_warning("no energy was measured: %s", result->energy_method.reason);
    return status;
}
