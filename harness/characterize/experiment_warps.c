/* SPDX-License-Identifier: MIT
 * Loads of warps that do nothing else: latency, distinct addresses, throughput. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"
#include "probe_args.h"

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

/* Answers to a request of few iterations and of many. */
static enum status ask_twice(const struct experiment_run *run, const struct probe_request *request, uint32_t *few,
                             uint32_t *many)
{
    struct probe_request asked = *request;
    enum status status;

    asked.iterations = FEW_ITERATIONS;
    status = probe_record_ask(run->record, &asked, few);
    asked.iterations = MANY_ITERATIONS;
    return status == STATUS_OK ? probe_record_ask(run->record, &asked, many) : status;
}

/* The median and interval of (many - few) / per, over launches of two trip counts: a slope, which nothing fixed is in.
 * Sets what the number is of. */
static enum status slope(struct experiment_run *run, const struct probe_request *load, double per,
                         struct number *number)
{
    struct probe_request request = *load;
    uint32_t few[REPEATS], many[REPEATS];
    double samples[REPEATS];
    enum status status;

    request.path = run->path;
    request.repeats = REPEATS;
    status = ask_twice(run, &request, few, many);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < REPEATS; i++)
        samples[i] = ((double)many[i] - few[i]) / (PROBE_LOADS * (MANY_ITERATIONS - FEW_ITERATIONS)) / per;
    experiment_median(number, samples, REPEATS);
    number->distinct = load->distinct;
    number->stride = load->distinct > 1 ? load->stride : 0;
    number->warps = load->warps;
    return STATUS_OK;
}

enum status experiment_latency(struct experiment_run *run, struct outcome *outcome)
{
    const struct probe_request load = {.kind = PROBE_CHAIN, .distinct = 1, .stride = sizeof(uint32_t), .warps = 1};
    struct number number = {.name = "latency", .unit = "cycles", .method = slope_method};
    enum status status;

    if (!experiment_usable(run, PROBE_CHAIN, outcome))
        return STATUS_OK;
    status = slope(run, &load, 1, &number);
    if (status == STATUS_OK)
        experiment_number(outcome, &number);
    return status;
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
    uint32_t stride;
    size_t samples;
};

/* Base and cost of each extra address over the numbers of that name and stride that nothing speaks against. */
static struct line fit(const struct outcome *outcome, const char *name, uint32_t stride)
{
    struct line line = {.base = NAN, .cost = NAN, .base_half = NAN, .cost_half = NAN, .largest = NAN, .stride = stride};
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

static void add_fitted(struct outcome *outcome, const char *name, double value, double half, const struct line *line)
{
    struct number number = {name,         "cycles",     fit_method,    value,
                            value - half, value + half, line->samples, .stride = line->stride};

    if (isnan(value))
        snprintf(number.reason, sizeof(number.reason), "fewer than three sizes lie inside the first level");
    experiment_number(outcome, &number);
}

/* Addresses cost: as much at 4 bytes, where 16 neighbours share 64 bytes, as at 64. Costs within 5 % of each other are
 * taken to be equal: an interval of points on a line can be narrower than any difference. Points that are on no line, by
 * an interval wider than a quarter of the larger cost, say nothing. */
static const char *costs_by(const struct line *near, const struct line *far)
{
    const double share = near->cost / far->cost, larger = fmax(near->cost, far->cost);

    if (isnan(near->cost) || isnan(far->cost))
        return NULL;
    if (larger < 0.02)
        return "neither";
    if (fmax(near->cost_half, far->cost_half) > 0.25 * larger)
        return NULL;
    if (fabs(share - 1) <= 0.05 || fabs(near->cost - far->cost) <= near->cost_half + far->cost_half)
        return "address";
    return share < 0.5 ? "line" : NULL;
}

/* Bytes that a walk of the path's first level hits throughout; 0 where not known. */
static uint32_t fits_first_level(const struct experiment_run *run)
{
    const struct outcome *outcome = experiment_outcome(run, "geometry", run->path->name);
    const struct geometry_number *fits = outcome && outcome->geometry ? &outcome->geometry->level[0].fits_bytes : NULL;

    return fits && fits->known ? fits->value : 0;
}

/* What is measured of distinct addresses, and what follows. */
struct curve {
    enum probe_kind kind;
    uint32_t warps;
    const char *name, *base, *cost, *deviation, *verdict;
};

static const struct curve curves[] = {
    {PROBE_CHAIN, 1, "latency", "latency_base", "latency_per_extra_address", "latency_largest_deviation",
     "latency_grows_per"},
    {PROBE_STREAM, LOADED_WARPS, "cycles_per_load", "cycles_per_load_base", "cycles_per_load_per_extra_address",
     "cycles_per_load_largest_deviation", "throughput_falls_per"},
};

/* The cost of so many addresses, so far apart. */
static enum status add_point(struct experiment_run *run, struct outcome *outcome, const struct curve *curve,
                             uint32_t distinct, uint32_t stride)
{
    const struct probe_request load = {.kind = curve->kind,
                                       .distinct = distinct,
                                       .stride = stride,
                                       .warps = curve->warps};
    const uint32_t fits = fits_first_level(run), bytes = distinct * stride;
    struct number number = {.name = curve->name, .unit = "cycles", .method = slope_method};
    const enum status status = slope(run, &load, curve->warps, &number);

    if (fits && bytes > fits)
        snprintf(number.reason, sizeof(number.reason),
                 "%u bytes are more than the %u that hit in the first level: left out of the fit", (unsigned)bytes,
                 (unsigned)fits);
    if (status == STATUS_OK)
        experiment_number(outcome, &number);
    return status;
}

static enum status add_curve(struct experiment_run *run, struct outcome *outcome, const struct curve *curve)
{
    enum status status = STATUS_OK;
    struct line lines[COUNT(strides)];

    for (size_t s = 0; s < COUNT(strides); s++)
        for (size_t d = s ? 1 : 0; d < COUNT(distinct_counts) && status == STATUS_OK; d++)
            status = add_point(run, outcome, curve, distinct_counts[d], strides[s]);
    if (status != STATUS_OK)
        return status;
    for (size_t s = 0; s < COUNT(strides); s++) {
        lines[s] = fit(outcome, curve->name, strides[s]);
        add_fitted(outcome, curve->base, lines[s].base, lines[s].base_half, &lines[s]);
        add_fitted(outcome, curve->cost, lines[s].cost, lines[s].cost_half, &lines[s]);
        add_fitted(outcome, curve->deviation, lines[s].largest, 0, &lines[s]);
    }
    experiment_verdict(outcome,
                       &(struct verdict){.name = curve->verdict, .value = costs_by(&lines[0], &lines[1]), .share = NAN},
                       "%.4f cycles an extra address 4 bytes apart (+-%.4f), %.4f 64 bytes apart (+-%.4f)",
                       lines[0].cost, lines[0].cost_half, lines[1].cost, lines[1].cost_half);
    return STATUS_OK;
}

enum status experiment_serialization(struct experiment_run *run, struct outcome *outcome)
{
    enum status status = STATUS_OK;

    if (!experiment_usable(run, PROBE_CHAIN, outcome) || !experiment_usable(run, PROBE_STREAM, outcome))
        return STATUS_OK;
    for (size_t i = 0; i < COUNT(curves) && status == STATUS_OK; i++)
        status = add_curve(run, outcome, &curves[i]);
    return status;
}

static const struct number *number_of(const struct outcome *outcome, const char *name, uint32_t distinct,
                                      uint32_t stride)
{
    const struct number *number = outcome->numbers;

    while (strcmp(number->name, name) != 0 || number->distinct != distinct ||
           (distinct > 1 && number->stride != stride))
        number++;
    return number;
}

/* From which count of addresses so far apart on the other path is faster. */
static struct number crossover(const struct outcome *one, const struct outcome *other, const char *name,
                               uint32_t stride)
{
    struct number number = {.value = NAN, .low = NAN, .high = NAN, .stride = stride};

    for (size_t d = 0; d < COUNT(distinct_counts) && isnan(number.value); d++) {
        const struct number *a = number_of(one, name, distinct_counts[d], stride);
        const struct number *b = number_of(other, name, distinct_counts[d], stride);

        number.samples += a->samples + b->samples;
        if (b->high < a->low) {
            number.value = number.high = distinct_counts[d];
            number.low = d ? distinct_counts[d - 1] : 1;
        }
    }
    if (isnan(number.value))
        snprintf(number.reason, sizeof(number.reason), "not up to 32");
    return number;
}

enum status experiment_crossover(struct experiment_run *run, struct outcome *outcome)
{
    static const char *const found[COUNT(curves)] = {"latency_crossover", "throughput_crossover"};
    const struct outcome *one = experiment_outcome(run, "serialization", run->path->name);
    const struct outcome *other = experiment_outcome(run, "serialization", outcome->experiment.other);

    if (!one || !other)
        return experiment_skip(outcome, "the serialization of one of the paths is not known");
    for (size_t i = 0; i < COUNT(curves); i++)
        for (size_t s = 0; s < COUNT(strides); s++) {
            struct number number = crossover(one, other, curves[i].name, strides[s]);

            number.name = found[i];
            number.unit = "distinct addresses";
            number.method = crossover_method;
            experiment_number(outcome, &number);
        }
    return STATUS_OK;
}

/* -- throughput ---------------------------------------------------------------------------------------- */

/* What the cycles of loads are as rates, and the most of them in bytes. */
static void add_rates(struct outcome *outcome)
{
    const size_t count = outcome->number_count;
    struct number most = {.value = 0};

    for (size_t i = 0; i < count; i++) {
        const struct number of = outcome->numbers[i];
        const struct number rate = {"loads_per_cycle", "warp loads per cycle and SM",
                                    slope_method,      1 / of.value,
                                    1 / of.high,       1 / of.low,
                                    of.samples,        .warps = of.warps};

        experiment_number(outcome, &rate);
        if (rate.value > most.value)
            most = rate;
    }
    most = (struct number){"broadcast_bandwidth",
                           "bytes per cycle and SM",
                           "most warp loads per cycle over the counts of warps, x 32 lanes x 4 bytes",
                           128 * most.value,
                           128 * most.low,
                           128 * most.high,
                           most.samples,
                           .warps = 0};
    experiment_number(outcome, &most);
}

enum status experiment_throughput(struct experiment_run *run, struct outcome *outcome)
{
    if (!experiment_usable(run, PROBE_STREAM, outcome))
        return STATUS_OK;
    for (size_t w = 0; w < COUNT(warp_counts); w++) {
        const struct probe_request load = {.kind = PROBE_STREAM,
                                           .distinct = 1,
                                           .stride = sizeof(uint32_t),
                                           .warps = warp_counts[w]};
        struct number number = {.name = "cycles_per_load", .unit = "cycles", .method = slope_method};
        const enum status status = slope(run, &load, warp_counts[w], &number);

        if (status != STATUS_OK)
            return status;
        experiment_number(outcome, &number);
    }
    add_rates(outcome);
    return STATUS_OK;
}

/* -- activity ----------------------------------------------------------------------------------------- */

/* The cycles that the indexed constant caches are active, of those that pass, where every SM is full. */
enum status experiment_activity(struct experiment_run *run, struct outcome *outcome)
{
    struct probe_request request = {.kind = PROBE_COUNT,
                                    .counted = PROBE_STREAM,
                                    .path = run->path,
                                    .distinct = 1,
                                    .stride = sizeof(uint32_t),
                                    .warps = warp_counts[COUNT(warp_counts) - 1],
                                    .repeats = 1};
    struct number number = {.name = "unit_active_share",
                            .unit = "of the cycles",
                            .method = share_method,
                            .warps = request.warps};
    double shares[ACTIVITY_REPEATS];

    if (!experiment_usable(run, PROBE_STREAM, outcome) || !experiment_usable(run, PROBE_COUNT, outcome))
        return STATUS_OK;
    for (size_t r = 0; r < ACTIVITY_REPEATS; r++) {
        uint32_t few[PROBE_COUNTED_COUNT], many[PROBE_COUNTED_COUNT];
        const enum status status = ask_twice(run, &request, few, many);

        if (status != STATUS_OK)
            return status;
        shares[r] = ((double)many[PROBE_COUNTED_ACTIVE_CYCLES] - few[PROBE_COUNTED_ACTIVE_CYCLES]) /
                    ((double)many[PROBE_COUNTED_SM_CYCLES] - few[PROBE_COUNTED_SM_CYCLES]);
    }
    experiment_median(&number, shares, ACTIVITY_REPEATS);
    experiment_number(outcome, &number);
    return STATUS_OK;
}
