/* SPDX-License-Identifier: MIT
 * Loads of warps that do nothing else: latency, distinct addresses, throughput. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"

enum {
    REPEATS = 21,
    ACTIVITY_REPEATS = 9,
    FEW_ITERATIONS = 5,
    MANY_ITERATIONS = 69, /* 64 x 16 loads more */
    LOADED_WARPS = 16,    /* of throughput against distinct addresses: enough to keep the unit busy */
};

static const uint32_t distinct_counts[] = {1, 2, 4, 8, 16, 32};
static const uint32_t strides[] = {4, 64, 128};
static const uint32_t warp_counts[] = {1, 2, 4, 8, 16, 32}; /* of one block; and as many as an SM holds */

static const char slope_method[] =
    "cycles of 69 iterations of 16 loads less those of 5, over the 1024 loads between: median of 21 launches of each, "
    "distribution-free interval";
static const char fit_method[] = "least squares of the medians against distinct addresses - 1, Student's t";
static const char crossover_method[] =
    "first of 1, 2, 4 ... 32 distinct addresses at which the other path's interval is below";
static const char share_method[] =
    "cycles that the unit was active over cycles of the SMs, of 69 iterations of 16 loads less those of 5: median of 9 "
    "launches of each, distribution-free interval";
static const char bandwidth_method[] = "most warp loads per cycle over the counts of warps, x 32 lanes x 4 bytes";

/* -- slopes -------------------------------------------------------------------------------------------- */

/* Answers to a request of few iterations and of many. */
static bool ask_twice(struct experiment_run *run, struct probe_request *request, uint32_t *few, uint32_t *many)
{
    request->iterations = FEW_ITERATIONS;
    experiment_ask(run, request, few);
    request->iterations = MANY_ITERATIONS;
    return experiment_ask(run, request, many);
}

/* Cycles of a load of such warps, by one of them: the median and interval of (many - few) over launches of two trip
 * counts, a slope, which nothing fixed is in. */
static struct number slope(struct experiment_run *run, const char *name, struct probe_request load)
{
    struct number number = {.name = name, .unit = "cycles", .method = slope_method};
    uint32_t few[REPEATS] = {0}, many[REPEATS] = {0};
    double samples[REPEATS];

    load.repeats = REPEATS;
    ask_twice(run, &load, few, many);
    number.distinct = load.distinct;
    number.stride = load.distinct > 1 ? load.stride : 0;
    number.warps = load.warps;
    for (size_t i = 0; i < REPEATS; i++)
        if (few[i] == PROBE_NOT_AT_ONCE || many[i] == PROBE_NOT_AT_ONCE) {
            number.value = number.low = number.high = NAN;
            snprintf(number.reason, sizeof(number.reason), "no SM loaded by %u warps at once", load.warps);
            return number;
        }
    for (size_t i = 0; i < REPEATS; i++)
        samples[i] = ((double)many[i] - few[i]) / (PROBE_LOADS * (MANY_ITERATIONS - FEW_ITERATIONS)) / load.warps;
    experiment_median(&number, samples, REPEATS);
    return number;
}

/* A load of one word by all lanes. */
static struct probe_request one_word(enum probe_kind kind, uint32_t warps)
{
    return (struct probe_request){.kind = kind, .distinct = 1, .stride = sizeof(uint32_t), .warps = warps};
}

void experiment_latency(struct experiment_run *run)
{
    experiment_number(run, slope(run, "latency", one_word(PROBE_CHAIN, 1)));
}

/* -- serialization ------------------------------------------------------------------------------------- */

/* What is fitted: a line, cycles = base + cost x extra addresses, and the largest deviation from it. */
enum { BASE, COST, LARGEST, FITTED };

/* What is measured of distinct addresses, and what follows. */
static const struct curve {
    enum probe_kind kind;
    uint32_t warps;
    const char *name, *verdict, *crossover, *fitted[FITTED];
} curves[] = {
               /* clang-format off */
    {PROBE_CHAIN, 1, "latency", "latency_grows_per", "latency_crossover",
     {"latency_base", "latency_per_extra_address", "latency_largest_deviation"}},
    {PROBE_STREAM, LOADED_WARPS, "cycles_per_load", "throughput_falls_per", "throughput_crossover",
     {"cycles_per_load_base", "cycles_per_load_per_extra_address", "cycles_per_load_largest_deviation"}},
};
/* clang-format on */

struct line {
    double value[FITTED], half[FITTED]; /* half widths of the intervals */
    size_t samples;
};

/* The line through the points that nothing speaks against. */
static struct line fit(const struct number points[COUNT(distinct_counts)])
{
    /* Student's t, 97.5 %, for so many degrees of freedom. */
    static const double t[] = {NAN, 12.706, 4.303, 3.182, 2.776};
    struct line line = {.value = {NAN, NAN, NAN}, .half = {NAN, NAN}};
    double x[COUNT(distinct_counts)], y[COUNT(distinct_counts)], mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
    size_t n = 0;

    for (const struct number *point = points; point < points + COUNT(distinct_counts); point++) {
        if (point->reason[0])
            continue;
        x[n] = point->distinct - 1.0;
        y[n] = point->value;
        mean_x += x[n];
        mean_y += y[n++];
        line.samples += point->samples;
    }
    if (n < 3)
        return line;
    mean_x /= (double)n;
    mean_y /= (double)n;
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    line.value[COST] = xy / xx;
    line.value[BASE] = mean_y - line.value[COST] * mean_x;
    line.value[LARGEST] = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = y[i] - line.value[BASE] - line.value[COST] * x[i];

        rest += off * off;
        line.value[LARGEST] = fmax(line.value[LARGEST], fabs(off));
    }
    rest = t[n - 2] * sqrt(rest / (double)(n - 2));
    line.half[COST] = rest / sqrt(xx);
    line.half[BASE] = rest * sqrt(1 / (double)n + mean_x * mean_x / xx);
    return line;
}

/* Addresses cost: as much at 4 bytes, where 16 neighbours share 64 bytes, as at 64. Costs within 5 % of each other are
 * taken to be equal: an interval of points on a line can be narrower than any difference. Points that are on no line, by
 * an interval wider than a quarter of the larger cost, say nothing. */
static const char *costs_by(const struct line *near, const struct line *far)
{
    const double share = near->value[COST] / far->value[COST], larger = fmax(near->value[COST], far->value[COST]);
    const double difference = fabs(near->value[COST] - far->value[COST]);

    if (isnan(near->value[COST]) || isnan(far->value[COST]))
        return NULL;
    if (larger < 0.02)
        return "neither";
    if (fmax(near->half[COST], far->half[COST]) > 0.25 * larger)
        return NULL;
    if (fabs(share - 1) <= 0.05 || difference <= near->half[COST] + far->half[COST])
        return "address";
    return share < 0.5 ? "line" : NULL;
}

/* `fits`: bytes that a walk of the path's first level hits throughout, 0 where that is not known. */
static void add_curve(struct experiment_run *run, const struct curve *curve, uint32_t fits)
{
    struct number points[COUNT(strides)][COUNT(distinct_counts)];
    struct probe_request load = {.kind = curve->kind, .warps = curve->warps};
    struct line lines[COUNT(strides)];

    for (size_t s = 0; s < COUNT(strides); s++)
        for (size_t d = s ? 1 : 0; d < COUNT(distinct_counts); d++) {
            struct number *point = &points[s][d];

            load.distinct = distinct_counts[d];
            load.stride = strides[s];
            *point = slope(run, curve->name, load);
            if (fits && load.distinct * load.stride > fits)
                snprintf(point->reason, sizeof(point->reason),
                         "%u bytes are more than the %u that hit in the first level: left out of the fit",
                         load.distinct * load.stride, fits);
            experiment_number(run, *point);
            points[s][0] = points[0][0];
        }
    for (size_t s = 0; s < COUNT(strides); s++) {
        lines[s] = fit(points[s]);
        for (size_t i = 0; i < FITTED; i++) {
            const double value = lines[s].value[i], half = lines[s].half[i];
            struct number number = {curve->fitted[i], "cycles",     fit_method,       value,
                                    value - half,     value + half, lines[s].samples, .stride = strides[s]};

            if (isnan(value))
                snprintf(number.reason, sizeof(number.reason), "fewer than three sizes lie inside the first level");
            experiment_number(run, number);
        }
    }
    experiment_verdict(run, curve->verdict, 0, costs_by(&lines[0], &lines[1]),
                       "%.4f cycles an extra address 4 bytes apart (+-%.4f), %.4f 64 bytes apart (+-%.4f)",
                       lines[0].value[COST], lines[0].half[COST], lines[1].value[COST], lines[1].half[COST]);
}

void experiment_serialization(struct experiment_run *run)
{
    const struct outcome *known = experiment_outcome(run, "geometry", run->path->name);

    for (size_t i = 0; i < COUNT(curves); i++)
        add_curve(run, &curves[i], known ? known->geometry->level[0].fits_bytes.value : 0);
}

static const struct number *number_of(const struct outcome *of, const char *name, uint32_t distinct, uint32_t stride)
{
    const struct number *one = of->numbers;

    while (strcmp(one->name, name) != 0 || one->distinct != distinct || (distinct > 1 && one->stride != stride))
        one++;
    return one;
}

/* From which count of addresses so far apart on the other path is faster. */
static struct number crossover(const struct outcome *one, const struct outcome *other, const struct curve *curve,
                               uint32_t stride)
{
    struct number number = {curve->crossover, "distinct addresses", crossover_method, NAN, NAN, NAN, .stride = stride};

    for (size_t d = 0; d < COUNT(distinct_counts) && isnan(number.value); d++) {
        const struct number *a = number_of(one, curve->name, distinct_counts[d], stride);
        const struct number *b = number_of(other, curve->name, distinct_counts[d], stride);

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

void experiment_crossover(struct experiment_run *run)
{
    const struct outcome *one = experiment_outcome(run, "serialization", run->path->name);
    const struct outcome *other = experiment_outcome(run, "serialization", run->outcome->experiment.other);

    if (!one || !other)
        experiment_skip(run, "the serialization of one of the paths is not known");
    for (size_t i = 0; one && other && i < COUNT(curves); i++)
        for (size_t s = 0; s < COUNT(strides); s++)
            experiment_number(run, crossover(one, other, &curves[i], strides[s]));
}

/* -- throughput ---------------------------------------------------------------------------------------- */

/* As many warps as an SM of the device holds. */
static uint32_t most_warps(const struct experiment_run *run)
{
    const uint32_t held = run->out->device.warps_per_sm & ~1u, block = warp_counts[COUNT(warp_counts) - 1];

    return held > block ? held : block;
}

/* Cycles as a rate. There is none where they may be 0: it would have no upper limit. */
static struct number rate_of(const struct number *cycles)
{
    const bool some = cycles->low > 0;
    struct number rate = {.name = "loads_per_cycle",
                          .unit = "warp loads per cycle and SM",
                          .method = slope_method,
                          .value = some ? 1 / cycles->value : NAN,
                          .low = some ? 1 / cycles->high : NAN,
                          .high = some ? 1 / cycles->low : NAN,
                          .samples = cycles->samples,
                          .warps = cycles->warps};

    snprintf(rate.reason, sizeof(rate.reason), "%s",
             some || cycles->reason[0] ? cycles->reason : "the interval of its cycles holds 0");
    return rate;
}

/* Cycles of loads, what they are as rates, and the most of those in bytes. */
void experiment_throughput(struct experiment_run *run)
{
    struct number cycles[COUNT(warp_counts) + 1],
        most = {.value = NAN, .low = NAN, .high = NAN, .reason = "no rate is known"};
    struct number bandwidth;
    size_t count = 0;

    for (; count < COUNT(warp_counts); count++)
        cycles[count] = slope(run, "cycles_per_load", one_word(PROBE_STREAM, warp_counts[count]));
    if (most_warps(run) > warp_counts[count - 1])
        cycles[count++] = slope(run, "cycles_per_load", one_word(PROBE_STREAM, most_warps(run)));
    for (size_t i = 0; i < count; i++)
        experiment_number(run, cycles[i]);
    for (const struct number *of = cycles; of < cycles + count; of++) {
        const struct number rate = rate_of(of);

        experiment_number(run, rate);
        if (rate.value > 0 && !(rate.value <= most.value))
            most = rate;
    }
    bandwidth = (struct number){"broadcast_bandwidth", "bytes per cycle and SM", bandwidth_method, 128 * most.value,
                                128 * most.low,        128 * most.high,          most.samples,     .reason = ""};
    memcpy(bandwidth.reason, most.reason, sizeof(bandwidth.reason));
    experiment_number(run, bandwidth);
}

/* -- activity ----------------------------------------------------------------------------------------- */

/* The cycles that the indexed constant caches are active, of those that pass, where every SM is full. */
void experiment_activity(struct experiment_run *run)
{
    struct probe_request request = one_word(PROBE_COUNT, most_warps(run));
    struct number number = {"unit_active_share", "of the cycles", share_method, .warps = request.warps};
    double shares[ACTIVITY_REPEATS];

    request.counted = PROBE_STREAM;
    request.repeats = 1;
    for (size_t r = 0; r < ACTIVITY_REPEATS; r++) {
        uint32_t few[PROBE_COUNTED_COUNT], many[PROBE_COUNTED_COUNT];

        if (!ask_twice(run, &request, few, many))
            return;
        shares[r] = ((double)many[PROBE_COUNTED_ACTIVE_CYCLES] - few[PROBE_COUNTED_ACTIVE_CYCLES]) /
                    ((double)many[PROBE_COUNTED_SM_CYCLES] - few[PROBE_COUNTED_SM_CYCLES]);
    }
    experiment_median(&number, shares, ACTIVITY_REPEATS);
    experiment_number(run, number);
}
