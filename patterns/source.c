/* SPDX-License-Identifier: MIT
 * Sources of indices. The index of element i at step s follows from random number s x elements + i
 * of one seed, so any part can be made alone. `zipf` inverts its distribution by binary search,
 * between two bounds that the upper bits of the number look up:
 *
 *   random >> 48  ->  guide[k] .. guide[k + 1]  ->  first entry whose end is above the number */
#include "source.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "parameter_index.h"

/* Number n of a sequence by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which can start
 * anywhere. */
static uint64_t random_at(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A number below count. All are equally likely, up to 2^-32 x count. */
static uint32_t below(uint64_t random, uint32_t count)
{
    return (uint32_t)((random >> 32) * count >> 32);
}

/* -- zipf -------------------------------------------------------------------------------------- */

enum { GUIDE_BITS = 16 };

/* ends[k]: the cumulative share of the entries up to k, times 2^64. guide: for each value of the
 * upper bits of a random number, the first entry that it can stand for. */
struct zipf {
    uint32_t guide[(1 << GUIDE_BITS) + 1];
    uint64_t ends[]; /* length */
};

static struct zipf *zipf_open(const struct source_numbers *numbers)
{
    const double skew = numbers->parameters[PARAMETER_skew_percent] / 100.0;
    struct zipf *zipf = malloc(sizeof(*zipf) + numbers->length * sizeof(zipf->ends[0]));
    double total = 0, sum = 0;
    uint32_t entry = 0;

    if (!zipf)
        return NULL;
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

/* -- so many entries a warp -------------------------------------------------------------------- */

/* Makes each warp of a step: after shuffling its threads, thread k reads entry k % distinct of
 * the warp's `distinct` different ones. If not `equal`, threads from `distinct` on read entry 0.
 * Each warp has a random sequence of its own, because the number of draws depends on the values
 * drawn. */
static void make_warps(const struct source_numbers *numbers, uint32_t step, bool equal,
                       uint32_t *index)
{
    const uint32_t distinct = numbers->parameters[PARAMETER_distinct];
    const uint64_t warps = (numbers->elements + CBANK_WARP_THREADS - 1) / CBANK_WARP_THREADS;
    uint32_t entries[CBANK_WARP_THREADS] = {0}, threads[CBANK_WARP_THREADS] = {0};

    for (uint64_t warp = 0; warp < warps; warp++) {
        const uint64_t first = warp * CBANK_WARP_THREADS, left = numbers->elements - first;
        const uint64_t seed = random_at(numbers->seed, step * warps + warp);
        const uint32_t active = left < CBANK_WARP_THREADS ? (uint32_t)left : CBANK_WARP_THREADS;
        uint64_t draws = 0;

        for (uint32_t count = 0; count < distinct;) {
            uint32_t before = 0;

            entries[count] = below(random_at(seed, draws++), numbers->length);
            while (entries[before] != entries[count])
                before++;
            count += before == count;
        }
        for (uint32_t i = 0; i < active; i++) {
            const uint32_t drawn = below(random_at(seed, draws++), i + 1);

            threads[i] = threads[drawn];
            threads[drawn] = i;
        }
        for (uint32_t k = 0; k < active; k++)
            index[first + threads[k]] = entries[k < distinct ? k : equal ? k % distinct : 0];
    }
}

/* -- the table --------------------------------------------------------------------------------- */

/* The entry of element i of a step, from its own random number. `before` is the entry of the
 * element before. */
static uint32_t entry_of(enum source_index source, const struct source_numbers *numbers,
                         const struct zipf *zipf, uint32_t step, uint64_t i, uint32_t before)
{
    const uint64_t random = random_at(numbers->seed, step * numbers->elements + i),
                   position = i * numbers->length;
    const uint32_t length = numbers->length;
    const uint32_t window = numbers->parameters[PARAMETER_window_entries];
    uint32_t low, high;

    switch (source) {
    case SOURCE_zipf:
        low = zipf->guide[random >> (64 - GUIDE_BITS)];
        high = zipf->guide[(random >> (64 - GUIDE_BITS)) + 1];
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;

            if (zipf->ends[middle] > random)
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    case SOURCE_lockstep:
        return step % length;
    case SOURCE_runs:
        return i == 0 || (uint64_t)(uint32_t)random * numbers->parameters[PARAMETER_run_threads] >>
                                 32 ==
                             0
                   ? below(random, length)
                   : before;
    case SOURCE_window:
        return (uint32_t)(i / numbers->parameters[PARAMETER_window_threads] % (length / window)) *
                   window +
               below(random, window);
    case SOURCE_sorted:
        /* Thread i reads from its own part of the table, which has length / elements entries, in
         * units of 2^-32 of them. */
        return (uint32_t)(position / numbers->elements +
                          (position % numbers->elements + ((random >> 32) * length >> 32)) /
                              numbers->elements);
    default:
        return below(random, length);
    }
}

const struct pattern sources[] = {
#define SOURCE(name_, summary_, mask_, formula_) \
    {.name = #name_,                             \
     .summary = summary_,                        \
     .formula = formula_,                        \
     .scope = INDEX_THREAD,                      \
     .parameter_mask = mask_},
#include "sources.def"
};

const size_t source_count = SOURCE_COUNT;
const size_t source_made_count = SOURCE_file;

int source_make(const struct pattern *source, const struct source_numbers *numbers, uint32_t *index)
{
    const enum source_index which = (enum source_index)(source - sources);
    struct zipf *zipf = which == SOURCE_zipf ? zipf_open(numbers) : NULL;

    if (which == SOURCE_zipf && !zipf)
        return 0;
    for (uint32_t step = 0; step < numbers->steps; step++, index += numbers->elements) {
        if (which == SOURCE_distinct || which == SOURCE_unequal)
            make_warps(numbers, step, which == SOURCE_distinct, index);
        else
            for (uint64_t i = 0; i < numbers->elements; i++)
                index[i] = entry_of(which, numbers, zipf, step, i, i ? index[i - 1] : 0);
    }
    free(zipf);
    return 1;
}
