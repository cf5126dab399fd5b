/* SPDX-License-Identifier: MIT
 * Caches behind a path, by single accesses and by counters. */
#include "experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geometry.h"
#include "log.h"
#include "probe_args.h"
#include "stats.h"

enum {
    STATE_REPEATS = 9,
    LEVELS_MAX = 4,
    KEPT_BYTES_MIN = 256,
    BANK_BYTES = CBANK_TABLE_BYTES,
    CODE_STEP = 4,
    COUNTED_WALKS_MAX = 48,
};

/* Student's t, 97.5 %, for more than 20 degrees of freedom: no larger. */
static const double t_many = 2.086;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

struct walker {
    struct experiment_run *run;
    const struct path *path;
    enum probe_kind kind;
};

/* A walk without a warm-up follows another of the same list in the launch before it: else L2 would have to bring from
 * memory what the host has just written, and two things that are slow look alike. */
static enum status walk(void *context, const struct probe_walk *list, uint32_t *cycles)
{
    const struct walker *walker = context;
    const struct probe_request request = {.kind = walker->kind,
                                          .path = walker->path,
                                          .address = list->address,
                                          .count = list->count,
                                          .warm_up = list->warm_up,
                                          .timed = list->timed,
                                          .before = list->warm_up ? PROBE_BEFORE_NOTHING : PROBE_BEFORE_LAUNCH};

    return probe_record_ask(walker->run->record, &request, cycles);
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
    bool swapped = false, by_order = true;
    struct verdict *verdict;

    if (!level->bank_count || !level->sets.known || level->bank_count > PROBE_MEMBERS)
        return;
    for (uint32_t k = 0; k < level->bank_count; k++) {
        swapped = swapped || level->bank_swap[k];
        by_order = by_order && level->bank_swap[k] == (k & (level->sets.value - 1));
    }
    verdict = experiment_verdict(outcome, "sets_swapped_by",
                                 !swapped                  ? "nothing"
                                 : by_order && !by_address ? "order of launches"
                                 : by_address && !by_order ? "address"
                                                           : NULL);
    verdict->level = 1;
    snprintf(
        verdict->reason, sizeof(verdict->reason),
        "line i of the bank of kernel k is in the set of line i ^ n of the first: n %s k, and %s bits of the bank's "
        "address; lists drawn at random from %u banks hit as that says",
        by_order ? "is" : "is not", by_address ? "is" : "is not", (unsigned)level->bank_count);
}

enum status experiment_geometry(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    struct walker walker = {run, path, outcome->experiment->probe};
    const struct prober prober = {.context = &walker,
                                  .bytes = outcome->experiment->bytes,
                                  .bank_bytes = outcome->experiment->probe == PROBE_RELAY ? BANK_BYTES : 0,
                                  .samples_max = run->record->source.samples_max,
                                  .walk = walk};
    enum status status;

    if (!experiment_usable(run, outcome->experiment->probe, path, outcome))
        return STATUS_OK;
    outcome->geometry = calloc(1, sizeof(*outcome->geometry));
    if (!outcome->geometry)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a geometry");
    status = geometry_find(&prober, LEVELS_MAX, outcome->geometry);
    if (status == STATUS_OK)
        judge_banks(run, outcome);
    return status;
}

/* -- state --------------------------------------------------------------------------------------------- */

/* The level whose latency is nearest. */
static uint32_t nearest_level(const struct geometry *geometry, uint32_t cycles)
{
    uint32_t level = 0;

    while (level + 1 < geometry->level_count &&
           cycles > (geometry->level[level].latency.median + geometry->level[level + 1].latency.median) / 2)
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

static enum status walk_after(struct experiment_run *run, struct outcome *outcome, const struct path *path,
                              const struct geometry *geometry, uint32_t level, enum probe_before before)
{
    double shares[GEOMETRY_LEVELS_MAX][STATE_REPEATS];
    uint32_t address[BANK_BYTES / 4], cycles[BANK_BYTES / 4], bytes, step;
    struct probe_request request = {.kind = PROBE_WALK, .path = path, .address = address, .timed = 1, .before = before};

    if (!region_of(geometry, level, &bytes, &step))
        return STATUS_OK;
    for (uint32_t at = 0; at < bytes; at += step)
        address[request.count++] = at;
    for (size_t r = 0; r < STATE_REPEATS; r++) {
        uint32_t hits[GEOMETRY_LEVELS_MAX] = {0};
        const enum status status = probe_record_ask(run->record, &request, cycles);

        if (status != STATUS_OK)
            return status;
        for (size_t i = 0; i < request.count; i++)
            hits[nearest_level(geometry, cycles[i])]++;
        for (uint32_t k = 0; k < geometry->level_count; k++)
            shares[k][r] = (double)hits[k] / (double)request.count;
    }
    for (uint32_t k = 0; k < geometry->level_count; k++) {
        static const char *const names[] = {"share_answered_by_level_1", "share_answered_by_level_2",
                                            "share_answered_by_level_3", "share_answered_by_level_4"};
        struct number *number = experiment_number(outcome, names[k], "of the accesses", state_method);

        if (!number)
            return STATUS_ENVIRONMENT;
        experiment_summarize(number, shares[k], STATE_REPEATS);
        number->samples = STATE_REPEATS * request.count;
        number->level = level + 1;
        number->stride = step;
        number->before = probe_before_names[before];
    }
    return STATUS_OK;
}

/* The share of the walk over the region of a level that it or a level before it answered; NaN where there was no walk.
 */
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

/* A walk over an empty level is answered by it, too, where one miss brings what several accesses ask for: as after a
 * flush is as empty. */
static void judge_kept(struct outcome *outcome, uint32_t level)
{
    const double empty = kept(outcome, level, PROBE_BEFORE_FLUSH);

    for (size_t before = PROBE_BEFORE_LAUNCH; before < PROBE_BEFORE_FLUSH; before++) {
        const double share = kept(outcome, level, (enum probe_before)before);
        struct verdict *verdict;

        if (isnan(share) || isnan(empty))
            continue;
        verdict = experiment_verdict(outcome, "what_it_held_is",
                                     fabs(share - empty) <= 0.02 ? "lost"
                                     : share >= 0.98             ? "kept"
                                                                 : "partly kept");
        verdict->level = level;
        verdict->before = probe_before_names[before];
        snprintf(verdict->reason, sizeof(verdict->reason),
                 "level %u or one before it answers %.3f of the accesses after it, "
                 "%.3f after a flush",
                 (unsigned)level, share, empty);
    }
}

enum status experiment_invalidation(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    const struct outcome *known = experiment_outcome(run, "geometry", path->name);

    if (!known || known->geometry->level_count < 2)
        return experiment_skip(outcome, "no two levels of the path are known to tell apart");
    for (uint32_t level = 0; level + 1 < known->geometry->level_count; level++) {
        for (size_t before = PROBE_BEFORE_LAUNCH; before < PROBE_BEFORE_COUNT; before++) {
            const enum status status =
                walk_after(run, outcome, path, known->geometry, level, (enum probe_before)before);

            if (status != STATUS_OK)
                return status;
        }
        judge_kept(outcome, level + 1);
    }
    return outcome->number_count ? STATUS_OK
                                 : experiment_skip(outcome, "the geometry of no level is known well enough to fill it");
}

/* -- code ---------------------------------------------------------------------------------------------- */

/* The latency from which on an access was answered behind the level. */
static double behind(const struct geometry *geometry, uint32_t level)
{
    return (geometry->level[level].latency.median + geometry->level[level + 1].latency.median) / 2;
}

/* Code that pushes constants out of the level is in it. */
static void judge_code(struct outcome *outcome)
{
    const struct number *none = &outcome->numbers[0], *most = &outcome->numbers[outcome->number_count - 1];
    const struct number *first = none;
    struct verdict *verdict;

    while (first < most && !(first->low > none->high))
        first++;
    verdict = experiment_verdict(outcome, "instructions_and_constants_share",
                                 most->low > 0.5 && none->high < 0.02 ? "yes"
                                 : most->high < 0.02                  ? "not seen"
                                                                      : NULL);
    verdict->level = 2;
    snprintf(verdict->reason, sizeof(verdict->reason),
             "of %u bytes of constants that level 2 held, %.3f are lost with no code between, %.3f after %u bytes of "
             "it; the first after %u bytes",
             (unsigned)most->region_bytes, none->value, most->value, (unsigned)most->code_bytes,
             (unsigned)(first->low > none->high ? first->code_bytes : 0));
}

enum status experiment_code(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    const struct outcome *known = experiment_outcome(run, "geometry", path->name);
    uint32_t address[BANK_BYTES / 4], cycles[BANK_BYTES / 4], bytes, step;
    struct probe_request request = {.kind = PROBE_CODE, .path = path, .address = address, .warm_up = 2, .timed = 1};

    if (!experiment_usable(run, PROBE_CODE, path, outcome))
        return STATUS_OK;
    if (!known || known->geometry->level_count < 3 || !known->geometry->level[1].fetch_bytes.known)
        return experiment_skip(outcome, "no three levels are known: what was lost cannot be told from what was not");
    step = known->geometry->level[1].fetch_bytes.value;
    bytes = known->geometry->level[1].fits_bytes.known ? known->geometry->level[1].fits_bytes.value : BANK_BYTES;
    for (uint32_t at = 0; at < bytes; at += step)
        address[request.count++] = at;
    for (request.chunks = 0; request.chunks <= PROBE_CHUNKS_MAX; request.chunks += CODE_STEP) {
        double shares[STATE_REPEATS];
        struct number *number;

        for (size_t r = 0; r < STATE_REPEATS; r++) {
            const enum status status = probe_record_ask(run->record, &request, cycles);
            size_t lost = 0;

            if (status != STATUS_OK)
                return status;
            for (size_t i = 0; i < request.count; i++)
                lost += cycles[i] > behind(known->geometry, 1);
            shares[r] = (double)lost / (double)request.count;
        }
        number = experiment_number(outcome, "share_lost", "of the accesses", code_method);
        if (!number)
            return STATUS_ENVIRONMENT;
        experiment_summarize(number, shares, STATE_REPEATS);
        number->level = 2;
        number->stride = step;
        number->region_bytes = bytes;
        number->code_bytes = request.chunks * run->record->source.chunk_bytes;
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

static enum status walk_and_count(struct experiment_run *run, struct probe_request *request,
                                  const struct geometry *geometry, uint32_t *cycles, struct walked *walked)
{
    enum status status;

    request->kind = PROBE_WALK;
    status = probe_record_ask(run->record, request, cycles);
    walked->accesses = request->count * request->timed;
    for (size_t i = 0; status == STATUS_OK && i < walked->accesses; i++)
        for (uint32_t level = 0; level < 2 && level + 1 < geometry->level_count; level++)
            walked->slower[level] += cycles[i] > behind(geometry, level);
    request->kind = PROBE_COUNT;
    return status == STATUS_OK ? probe_record_ask(run->record, request, walked->counted) : status;
}

static bool add_count(struct outcome *outcome, const char *name, const char *method, const struct walked *walked,
                      double value)
{
    struct number *number = experiment_number(outcome, name, "lines", method);

    if (!number)
        return false;
    number->value = number->low = number->high = value;
    number->samples = walked->accesses;
    number->region_bytes = walked->bytes;
    return true;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* What launches count beside their walks, kernel parameters above all: by how much they count more than time says, in
 * the median. */
static double counted_beside(const struct walked *walked, size_t count, uint32_t level, size_t counter)
{
    double more[COUNTED_WALKS_MAX];

    for (size_t i = 0; i < count; i++)
        more[i] = (double)walked[i].counted[counter] - walked[i].slower[level];
    qsort(more, count, sizeof(more[0]), compare_doubles);
    return more[(count - 1) / 2];
}

static enum status compare_counts(struct outcome *outcome, const struct walked *walked, size_t count, uint32_t level,
                                  size_t counter, const char *by_time, const char *counted)
{
    const double beside = counted_beside(walked, count, level, counter);
    struct verdict *verdict;
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        const double lines = walked[i].counted[counter] - beside;

        most = fmax(most, fabs(lines - walked[i].slower[level]));
        if (!add_count(outcome, by_time, lines_method, &walked[i], walked[i].slower[level]) ||
            !add_count(outcome, counted, counted_method, &walked[i], lines))
            return STATUS_ENVIRONMENT;
    }
    verdict = experiment_verdict(outcome, "counters_and_time", most == 0 ? "agree" : "differ");
    verdict->level = level + 1;
    snprintf(
        verdict->reason, sizeof(verdict->reason),
        "%s of %zu walks over %u to %u bytes: largest difference %.0f lines; launches count %.0f beside their walks",
        probe_counters[counter], count, (unsigned)walked[0].bytes, (unsigned)walked[count - 1].bytes, most, beside);
    return STATUS_OK;
}

/* Cycles of the unit = a x requests + b x lines, least squares over the walks; with 95 % intervals. */
static enum status add_unit_costs(struct outcome *outcome, const struct walked *walked, size_t count)
{
    static const char *const names[] = {"active_cycles_per_request", "active_cycles_per_line"};
    double rr = 0, rl = 0, ll = 0, ry = 0, ly = 0, rest = 0, cost[2], variance[2], determinant;
    size_t samples = 0;

    for (size_t i = 0; i < count; i++) {
        const double requests = walked[i].counted[PROBE_COUNTED_REQUESTS];
        const double lines = walked[i].counted[PROBE_COUNTED_LINES];
        const double cycles = walked[i].counted[PROBE_COUNTED_ACTIVE_CYCLES];

        rr += requests * requests;
        rl += requests * lines;
        ll += lines * lines;
        ry += requests * cycles;
        ly += lines * cycles;
        samples += walked[i].accesses;
    }
    determinant = rr * ll - rl * rl;
    cost[0] = (ll * ry - rl * ly) / determinant;
    cost[1] = (rr * ly - rl * ry) / determinant;
    for (size_t i = 0; i < count; i++) {
        const double off = walked[i].counted[PROBE_COUNTED_ACTIVE_CYCLES] -
                           cost[0] * walked[i].counted[PROBE_COUNTED_REQUESTS] -
                           cost[1] * walked[i].counted[PROBE_COUNTED_LINES];

        rest += off * off / (double)(count - 2);
    }
    variance[0] = rest * ll / determinant;
    variance[1] = rest * rr / determinant;
    for (size_t k = 0; k < COUNT(names); k++) {
        struct number *number = experiment_number(outcome, names[k], "cycles", unit_method);

        if (!number)
            return STATUS_ENVIRONMENT;
        number->value = cost[k];
        number->low = cost[k] - t_many * sqrt(variance[k]);
        number->high = cost[k] + t_many * sqrt(variance[k]);
        number->samples = samples;
        number->level = 1;
    }
    return STATUS_OK;
}

/* Regions that the first level holds, and more, up to four times as large. */
enum status experiment_counts(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    const struct outcome *known = experiment_outcome(run, "geometry", path->name);
    uint32_t address[BANK_BYTES / 4], cycles[BANK_BYTES / 4], fits, step;
    struct probe_request request = {.path = path, .address = address, .timed = 3, .counted = PROBE_WALK};
    struct walked walked[COUNTED_WALKS_MAX] = {0};
    enum status status = STATUS_OK;
    size_t count = 0;

    if (!experiment_usable(run, PROBE_COUNT, path, outcome))
        return STATUS_OK;
    if (!known || known->geometry->level_count < 2 || !known->geometry->level[0].fits_bytes.known)
        return experiment_skip(outcome, "the first level is not known");
    step = known->geometry->level[0].fetch_bytes.value;
    fits = known->geometry->level[0].fits_bytes.value;
    for (uint32_t lines = 1; status == STATUS_OK && count < COUNT(walked) && lines * step <= 4 * fits &&
                             lines * step * request.timed <= BANK_BYTES;
         lines += 1 + lines / 8) {
        request.count = 0;
        for (uint32_t at = 0; at < lines * step; at += step)
            address[request.count++] = at;
        walked[count].bytes = lines * step;
        status = walk_and_count(run, &request, known->geometry, cycles, &walked[count++]);
    }
    if (status == STATUS_OK && count < 8)
        return experiment_skip(outcome, "the first level is too small, or too large, for walks around its size");
    if (status == STATUS_OK)
        status = compare_counts(outcome, walked, count, 0, PROBE_COUNTED_LINES, "lines_by_time", "lines_counted");
    if (status == STATUS_OK && known->geometry->level_count > 2)
        status = compare_counts(outcome, walked, count, 1, PROBE_COUNTED_GCC_MISSES, "second_level_lines_by_time",
                                "second_level_lines_counted");
    return status == STATUS_OK ? add_unit_costs(outcome, walked, count) : status;
}
