/* SPDX-License-Identifier: MIT
 * Caches behind a path, by single accesses and by counters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "log.h"
#include "probe_args.h"
#include "stats.h"

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
static enum status walk(void *context, const struct probe_walk *list, uint32_t *cycles)
{
    const struct experiment_run *run = context;
    const struct probe_request request = {.kind = run->experiment->probe,
                                          .path = run->path,
                                          .address = list->address,
                                          .count = list->count,
                                          .warm_up = list->warm_up,
                                          .timed = list->timed,
                                          .before = list->warm_up ? PROBE_BEFORE_NOTHING : PROBE_BEFORE_LAUNCH};

    return probe_record_ask(run->record, &request, cycles);
}

/* Whether some bits of the banks' addresses are their swaps. */
static bool swaps_are_address_bits(const struct geometry_level *level, const uint64_t *address)
{
    for (uint32_t shift = 6; shift < 48; shift++) {
        uint32_t agree = 0;

        for (uint32_t k = 0; k < level->bank_count; k++)
            agree += ((address[k] ^ address[0]) >> shift & (level->sets.value - 1)) == level->bank_swap[k];
        if (agree == level->bank_count)
            return true;
    }
    return false;
}

/* What the swaps are: the address of the bank, or the place of its kernel in the order of launches, which is that of
 * the banks. */
static void judge_banks(const struct experiment_run *run, struct outcome *outcome)
{
    const struct geometry_level *level = &outcome->geometry->level[0];
    const bool by_address = swaps_are_address_bits(level, run->record->source.bank_address);
    struct verdict verdict = {.name = "sets_swapped_by", .level = 1, .share = NAN};
    bool swapped = false, by_order = true;

    if (!level->bank_count || !level->sets.known || level->bank_count > PROBE_MEMBERS)
        return;
    for (uint32_t k = 0; k < level->bank_count; k++) {
        swapped = swapped || level->bank_swap[k];
        by_order = by_order && level->bank_swap[k] == (k & (level->sets.value - 1));
    }
    if (!swapped)
        verdict.value = "nothing";
    else if (by_order != by_address)
        verdict.value = by_order ? "order of launches" : "address";
    experiment_verdict(
        outcome, &verdict,
        "line i of the bank of kernel k is in the set of line i ^ n of the first: n %s k, and %s bits of the bank's "
        "address; lists drawn at random from %u banks hit as that says",
        by_order ? "is" : "is not", by_address ? "is" : "is not", (unsigned)level->bank_count);
}

enum status experiment_geometry(struct experiment_run *run, struct outcome *outcome)
{
    const struct experiment *experiment = &outcome->experiment;
    const struct prober prober = {.context = run,
                                  .bytes = experiment->bytes,
                                  .bank_bytes = experiment->probe == PROBE_RELAY ? BANK_BYTES : 0,
                                  .samples_max = run->record->source.samples_max,
                                  .walk = walk};
    enum status status;

    if (!experiment_usable(run, experiment->probe, outcome))
        return STATUS_OK;
    outcome->geometry = calloc(1, sizeof(*outcome->geometry));
    if (!outcome->geometry)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a geometry; free some memory");
    status = geometry_find(&prober, LEVELS_MAX, outcome->geometry);
    outcome->geometry->shared_carve_out = run->record->source.shared_carve_out;
    if (status == STATUS_OK)
        judge_banks(run, outcome);
    return status;
}

/* -- state --------------------------------------------------------------------------------------------- */

/* The level whose latency is nearest. */
static uint32_t nearest_level(const struct geometry *geometry, uint32_t cycles)
{
    uint32_t level = 0;

    while (level + 1 < geometry->level_count && cycles > geometry_behind(geometry, level))
        level++;
    return level;
}

/* A region that `level` holds and the levels before it do not, and the bytes from one access to the next; false where
 * the geometry does not say. */
static bool region_of(const struct geometry *geometry, uint32_t level, uint32_t *bytes, uint32_t *step)
{
    const struct geometry_number *fits = &geometry->level[level].fits_bytes;
    const struct geometry_number *fetch = &geometry->level[level].fetch_bytes;
    const uint32_t before = level ? geometry->level[level - 1].fits_bytes.value : 0;

    if (!geometry->level[0].fetch_bytes.known || (level && !geometry->level[level - 1].fits_bytes.known) ||
        (!level && !fits->known))
        return false;
    *step = fetch->known ? fetch->value : geometry->level[0].fetch_bytes.value;
    *bytes = level ? 4 * before : fits->value / 2;
    if (level && fits->known && *bytes > fits->value / 2)
        *bytes = fits->value / 2;
    return *bytes >= KEPT_BYTES_MIN && *bytes > before && *bytes <= BANK_BYTES;
}

/* Asks for every `step` bytes of the first `bytes`; `address` is room. */
static void list_region(struct probe_request *request, uint32_t *address, uint32_t bytes, uint32_t step)
{
    request->address = address;
    request->count = 0;
    for (uint32_t at = 0; at < bytes; at += step)
        address[request->count++] = at;
}

static enum status walk_after(struct experiment_run *run, struct outcome *outcome, const struct geometry *geometry,
                              uint32_t level, enum probe_before before)
{
    static const char *const names[] = {"share_answered_by_level_1", "share_answered_by_level_2",
                                        "share_answered_by_level_3", "share_answered_by_level_4"};
    double shares[GEOMETRY_LEVELS_MAX][STATE_REPEATS];
    uint32_t address[BANK_BYTES / 4], cycles[BANK_BYTES / 4], bytes, step;
    struct probe_request request = {.kind = PROBE_WALK, .path = run->path, .timed = 1, .before = before};

    if (!region_of(geometry, level, &bytes, &step))
        return STATUS_OK;
    list_region(&request, address, bytes, step);
    for (size_t r = 0; r < STATE_REPEATS; r++) {
        uint32_t hits[GEOMETRY_LEVELS_MAX] = {0};
        const enum status status = probe_record_ask(run->record, &request, cycles);

        if (status != STATUS_OK)
            return status;
        for (size_t i = 0; i < request.count; i++)
            hits[nearest_level(geometry, cycles[i])]++;
        for (size_t k = 0; k < geometry->level_count; k++)
            shares[k][r] = (double)hits[k] / (double)request.count;
    }
    for (size_t k = 0; k < geometry->level_count; k++) {
        struct number number = {.name = names[k], .unit = "of the accesses", .method = state_method};

        experiment_median(&number, shares[k], STATE_REPEATS);
        number.samples = STATE_REPEATS * request.count;
        number.level = level + 1;
        number.stride = step;
        number.before = probe_before_names[before];
        experiment_number(outcome, &number);
    }
    return STATUS_OK;
}

/* The share of the walk over the region of a level that it or a level before it answered; NaN where there was no
 * walk. */
static double kept(const struct outcome *outcome, uint32_t level, enum probe_before before)
{
    double share = NAN;

    for (size_t i = 0; i < outcome->number_count; i++) {
        const struct number *number = &outcome->numbers[i];
        const uint32_t by = (uint32_t)(number->name[strlen(number->name) - 1] - '0');

        if (number->level == level && number->before == probe_before_names[before] && by <= level)
            share = isnan(share) ? number->value : share + number->value;
    }
    return share;
}

/* A walk over an empty level is answered by it, too, where one miss brings what several accesses ask for: a level that
 * answers as many as after a flush is as empty. */
static void judge_kept(struct outcome *outcome, uint32_t level)
{
    const double empty = kept(outcome, level, PROBE_BEFORE_FLUSH);

    for (size_t before = PROBE_BEFORE_LAUNCH; before < PROBE_BEFORE_FLUSH; before++) {
        const double share = kept(outcome, level, (enum probe_before)before);
        struct verdict verdict = {.name = "what_it_held_is",
                                  .level = level,
                                  .before = probe_before_names[before],
                                  .share = share};

        if (isnan(share) || isnan(empty))
            continue;
        verdict.value = fabs(share - empty) <= 0.02 ? "lost" : share >= 0.98 ? "kept" : "partly kept";
        experiment_verdict(outcome, &verdict,
                           "level %u or one before it answers %.3f of the accesses after it, %.3f after a flush",
                           (unsigned)level, share, empty);
    }
}

enum status experiment_invalidation(struct experiment_run *run, struct outcome *outcome)
{
    const struct geometry *known =
        experiment_levels(run, 2, outcome, "no two levels of the path are known to tell apart");

    for (uint32_t level = 0; known && level + 1 < known->level_count; level++) {
        for (size_t before = PROBE_BEFORE_LAUNCH; before < PROBE_BEFORE_COUNT; before++) {
            const enum status status = walk_after(run, outcome, known, level, (enum probe_before)before);

            if (status != STATUS_OK)
                return status;
        }
        judge_kept(outcome, level + 1);
    }
    return !known || outcome->number_count
               ? STATUS_OK
               : experiment_skip(outcome, "the geometry of no level is known well enough to fill it");
}

/* -- code ---------------------------------------------------------------------------------------------- */

/* Code that pushes constants out of the level is in it. */
static void judge_code(struct outcome *outcome)
{
    const struct number *none = &outcome->numbers[0], *most = &outcome->numbers[outcome->number_count - 1];
    struct verdict verdict = {.name = "instructions_and_constants_share", .level = 2, .share = NAN};
    const struct number *first = none;

    while (first < most && !(first->low > none->high))
        first++;
    if (most->low > 0.5 && none->high < 0.02)
        verdict.value = "yes";
    else if (most->high < 0.02)
        verdict.value = "not seen";
    experiment_verdict(
        outcome, &verdict,
        "of %u bytes of constants that level 2 held, %.3f are lost with no code between, %.3f after %u bytes of "
        "it; the first after %u bytes",
        (unsigned)most->region_bytes, none->value, most->value, (unsigned)most->code_bytes,
        (unsigned)(first->low > none->high ? first->code_bytes : 0));
}

/* What is lost of a walk after so much code. */
static enum status walk_after_code(struct experiment_run *run, const struct probe_request *request, double behind,
                                   struct number *number)
{
    uint32_t cycles[BANK_BYTES / 4];
    double shares[STATE_REPEATS];

    for (size_t r = 0; r < STATE_REPEATS; r++) {
        const enum status status = probe_record_ask(run->record, request, cycles);
        size_t lost = 0;

        if (status != STATUS_OK)
            return status;
        for (size_t i = 0; i < request->count; i++)
            lost += cycles[i] > behind;
        shares[r] = (double)lost / (double)request->count;
    }
    experiment_median(number, shares, STATE_REPEATS);
    number->code_bytes = request->chunks * run->record->source.chunk_bytes;
    return STATUS_OK;
}

enum status experiment_code(struct experiment_run *run, struct outcome *outcome)
{
    static const char unknown[] = "no three levels are known: what was lost cannot be told from what was not";
    struct probe_request request = {.kind = PROBE_CODE, .path = run->path, .warm_up = 2, .timed = 1};
    struct number number = {.name = "share_lost", .unit = "of the accesses", .method = code_method, .level = 2};
    const struct geometry *known;
    uint32_t address[BANK_BYTES / 4];

    if (!experiment_usable(run, PROBE_CODE, outcome))
        return STATUS_OK;
    known = experiment_levels(run, 3, outcome, unknown);
    if (!known || !known->level[1].fetch_bytes.known)
        return experiment_skip(outcome, unknown);
    number.stride = known->level[1].fetch_bytes.value;
    number.region_bytes = known->level[1].fits_bytes.known ? known->level[1].fits_bytes.value : BANK_BYTES;
    list_region(&request, address, number.region_bytes, number.stride);
    for (request.chunks = 0; request.chunks <= PROBE_CHUNKS_MAX; request.chunks += CODE_STEP) {
        const enum status status = walk_after_code(run, &request, geometry_behind(known, 1), &number);

        if (status != STATUS_OK)
            return status;
        experiment_number(outcome, &number);
    }
    judge_code(outcome);
    return STATUS_OK;
}

/* -- counts -------------------------------------------------------------------------------------------- */

/* What a walk of a region was seen to do. */
struct walked {
    uint32_t bytes;
    size_t accesses;
    uint32_t slower[2];                    /* accesses that level 1, and level 2, did not answer */
    uint32_t counted[PROBE_COUNTED_COUNT]; /* of another launch of it */
};

/* A level's misses, by time and by counter. */
struct counted_level {
    size_t level, counter;
    const char *by_time, *by_counter;
};

static const struct counted_level counted_levels[] = {
    {0, PROBE_COUNTED_LINES, "lines_by_time", "lines_counted"},
    {1, PROBE_COUNTED_GCC_MISSES, "second_level_lines_by_time", "second_level_lines_counted"},
};

static enum status walk_and_count(struct experiment_run *run, struct probe_request *request,
                                  const struct geometry *geometry, struct walked *walked)
{
    uint32_t cycles[BANK_BYTES / 4];
    enum status status;

    request->kind = PROBE_WALK;
    status = probe_record_ask(run->record, request, cycles);
    walked->accesses = request->count * request->timed;
    for (size_t i = 0; status == STATUS_OK && i < walked->accesses; i++)
        for (size_t level = 0; level < 2 && level + 1 < geometry->level_count; level++)
            walked->slower[level] += cycles[i] > geometry_behind(geometry, level);
    request->kind = PROBE_COUNT;
    return status == STATUS_OK ? probe_record_ask(run->record, request, walked->counted) : status;
}

static void add_lines(struct outcome *outcome, const char *name, const char *method, const struct walked *walked,
                      double lines)
{
    const struct number number = {name,  "lines", method,           lines,
                                  lines, lines,   walked->accesses, .region_bytes = walked->bytes};

    experiment_number(outcome, &number);
}

/* What launches count beside their walks, kernel parameters above all: by how much they count more than time says, in
 * the median, the lower one of an even count. */
static double counted_beside(const struct walked *walked, size_t count, const struct counted_level *of)
{
    double more[COUNTED_WALKS_MAX];

    for (size_t i = 0; i < count; i++)
        more[i] = (double)walked[i].counted[of->counter] - walked[i].slower[of->level];
    stats_sort(more, count);
    return more[(count - 1) / 2];
}

static void compare_counts(struct outcome *outcome, const struct walked *walked, size_t count,
                           const struct counted_level *of)
{
    const double beside = counted_beside(walked, count, of);
    struct verdict verdict = {.name = "counters_and_time", .level = (uint32_t)of->level + 1, .share = NAN};
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        const double by_time = walked[i].slower[of->level], lines = walked[i].counted[of->counter] - beside;

        most = fmax(most, fabs(lines - by_time));
        add_lines(outcome, of->by_time, lines_method, &walked[i], by_time);
        add_lines(outcome, of->by_counter, counted_method, &walked[i], lines);
    }
    verdict.value = most == 0 ? "agree" : "differ";
    experiment_verdict(
        outcome, &verdict,
        "%s of %zu walks over %u to %u bytes: largest difference %.0f lines; launches count %.0f beside their walks",
        probe_counters[of->counter], count, (unsigned)walked[0].bytes, (unsigned)walked[count - 1].bytes, most, beside);
}

/* Cycles of the unit = a x requests + b x lines, least squares over the walks; with 95 % intervals. */
static void add_unit_costs(struct outcome *outcome, const struct walked *walked, size_t count)
{
    static const char *const names[] = {"active_cycles_per_request", "active_cycles_per_line"};
    double rr = 0, rl = 0, ll = 0, ry = 0, ly = 0, rest = 0, cost[2], half[2], determinant;
    size_t samples = 0;

    for (const struct walked *one = walked; one < walked + count; one++) {
        const double requests = one->counted[PROBE_COUNTED_REQUESTS], lines = one->counted[PROBE_COUNTED_LINES];
        const double cycles = one->counted[PROBE_COUNTED_ACTIVE_CYCLES];

        rr += requests * requests;
        rl += requests * lines;
        ll += lines * lines;
        ry += requests * cycles;
        ly += lines * cycles;
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
    half[0] = t_many * sqrt(rest * ll / determinant);
    half[1] = t_many * sqrt(rest * rr / determinant);
    for (size_t k = 0; k < COUNT(names); k++)
        experiment_number(outcome, &(struct number){names[k], "cycles", unit_method, cost[k], cost[k] - half[k],
                                                    cost[k] + half[k], samples, .level = 1});
}

/* Regions that the first level holds, and more, up to four times as large. */
enum status experiment_counts(struct experiment_run *run, struct outcome *outcome)
{
    static const char unknown[] = "the first level is not known";
    struct probe_request request = {.path = run->path, .timed = 3, .counted = PROBE_WALK};
    struct walked walked[COUNTED_WALKS_MAX] = {0};
    uint32_t address[BANK_BYTES / 4], fits, step;
    const struct geometry *known;
    size_t count = 0;

    if (!experiment_usable(run, PROBE_COUNT, outcome))
        return STATUS_OK;
    known = experiment_levels(run, 2, outcome, unknown);
    if (!known || !known->level[0].fits_bytes.known)
        return experiment_skip(outcome, unknown);
    step = known->level[0].fetch_bytes.value;
    fits = known->level[0].fits_bytes.value;
    for (uint32_t lines = 1;
         count < COUNT(walked) && lines * step <= 4 * fits && lines * step * request.timed <= BANK_BYTES;
         lines += 1 + lines / 8) {
        enum status status;

        list_region(&request, address, lines * step, step);
        walked[count].bytes = lines * step;
        status = walk_and_count(run, &request, known, &walked[count++]);
        if (status != STATUS_OK)
            return status;
    }
    if (count < 8)
        return experiment_skip(outcome, "the first level is too small, or too large, for walks around its size");
    for (size_t i = 0; i < COUNT(counted_levels) && i + 1 < known->level_count; i++)
        compare_counts(outcome, walked, count, &counted_levels[i]);
    add_unit_costs(outcome, walked, count);
    return STATUS_OK;
}
