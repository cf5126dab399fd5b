/* SPDX-License-Identifier: MIT
 * Loads of warps that do nothing else: latency, distinct addresses, throughput. */
#include "experiment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "geometry.h"
#include "probe_args.h"
#include "stats.h"

enum {
    REPEATS = 21,
    ACTIVITY_REPEATS = 9,
    FEW_ITERATIONS = 5,
    MANY_ITERATIONS = 69, /* 64 x 16 loads more */
    LOADED_WARPS = 16,    /* of throughput against distinct addresses: enough to keep the unit busy */
};

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
static const char share_method[] =
    "cycles that the unit was active over cycles of the SMs, of 69 iterations of 16 loads less those of 5: median of 9 "
    "launches of each, distribution-free interval";

/* -- slopes -------------------------------------------------------------------------------------------- */

/* Cycles of one load of a warp among `warps` that do the same: a slope over two trip counts, which nothing fixed is in.
 */
static enum status slope(struct experiment_run *run, enum probe_kind kind, const struct path *path, uint32_t distinct,
                         uint32_t stride, uint32_t warps, double per, struct number *number)
{
    struct probe_request request = {.kind = kind,
                                    .path = path,
                                    .distinct = distinct,
                                    .stride = stride,
                                    .warps = warps,
                                    .iterations = FEW_ITERATIONS,
                                    .repeats = REPEATS};
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
    experiment_summarize(number, samples, REPEATS);
    number->distinct = distinct;
    number->stride = distinct > 1 ? stride : 0;
    number->warps = warps;
    return STATUS_OK;
}

enum status experiment_latency(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    struct number *number;

    if (!experiment_usable(run, PROBE_CHAIN, path, outcome))
        return STATUS_OK;
    number = experiment_number(outcome, "latency", "cycles", slope_method);
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
    struct number *number = experiment_number(outcome, name, "cycles", fit_method);

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
    struct verdict *verdict = experiment_verdict(outcome, name, NULL);
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
static uint32_t fits_first_level(const struct experiment_run *run, const char *path)
{
    const struct outcome *outcome = experiment_outcome(run, "geometry", path);
    const struct geometry_number *fits = outcome && outcome->geometry ? &outcome->geometry->level[0].fits_bytes : NULL;

    return fits && fits->known ? fits->value : 0;
}

static enum status serialization_curve(struct experiment_run *run, struct outcome *outcome, const struct path *path,
                                       enum probe_kind kind, const char *name, uint32_t warps)
{
    const uint32_t fits = fits_first_level(run, path->name);

    for (size_t s = 0; s < COUNT(strides); s++)
        for (size_t d = s ? 1 : 0; d < COUNT(distinct_counts); d++) {
            const uint32_t distinct = distinct_counts[d], footprint = distinct * strides[s];
            struct number *number = experiment_number(outcome, name, "cycles", slope_method);
            const enum status status =
                !number ? STATUS_ENVIRONMENT : slope(run, kind, path, distinct, strides[s], warps, warps, number);

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

enum status experiment_serialization(struct experiment_run *run, struct outcome *outcome, const struct path *path)
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

    if (!experiment_usable(run, PROBE_CHAIN, path, outcome) || !experiment_usable(run, PROBE_STREAM, path, outcome))
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

enum status experiment_crossover(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    static const char *const names[] = {"latency", "cycles_per_load"}, *const found[] = {"latency_crossover",
                                                                                         "throughput_crossover"};
    const struct outcome *one = experiment_outcome(run, "serialization", path->name);
    const struct outcome *other = experiment_outcome(run, "serialization", outcome->experiment->other);

    if (!one || !other)
        return experiment_skip(outcome, "the serialization of one of the paths is not known");
    for (size_t n = 0; n < COUNT(names); n++)
        for (size_t s = 0; s < COUNT(strides); s++) {
            struct number *number = experiment_number(outcome, found[n], "distinct addresses", crossover_method);

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
        struct number *rate =
            experiment_number(outcome, "loads_per_cycle", "warp loads per cycle and SM", slope_method);

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
    bytes = experiment_number(outcome, "broadcast_bandwidth", "bytes per cycle and SM",
                              "most warp loads per cycle over the counts of warps, x 32 lanes x 4 bytes");
    if (!bytes)
        return STATUS_ENVIRONMENT;
    bytes->value = 128 * best;
    bytes->low = 128 * low;
    bytes->high = 128 * high;
    bytes->samples = samples;
    return STATUS_OK;
}

enum status experiment_throughput(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    enum status status;

    if (!experiment_usable(run, PROBE_STREAM, path, outcome))
        return STATUS_OK;
    for (size_t w = 0; w < COUNT(warp_counts); w++) {
        struct number *number = experiment_number(outcome, "cycles_per_load", "cycles", slope_method);

        status = !number ? STATUS_ENVIRONMENT
                         : slope(run, PROBE_STREAM, path, 1, sizeof(uint32_t), warp_counts[w], warp_counts[w], number);
        if (status != STATUS_OK)
            return status;
    }
    return add_rates(outcome, 0);
}

/* -- activity ----------------------------------------------------------------------------------------- */

/* The cycles that the indexed constant caches are active, of those that pass, where every SM is full. */
enum status experiment_activity(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    struct probe_request request = {.kind = PROBE_COUNT,
                                    .counted = PROBE_STREAM,
                                    .path = path,
                                    .distinct = 1,
                                    .stride = sizeof(uint32_t),
                                    .warps = warp_counts[COUNT(warp_counts) - 1],
                                    .repeats = 1};
    double shares[ACTIVITY_REPEATS];
    struct number *number;

    if (!experiment_usable(run, PROBE_STREAM, path, outcome) || !experiment_usable(run, PROBE_COUNT, path, outcome))
        return STATUS_OK;
    for (size_t r = 0; r < ACTIVITY_REPEATS; r++) {
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
    number = experiment_number(outcome, "unit_active_share", "of the cycles", share_method);
    if (!number)
        return STATUS_ENVIRONMENT;
    experiment_summarize(number, shares, ACTIVITY_REPEATS);
    number->warps = request.warps;
    return STATUS_OK;
}
