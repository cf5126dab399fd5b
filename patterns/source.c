/* SPDX-License-Identifier: MIT */
#include "source.h"

#include <math.h>
#include <stdlib.h>

/* Number n of a sequence: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which can begin anywhere. */
static uint64_t random_at(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 .. count - 1, each as likely but for 2^-32 x count. */
static uint32_t below(uint64_t random, uint32_t count)
{
    return (uint32_t)((random >> 32) * count >> 32);
}

/* One step: `step` of its elements into index[0 .. elements - 1]. context: what source_open made. */
typedef void make_step(const struct source_numbers *numbers, uint32_t step, const void *context, uint32_t *index);

static uint64_t first_at(const struct source_numbers *numbers, uint32_t step)
{
    return step * numbers->elements;
}

static void uniform_source(const struct source_numbers *numbers, uint32_t step, const void *context, uint32_t *index)
{
    (void)context;
    for (uint64_t i = 0; i < numbers->elements; i++)
        index[i] = below(random_at(numbers->seed, first_at(numbers, step) + i), numbers->length);
}

/* -- zipf ---------------------------------------------------------------------------------------------- */

enum { GUIDE_BITS = 16 };

/* Shares of the entries 0 .. k added up, of 2^64, and for each value of the upper bits of a random number the first entry
 * that it may stand for. */
struct zipf {
    uint64_t *ends; /* length */
    uint32_t guide[(1 << GUIDE_BITS) + 1];
};

static void zipf_close(struct zipf *zipf)
{
    if (zipf)
        free(zipf->ends);
    free(zipf);
}

static struct zipf *zipf_open(const struct source_numbers *numbers)
{
    const double skew = numbers->parameters[PARAMETER_skew_percent] / 100.0;
    struct zipf *zipf = calloc(1, sizeof(*zipf));
    double total = 0, sum = 0;
    uint32_t entry = 0;

    if (!zipf || !(zipf->ends = malloc(numbers->length * sizeof(*zipf->ends)))) {
        zipf_close(zipf);
        return NULL;
    }
    for (uint32_t k = 0; k < numbers->length; k++)
        total += pow(k + 1.0, -skew);
    for (uint32_t k = 0; k < numbers->length; k++) {
        sum += pow(k + 1.0, -skew);
        zipf->ends[k] = sum < total ? (uint64_t)(sum / total * 0x1p64) : UINT64_MAX;
    }
    zipf->ends[numbers->length - 1] = UINT64_MAX;
    for (uint64_t slot = 0; slot < 1 << GUIDE_BITS; slot++) {
        while (entry < numbers->length - 1 && zipf->ends[entry] <= slot << (64 - GUIDE_BITS))
            entry++;
        zipf->guide[slot] = entry;
    }
    zipf->guide[1 << GUIDE_BITS] = numbers->length - 1;
    return zipf;
}

static void zipf_source(const struct source_numbers *numbers, uint32_t step, const void *context, uint32_t *index)
{
    const struct zipf *zipf = context;

    for (uint64_t i = 0; i < numbers->elements; i++) {
        const uint64_t random = random_at(numbers->seed, first_at(numbers, step) + i);
        uint32_t low = zipf->guide[random >> (64 - GUIDE_BITS)], high = zipf->guide[(random >> (64 - GUIDE_BITS)) + 1];

        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;

            if (zipf->ends[middle] > random)
                high = middle;
            else
                low = middle + 1;
        }
        index[i] = low;
    }
}

/* -- so many entries a warp ---------------------------------------------------------------------------- */

/* What one warp draws: numbers of its own, from `next` on. */
struct draw {
    uint64_t seed, next;
};

static uint32_t draw_below(struct draw *draw, uint32_t count)
{
    return below(random_at(draw->seed, draw->next++), count);
}

/* `distinct` different entries. */
static void draw_entries(struct draw *draw, uint32_t length, uint32_t distinct, uint32_t *entries)
{
    for (uint32_t count = 0; count < distinct;) {
        uint32_t before = 0;

        entries[count] = draw_below(draw, length);
        while (entries[before] != entries[count])
            before++;
        count += before == count;
    }
}

static void draw_threads(struct draw *draw, uint32_t count, uint32_t *threads)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t other = draw_below(draw, i + 1);

        threads[i] = threads[other];
        threads[other] = i;
    }
}

/* Each warp of a step: thread k of its shuffled threads reads entry which(k, distinct) of its own. Warps draw from
 * sequences of their own: how often one draws depends on what it draws. */
static void make_warps(const struct source_numbers *numbers, uint32_t step,
                       uint32_t (*which)(uint32_t k, uint32_t distinct), uint32_t *index)
{
    const uint32_t distinct = numbers->parameters[PARAMETER_distinct];
    const uint64_t warps = (numbers->elements + CBANK_WARP_THREADS - 1) / CBANK_WARP_THREADS;
    uint32_t entries[CBANK_WARP_THREADS] = {0}, threads[CBANK_WARP_THREADS] = {0};

    for (uint64_t warp = 0; warp < warps; warp++) {
        const uint64_t first = warp * CBANK_WARP_THREADS, left = numbers->elements - first;
        const uint32_t active = left < CBANK_WARP_THREADS ? (uint32_t)left : CBANK_WARP_THREADS;
        struct draw draw = {.seed = random_at(numbers->seed, step * warps + warp)};

        draw_entries(&draw, numbers->length, distinct, entries);
        draw_threads(&draw, active, threads);
        for (uint32_t k = 0; k < active; k++)
            index[first + threads[k]] = entries[which(k, distinct)];
    }
}

static uint32_t in_turn(uint32_t k, uint32_t distinct)
{
    return k % distinct;
}

static uint32_t once_each(uint32_t k, uint32_t distinct)
{
    return k < distinct ? k : 0;
}

static void distinct_source(const struct source_numbers *numbers, uint32_t step, const void *context, uint32_t *index)
{
    (void)context;
    make_warps(numbers, step, in_turn, index);
}

static void unequal_source(const struct source_numbers *numbers, uint32_t step, const void *context, uint32_t *index)
{
    (void)context;
    make_warps(numbers, step, once_each, index);
}

/* -- in order ------------------------------------------------------------------------------------------ */

/* Thread i reads from its own part of the table, of length / elements entries: in 2^-32 of them. */
static void sorted_source(const struct source_numbers *numbers, uint32_t step, const void *context, uint32_t *index)
{
    (void)context;
    for (uint64_t i = 0; i < numbers->elements; i++) {
        const uint64_t random = random_at(numbers->seed, first_at(numbers, step) + i) >> 32;
        const uint64_t whole = i * numbers->length / numbers->elements, rest = i * numbers->length % numbers->elements;

        index[i] = (uint32_t)(whole + (rest + (random * numbers->length >> 32)) / numbers->elements);
    }
}

static void runs_source(const struct source_numbers *numbers, uint32_t step, const void *context, uint32_t *index)
{
    const uint32_t mean = numbers->parameters[PARAMETER_run_threads];

    (void)context;
    for (uint64_t i = 0; i < numbers->elements; i++) {
        const uint64_t random = random_at(numbers->seed, first_at(numbers, step) + i);
        const int begins = i == 0 || (uint64_t)(uint32_t)random * mean >> 32 == 0;

        index[i] = begins ? below(random, numbers->length) : index[i - 1];
    }
}

static void lockstep_source(const struct source_numbers *numbers, uint32_t step, const void *context, uint32_t *index)
{
    (void)context;
    for (uint64_t i = 0; i < numbers->elements; i++)
        index[i] = step % numbers->length;
}

/* -- the table ----------------------------------------------------------------------------------------- */

#define file_source NULL

static make_step *const makers[] = {
#define SOURCE(name, summary, takes, formula) name##_source,
#include "sources.def"
};

const struct pattern sources[] = {
#define SOURCE(name_, summary_, takes_, formula_) \
    {.name = #name_, .summary = summary_, .formula = formula_, .scope = INDEX_THREAD, .takes = takes_},
#include "sources.def"
};

const size_t source_count = SOURCE_COUNT;
const size_t source_made_count = SOURCE_file;

int source_make(const struct pattern *source, const struct source_numbers *numbers, uint32_t *index)
{
    struct zipf *zipf = source->takes & PARAMETER_BIT(skew_percent) ? zipf_open(numbers) : NULL;

    if (source->takes & PARAMETER_BIT(skew_percent) && !zipf)
        return 0;
    for (uint32_t step = 0; step < numbers->steps; step++)
        makers[source - sources](numbers, step, zipf, index + first_at(numbers, step));
    zipf_close(zipf);
    return 1;
}
