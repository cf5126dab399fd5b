/* SPDX-License-Identifier: MIT */
#include "characterize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "geometry.h"
#include "log.h"
#include "probe_args.h"
#include "stats.h"

enum {
    REPEATS = 21,
    FEW_ITERATIONS = 5,
    MANY_ITERATIONS = 69,   /* 64 x 16 loads more */
    LOADED_WARPS = 16,      /* of throughput against distinct addresses: enough to keep the unit busy */
    STATE_REPEATS = 9,
    LEVELS_MAX = 4,
    GRAIN_BYTES = 256,
    KEPT_BYTES_MIN = 256,
    BANK_BYTES = CBANK_TABLE_BYTES,
    CODE_STEP = 4,
    COUNTED_WALKS_MAX = 48,
};

/* What they find out. */
static const char follows[] = "cycles of a dependent load";
static const char follows_l1[] = "cycles of a dependent load that hits L1, the addition of its 64-bit address included";
static const char follows_texture[] = "cycles of a dependent load that hits L1, by the texture unit";
static const char follows_l2[] =
    "cycles of a dependent load of one line that hits L2, the addition of its address included";
static const char bank[] = "levels behind a constant bank";
static const char banks[] = "levels behind the constant banks of several modules that run side by side";
static const char serializes[] = "cost of distinct addresses in a warp";
static const char crosses[] = "distinct addresses from which the other path is faster";
static const char streams[] = "loads of one address against resident warps";
static const char left[] = "what is left of each constant level after what comes between two launches";
static const char share[] = "which SMs hit what one of them brought, behind the first constant level";
static const char code[] = "what straight code leaves of the constants behind the first level";
static const char activity[] = "how much of the time the indexed constant cache is active under full load";
static const char counts[] = "lines that walks bring into the first constant level, counted and by time";
static const char l1[] = "the L1 data cache and what is behind it";

const struct experiment experiments[] = {
    {"latency_constant", follows, EXPERIMENT_LATENCY, "constant", NULL, 0, PROBE_WALK},
    {"latency_constant_uniform", follows, EXPERIMENT_LATENCY, "constant_uniform", NULL, 0, PROBE_WALK},
    {"latency_constant_operand", follows, EXPERIMENT_LATENCY, "constant_operand", NULL, 0, PROBE_WALK},
    {"latency_param", follows, EXPERIMENT_LATENCY, "param", NULL, 0, PROBE_WALK},
    {"latency_global", follows_l1, EXPERIMENT_LATENCY, "global", NULL, 0, PROBE_WALK},
    {"latency_readonly", follows_l1, EXPERIMENT_LATENCY, "readonly", NULL, 0, PROBE_WALK},
    {"latency_restrict", follows_l1, EXPERIMENT_LATENCY, "restrict", NULL, 0, PROBE_WALK},
    {"latency_texture", follows_texture, EXPERIMENT_LATENCY, "texture", NULL, 0, PROBE_WALK},
    {"latency_global_l2", follows_l2, EXPERIMENT_LATENCY, "global_l2", NULL, 0, PROBE_WALK},
    {"latency_shared", follows, EXPERIMENT_LATENCY, "shared", NULL, 0, PROBE_WALK},
    {"geometry_constant", bank, EXPERIMENT_GEOMETRY, "constant", NULL, BANK_BYTES, PROBE_WALK},
    {"geometry_constant_modules", banks, EXPERIMENT_GEOMETRY, "constant", NULL, PROBE_MEMBERS * BANK_BYTES,
     PROBE_RELAY},
    {"serialization_constant", serializes, EXPERIMENT_SERIALIZATION, "constant", NULL, 0, PROBE_WALK},
    {"serialization_global", serializes, EXPERIMENT_SERIALIZATION, "global", NULL, 0, PROBE_WALK},
    {"serialization_readonly", serializes, EXPERIMENT_SERIALIZATION, "readonly", NULL, 0, PROBE_WALK},
    {"serialization_shared", serializes, EXPERIMENT_SERIALIZATION, "shared", NULL, 0, PROBE_WALK},
    {"crossover_global", crosses, EXPERIMENT_CROSSOVER, "constant", "global", 0, PROBE_WALK},
    {"crossover_shared", crosses, EXPERIMENT_CROSSOVER, "constant", "shared", 0, PROBE_WALK},
    {"throughput_constant", streams, EXPERIMENT_THROUGHPUT, "constant", NULL, 0, PROBE_WALK},
    {"throughput_constant_uniform", streams, EXPERIMENT_THROUGHPUT, "constant_uniform", NULL, 0, PROBE_WALK},
    {"throughput_constant_operand", streams, EXPERIMENT_THROUGHPUT, "constant_operand", NULL, 0, PROBE_WALK},
    {"throughput_param", streams, EXPERIMENT_THROUGHPUT, "param", NULL, 0, PROBE_WALK},
    {"throughput_global", streams, EXPERIMENT_THROUGHPUT, "global", NULL, 0, PROBE_WALK},
    {"throughput_readonly", streams, EXPERIMENT_THROUGHPUT, "readonly", NULL, 0, PROBE_WALK},
    {"throughput_texture", streams, EXPERIMENT_THROUGHPUT, "texture", NULL, 0, PROBE_WALK},
    {"throughput_shared", streams, EXPERIMENT_THROUGHPUT, "shared", NULL, 0, PROBE_WALK},
    {"invalidation_constant", left, EXPERIMENT_INVALIDATION, "constant", NULL, 0, PROBE_WALK},
    {"sharing_constant", share, EXPERIMENT_SHARING, "constant", NULL, 0, PROBE_WALK},
    {"geometry_global", l1, EXPERIMENT_GEOMETRY, "global", NULL, 512 << 10, PROBE_WALK},
    {"code_constant", code, EXPERIMENT_CODE, "constant", NULL, 0, PROBE_WALK},
    {"activity_constant", activity, EXPERIMENT_ACTIVITY, "constant", NULL, 0, PROBE_WALK}, /* counters from here on */
    {"activity_param", activity, EXPERIMENT_ACTIVITY, "param", NULL, 0, PROBE_WALK},
    {"counts_constant", counts, EXPERIMENT_COUNTS, "constant", NULL, 0, PROBE_WALK},
};
const size_t experiment_count = sizeof(experiments) / sizeof(experiments[0]);

/* Student's t, 97.5 %, for more than 20 degrees of freedom: no larger. */
static const double t_many = 2.086;

static const uint32_t distinct_counts[] = {1, 2, 4, 8, 16, 32};
static const uint32_t strides[] = {4, 64, 128};
static const uint32_t warp_counts[] = {1, 2, 4, 8, 16, 32, 64};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char slope_method[] =
    "cycles of 69 iterations of 16 loads less those of 5, over the 1024 loads between: median of 21 launches of each, "
    "distribution-free interval";
static const char fit_method[] = "least squares of the medians against distinct addresses - 1, Student's t";
static const char crossover_method[] =
    "first of 1, 2, 4 ... 32 distinct addresses at which the other path's interval is below";
static const char state_method[] =
    "each access of a walk in a launch of its own by the nearest latency of a level: median share of 9 walks, "
    "distribution-free interval";
static const char code_method[] =
    "accesses of a walk, after straight code of so many bytes, that level 2 held before and does not answer: median "
    "share of 9 walks, distribution-free interval";
static const char lines_method[] = "accesses of three walks in one launch that the level did not answer, by time";
static const char counted_method[] =
    "the same by counter, of another launch, less what it counts beside: that of the shortest walk";
static const char unit_method[] =
    "least squares of the cycles that the unit was active against requests and lines, Student's t";
static const char share_method[] =
    "cycles that the unit was active over cycles of the SMs, of 69 iterations of 16 loads less those of 5: median of 9 "
    "launches of each, distribution-free interval";
static const char sharing_method[] =
    "one SM loads every line, then each of the others, one after the other, times its first load of a line of its own; "
    "shared: nearer to the latency of the second level than to that of the third";

struct run {
    struct probe_record *record;
    struct characterization *out;
    uint32_t sm_count;
};

/* -- outcomes ------------------------------------------------------------------------------------------ */

/* NULL out of memory, logged. */
static struct number *add_number(struct outcome *outcome, const char *name, const char *unit, const char *method)
{
    if (outcome->number_count == outcome->number_room) {
        const size_t room = 2 * outcome->number_room + 16;
        struct number *grown = realloc(outcome->numbers, room * sizeof(*grown));

        if (!grown) {
            log_error(STATUS_ENVIRONMENT, "out of memory for what was found");
            return NULL;
        }
        outcome->numbers = grown;
        outcome->number_room = room;
    }
    outcome->numbers[outcome->number_count] =
        (struct number){.name = name, .unit = unit, .method = method, .value = NAN, .low = NAN, .high = NAN};
    return &outcome->numbers[outcome->number_count++];
}

static struct verdict *add_verdict(struct outcome *outcome, const char *name, const char *value)
{
    struct verdict *verdict = &outcome->verdicts[outcome->verdict_count];

    if (outcome->verdict_count + 1 < COUNT(outcome->verdicts))
        outcome->verdict_count++;
    *verdict = (struct verdict){.name = name, .value = value};
    return verdict;
}

static enum status skip(struct outcome *outcome, const char *reason)
{
    outcome->status = "skipped";
    snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason);
    return STATUS_OK;
}

static void set_summary(struct number *number, const double *samples, size_t count)
{
    double sorted[256];
    struct summary summary;

    stats_summarize(samples, count, sorted, &summary);
    number->value = summary.median;
    number->low = summary.ci_low;
    number->high = summary.ci_high;
    number->samples = count;
}

static const struct path *path_named(const char *name)
{
    for (size_t i = 0; i < path_count; i++)
        if (strcmp(paths[i].name, name) == 0)
            return &paths[i];
    return NULL;
}

static const struct outcome *outcome_named(const struct run *run, const char *prefix, const char *path)
{
    char name[96];

    snprintf(name, sizeof(name), "%s_%s", prefix, path);
    for (size_t i = 0; i < run->out->count; i++)
        if (strcmp(run->out->outcomes[i].experiment->name, name) == 0 &&
            strcmp(run->out->outcomes[i].status, "ok") == 0)
            return &run->out->outcomes[i];
    return NULL;
}

static bool usable(const struct run *run, enum probe_kind kind, const struct path *path, struct outcome *outcome)
{
    const struct probe_kernel *kernel = probe_record_kernel(run->record, kind, path);

    if (!kernel->usable)
        skip(outcome, kernel->reason);
    return kernel->usable;
}

/* -- slopes -------------------------------------------------------------------------------------------- */

/* Cycles of one load of a warp among `warps` that do the same: a slope over two trip counts, which nothing fixed is in.
 */
static enum status slope(struct run *run, enum probe_kind kind, const struct path *path, uint32_t distinct,
                         uint32_t stride, uint32_t warps, double per, struct number *number)
{
    struct probe_request request = {.kind = kind, .path = path, .distinct = distinct, .stride = stride, .warps = warps,
                                    .iterations = FEW_ITERATIONS, .repeats = REPEATS};
    uint32_t few[REPEATS], many[REPEATS];
    double samples[REPEATS];
    enum status status = probe_record_ask(run->record, &request, few);

    if (status != STATUS_OK)
        return status;
    request.iterations = MANY_ITERATIONS;
    status = probe_record_ask(run->record, &request, many);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < REPEATS; i++)
        samples[i] = ((double)many[i] - few[i]) / (PROBE_LOADS * (MANY_ITERATIONS - FEW_ITERATIONS)) / per;
    set_summary(number, samples, REPEATS);
    number->distinct = distinct;
    number->stride = distinct > 1 ? stride : 0;
    number->warps = warps;
    return STATUS_OK;
}

static enum status run_latency(struct run *run, struct outcome *outcome, const struct path *path)
{
    struct number *number;

    if (!usable(run, PROBE_CHAIN, path, outcome))
        return STATUS_OK;
    number = add_number(outcome, "latency", "cycles", slope_method);
    return number ? slope(run, PROBE_CHAIN, path, 1, sizeof(uint32_t), 1, 1, number) : STATUS_ENVIRONMENT;
}

/* -- serialization ------------------------------------------------------------------------------------- */

/* Student's t, 97.5 %, for so many degrees of freedom. */
static double student_t(size_t freedom)
{
    static const double t[] = {NAN, 12.706, 4.303, 3.182, 2.776, 2.571};

    return freedom < COUNT(t) ? t[freedom] : NAN;
}

struct line {
    double base, cost, base_half, cost_half; /* half widths of the intervals */
    double largest; /* deviation from the line */
    size_t points, samples;
};

/* Base and cost of each extra address over the numbers of that name and stride that nothing speaks against. */
static struct line fit(const struct outcome *outcome, const char *name, uint32_t stride)
{
    struct line line = {.base = NAN, .cost = NAN, .base_half = NAN, .cost_half = NAN, .largest = NAN};
    double x[COUNT(distinct_counts)], y[COUNT(distinct_counts)], mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
    size_t n = 0;

    for (size_t i = 0; i < outcome->number_count && n < COUNT(x); i++) {
        const struct number *number = &outcome->numbers[i];

        if (strcmp(number->name, name) != 0 || number->reason[0] || (number->stride != stride && number->distinct > 1))
            continue;
        x[n] = number->distinct - 1.0;
        y[n] = number->value;
        mean_x += x[n];
        mean_y += y[n++];
        line.samples += number->samples;
    }
    line.points = n;
    if (n < 3)
        return line;
    mean_x /= (double)n;
    mean_y /= (double)n;
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    line.cost = xy / xx;
    line.base = mean_y - line.cost * mean_x;
    line.largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = y[i] - line.base - line.cost * x[i];

        rest += off * off;
        line.largest = fmax(line.largest, fabs(off));
    }
    rest = sqrt(rest / (double)(n - 2));
    line.cost_half = student_t(n - 2) * rest / sqrt(xx);
    line.base_half = student_t(n - 2) * rest * sqrt(1 / (double)n + mean_x * mean_x / xx);
    return line;
}

static bool add_fitted(struct outcome *outcome, const char *name, double value, double half, size_t samples,
                       uint32_t stride)
{
    struct number *number = add_number(outcome, name, "cycles", fit_method);

    if (!number)
        return false;
    number->value = value;
    number->low = value - half;
    number->high = value + half;
    number->samples = samples;
    number->stride = stride;
    if (isnan(value))
        snprintf(number->reason, sizeof(number->reason), "fewer than three sizes lie inside the first level");
    return true;
}

/* The same cost at 4 bytes, where 16 neighbours share 64 bytes, as at 64 says that addresses are what costs. Costs
 * within 5 % of each other count as the same: an interval of points on a line can be narrower than any difference.
 * Points that are on no line, by an interval wider than a quarter of the larger cost, say nothing. */
static void judge(struct outcome *outcome, const char *name, const struct line *near, const struct line *far)
{
    struct verdict *verdict = add_verdict(outcome, name, NULL);
    const double share = near->cost / far->cost;

    snprintf(verdict->reason, sizeof(verdict->reason),
             "%.4f cycles an extra address 4 bytes apart (+-%.4f), %.4f 64 bytes "
             "apart (+-%.4f)",
             near->cost, near->cost_half, far->cost, far->cost_half);
    if (isnan(near->cost) || isnan(far->cost))
        return;
    if (fmax(near->cost, far->cost) < 0.02)
        verdict->value = "neither";
    else if (fmax(near->cost_half, far->cost_half) > 0.25 * fmax(near->cost, far->cost))
        verdict->value = NULL;
    else if (fabs(share - 1) <= 0.05 || fabs(near->cost - far->cost) <= near->cost_half + far->cost_half)
        verdict->value = "address";
    else if (share < 0.5)
        verdict->value = "line";
    else
        verdict->value = NULL;
}

/* Bytes that a walk of the path's first level hits throughout; 0 where not known. */
static uint32_t fits_first_level(const struct run *run, const char *path)
{
    const struct outcome *outcome = outcome_named(run, "geometry", path);
    const struct geometry_number *fits = outcome && outcome->geometry ? &outcome->geometry->level[0].fits_bytes : NULL;

    return fits && fits->known ? fits->value : 0;
}

static enum status serialization_curve(struct run *run, struct outcome *outcome, const struct path *path,
                                       enum probe_kind kind, const char *name, uint32_t warps)
{
    const uint32_t fits = fits_first_level(run, path->name);

    for (size_t s = 0; s < COUNT(strides); s++)
        for (size_t d = s ? 1 : 0; d < COUNT(distinct_counts); d++) {
            const uint32_t distinct = distinct_counts[d], footprint = distinct * strides[s];
            struct number *number = add_number(outcome, name, "cycles", slope_method);
            const enum status status = !number ? STATUS_ENVIRONMENT
                                               : slope(run, kind, path, distinct, strides[s], warps, warps, number);

            if (status != STATUS_OK)
                return status;
            if (fits && footprint > fits)
                snprintf(number->reason, sizeof(number->reason),
                         "%u bytes are more than the %u that hit in the first level: "
                         "left out of the fit",
                         (unsigned)footprint, (unsigned)fits);
        }
    return STATUS_OK;
}

static enum status run_serialization(struct run *run, struct outcome *outcome, const struct path *path)
{
    static const struct {
        enum probe_kind kind;
        const char *name, *base, *cost, *deviation, *verdict;
        uint32_t warps;
    } curves[] = {
        {PROBE_CHAIN, "latency", "latency_base", "latency_per_extra_address", "latency_largest_deviation",
         "latency_grows_per", 1},
        {PROBE_STREAM, "cycles_per_load", "cycles_per_load_base", "cycles_per_load_per_extra_address",
         "cycles_per_load_largest_deviation", "throughput_falls_per", LOADED_WARPS},
    };

    if (!usable(run, PROBE_CHAIN, path, outcome) || !usable(run, PROBE_STREAM, path, outcome))
        return STATUS_OK;
    for (size_t c = 0; c < COUNT(curves); c++) {
        struct line lines[COUNT(strides)];
        const enum status status =
            serialization_curve(run, outcome, path, curves[c].kind, curves[c].name, curves[c].warps);

        if (status != STATUS_OK)
            return status;
        for (size_t s = 0; s < COUNT(strides); s++) {
            lines[s] = fit(outcome, curves[c].name, strides[s]);
            if (!add_fitted(outcome, curves[c].base, lines[s].base, lines[s].base_half, lines[s].samples, strides[s]) ||
                !add_fitted(outcome, curves[c].cost, lines[s].cost, lines[s].cost_half, lines[s].samples, strides[s]) ||
                !add_fitted(outcome, curves[c].deviation, lines[s].largest, 0, lines[s].samples, strides[s]))
                return STATUS_ENVIRONMENT;
        }
        judge(outcome, curves[c].verdict, &lines[0], &lines[1]);
    }
    return STATUS_OK;
}

static const struct number *number_of(const struct outcome *outcome, const char *name, uint32_t distinct,
                                      uint32_t stride)
{
    for (size_t i = 0; i < outcome->number_count; i++) {
        const struct number *number = &outcome->numbers[i];

        if (strcmp(number->name, name) == 0 && number->distinct == distinct &&
            (distinct == 1 || number->stride == stride))
            return number;
    }
    return NULL;
}

static enum status run_crossover(struct run *run, struct outcome *outcome)
{
    static const char *const names[] = {"latency", "cycles_per_load"}, *const found[] = {"latency_crossover",
                                                                                       "throughput_crossover"};
    const struct outcome *one = outcome_named(run, "serialization", outcome->experiment->path);
    const struct outcome *other = outcome_named(run, "serialization", outcome->experiment->other);

    if (!one || !other)
        return skip(outcome, "the serialization of one of the paths is not known");
    for (size_t n = 0; n < COUNT(names); n++)
        for (size_t s = 0; s < COUNT(strides); s++) {
            struct number *number = add_number(outcome, found[n], "distinct addresses", crossover_method);

            if (!number)
                return STATUS_ENVIRONMENT;
            number->stride = strides[s];
            for (size_t d = 0; d < COUNT(distinct_counts) && isnan(number->value); d++) {
                const struct number *a = number_of(one, names[n], distinct_counts[d], strides[s]);
                const struct number *b = number_of(other, names[n], distinct_counts[d], strides[s]);

                number->samples += a->samples + b->samples;
                if (b->high < a->low) {
                    number->value = number->high = distinct_counts[d];
                    number->low = d ? distinct_counts[d - 1] : 1;
                }
            }
            if (isnan(number->value))
                snprintf(number->reason, sizeof(number->reason), "not up to 32");
        }
    return STATUS_OK;
}

/* -- throughput ---------------------------------------------------------------------------------------- */

static enum status add_rates(struct outcome *outcome, size_t first)
{
    const size_t count = outcome->number_count;
    double best = 0, low = 0, high = 0;
    size_t samples = 0;
    struct number *bytes;

    for (size_t i = first; i < count; i++) {
        const struct number of = outcome->numbers[i];
        struct number *rate = add_number(outcome, "loads_per_cycle", "warp loads per cycle and SM", slope_method);

        if (!rate)
            return STATUS_ENVIRONMENT;
        rate->warps = of.warps;
        rate->samples = of.samples;
        rate->value = 1 / of.value;
        rate->low = 1 / of.high;
        rate->high = 1 / of.low;
        if (rate->value > best) {
            best = rate->value;
            low = rate->low;
            high = rate->high;
            samples = rate->samples;
        }
    }
    bytes = add_number(outcome, "broadcast_bandwidth", "bytes per cycle and SM",
                       "most warp loads per cycle over the counts of warps, x 32 lanes x 4 bytes");
    if (!bytes)
        return STATUS_ENVIRONMENT;
    bytes->value = 128 * best;
    bytes->low = 128 * low;
    bytes->high = 128 * high;
    bytes->samples = samples;
    return STATUS_OK;
}

static enum status run_throughput(struct run *run, struct outcome *outcome, const struct path *path)
{
    enum status status;

    if (!usable(run, PROBE_STREAM, path, outcome))
        return STATUS_OK;
    for (size_t w = 0; w < COUNT(warp_counts); w++) {
        struct number *number = add_number(outcome, "cycles_per_load", "cycles", slope_method);

        status = !number ? STATUS_ENVIRONMENT
                         : slope(run, PROBE_STREAM, path, 1, sizeof(uint32_t), warp_counts[w], warp_counts[w], number);
        if (status != STATUS_OK)
            return status;
    }
    return add_rates(outcome, 0);
}

/* -- geometry ------------------------------------------------------------------------------------------ */

struct walker {
    struct run *run;
    const struct path *path;
    enum probe_kind kind;
};

/* A walk without a warm-up follows another of the same list in the launch before it: else L2 would have to bring from
 * memory what the host has just written, and two things that are slow look alike. */
static enum status walk(void *context, const struct probe_walk *list, uint32_t *cycles)
{
    const struct walker *walker = context;
    const struct probe_request request = {.kind = walker->kind, .path = walker->path, .address = list->address,
                                          .count = list->count, .warm_up = list->warm_up, .timed = list->timed,
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
static void judge_banks(const struct run *run, struct outcome *outcome)
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
    verdict = add_verdict(outcome, "sets_swapped_by",
                          !swapped                  ? "nothing"
                          : by_order && !by_address ? "order of launches"
                          : by_address && !by_order ? "address"
                                                    : NULL);
    verdict->level = 1;
    snprintf(verdict->reason, sizeof(verdict->reason),
             "line i of the bank of kernel k is in the set of line i ^ n of the first: n %s k, and %s bits of the bank's "
             "address; lists drawn at random from %u banks hit as that says",
             by_order ? "is" : "is not", by_address ? "is" : "is not", (unsigned)level->bank_count);
}

static enum status run_geometry(struct run *run, struct outcome *outcome, const struct path *path)
{
    struct walker walker = {run, path, outcome->experiment->probe};
    const struct prober prober = {.context = &walker, .bytes = outcome->experiment->bytes,
                                  .bank_bytes = outcome->experiment->probe == PROBE_RELAY ? BANK_BYTES : 0,
                                  .samples_max = run->record->source.samples_max, .walk = walk};
    enum status status;

    if (!usable(run, outcome->experiment->probe, path, outcome))
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

static enum status walk_after(struct run *run, struct outcome *outcome, const struct path *path,
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
        struct number *number = add_number(outcome, names[k], "of the accesses", state_method);

        if (!number)
            return STATUS_ENVIRONMENT;
        set_summary(number, shares[k], STATE_REPEATS);
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
        verdict = add_verdict(outcome, "what_it_held_is",
                              fabs(share - empty) <= 0.02 ? "lost" : share >= 0.98 ? "kept" : "partly kept");
        verdict->level = level;
        verdict->before = probe_before_names[before];
        snprintf(verdict->reason, sizeof(verdict->reason),
                 "level %u or one before it answers %.3f of the accesses after it, "
                 "%.3f after a flush",
                 (unsigned)level, share, empty);
    }
}

static enum status run_invalidation(struct run *run, struct outcome *outcome, const struct path *path)
{
    const struct outcome *known = outcome_named(run, "geometry", path->name);

    if (!known || known->geometry->level_count < 2)
        return skip(outcome, "no two levels of the path are known to tell apart");
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
                                 : skip(outcome, "the geometry of no level is known well enough to fill it");
}

/* -- sharing ------------------------------------------------------------------------------------------- */

static int compare_cycles(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static void set_median(struct number *number, const uint32_t *sorted, size_t count)
{
    const size_t rank = stats_median_rank(count, STATS_CONFIDENCE);

    number->samples = count;
    if (count == 0)
        snprintf(number->reason, sizeof(number->reason), "no pair of SMs");
    else
        number->value = sorted[(count - 1) / 2];
    number->low = rank ? sorted[rank - 1] : NAN;
    number->high = rank ? sorted[count - rank] : NAN;
}

/* cycles[of * sms + to]: those of the first load of `to` of what `of` brought; 0: not known. */
static enum status ask_sharing(struct run *run, const struct path *path, uint32_t sms, uint32_t bytes, uint32_t step,
                               uint32_t *cycles)
{
    struct probe_request request = {.kind = PROBE_SHARING, .path = path, .blocks = run->sm_count, .bytes = bytes,
                                    .step = step, .grain = bytes / run->sm_count / 4 * 4};
    uint32_t *answer = calloc(2 * (size_t)run->sm_count, sizeof(*answer));
    enum status status = answer ? STATUS_OK : log_error(STATUS_ENVIRONMENT, "out of memory");

    for (request.first = 0; status == STATUS_OK && request.first < run->sm_count; request.first++) {
        status = probe_record_ask(run->record, &request, answer);
        for (uint32_t i = 0; status == STATUS_OK && i < run->sm_count; i++) {
            const uint32_t of = answer[2 * request.first], to = answer[2 * i];

            if (of < sms && to < sms && i != request.first)
                cycles[of * sms + to] = answer[2 * i + 1];
        }
    }
    free(answer);
    return status;
}

/* Groups: SMs that hit what each other brought, and all that such lead to. Returns the pairs that do not agree with
 * them. */
static size_t group_sms(const uint32_t *cycles, uint32_t sms, double threshold, struct outcome *outcome)
{
    uint32_t *const group = outcome->group;
    size_t wrong = 0;
    bool changed = true;

    for (uint32_t i = 0; i < sms; i++)
        group[i] = i;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < sms; i++)
            for (uint32_t j = 0; j < sms; j++)
                if (cycles[i * sms + j] && cycles[i * sms + j] < threshold && cycles[j * sms + i] < threshold &&
                    group[i] < group[j]) {
                    group[j] = group[i];
                    changed = true;
                }
    }
    for (uint32_t i = 0; i < sms; i++)
        for (uint32_t j = 0; j < sms; j++)
            wrong += cycles[i * sms + j] && (cycles[i * sms + j] < threshold) != (group[i] == group[j]);
    for (uint32_t i = 0; i < sms; i++)
        if (group[i] == i) {
            for (uint32_t j = 0; j < sms; j++)
                group[j] = j != i && group[j] == i ? UINT32_MAX - outcome->group_count : group[j];
            group[i] = UINT32_MAX - outcome->group_count++;
        }
    for (uint32_t i = 0; i < sms; i++)
        group[i] = UINT32_MAX - group[i];
    return wrong;
}

static enum status add_sharing(struct outcome *outcome, const uint32_t *cycles, uint32_t sms, double threshold)
{
    static const char own[] = "cycles, the clock's own included";
    const size_t all = (size_t)sms * sms;
    uint32_t *sorted = malloc(all * sizeof(*sorted));
    size_t count = 0, shared = 0, wrong;

    if (!sorted)
        return log_error(STATUS_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < all; i++)
        if (cycles[i])
            sorted[count++] = cycles[i];
    qsort(sorted, count, sizeof(*sorted), compare_cycles);
    while (shared < count && sorted[shared] < threshold)
        shared++;
    wrong = group_sms(cycles, sms, threshold, outcome);

    struct number *const near = add_number(outcome, "cycles_shared", own, sharing_method);

    if (near)
        set_median(near, sorted, shared);

    struct number *const far = add_number(outcome, "cycles_not_shared", own, sharing_method);

    if (far)
        set_median(far, sorted + shared, count - shared);
    free(sorted);

    struct number *const groups = add_number(outcome, "groups", "groups", sharing_method);

    if (groups) {
        groups->value = groups->low = groups->high = outcome->group_count;
        groups->samples = count;
    }

    struct number *const disagree = add_number(outcome, "pairs_that_disagree", "of the pairs", sharing_method);

    if (!disagree)
        return STATUS_ENVIRONMENT;
    disagree->value = disagree->low = disagree->high = (double)wrong / (double)count;
    disagree->samples = count;
    return STATUS_OK;
}

static enum status run_sharing(struct run *run, struct outcome *outcome, const struct path *path)
{
    const struct outcome *known = outcome_named(run, "geometry", path->name);
    const struct geometry_number *fits = known ? &known->geometry->level[1].fits_bytes : NULL;
    uint32_t bytes = GRAIN_BYTES * run->sm_count < BANK_BYTES ? GRAIN_BYTES * run->sm_count : BANK_BYTES;
    const uint32_t step =
        known && known->geometry->level[0].fetch_bytes.known ? known->geometry->level[0].fetch_bytes.value : 4;
    uint32_t *cycles;
    enum status status;

    if (!usable(run, PROBE_SHARING, path, outcome))
        return STATUS_OK;
    if (!known || known->geometry->level_count < 3)
        return skip(outcome, "no three levels are known: what is shared cannot be told from what is not");
    if (fits->known && fits->value < bytes)
        bytes = fits->value;
    if (bytes / run->sm_count < 4)
        return skip(outcome, "the level is smaller than a word for each SM");
    outcome->sm_count = run->sm_count;
    cycles = calloc((size_t)run->sm_count * run->sm_count, sizeof(*cycles));
    outcome->group = calloc(run->sm_count, sizeof(*outcome->group));
    status = cycles && outcome->group ? ask_sharing(run, path, run->sm_count, bytes, step, cycles)
                                      : log_error(STATUS_ENVIRONMENT, "out of memory for pairs of SMs");
    if (status == STATUS_OK)
        status = add_sharing(outcome, cycles, run->sm_count,
                             (known->geometry->level[1].latency.median + known->geometry->level[2].latency.median) / 2);
    free(cycles);
    return status;
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
    verdict = add_verdict(outcome, "instructions_and_constants_share",
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

static enum status run_code(struct run *run, struct outcome *outcome, const struct path *path)
{
    const struct outcome *known = outcome_named(run, "geometry", path->name);
    uint32_t address[BANK_BYTES / 4], cycles[BANK_BYTES / 4], bytes, step;
    struct probe_request request = {.kind = PROBE_CODE, .path = path, .address = address, .warm_up = 2, .timed = 1};

    if (!usable(run, PROBE_CODE, path, outcome))
        return STATUS_OK;
    if (!known || known->geometry->level_count < 3 || !known->geometry->level[1].fetch_bytes.known)
        return skip(outcome, "no three levels are known: what was lost cannot be told from what was not");
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
        number = add_number(outcome, "share_lost", "of the accesses", code_method);
        if (!number)
            return STATUS_ENVIRONMENT;
        set_summary(number, shares, STATE_REPEATS);
        number->level = 2;
        number->stride = step;
        number->region_bytes = bytes;
        number->code_bytes = request.chunks * run->record->source.chunk_bytes;
    }
    judge_code(outcome);
    return STATUS_OK;
}

/* -- counts -------------------------------------------------------------------------------------------- */

/* The cycles that the indexed constant caches are active, of those that pass, where every SM is full. */
static enum status run_activity(struct run *run, struct outcome *outcome, const struct path *path)
{
    struct probe_request request = {.kind = PROBE_COUNT, .counted = PROBE_STREAM, .path = path, .distinct = 1,
                                    .stride = sizeof(uint32_t), .warps = warp_counts[COUNT(warp_counts) - 1],
                                    .repeats = 1};
    double shares[STATE_REPEATS];
    struct number *number;

    if (!usable(run, PROBE_STREAM, path, outcome) || !usable(run, PROBE_COUNT, path, outcome))
        return STATUS_OK;
    for (size_t r = 0; r < STATE_REPEATS; r++) {
        uint32_t few[PROBE_COUNTED_COUNT], many[PROBE_COUNTED_COUNT];
        enum status status;

        request.iterations = FEW_ITERATIONS;
        status = probe_record_ask(run->record, &request, few);
        request.iterations = MANY_ITERATIONS;
        if (status == STATUS_OK)
            status = probe_record_ask(run->record, &request, many);
        if (status != STATUS_OK)
            return status;
        shares[r] = ((double)many[PROBE_COUNTED_ACTIVE_CYCLES] - few[PROBE_COUNTED_ACTIVE_CYCLES]) /
                    ((double)many[PROBE_COUNTED_SM_CYCLES] - few[PROBE_COUNTED_SM_CYCLES]);
    }
    number = add_number(outcome, "unit_active_share", "of the cycles", share_method);
    if (!number)
        return STATUS_ENVIRONMENT;
    set_summary(number, shares, STATE_REPEATS);
    number->warps = request.warps;
    return STATUS_OK;
}

/* What a walk of a region was seen to do. */
struct walked {
    uint32_t bytes;
    size_t accesses;
    uint32_t slower[2];                    /* accesses that level 1, and level 2, did not answer */
    uint32_t counted[PROBE_COUNTED_COUNT]; /* of another launch of it */
};

static enum status walk_and_count(struct run *run, struct probe_request *request, const struct geometry *geometry,
                                  uint32_t *cycles, struct walked *walked)
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
    struct number *number = add_number(outcome, name, "lines", method);

    if (!number)
        return false;
    number->value = number->low = number->high = value;
    number->samples = walked->accesses;
    number->region_bytes = walked->bytes;
    return true;
}

/* What the launch counts beside its walk is what the shortest walk counts more than its time says. */
static enum status compare_counts(struct outcome *outcome, const struct walked *walked, size_t count, uint32_t level,
                                  size_t counter, const char *by_time, const char *counted)
{
    const double beside = (double)walked[0].counted[counter] - walked[0].slower[level];
    struct verdict *verdict;
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        const double lines = walked[i].counted[counter] - beside;

        most = fmax(most, fabs(lines - walked[i].slower[level]));
        if (!add_count(outcome, by_time, lines_method, &walked[i], walked[i].slower[level]) ||
            !add_count(outcome, counted, counted_method, &walked[i], lines))
            return STATUS_ENVIRONMENT;
    }
    verdict = add_verdict(outcome, "counters_and_time", most == 0 ? "agree" : "differ");
    verdict->level = level + 1;
    snprintf(verdict->reason, sizeof(verdict->reason),
             "%s of %zu walks over %u to %u bytes: largest difference %.0f lines; every launch counts %.0f beside",
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
        struct number *number = add_number(outcome, names[k], "cycles", unit_method);

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
static enum status run_counts(struct run *run, struct outcome *outcome, const struct path *path)
{
    const struct outcome *known = outcome_named(run, "geometry", path->name);
    uint32_t address[BANK_BYTES / 4], cycles[BANK_BYTES / 4], fits, step;
    struct probe_request request = {.path = path, .address = address, .timed = 3, .counted = PROBE_WALK};
    struct walked walked[COUNTED_WALKS_MAX] = {0};
    enum status status = STATUS_OK;
    size_t count = 0;

    if (!usable(run, PROBE_COUNT, path, outcome))
        return STATUS_OK;
    if (!known || known->geometry->level_count < 2 || !known->geometry->level[0].fits_bytes.known)
        return skip(outcome, "the first level is not known");
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
        return skip(outcome, "the first level is too small, or too large, for walks around its size");
    if (status == STATUS_OK)
        status = compare_counts(outcome, walked, count, 0, PROBE_COUNTED_LINES, "lines_by_time", "lines_counted");
    if (status == STATUS_OK && known->geometry->level_count > 2)
        status = compare_counts(outcome, walked, count, 1, PROBE_COUNTED_GCC_MISSES, "second_level_lines_by_time",
                                "second_level_lines_counted");
    return status == STATUS_OK ? add_unit_costs(outcome, walked, count) : status;
}

/* -- all ----------------------------------------------------------------------------------------------- */

static enum status run_experiment(struct run *run, struct outcome *outcome)
{
    const struct path *path = path_named(outcome->experiment->path);

    switch (outcome->experiment->kind) {
    case EXPERIMENT_LATENCY:
        return run_latency(run, outcome, path);
    case EXPERIMENT_SERIALIZATION:
        return run_serialization(run, outcome, path);
    case EXPERIMENT_CROSSOVER:
        return run_crossover(run, outcome);
    case EXPERIMENT_THROUGHPUT:
        return run_throughput(run, outcome, path);
    case EXPERIMENT_GEOMETRY:
        return run_geometry(run, outcome, path);
    case EXPERIMENT_INVALIDATION:
        return run_invalidation(run, outcome, path);
    case EXPERIMENT_SHARING:
        return run_sharing(run, outcome, path);
    case EXPERIMENT_CODE:
        return run_code(run, outcome, path);
    case EXPERIMENT_ACTIVITY:
        return run_activity(run, outcome, path);
    case EXPERIMENT_COUNTS:
        return run_counts(run, outcome, path);
    }
    return STATUS_OK;
}

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum status characterize(struct probe_record *record, uint32_t sm_count, characterize_progress *progress,
                         struct characterization *out)
{
    struct run run = {record, out, sm_count};

    *out = (struct characterization){.outcomes = calloc(experiment_count, sizeof(*out->outcomes))};
    if (!out->outcomes)
        return log_error(STATUS_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < experiment_count; i++) {
        struct outcome *outcome = &out->outcomes[i];
        const double start = now_seconds();
        enum status status;

        progress(&experiments[i], i);
        outcome->experiment = &experiments[i];
        outcome->status = "ok";
        outcome->first_exchange = record->count;
        status = run_experiment(&run, outcome);
        outcome->exchange_count = record->count - outcome->first_exchange;
        outcome->seconds = now_seconds() - start;
        out->count++;
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void characterization_close(struct characterization *characterization)
{
    for (size_t i = 0; i < characterization->count; i++) {
        free(characterization->outcomes[i].numbers);
        free(characterization->outcomes[i].geometry);
        free(characterization->outcomes[i].group);
    }
    free(characterization->outcomes);
    *characterization = (struct characterization){0};
}
