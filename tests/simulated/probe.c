/* SPDX-License-Identifier: MIT
 * The kernels of probes.cu: they load what their arguments say from the memory of the device,
 * through simulated caches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

enum {
    CLOCK_CYCLES = 6, /* of two readings of the clock around a load */
    BEGIN = 1000,
    STEADY_LOADS = 8, /* of a chain, until its caches are as they stay */
    WARP_CYCLES = 4,  /* at least, from one load of a warp to the next */
};

/* A launch that runs. */
struct probing {
    struct launch *launch;
    const char *words;    /* where the links are */
    uint64_t address;     /* of the first, on the device */
    size_t bytes;
    uint32_t sm, unit_bytes; /* of an offset */
    enum load_unit unit;
    double cycles;
    bool failed;          /* an address is none's */
};

/* -- loads ------------------------------------------------------------------------------------- */

static bool open_table(struct probing *probing, const struct path *path,
                       const struct spaces *spaces)
{
    struct launch *const launch = probing->launch;
    const void *const address = path_table(path, spaces);

    probing->unit = path->unit;
    probing->unit_bytes = path->unit == UNIT_TEXTURE ? sizeof(uint32_t) : 1;
    probing->bytes = path->unit == UNIT_SHARED ? launch->args.probe.staged_words * sizeof(uint32_t)
                                               : path->bytes;
    if (path->home == TABLE_PARAMETER)
        probing->words = (const char *)launch->values;
    else
        probing->words = memory_at(address, probing->bytes);
    if (path->home == TABLE_GLOBAL && path->unit != UNIT_SHARED) {
        const struct block *const block = block_find(address, probing->bytes, BLOCK_DEVICE);

        probing->bytes = block ? block->bytes : 0;
    }
    probing->address = (uintptr_t)address;
    return probing->words;
}

static uint32_t load(struct probing *probing, uint32_t offset, uint32_t *cycles)
{
    const uint64_t place = (uint64_t)offset * probing->unit_bytes;
    uint32_t value = 0;

    if (place + sizeof(value) > probing->bytes) {
        probing->failed = true;
        return 0;
    }
    memcpy(&value, probing->words + place, sizeof(value));
    *cycles = probe_caches_load(probing->unit, probing->sm, probing->address + place,
                                &probing->launch->misses);
    probing->cycles += *cycles;
    return value;
}

/* Follows links; the cycles of those that are timed are added to timed[i]. Returns where it
 * ends. */
static uint32_t follow(struct probing *probing, uint32_t offset, uint32_t count, uint32_t *timed)
{
    uint32_t cycles = 0;

    for (uint32_t i = 0; i < count && !probing->failed; i++) {
        offset = load(probing, offset, &cycles);
        if (timed)
            timed[i] += cycles + CLOCK_CYCLES;
    }
    return offset;
}

static struct probe_reading reading(uint32_t sm, uint32_t begin, uint32_t end)
{
    return (struct probe_reading){.begin = begin, .end = end, .sm = sm, .valid = 1};
}

static int ended(struct probing *probing, double *work_ns)
{
    *work_ns = chip.launch_ns + probing->cycles * 1000 / chip.sm_clock_mhz;
    return probing->failed ? cudaErrorIllegalAddress : 0;
}

static struct spaces probe_spaces(const struct launch *launch)
{
    const struct probe_args *const args = &launch->args.probe;

    return (struct spaces){launch->function->module->bank, args->table, launch->restricted,
                           args->texture};
}

/* -- a path's probes --------------------------------------------------------------------------- */

int run_chase(struct device *device, struct launch *launch, double *work_ns)
{
    const struct probe_args *const args = &launch->args.probe;
    const struct spaces spaces = probe_spaces(launch);
    struct probing probing = {.launch = launch};
    struct probe_reading *const readings = memory_at(args->readings, sizeof(*readings));
    uint32_t *const timed =
        args->timed ? memory_at(args->cycles, args->timed * sizeof(*timed)) : NULL;
    uint32_t offset;

    if (!readings || (args->timed && !timed) ||
        !open_table(&probing, launch->function->path, &spaces))
        return cudaErrorIllegalAddress;
    if (args->sm > launch->blocks || args->sm > chip.sm_count)
        return 0;
    probing.sm = args->sm ? args->sm - 1 : 0;
    probe_caches_launch();
    offset = follow(&probing, args->start, args->warm_up, NULL);
    offset = follow(&probing, offset, args->timed, timed);
    readings[0] = reading(0, 0, offset);
    return ended(&probing, work_ns);
}

/* Whether what the lanes load is what the links say: each leads to itself. */
static bool leads_to_itself(struct probing *probing, uint32_t words)
{
    const struct probe_args *const args = &probing->launch->args.probe;
    uint32_t cycles;
    bool itself = true;

    for (uint32_t lane = 0; lane < args->distinct; lane++)
        for (uint32_t k = 0; k < words; k++) {
            const uint32_t offset = args->start + lane * args->stride +
                                    k * (uint32_t)sizeof(uint32_t) / probing->unit_bytes;

            itself = itself && load(probing, offset, &cycles) == offset;
        }
    return itself && !probing->failed;
}

/* The misses of one load of a warp's distinct addresses, when the caches are as they stay; how long
 * the slowest takes to come. */
static double steady_misses(struct probing *probing, double *latency)
{
    const struct probe_args *const args = &probing->launch->args.probe;
    double misses = 0;
    uint32_t cycles;

    for (uint32_t i = 0; i < STEADY_LOADS; i++) {
        const uint32_t before = probing->launch->misses;

        *latency = 0;
        for (uint32_t lane = 0; lane < args->distinct; lane++) {
            load(probing, args->start + lane * args->stride, &cycles);
            *latency = fmax(*latency, cycles);
        }
        misses = probing->launch->misses - before;
    }
    return misses;
}

/* Writes a reading for each warp: all take as long. */
static bool write_readings(const struct launch *launch, double cycles)
{
    const uint32_t warps = launch->threads / CBANK_WARP_THREADS, count = launch->blocks * warps;
    struct probe_reading *const readings =
        memory_at(launch->args.probe.readings, count * sizeof(*readings));

    for (uint32_t i = 0; readings && i < count; i++) {
        const uint32_t length = (uint32_t)lround(cycles);
        const uint32_t begin = BEGIN + (settings.in_turn ? i / warps / chip.sm_count * length : 0);

        readings[i] = reading(i / warps % chip.sm_count, begin, begin + length);
    }
    return readings;
}

/* Loads of warps. `dependent`: each waits for the one before it; else the unit works at its
 * pace. */
static int run_loads(struct launch *launch, bool dependent, double *work_ns)
{
    const struct probe_args *const args = &launch->args.probe;
    const struct path *const path = launch->function->path;
    const struct spaces spaces = probe_spaces(launch);
    struct probing probing = {.launch = launch};
    const uint32_t sms = launch->blocks < chip.sm_count ? launch->blocks : chip.sm_count;
    const double warps = (double)launch->threads / CBANK_WARP_THREADS * launch->blocks / sms;
    const double loads = PROBE_LOADS * (args->iterations - 1.0);
    double misses, latency, cycles;
    uint32_t turns;

    probe_caches_launch();
    if (args->distinct == 0 || !open_table(&probing, path, &spaces))
        return cudaErrorIllegalAddress;
    turns = probe_turns(path->unit, args->distinct, args->stride * probing.unit_bytes);
    if (leads_to_itself(&probing, dependent ? 1 : PROBE_LOADS)) {
        misses = steady_misses(&probing, &latency);
        if (dependent)
            cycles = loads * (latency + (turns - 1) * probe_turn_latency(path->unit) +
                              misses * (latency - 28));
        else
            cycles =
                loads *
                fmax(warps * (probe_busy(path->unit, turns) + misses * chip.levels[0].miss_cycles),
                     WARP_CYCLES);
        probing.cycles = cycles;
        if (!write_readings(launch, cycles))
            return cudaErrorIllegalAddress;
    }
    probing.cycles *= sms;
    return ended(&probing, work_ns);
}

int run_chain(struct device *device, struct launch *launch, double *work_ns)
{
    return run_loads(launch, true, work_ns);
}

int run_stream(struct device *device, struct launch *launch, double *work_ns)
{
    return run_loads(launch, false, work_ns);
}

/* -- probes of the constant bank --------------------------------------------------------------- */

static bool open_bank(struct probing *probing, const struct block *bank)
{
    if (!bank)
        return false;
    probing->unit = UNIT_IDC;
    probing->unit_bytes = 1;
    probing->words = bank->data;
    probing->address = (uintptr_t)bank->address;
    probing->bytes = bank->bytes;
    return true;
}

/* The blocks take turns: block b is on SM b. */
int run_sharing(struct device *device, struct launch *launch, double *work_ns)
{
    const struct probe_sharing_args *const args = &launch->args.sharing;
    struct probe_reading *const readings =
        memory_at(args->readings, launch->blocks * sizeof(*readings));
    struct probing probing = {.launch = launch};
    uint32_t cycles;

    if (!readings || launch->blocks > chip.sm_count || args->step == 0 || args->bytes == 0 ||
        !open_bank(&probing, launch->function->module->bank))
        return cudaErrorIllegalAddress;
    probe_caches_launch();
    for (uint32_t turn = 0; turn < launch->blocks && !(turn && settings.busy_sms); turn++) {
        const uint32_t block = (turn + args->first) % launch->blocks;
        const uint32_t last = (args->bytes - 1) / args->step * args->step;

        probing.sm = block;
        for (uint32_t offset = 0; turn == 0 && offset < args->bytes; offset += args->step)
            load(&probing, offset, &cycles);
        load(&probing, turn == 0 ? last : (turn - 1) * args->grain, &cycles);
        readings[block] = reading(block, BEGIN, BEGIN + cycles + CLOCK_CYCLES);
    }
    return ended(&probing, work_ns);
}

/* The pointer chase of members that are all there, from bank to bank. */
static int chase_members(struct launch *const *members, double *work_ns)
{
    const struct probe_relay_args *const args = &members[0]->args.relay;
    struct probe_reading *const readings =
        memory_at(args->readings, args->members * sizeof(*readings));
    uint64_t *const baton = memory_at(args->baton, sizeof(*baton));
    uint32_t *const timed =
        args->timed ? memory_at(args->cycles, args->timed * sizeof(*timed)) : NULL;
    struct probing probing = {.launch = members[0]};
    uint32_t next, cycles;

    if (!readings || !baton || (args->timed && !timed))
        return cudaErrorIllegalAddress;
    probe_caches_launch();
    next = (uint32_t)*baton;
    for (uint32_t i = 0; i < args->warm_up + args->timed && !probing.failed; i++) {
        const uint32_t member = next / CBANK_TABLE_BYTES;

        if (member >= args->members ||
            !open_bank(&probing, members[member]->function->module->bank))
            return cudaErrorIllegalAddress;
        next = load(&probing, next % CBANK_TABLE_BYTES, &cycles);
        if (i >= args->warm_up)
            timed[i - args->warm_up] += cycles + CLOCK_CYCLES;
    }
    *baton = (uint64_t)(args->warm_up + args->timed) << 32 | next;
    for (uint32_t k = 0; k < args->members; k++)
        readings[k] = reading(0, 0, next);
    return ended(&probing, work_ns);
}

/* Launches on streams of their own run side by side: the last to come lets all pointer chase. */
int run_relay(struct device *device, struct launch *launch, double *work_ns)
{
    static struct launch *members[PROBE_MEMBERS];
    static uint32_t count;
    const struct probe_relay_args *const args = &launch->args.relay;
    int code = 0;

    *work_ns = chip.launch_ns;
    if (args->members == 0)
        return 0;
    if (args->members > PROBE_MEMBERS || args->member >= args->members)
        return cudaErrorIllegalAddress;
    if (args->member == 0)
        count = 0;
    members[args->member] = launch_hold(launch);
    if (++count < args->members)
        return 0;
    code = chase_members(members, work_ns);
    for (uint32_t k = 0; k < args->members; k++)
        launch_release(members[k]);
    count = 0;
    return code;
}

/* -- streams ----------------------------------------------------------------------------------- */

/* Whether both ends of a buffer hold the word. */
static bool holds(const void *buffer, uint64_t bytes, uint32_t word)
{
    const char *const first = memory_at(buffer, bytes);

    return first && memcmp(first, &word, sizeof(word)) == 0 &&
           memcmp(first + bytes - sizeof(word), &word, sizeof(word)) == 0;
}

/* L1 gives a load of 4 bytes in a cycle of its rate, and wider ones as many bytes; L2 twice what
 * memory gives. With a target, both ends are copied. */
int run_transfer(struct device *device, struct launch *launch, double *work_ns)
{
    const struct probe_transfer_args *const args = &launch->args.transfer;
    const uint32_t warps = launch->threads / CBANK_WARP_THREADS, count = launch->blocks * warps;
    struct probe_reading *const readings = memory_at(args->readings, count * sizeof(*readings));
    char *const target = args->target ? memory_at(args->target, args->bytes) : NULL;
    const double more = args->iterations - 1.0,
                 factor = (double)args->bytes > chip.l2_bytes ? 1 : 2;
    const double of_sm = (double)count / chip.sm_count * PROBE_TRANSFER_LOADS;
    const double cycles = more * of_sm * (args->width / 4.0) / chip.l1_requests_per_cycle;
    const double ns =
        more * (double)args->bytes * (target ? 2 : 1) / (factor * chip.dram_bytes_per_ns);
    const double span = (args->width ? cycles : ns) / device->factor;

    if (!readings || (args->target && !target))
        return cudaErrorIllegalAddress;
    *work_ns = chip.launch_ns + (args->width ? cycles * 1000 / chip.sm_clock_mhz : ns);
    if (!holds(args->source, args->bytes, args->word))
        return 0;
    if (target) {
        memcpy(target, &args->word, sizeof(args->word));
        memcpy(target + args->bytes - sizeof(args->word), &args->word, sizeof(args->word));
    }
    for (uint32_t i = 0; i < count; i++)
        readings[i] = reading(i / warps % chip.sm_count, BEGIN, BEGIN + (uint32_t)lround(span));
    return 0;
}
