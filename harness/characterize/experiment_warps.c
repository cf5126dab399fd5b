/* SPDX-License-Identifier: MIT
 * Warps that only load: latency, distinct addresses, throughput. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"

enum {
    REPEATS = 21,
    FEW_ITERATIONS = 5,
    MANY_ITERATIONS = 69, /* 64 x 16 loads more */
    /* for throughput against distinct addresses: enough to keep the unit busy */
    LOADED_WARPS = 16,
    WARPS_OF_BLOCK = 32,
    COUNTS_OF_WARPS = 7, /* 1, 2, 4 ... 32, and as many as an SM holds */
    WORD = 4,            /* bytes */
};

static const uint32_t distinct_counts[] = {1, 2, 4, 8, 16, 32};
static const uint32_t strides[] = {4, 64, 128};

static const char slope_method[] = "cycles of 69 iterations of 16 loads less those of 5, over the "
                                   "1024 loads between: median of 21 launches of each, "
                                   "distribution-free interval";

/* -- slopes ------------------------------------------------------------------------------------ */

/* Measures the cycles of a load, for one of these numbers of warps. The difference of two trip
 * counts removes fixed costs. */
static struct number slope(struct experiment_run *run, const char *name, enum probe_kind kind,
                           uint32_t distinct, uint32_t stride, uint32_t warps)
{
    struct probe_request load = {.kind = kind,
                                 .distinct = distinct,
                                 .stride = stride,
                                 .warps = warps,
                                 .repeats = REPEATS};
    struct number number = {.name = name, .unit = "cycles", .method = slope_method, .warps = warps};
    uint32_t few[REPEATS] = {0}, many[REPEATS] = {0};
    double samples[REPEATS];

    number.distinct = distinct;
    number.stride = distinct > 1 ? stride : 0;
    load.iterations = FEW_ITERATIONS;
    experiment_ask(run, &load, few);
    load.iterations = MANY_ITERATIONS;
    experiment_ask(run, &load, many);
    for (size_t i = 0; i < REPEATS; i++) {
        if (few[i] == PROBE_NOT_AT_ONCE || many[i] == PROBE_NOT_AT_ONCE)
            return experiment_unknown(number, "no SM loaded by all of the warps at once");
        samples[i] =
            ((double)many[i] - few[i]) / (PROBE_LOADS * (MANY_ITERATIONS - FEW_ITERATIONS)) / warps;
    }
    experiment_median(&number, samples, REPEATS);
    return number;
}

void experiment_latency(struct experiment_run *run)
{
    experiment_number(run, slope(run, "latency", PROBE_CHAIN, 1, WORD, 1));
}

/* -- serialization ----------------------------------------------------------------------------- */

/* The fitted line: cycles = base + cost x additional addresses, and the largest deviation from that
 * line. */
enum { BASE, COST, LARGEST, FITTED };

/* A measure of distinct addresses, and the names of its results. */
static const struct curve {
    enum probe_kind kind;
    uint32_t warps;
    const char *name, *verdict, *fitted[FITTED];
} curves[] = {
    {.kind = PROBE_CHAIN,
     .warps = 1,
     .name = "latency",
     .verdict = "latency_grows_per",
     .fitted = {"latency_base", "latency_per_extra_address", "latency_largest_deviation"}},
    {.kind = PROBE_STREAM,
     .warps = LOADED_WARPS,
     .name = "cycles_per_load",
     .verdict = "throughput_falls_per",
     .fitted = {"cycles_per_load_base", "cycles_per_load_per_extra_address",
                "cycles_per_load_largest_deviation"}},
};

struct line {
    double value[FITTED], half[FITTED]; /* half widths of the intervals */
    size_t samples;
};

/* Fits a line through the points without an objection. */
static struct line fit(const struct number points[COUNT(distinct_counts)])
{
    /* Student's t, 97.5 %, by degrees of freedom. */
    static const double t[] = {NAN, 12.706, 4.303, 3.182, 2.776};
    struct line line = {.value = {NAN, NAN, NAN}, .half = {NAN, NAN}};
    double x[COUNT(distinct_counts)], y[COUNT(distinct_counts)], mean_x = 0, mean_y = 0, xx = 0,
                                                                 xy = 0, rest = 0;
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

/* The measure of each number of distinct addresses at a stride. One address has no stride: the
 * point of the first stride stands for it. */
static void measure_points(struct experiment_run *run, const struct curve *curve, uint32_t stride,
                           bool single, uint32_t fits, struct number points[COUNT(distinct_counts)])
{
    for (size_t d = single ? 0 : 1; d < COUNT(distinct_counts); d++) {
        points[d] = slope(run, curve->name, curve->kind, distinct_counts[d], stride, curve->warps);
        if (fits && distinct_counts[d] * stride > fits)
            snprintf(points[d].reason, sizeof(points[d].reason),
                     "more than the %u bytes that hit in the first level: left out of the fit",
                     fits);
        experiment_number(run, points[d]);
    }
}

/* Adds what a line says at a stride. */
static void add_line(struct experiment_run *run, const struct curve *curve, uint32_t stride,
                     const struct line *line)
{
    static const char method[] =
        "least squares of the medians against distinct addresses - 1, Student's t";

    for (size_t i = 0; i < FITTED; i++) {
        const double value = line->value[i], half = line->half[i];
        struct number number = {curve->fitted[i], "cycles",     method,        value,
                                value - half,     value + half, line->samples, .stride = stride};

        if (isnan(value))
            number =
                experiment_unknown(number, "fewer than three sizes lie inside the first level");
        experiment_number(run, number);
    }
}

/* Addresses are the cost if they cost the same 4 bytes apart, where 16 share a line, as 64 bytes
 * apart. Costs within 5 % count as equal: the interval of points on a line can be narrower than any
 * difference. An interval wider than a quarter of the larger cost decides nothing. */
static const char *unit_of_cost(const struct line *near, const struct line *far)
{
    const double near_cost = near->value[COST], far_cost = far->value[COST];
    const double larger = fmax(near_cost, far_cost);
    const double error = fmax(near->half[COST], far->half[COST]);

    if (isnan(near_cost) || isnan(far_cost))
        return NULL;
    if (larger < 0.02)
        return "neither";
    if (error > 0.25 * larger)
        return NULL;
    if (fabs(near_cost / far_cost - 1) <= 0.05 ||
        fabs(near_cost - far_cost) <= near->half[COST] + far->half[COST])
        return "address";
    return near_cost / far_cost < 0.5 ? "line" : NULL;
}

void experiment_serialization(struct experiment_run *run)
{
    const struct outcome *known = experiment_outcome(run, "geometry", run->path->name);
    const uint32_t fits = known ? known->geometry->level[0].fits_bytes.value : 0; /* 0: not known */

    for (const struct curve *curve = curves; curve < curves + COUNT(curves); curve++) {
        struct number points[COUNT(strides)][COUNT(distinct_counts)];
        struct line lines[COUNT(strides)], *const near = &lines[0], *const far = &lines[1];

        for (size_t s = 0; s < COUNT(strides); s++) {
            measure_points(run, curve, strides[s], s == 0, fits, points[s]);
            points[s][0] = points[0][0];
        }
        for (size_t s = 0; s < COUNT(strides); s++) {
            lines[s] = fit(points[s]);
            add_line(run, curve, strides[s], &lines[s]);
        }
        experiment_verdict(run, curve->verdict, 0, unit_of_cost(near, far),
                           "%.4f cycles an extra address 4 bytes apart (+-%.4f), %.4f 64 bytes "
                           "apart (+-%.4f)",
                           near->value[COST], near->half[COST], far->value[COST], far->half[COST]);
    }
}

/* -- throughput -------------------------------------------------------------------------------- */

/* Adds the cycles of a load, the resulting rates, and the highest rate in bytes. */
void experiment_throughput(struct experiment_run *run)
{
    const uint32_t held = run->out->device.warps_per_sm & ~1u; /* at a time by an SM */
    const uint32_t full = held > WARPS_OF_BLOCK ? held : WARPS_OF_BLOCK;
    struct number cycles[COUNTS_OF_WARPS],
        most = experiment_unknown((struct number){0}, "no rate is known");
    size_t count = 0;

    for (uint32_t warps = 1; count < COUNT(cycles) && warps <= full;
         warps = warps < WARPS_OF_BLOCK ? 2 * warps
                 : warps < full         ? full
                                        : UINT32_MAX)
        experiment_number(run, cycles[count++] =
                                   slope(run, "cycles_per_load", PROBE_STREAM, 1, WORD, warps));
    for (const struct number *load = cycles; load < cycles + count; load++) {
        struct number rate = *load;

        rate.name = "loads_per_cycle";
        rate.unit = "warp loads per cycle and SM";
        rate.distinct = 0;
        rate.value = 1 / load->value;
        rate.low = 1 / load->high;
        rate.high = 1 / load->low;
        if (!(load->low > 0)) /* the rate has no upper limit */
            rate = experiment_unknown(rate, load->reason[0] ? load->reason
                                                            : "the interval of its cycles holds 0");
        experiment_number(run, rate);
        if (rate.value > 0 && !(rate.value <= most.value))
            most = rate;
    }
    most.name = "broadcast_bandwidth";
    most.unit = "bytes per cycle and SM";
    most.method = "most warp loads per cycle over the counts of warps, x 32 lanes x 4 bytes";
    most.value *= 128;
    most.low *= 128;
    most.high *= 128;
    most.warps = 0;
    experiment_number(run, most);
}
