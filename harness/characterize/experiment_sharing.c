/* SPDX-License-Identifier: MIT
 * The SMs that share a level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiment.h"
#include "log.h"

enum { GRAIN_BYTES = 256 };

static const char cycles_unit[] = "cycles, the clock's own included";
static const char sharing_method[] =
    "one SM loads every line. Then the others, one after the other, time a first load, each of a line of its own. "
    "Shared: nearer to the latency of the second level than to that of the third";
static const char spread_method[] =
    "median of an SM's first loads of lines that the others brought, one line each; least, middle and greatest over the SMs";

/* Adds a number with its interval. NaN: there is no pair of SMs. */
static void add(struct experiment_run *run, const char *name, const char *unit, const char *method,
                const double value_low_high[3], size_t samples)
{
    struct number number = {name,    unit,        method, value_low_high[0], value_low_high[1], value_low_high[2],
                            samples, .reason = ""};

    if (isnan(number.value))
        snprintf(number.reason, sizeof(number.reason), "no pair of SMs");
    experiment_number(run, number);
}

/* Groups SMs that hit data of each other, and everything connected by such pairs. A group is named by its lowest SM,
 * and numbered in that order. Returns the number of pairs that disagree with the groups. */
static size_t group_sms(const uint32_t *cycles, double threshold, struct outcome *outcome)
{
    const uint32_t sms = outcome->sm_count;
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
        group[i] = group[i] == i ? outcome->group_count++ : group[group[i]];
    for (size_t i = 0; i < (size_t)sms * sms; i++)
        wrong += cycles[i] && (cycles[i] < threshold) != (group[i / sms] == group[i % sms]);
    return wrong;
}

/* Adds numbers and groups. `room` is for as many cycles, and for two numbers of each SM. */
static void add_sharing(struct experiment_run *run, const uint32_t *cycles, uint32_t *room)
{
    static const char *const names[2] = {"cycles_shared", "cycles_not_shared"};
    static const char *const spread_names[2][3] = {{"cycles_shared_of_the_fastest_sm", "cycles_shared_of_the_middle_sm",
                                                    "cycles_shared_of_the_slowest_sm"},
                                                   {"cycles_not_shared_of_the_fastest_sm",
                                                    "cycles_not_shared_of_the_middle_sm",
                                                    "cycles_not_shared_of_the_slowest_sm"}};
    struct outcome *outcome = run->outcome;
    const double threshold = geometry_behind(run->geometry, 1);
    const double wrong = (double)group_sms(cycles, threshold, outcome), groups = outcome->group_count;
    const uint32_t sms = outcome->sm_count;
    const size_t pairs = (size_t)sms * sms;
    size_t count = 0;

    for (int other = 0; other < 2; other++) { /* pairs that share, pairs that do not */
        double found[3] = {NAN, NAN, NAN};
        size_t rank, n = 0;

        for (size_t i = 0; i < pairs; i++)
            if (cycles[i] && (cycles[i] >= threshold) == other)
                room[n++] = cycles[i];
        stats_sort_uint32(room, n);
        rank = stats_median_rank(n, STATS_CONFIDENCE);
        if (n)
            found[0] = room[(n - 1) / 2]; /* the lower one of an even count */
        if (rank) {
            found[1] = room[rank - 1];
            found[2] = room[n - rank];
        }
        add(run, names[other], cycles_unit, sharing_method, found, n);
        count += n;
    }
    for (int other = 0; other < 2; other++) {
        uint32_t *const medians = room + sms; /* of each SM, over what the other SMs brought */
        size_t n = 0, samples = 0;

        for (uint32_t to = 0; to < sms; to++) {
            size_t here = 0;

            for (uint32_t of = 0; of < sms; of++)
                if (cycles[of * sms + to] && (cycles[of * sms + to] >= threshold) == other)
                    room[here++] = cycles[of * sms + to];
            samples += here;
            if (here)
                medians[n++] = stats_lower_median(room, here);
        }
        stats_sort_uint32(medians, n);
        for (size_t i = 0; i < 3; i++) {
            const double one = n ? medians[i * (n - 1) / 2] : (double)NAN;

            add(run, spread_names[other][i], cycles_unit, spread_method, (double[]){one, one, one}, samples);
        }
    }
    add(run, "groups", "groups", sharing_method, (double[]){groups, groups, groups}, count);
    add(run, "pairs_that_disagree", "of the pairs", sharing_method,
        (double[]){wrong / (double)count, wrong / (double)count, wrong / (double)count}, count);
}

void experiment_sharing(struct experiment_run *run)
{
    const struct geometry_level *levels = run->geometry->level;
    const uint32_t sms = run->out->device.sm_count, fits = levels[1].fits_bytes.value;
    const size_t pairs = (size_t)sms * sms;
    struct probe_request request = {.kind = PROBE_SHARING, .blocks = sms, .step = 4};
    uint32_t *cycles, *answer;

    request.bytes = GRAIN_BYTES * sms < BANK_BYTES ? GRAIN_BYTES * sms : BANK_BYTES;
    if (fits && fits < request.bytes)
        request.bytes = fits;
    if (request.bytes / sms < 4) {
        experiment_skip(run, "the level is smaller than a word for each SM");
        return;
    }
    request.grain = request.bytes / sms / 4 * 4;
    if (levels[0].fetch_bytes.known)
        request.step = levels[0].fetch_bytes.value;
    cycles = calloc(2 * pairs + 2 * sms, sizeof(*cycles)); /* [of][to], 0 if not known; scratch; an answer */
    answer = cycles + 2 * pairs;
    run->outcome->group = calloc(sms, sizeof(*run->outcome->group));
    run->outcome->sm_count = sms;
    if (!cycles || !run->outcome->group)
        run->status = log_memory("pairs of SMs");
    for (; request.first < sms && run->status == STATUS_OK && experiment_ask(run, &request, answer); request.first++)
        for (uint32_t i = 0; i < sms; i++) {
            const uint32_t of = answer[2 * request.first], to = answer[2 * i];

            if (of < sms && to < sms && i != request.first)
                cycles[of * sms + to] = answer[2 * i + 1];
        }
    if (run->status == STATUS_OK)
        add_sharing(run, cycles, cycles + pairs);
    free(cycles);
}
