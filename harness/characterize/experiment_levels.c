/* SPDX-License-Identifier: MIT
 * Caches of a path, by single accesses and by counters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "log.h"

enum {
    STATE_REPEATS = 9,
    LEVELS_MAX = 4,
    KEPT_BYTES_MIN = 256,
    CODE_STEP = 4, /* chunks of straight code */
    COUNTED_CHASES_MAX = 48,
};

/* -- geometry ------------------------------------------------------------------------------------------ */

/* A pointer chase without a warm-up follows a launch that pointer chases the same list. Otherwise L2 would first bring from memory what the
 * host wrote, and two slow levels would look alike. */
static enum status chase(void *context, const struct probe_chase *list, uint32_t *cycles)
{
    struct experiment_run *run = context;
    struct probe_request request = {
        .kind = run->outcome->experiment.probes >> PROBE_RELAY ? PROBE_RELAY : PROBE_CHASE,
        .address = list->address,
        .count = list->count,
        .warm_up = list->warm_up,
        .timed = list->timed,
        .before = list->warm_up ? PROBE_BEFORE_NOTHING : PROBE_BEFORE_LAUNCH,
    };

    experiment_ask(run, &request, cycles);
    return run->status;
}

/* Finds the levels, and for several banks what swaps their sets: the address of the bank, or the order in which kernels
 * start. */
void experiment_geometry(struct experiment_run *run)
{
    const struct experiment *row = &run->outcome->experiment;
    const struct prober prober = {run, row->bytes, row->probes >> PROBE_RELAY ? BANK_BYTES : 0,
                                  run->record->source.samples_max, chase};
    const uint64_t *address = run->record->source.bank_address;
    struct geometry *geometry = calloc(1, sizeof(*geometry));
    const struct geometry_level *level;
    bool swapped = false, by_order = true, by_address = false;
    uint32_t sets;

    run->outcome->geometry = geometry;
    run->status = geometry ? geometry_find(&prober, LEVELS_MAX, geometry) : log_memory("a geometry");
    if (run->status != STATUS_OK)
        return;
    geometry->shared_carve_out = run->record->source.shared_carve_out;
    level = &geometry->level[0];
    sets = level->sets.value;
    if (!level->bank_count || !level->sets.known)
        return;
    for (uint32_t k = 0; k < level->bank_count; k++) {
        swapped = swapped || level->bank_swap[k];
        by_order = by_order && level->bank_swap[k] == (k & (sets - 1));
    }
    for (uint32_t shift = 6, k = 0; shift < 48 && !by_address; shift++, k = 0) {
        while (k < level->bank_count && ((address[k] ^ address[0]) >> shift & (sets - 1)) == level->bank_swap[k])
            k++;
        by_address = k == level->bank_count;
    }
    experiment_verdict(
        run, "sets_swapped_by", 1,
        !swapped                 ? "nothing"
        : by_order == by_address ? NULL
        : by_order               ? "order of launches"
                                 : "address",
        "line i of kernel k's bank is in the set of line i ^ n of the first. n %s k, and %s bits of the bank's address; "
        "random lists from %u banks agree",
        by_order ? "is" : "is not", by_address ? "is" : "is not", level->bank_count);
}

/* -- regions ------------------------------------------------------------------------------------------- */

/* A pointer chase of a region, and how many of its accesses each level answered in each repeat: the level with the
 * nearest latency. */
struct region_chase {
    struct probe_request request;
    uint32_t answered[STATE_REPEATS][GEOMETRY_LEVELS_MAX];
    size_t judged; /* the first accesses alone count */
};

/* Lists every `step` bytes of the first `bytes`, once, for one chase at a time. */
static void list_region(struct region_chase *chase, uint32_t bytes, uint32_t step)
{
    static uint32_t listed[BANK_BYTES / 4]; /* the stack may be small */

    chase->request.address = listed;
    chase->request.count = 0;
    for (uint32_t at = 0; at < bytes; at += step)
        listed[chase->request.count++] = at;
    chase->judged = chase->request.count;
}

static void ask_region(struct experiment_run *run, struct region_chase *chase, size_t repeats)
{
    static uint32_t cycles[BANK_BYTES / 4];

    memset(chase->answered, 0, sizeof(chase->answered));
    for (size_t r = 0; r < repeats && experiment_ask(run, &chase->request, cycles); r++)
        for (size_t i = 0, level = 0; i < chase->judged; i++, level = 0) {
            while (level + 1 < run->geometry->level_count && cycles[i] > geometry_behind(run->geometry, level))
                level++;
            chase->answered[r][level]++;
        }
}

/* The number with the median share of the accesses that the levels from `first` to `last` answered. */
static struct number share_of(const struct region_chase *chase, struct number number, size_t first, size_t last)
{
    double shares[STATE_REPEATS] = {0};

    for (size_t r = 0; r < STATE_REPEATS; r++)
        for (size_t k = first; k <= last; k++)
            shares[r] += (double)chase->answered[r][k] / (double)chase->judged;
    experiment_median(&number, shares, STATE_REPEATS);
    number.unit = "of the accesses";
    number.stride = chase->request.address[1];
    return number;
}

/* -- what launches and copies leave -------------------------------------------------------------------- */

/* Chases a region after a step. Adds the share that each level answers, or as a number with this name the share of
 * `level` and those before it, which it returns. */
static double chase_after(struct experiment_run *run, struct region_chase *chase, uint32_t level,
                          enum probe_before before, const char *name)
{
    static const char *const names[] = {"share_answered_by_level_1", "share_answered_by_level_2",
                                        "share_answered_by_level_3", "share_answered_by_level_4"};
    static const char method[] = "accesses of a pointer chase, by the nearest latency of a level: median share of 9";
    double kept = 0;

    chase->request.before = before;
    ask_region(run, chase, STATE_REPEATS);
    for (uint32_t k = name ? level : 0; k < (name ? level + 1 : run->geometry->level_count); k++) {
        struct number number = {.name = name ? name : names[k], .method = method, .level = level + 1};

        number = share_of(chase, number, name ? 0 : k, k);
        number.before = name ? NULL : probe_before_names[before];
        number.samples *= chase->judged;
        experiment_number(run, number);
        kept += k <= level ? number.value : 0;
    }
    return kept;
}

/* Fills each level with a region that the levels before it cannot hold. Then chases it after a launch, a copy, a launch
 * of another module, and a flush. A miss may bring in data for several accesses, so even an empty level answers some of
 * them. A level has lost the region if it answers as many as an empty level, and more when it holds the region. */
void experiment_invalidation(struct experiment_run *run)
{
    const struct outcome *modules = experiment_outcome(run, "geometry", "constant_modules");
    const struct geometry *geometry = run->geometry, *larger = modules ? modules->geometry : geometry;
    const struct geometry_level *levels = geometry->level;
    const uint32_t first = levels[0].fetch_bytes.value;

    for (uint32_t level = 0; level + 1 < geometry->level_count; level++) {
        struct region_chase chase = {.request = {.kind = PROBE_CHASE, .timed = 1}}, both = chase;
        const uint32_t fits = levels[level].fits_bytes.value, before = level ? levels[level - 1].fits_bytes.value : 0;
        const uint32_t step = levels[level].fetch_bytes.known ? levels[level].fetch_bytes.value : first;
        const uint32_t wanted = level ? 4 * before : fits / 2, bytes = fits && wanted > fits / 2 ? fits / 2 : wanted;
        const uint32_t size = levels[level].capacity_bytes.known ? levels[level].capacity_bytes.value
                              : level + 1 < larger->level_count  ? larger->level[level].capacity_bytes.value
                                                                 : 0;
        double shares[PROBE_BEFORE_COUNT] = {0}, held, empty;
        bool relay, differ;

        if (!first || (level && !before) || bytes < KEPT_BYTES_MIN || bytes <= before || bytes > BANK_BYTES)
            continue;
        list_region(&chase, bytes, step);
        for (size_t after = PROBE_BEFORE_LAUNCH; after < PROBE_BEFORE_COUNT; after++)
            shares[after] = chase_after(run, &chase, level, (enum probe_before)after, NULL);
        /* In the launch that brought in the region by two chases. */
        chase.request.warm_up = 2;
        held = chase_after(run, &chase, level, PROBE_BEFORE_NOTHING, "share_answered_when_held");
        /* Evicts it by a chase over twice the level's size, in several banks if one is too small for both. */
        relay = bytes + 2 * size > BANK_BYTES;
        if (!size || bytes + 2 * size > step * BANK_BYTES / 4 ||
            (relay && (!modules || bytes + 2 * size > PROBE_MEMBERS * BANK_BYTES)))
            continue; /* there is nothing to compare with */
        both.request.kind = relay ? PROBE_RELAY : PROBE_CHASE;
        both.request.warm_up = 2;
        list_region(&both, bytes + 2 * size, step);
        both.judged = chase.judged;
        run->geometry = relay ? larger : geometry;
        empty = chase_after(run, &both, level, PROBE_BEFORE_NOTHING, "share_answered_when_evicted");
        run->geometry = geometry;
        differ = held - empty >= 0.5;
        for (size_t after = PROBE_BEFORE_LAUNCH; after < PROBE_BEFORE_COUNT; after++) {
            const double share = shares[after];
            const char *value = fabs(share - empty) <= 0.02  ? "lost"
                                : fabs(share - held) <= 0.02 ? "kept"
                                                             : "partly kept";
            struct verdict *verdict = experiment_verdict(
                run, "what_it_held_is", level + 1, differ ? value : NULL,
                "the levels up to this one answer %.3f of the accesses after it, %.3f after a pointer chase over twice "
                "what it holds, %.3f while it holds them%s",
                share, empty, held, differ ? "" : ": too near to tell what was lost");

            verdict->before = probe_before_names[after];
            verdict->share = share;
        }
    }
    if (!run->outcome->number_count)
        experiment_skip(run, "the geometry of no level is known well enough to fill it");
}

/* -- the cold state ------------------------------------------------------------------------------------ */

/* Chases the whole table after a chase of it and a launch or a flush. The table is cold if every line is filled
 * again. */
void experiment_cold(struct experiment_run *run)
{
    const struct geometry_number *fetch = &run->geometry->level[1].fetch_bytes;
    struct region_chase chase = {.request = {.timed = 1, .counted = PROBE_CHASE}};

    if (!fetch->known) {
        experiment_skip(run, run->outcome->experiment.unknown);
        return;
    }
    list_region(&chase, BANK_BYTES, fetch->value);
    for (size_t i = 0; i < 2; i++) {
        const enum probe_before before = i ? PROBE_BEFORE_FLUSH : PROBE_BEFORE_LAUNCH;
        uint32_t counted[PROBE_COUNTED_COUNT] = {0};
        const uint32_t *lines = &counted[PROBE_COUNTED_LINES], *misses = &counted[PROBE_COUNTED_GCC_MISSES];

        chase.request.kind = PROBE_CHASE;
        chase_after(run, &chase, 1, before, NULL);
        chase.request.kind = PROBE_COUNT;
        experiment_ask(run, &chase.request, counted);
        experiment_verdict(
            run, "table_is", 0, *lines >= chase.judged && *misses >= chase.judged ? "cold" : "not cold",
            "%u lines came into the L1 constant cache and %u into L1.5, by counters. The pointer chase visited the %zu "
            "lines of the whole table, as the launch before had",
            *lines, *misses, chase.judged)
            ->before = probe_before_names[before];
    }
}

/* -- code ---------------------------------------------------------------------------------------------- */

/* Measures how much of a chase is lost after straight code. Code that evicts constants from a level is cached there. */
void experiment_code(struct experiment_run *run)
{
    static const char method[] =
        "accesses of a pointer chase that L1.5 held and, after code, does not answer: median of 9";
    const struct geometry_level *level = &run->geometry->level[1];
    struct region_chase chase = {.request = {.kind = PROBE_CODE, .warm_up = 2, .timed = 1}};
    struct number number = {.name = "share_lost", .method = method, .level = 2}, none = number, first = number;
    bool pushed;

    if (!level->fetch_bytes.known) {
        experiment_skip(run, run->outcome->experiment.unknown);
        return;
    }
    number.region_bytes =
        level->fits_bytes.known && level->fits_bytes.value < BANK_BYTES ? level->fits_bytes.value : BANK_BYTES;
    list_region(&chase, number.region_bytes, level->fetch_bytes.value);
    for (; chase.request.chunks <= PROBE_CHUNKS_MAX; chase.request.chunks += CODE_STEP) {
        ask_region(run, &chase, STATE_REPEATS);
        number = share_of(&chase, number, 2, GEOMETRY_LEVELS_MAX - 1);
        number.code_bytes = chase.request.chunks * run->record->source.chunk_bytes;
        experiment_number(run, number);
        if (chase.request.chunks == 0)
            none = number;
        if (first.code_bytes == 0 && number.low > none.high)
            first = number;
    }
    pushed = number.low > 0.5 && none.high < 0.02;
    experiment_verdict(run, "instructions_and_constants_share", 2,
                       pushed               ? "yes"
                       : number.high < 0.02 ? "not seen"
                                            : NULL,
                       "of %u bytes of constants that it held, %.3f are lost with no code between, %.3f after %u "
                       "bytes of it; the first after %u bytes",
                       number.region_bytes, none.value, number.value, number.code_bytes, first.code_bytes);
}

/* -- counts -------------------------------------------------------------------------------------------- */

/* A pointer chase of a region. */
struct walked {
    uint32_t bytes;
    size_t accesses;
    double slower[2]; /* accesses that L1, and L1.5, did not answer */
    uint32_t counted[PROBE_COUNTED_COUNT]; /* for another launch of it */
};

/* Fits active cycles of the unit = a x requests + b x lines, by least squares over the chases, with 95 % intervals. */
static void add_unit_costs(struct experiment_run *run, const struct walked *walked, size_t count)
{
    static const char *const names[] = {"active_cycles_per_request", "active_cycles_per_line"};
    static const char method[] = "least squares of active cycles against requests and lines, Student's t";
    const double t = 2.086; /* Student's t, 97.5 %, for 20 degrees of freedom: smaller for more */
    double rr = 0, rl = 0, ll = 0, ry = 0, ly = 0, rest = 0, cost[2], half[2], determinant;
    size_t samples = 0;

    for (const struct walked *one = walked; one < walked + count; one++) {
        const double requests = one->counted[PROBE_COUNTED_REQUESTS], lines = one->counted[PROBE_COUNTED_LINES];

        rr += requests * requests;
        rl += requests * lines;
        ll += lines * lines;
        ry += requests * one->counted[PROBE_COUNTED_ACTIVE_CYCLES];
        ly += lines * one->counted[PROBE_COUNTED_ACTIVE_CYCLES];
        samples += one->accesses;
    }
    determinant = rr * ll - rl * rl;
    cost[0] = (ll * ry - rl * ly) / determinant;
    cost[1] = (rr * ly - rl * ry) / determinant;
    for (const struct walked *one = walked; one < walked + count; one++) {
        const double off = one->counted[PROBE_COUNTED_ACTIVE_CYCLES] - cost[0] * one->counted[PROBE_COUNTED_REQUESTS] -
                           cost[1] * one->counted[PROBE_COUNTED_LINES];

        rest += off * off / (double)(count - 2);
    }
    half[0] = t * sqrt(rest * ll / determinant);
    half[1] = t * sqrt(rest * rr / determinant);
    for (size_t k = 0; k < COUNT(names); k++)
        experiment_number(run, (struct number){names[k], "cycles", method, cost[k], cost[k] - half[k],
                                               cost[k] + half[k], samples, .level = 1});
}

/* Chases regions that the first level holds, and larger ones up to four times its size. */
void experiment_counts(struct experiment_run *run)
{
    static const char *const names[][2] = {{"lines_by_time", "lines_counted"},
                                           {"second_level_lines_by_time", "second_level_lines_counted"}};
    static const char *const methods[] = {
        "accesses of three pointer chases in one launch that the level did not answer, by time",
        "the same by counter, of another launch, less the median difference from the count by time"};
    const uint32_t fits = run->geometry->level[0].fits_bytes.value, step = run->geometry->level[0].fetch_bytes.value;
    struct region_chase chase = {.request = {.timed = 3, .counted = PROBE_CHASE}};
    struct walked walked[COUNTED_CHASES_MAX] = {0};
    size_t count = 0;

    for (uint32_t lines = 1;
         fits && count < COUNT(walked) && lines * step <= 4 * fits && lines * step * chase.request.timed <= BANK_BYTES;
         lines += 1 + lines / 8) {
        struct walked *one = &walked[count++];

        list_region(&chase, lines * step, step);
        chase.request.kind = PROBE_CHASE;
        one->bytes = lines * step;
        one->accesses = chase.judged = chase.request.count * chase.request.timed;
        ask_region(run, &chase, 1);
        one->slower[0] = (double)one->accesses - chase.answered[0][0];
        one->slower[1] = one->slower[0] - chase.answered[0][1];
        chase.request.kind = PROBE_COUNT;
        experiment_ask(run, &chase.request, one->counted);
    }
    if (count < 8) {
        experiment_skip(run,
                        "the first level is not known, or too small or too large for pointer chases around its size");
        return;
    }
    /* Compares the misses of a level by time and by counter. A launch counts more than its chase, mostly kernel
     * parameters. This constant part is the median difference; for an even count, the lower one. */
    for (uint32_t level = 0; level < 2 && level + 1 < run->geometry->level_count; level++) {
        const size_t counter = level ? PROBE_COUNTED_GCC_MISSES : PROBE_COUNTED_LINES;
        double more[COUNTED_CHASES_MAX], apart, most = 0;

        for (size_t i = 0; i < count; i++)
            more[i] = walked[i].counted[counter] - walked[i].slower[level];
        stats_sort(more, count);
        apart = more[(count - 1) / 2];
        for (const struct walked *one = walked; one < walked + count; one++) {
            const double lines[] = {one->slower[level], one->counted[counter] - apart};

            most = fmax(most, fabs(lines[1] - lines[0]));
            for (size_t k = 0; k < COUNT(lines); k++)
                experiment_number(run, (struct number){names[level][k], "lines", methods[k], lines[k], lines[k],
                                                       lines[k], one->accesses, .region_bytes = one->bytes});
        }
        experiment_verdict(
            run, "counters_and_time", level + 1, most == 0 ? "agree" : "differ",
            "%s of %zu pointer chases over %u to %u bytes: largest difference %.0f lines; launches count "
            "%.0f apart from their pointer chases",
            probe_counters[counter], count, walked[0].bytes, walked[count - 1].bytes, most, apart);
    }
    add_unit_costs(run, walked, count);
}
