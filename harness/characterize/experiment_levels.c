/* SPDX-License-Identifier: MIT
 * Caches behind a path, by single accesses and by counters. */
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
    CODE_STEP = 4,
    COUNTED_WALKS_MAX = 48,
};

/* Student's t, 97.5 %, for more than 20 degrees of freedom: no larger. */
static const double t_many = 2.086;

static const char state_method[] =
    "each access of a walk in a launch of its own by the nearest latency of a level: median share of 9 walks, "
    "distribution-free interval";
static const char held_method[] =
    "a walk in the launch that brought the region by two walks before; evicted: with a walk over twice what the level holds "
    "between: median share of 9 walks, distribution-free interval";
static const char code_method[] =
    "accesses of a walk, after straight code of so many bytes, that level 2 held before and does not answer: median "
    "share of 9 walks, distribution-free interval";
static const char lines_method[] = "accesses of three walks in one launch that the level did not answer, by time";
static const char counted_method[] =
    "the same by counter, of another launch, less what launches count beside: the median of what is more than by time";
static const char unit_method[] =
    "least squares of the cycles that the unit was active against requests and lines, Student's t";

/* -- geometry ------------------------------------------------------------------------------------------ */

/* A walk without a warm-up follows another of the same list in the launch before it: else L2 would have to bring from
 * memory what the host has just written, and two things that are slow look alike. */
static struct probe_request walk_request(const struct experiment_run *run, const struct probe_walk *list)
{
    return (struct probe_request){
        .kind = run->outcome->experiment.probes >> PROBE_RELAY ? PROBE_RELAY : PROBE_WALK,
        .path = run->path,
        .address = list->address,
        .count = list->count,
        .warm_up = list->warm_up,
        .timed = list->timed,
        .before = list->warm_up ? PROBE_BEFORE_NOTHING : PROBE_BEFORE_LAUNCH,
    };
}

static enum status walk(void *context, const struct probe_walk *list, uint32_t *cycles)
{
    struct experiment_run *run = context;
    struct probe_request request = walk_request(run, list);

    experiment_ask(run, &request, cycles);
    return run->status;
}

/* What the swaps are: the address of the bank, or the place of its kernel in the order of launches, which is that of
 * the banks. */
static void judge_banks(struct experiment_run *run)
{
    const struct geometry_level *level = &run->outcome->geometry->level[0];
    const uint64_t *address = run->record->source.bank_address;
    const uint32_t sets = level->sets.value;
    bool swapped = false, by_order = true, by_address = false;
    const char *value = "nothing";

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
    if (swapped)
        value = by_order == by_address ? NULL : by_order ? "order of launches" : "address";
    experiment_verdict(
        run, "sets_swapped_by", 1, value,
        "line i of the bank of kernel k is in the set of line i ^ n of the first: n %s k, and %s bits of the bank's "
        "address; lists drawn at random from %u banks hit as that says",
        by_order ? "is" : "is not", by_address ? "is" : "is not", level->bank_count);
}

void experiment_geometry(struct experiment_run *run)
{
    const struct experiment *row = &run->outcome->experiment;
    const uint32_t bank_bytes = row->probes >> PROBE_RELAY ? BANK_BYTES : 0;
    const struct prober prober = {run, row->bytes, bank_bytes, run->record->source.samples_max, walk};
    struct geometry *geometry = calloc(1, sizeof(*geometry));

    run->outcome->geometry = geometry;
    run->status = geometry ? geometry_find(&prober, LEVELS_MAX, geometry) : log_memory("a geometry");
    if (run->status != STATUS_OK)
        return;
    geometry->shared_carve_out = run->record->source.shared_carve_out;
    judge_banks(run);
}

/* -- who answers --------------------------------------------------------------------------------------- */

/* A walk of a region, and how many of its accesses each level answered: the one whose latency is nearest. */
struct region_walk {
    struct probe_request request;
    uint32_t address[BANK_BYTES / 4], answered[GEOMETRY_LEVELS_MAX];
    size_t judged; /* of the first accesses alone; 0: of all */
};

/* Takes every `step` bytes of the first `bytes`. */
static void list_region(struct region_walk *walk, uint32_t bytes, uint32_t step)
{
    walk->request.address = walk->address;
    walk->request.count = 0;
    for (uint32_t at = 0; at < bytes; at += step)
        walk->address[walk->request.count++] = at;
}

static void ask_region(struct experiment_run *run, struct region_walk *walk)
{
    const struct geometry *geometry = run->geometry;
    const size_t judged = walk->judged ? walk->judged : walk->request.count * walk->request.timed;
    uint32_t cycles[BANK_BYTES / 4];

    memset(walk->answered, 0, sizeof(walk->answered));
    if (!experiment_ask(run, &walk->request, cycles))
        return;
    for (size_t i = 0, level = 0; i < judged; i++, level = 0) {
        while (level + 1 < geometry->level_count && cycles[i] > geometry_behind(geometry, level))
            level++;
        walk->answered[level]++;
    }
}

/* Accesses that a level behind `level` answered. */
static double answered_behind(const struct region_walk *walk, size_t level)
{
    double count = (double)(walk->request.count * walk->request.timed);

    for (size_t k = 0; k <= level; k++)
        count -= walk->answered[k];
    return count;
}

/* -- state --------------------------------------------------------------------------------------------- */

/* Takes a region that `level` holds and the levels before it do not; false where the geometry does not say. */
static bool list_level(const struct geometry *geometry, uint32_t level, struct region_walk *walk)
{
    const struct geometry_level *of = &geometry->level[level];
    const uint32_t fits = of->fits_bytes.value, first = geometry->level[0].fetch_bytes.value;
    const uint32_t before = level ? of[-1].fits_bytes.value : 0;
    uint32_t bytes = level ? 4 * before : fits / 2;

    if (fits && bytes > fits / 2)
        bytes = fits / 2;
    if (!first || (level && !before) || bytes < KEPT_BYTES_MIN || bytes <= before || bytes > BANK_BYTES)
        return false;
    list_region(walk, bytes, of->fetch_bytes.known ? of->fetch_bytes.value : first);
    return true;
}

/* Adds the shares of a walk that the levels answer. Returns the share of `level` and those before it. */
static double walk_after(struct experiment_run *run, struct region_walk *walk, uint32_t level, enum probe_before before)
{
    static const char *const names[] = {"share_answered_by_level_1", "share_answered_by_level_2",
                                        "share_answered_by_level_3", "share_answered_by_level_4"};
    double shares[GEOMETRY_LEVELS_MAX][STATE_REPEATS], kept = 0;

    walk->request.before = before;
    for (size_t r = 0; r < STATE_REPEATS; r++) {
        ask_region(run, walk);
        for (size_t k = 0; k < run->geometry->level_count; k++)
            shares[k][r] = (double)walk->answered[k] / (double)walk->request.count;
    }
    for (size_t k = 0; k < run->geometry->level_count; k++) {
        struct number number = {names[k],           "of the accesses",          state_method,
                                .level = level + 1, .stride = walk->address[1], .before = probe_before_names[before]};

        experiment_median(&number, shares[k], STATE_REPEATS);
        number.samples = STATE_REPEATS * walk->request.count;
        experiment_number(run, number);
        kept += k <= level ? number.value : 0;
    }
    return kept;
}

/* The share of a walk that `level` or one before it answers: of `held` while they hold it, of `empty` when they do not. */
struct states {
    double held, empty;
    const char *emptied_by;
    bool walked; /* it was emptied within a launch: then what a flush does can be judged, too */
};

/* Asks for the walk in one launch, and adds the share of it that `level` and those before it answer. */
static double walk_in_launch(struct experiment_run *run, struct region_walk *walk, uint32_t level, const char *name)
{
    struct number number = {name, "of the accesses", held_method, .level = level + 1, .stride = walk->address[1]};
    const size_t judged = walk->judged ? walk->judged : walk->request.count;
    double shares[STATE_REPEATS] = {0};

    walk->request.before = PROBE_BEFORE_NOTHING;
    walk->request.warm_up = 2;
    for (size_t r = 0; r < STATE_REPEATS; r++) {
        ask_region(run, walk);
        for (size_t k = 0; k <= level; k++)
            shares[r] += (double)walk->answered[k] / (double)judged;
    }
    experiment_median(&number, shares, STATE_REPEATS);
    number.samples = STATE_REPEATS * judged;
    experiment_number(run, number);
    return number.value;
}

/* Walks the region and, between two walks of it, twice what the level holds. Takes several banks where one is too small
 * for both. False where neither is possible. */
static bool walk_evicted(struct experiment_run *run, const struct region_walk *walk, uint32_t level, double *share)
{
    const struct outcome *modules = experiment_outcome(run, "geometry", "constant_modules");
    const struct geometry *geometry = run->geometry, *larger = modules ? modules->geometry : NULL;
    const uint32_t step = walk->address[1], bytes = (uint32_t)walk->request.count * step;
    const bool here = geometry->level[level].capacity_bytes.known;
    struct geometry_number capacity = geometry->level[level].capacity_bytes;
    struct region_walk both = {.request = {.kind = PROBE_WALK, .timed = 1}, .judged = walk->request.count};

    if (!here && larger && larger->level_count > level)
        capacity = larger->level[level].capacity_bytes;
    if (!capacity.known || step * BANK_BYTES / 4 < bytes + 2 * capacity.value)
        return false;
    if (bytes + 2 * capacity.value > BANK_BYTES) {
        if (!larger || larger->level_count <= level + 1 || bytes + 2 * capacity.value > PROBE_MEMBERS * BANK_BYTES)
            return false;
        both.request.kind = PROBE_RELAY;
        run->geometry = larger;
    }
    list_region(&both, bytes + 2 * capacity.value, step);
    *share = walk_in_launch(run, &both, level, "share_answered_when_evicted");
    run->geometry = geometry;
    return true;
}

/* A walk over an empty level is answered by it, too, where one miss brings what several accesses ask for: a level that
 * answers as many as when it is empty is empty, if it answers more when it is not. */
static void judge_kept(struct experiment_run *run, uint32_t level, enum probe_before before, double share,
                       const struct states *states)
{
    const bool differ = states->held - states->empty >= 0.5;
    const char *value = fabs(share - states->empty) <= 0.02  ? "lost"
                        : fabs(share - states->held) <= 0.02 ? "kept"
                                                             : "partly kept";
    struct verdict *verdict;
    char beside[96] = "";

    if (states->walked || !differ)
        snprintf(beside, sizeof(beside), ", %.3f while it holds them%s", states->held,
                 differ ? "" : ": too near to tell what was lost");
    verdict = experiment_verdict(run, "what_it_held_is", level, differ ? value : NULL,
                                 "level %u or one before it answers %.3f of the accesses after it, %.3f %s%s", level,
                                 share, states->empty, states->emptied_by, beside);
    verdict->before = probe_before_names[before];
    verdict->share = share;
}

void experiment_invalidation(struct experiment_run *run)
{
    struct region_walk walk = {.request = {.kind = PROBE_WALK, .timed = 1}}, held;

    for (uint32_t level = 0; level + 1 < run->geometry->level_count; level++) {
        double shares[PROBE_BEFORE_COUNT] = {0};
        struct states states;

        if (!list_level(run->geometry, level, &walk))
            continue;
        for (size_t before = PROBE_BEFORE_LAUNCH; before < PROBE_BEFORE_COUNT; before++)
            shares[before] = walk_after(run, &walk, level, (enum probe_before)before);
        held = walk;
        states = (struct states){walk_in_launch(run, &held, level, "share_answered_when_held"),
                                 shares[PROBE_BEFORE_FLUSH], "after a flush", false};
        if (walk_evicted(run, &walk, level, &states.empty)) {
            states.emptied_by = "after a walk over twice what it holds";
            states.walked = true;
        }
        for (size_t before = PROBE_BEFORE_LAUNCH; before < PROBE_BEFORE_FLUSH + (size_t)states.walked; before++)
            judge_kept(run, level + 1, (enum probe_before)before, shares[before], &states);
    }
    if (!run->outcome->number_count)
        experiment_skip(run, "the geometry of no level is known well enough to fill it");
}

/* -- cold ---------------------------------------------------------------------------------------------- */

/* Of a walk over the whole table, after a walk of it and what comes between: what the levels answer. The regime cold is
 * what is there then: no line of the table, wherever else the second level may keep something. */
void experiment_cold(struct experiment_run *run)
{
    const struct geometry_number *fetch = &run->geometry->level[1].fetch_bytes;
    const size_t before_of[] = {PROBE_BEFORE_LAUNCH, PROBE_BEFORE_FLUSH};
    struct region_walk walk = {.request = {.kind = PROBE_WALK, .timed = 1, .counted = PROBE_WALK}};

    if (!fetch->known) {
        experiment_skip(run, run->outcome->experiment.unknown);
        return;
    }
    list_region(&walk, BANK_BYTES, fetch->value);
    for (size_t i = 0; i < COUNT(before_of); i++) {
        const enum probe_before before = (enum probe_before)before_of[i];
        const size_t lines = walk.request.count;
        uint32_t counted[PROBE_COUNTED_COUNT] = {0};
        struct verdict *verdict;
        bool cold;

        walk.request.kind = PROBE_WALK;
        walk_after(run, &walk, 1, before);
        walk.request.kind = PROBE_COUNT;
        experiment_ask(run, &walk.request, counted);
        cold = counted[PROBE_COUNTED_LINES] >= lines && counted[PROBE_COUNTED_GCC_MISSES] >= lines;
        verdict = experiment_verdict(
            run, "table_is", 0, cold ? "cold" : "not cold",
            "%u lines came into level 1 and %u into level 2, by counters, of a walk over the %zu lines of the whole "
            "table, which the launch before had walked",
            counted[PROBE_COUNTED_LINES], counted[PROBE_COUNTED_GCC_MISSES], lines);
        verdict->before = probe_before_names[before];
    }
}

/* -- code ---------------------------------------------------------------------------------------------- */

/* What is lost of a walk after so much code. Code that pushes constants out of the level is in it. */
void experiment_code(struct experiment_run *run)
{
    const struct geometry_level *level = &run->geometry->level[1];
    struct region_walk walk = {.request = {.kind = PROBE_CODE, .warm_up = 2, .timed = 1}};
    struct number number = {"share_lost", "of the accesses", code_method, .level = 2}, none = number, first = number;
    double shares[STATE_REPEATS];
    bool pushed;

    if (!level->fetch_bytes.known) {
        experiment_skip(run, run->outcome->experiment.unknown);
        return;
    }
    number.stride = level->fetch_bytes.value;
    number.region_bytes =
        level->fits_bytes.known && level->fits_bytes.value < BANK_BYTES ? level->fits_bytes.value : BANK_BYTES;
    list_region(&walk, number.region_bytes, number.stride);
    for (; walk.request.chunks <= PROBE_CHUNKS_MAX; walk.request.chunks += CODE_STEP) {
        for (size_t r = 0; r < STATE_REPEATS; r++) {
            ask_region(run, &walk);
            shares[r] = answered_behind(&walk, 1) / (double)walk.request.count;
        }
        experiment_median(&number, shares, STATE_REPEATS);
        number.code_bytes = walk.request.chunks * run->record->source.chunk_bytes;
        experiment_number(run, number);
        if (walk.request.chunks == 0)
            none = number;
        if (first.code_bytes == 0 && number.low > none.high)
            first = number;
    }
    pushed = number.low > 0.5 && none.high < 0.02;
    experiment_verdict(
        run, "instructions_and_constants_share", 2,
        pushed               ? "yes"
        : number.high < 0.02 ? "not seen"
                             : NULL,
        "of %u bytes of constants that level 2 held, %.3f are lost with no code between, %.3f after %u bytes of "
        "it; the first after %u bytes",
        number.region_bytes, none.value, number.value, number.code_bytes, first.code_bytes);
}

/* -- counts -------------------------------------------------------------------------------------------- */

/* What a walk of a region was seen to do. */
struct walked {
    uint32_t bytes;
    size_t accesses;
    double slower[2]; /* accesses that level 1, and level 2, did not answer */
    uint32_t counted[PROBE_COUNTED_COUNT]; /* of another launch of it */
};

/* A level's misses, by time and by counter. */
static const struct counted_level {
    uint32_t level, counter;
    const char *by_time, *by_counter;
} counted_levels[] = {
    {0, PROBE_COUNTED_LINES, "lines_by_time", "lines_counted"},
    {1, PROBE_COUNTED_GCC_MISSES, "second_level_lines_by_time", "second_level_lines_counted"},
};

static void add_lines(struct experiment_run *run, const char *name, const char *method, const struct walked *walked,
                      double lines)
{
    experiment_number(run, (struct number){name, "lines", method, lines, lines, lines, walked->accesses,
                                           .region_bytes = walked->bytes});
}

static void compare_counts(struct experiment_run *run, const struct walked *walked, size_t count,
                           const struct counted_level *of)
{
    double more[COUNTED_WALKS_MAX], beside, most = 0;

    /* What launches count beside their walks, kernel parameters above all: by how much they count more than time says,
     * in the median, the lower one of an even count. */
    for (size_t i = 0; i < count; i++)
        more[i] = walked[i].counted[of->counter] - walked[i].slower[of->level];
    stats_sort(more, count);
    beside = more[(count - 1) / 2];
    for (size_t i = 0; i < count; i++) {
        const double by_time = walked[i].slower[of->level], lines = walked[i].counted[of->counter] - beside;

        most = fmax(most, fabs(lines - by_time));
        add_lines(run, of->by_time, lines_method, &walked[i], by_time);
        add_lines(run, of->by_counter, counted_method, &walked[i], lines);
    }
    experiment_verdict(
        run, "counters_and_time", of->level + 1, most == 0 ? "agree" : "differ",
        "%s of %zu walks over %u to %u bytes: largest difference %.0f lines; launches count %.0f beside their walks",
        probe_counters[of->counter], count, walked[0].bytes, walked[count - 1].bytes, most, beside);
}

/* Cycles of the unit = a x requests + b x lines, least squares over the walks; with 95 % intervals. */
static void add_unit_costs(struct experiment_run *run, const struct walked *walked, size_t count)
{
    static const char *const names[] = {"active_cycles_per_request", "active_cycles_per_line"};
    double rr = 0, rl = 0, ll = 0, ry = 0, ly = 0, rest = 0, cost[2], half[2], determinant;
    size_t samples = 0;

    for (size_t i = 0; i < count; samples += walked[i++].accesses) {
        const uint32_t *counted = walked[i].counted;
        const double requests = counted[PROBE_COUNTED_REQUESTS], lines = counted[PROBE_COUNTED_LINES];

        rr += requests * requests;
        rl += requests * lines;
        ll += lines * lines;
        ry += requests * counted[PROBE_COUNTED_ACTIVE_CYCLES];
        ly += lines * counted[PROBE_COUNTED_ACTIVE_CYCLES];
    }
    determinant = rr * ll - rl * rl;
    cost[0] = (ll * ry - rl * ly) / determinant;
    cost[1] = (rr * ly - rl * ry) / determinant;
    for (const struct walked *one = walked; one < walked + count; one++) {
        const double off = one->counted[PROBE_COUNTED_ACTIVE_CYCLES] - cost[0] * one->counted[PROBE_COUNTED_REQUESTS] -
                           cost[1] * one->counted[PROBE_COUNTED_LINES];

        rest += off * off / (double)(count - 2);
    }
    half[0] = t_many * sqrt(rest * ll / determinant);
    half[1] = t_many * sqrt(rest * rr / determinant);
    for (size_t k = 0; k < COUNT(names); k++)
        experiment_number(run, (struct number){names[k], "cycles", unit_method, cost[k], cost[k] - half[k],
                                               cost[k] + half[k], samples, .level = 1});
}

/* Regions that the first level holds, and more, up to four times as large. */
void experiment_counts(struct experiment_run *run)
{
    const uint32_t fits = run->geometry->level[0].fits_bytes.value, step = run->geometry->level[0].fetch_bytes.value;
    struct region_walk walk = {.request = {.timed = 3, .counted = PROBE_WALK}};
    struct walked walked[COUNTED_WALKS_MAX] = {0}, *end = walked;
    size_t count;

    if (!fits) {
        experiment_skip(run, run->outcome->experiment.unknown);
        return;
    }
    for (uint32_t lines = 1;
         end < walked + COUNT(walked) && lines * step <= 4 * fits && lines * step * walk.request.timed <= BANK_BYTES;
         lines += 1 + lines / 8, end++) {
        list_region(&walk, lines * step, step);
        walk.request.kind = PROBE_WALK;
        ask_region(run, &walk);
        end->bytes = lines * step;
        end->accesses = walk.request.count * walk.request.timed;
        end->slower[0] = answered_behind(&walk, 0);
        end->slower[1] = answered_behind(&walk, 1);
        walk.request.kind = PROBE_COUNT;
        experiment_ask(run, &walk.request, end->counted);
    }
    count = (size_t)(end - walked);
    if (count < 8) {
        experiment_skip(run, "the first level is too small, or too large, for walks around its size");
        return;
    }
    for (size_t i = 0; i < COUNT(counted_levels) && i + 1 < run->geometry->level_count; i++)
        compare_counts(run, walked, count, &counted_levels[i]);
    add_unit_costs(run, walked, count);
}
