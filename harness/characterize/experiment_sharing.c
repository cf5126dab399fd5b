/* SPDX-License-Identifier: MIT
 * Which SMs share a level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiment.h"
#include "log.h"

enum { GRAIN_BYTES = 256 };

static const char sharing_method[] =
    "one SM loads every line, then each of the others, one after the other, times its first load of a line of its own; "
    "shared: nearer to the latency of the second level than to that of the third";

static const char spread_method[] =
    "median of an SM's first loads of lines that the others brought, one line each; least, middle and greatest over the SMs";

/* Cycles of pairs of SMs that are sorted: their median, the lower one of an even count. */
static void add_median(struct experiment_run *run, const char *name, const uint32_t *sorted, size_t count)
{
    const size_t rank = stats_median_rank(count, STATS_CONFIDENCE);
    struct number number = {name,        "cycles, the clock's own included", sharing_method, NAN, NAN, NAN, count,
                            .reason = ""};

    if (count)
        number.value = sorted[(count - 1) / 2];
    else
        snprintf(number.reason, sizeof(number.reason), "no pair of SMs");
    if (rank) {
        number.low = sorted[rank - 1];
        number.high = sorted[count - rank];
    }
    experiment_number(run, number);
}

/* The medians of the SMs, each over what the others brought, every pair a line of its own: the least, the one in the middle
 * and the greatest of them. `room` is for the cycles of an SM, and behind them a median of each. */
static void add_spread(struct experiment_run *run, const char *const names[3], const uint32_t *cycles, uint32_t *room,
                       bool shared)
{
    const double threshold = geometry_behind(run->geometry, 1);
    const uint32_t sms = run->outcome->sm_count;
    uint32_t *const medians = room + sms;
    size_t count = 0, samples = 0;

    for (uint32_t to = 0; to < sms; to++) {
        size_t here = 0;

        for (uint32_t of = 0; of < sms; of++)
            if (cycles[of * sms + to] && (cycles[of * sms + to] < threshold) == shared)
                room[here++] = cycles[of * sms + to];
        samples += here;
        if (here)
            medians[count++] = stats_lower_median(room, here);
    }
    stats_sort_uint32(medians, count);
    for (size_t i = 0; i < 3; i++) {
        struct number number = {names[i],    "cycles, the clock's own included", spread_method, NAN, NAN, NAN, samples,
                                .reason = ""};

        if (count)
            number.value = number.low = number.high = medians[i * (count - 1) / 2];
        else
            snprintf(number.reason, sizeof(number.reason), "no pair of SMs");
        experiment_number(run, number);
    }
}

/* cycles[of * sms + to]: those of the first load of `to` of what `of` brought; 0: not known. `answer` is room for two
 * numbers of each SM. */
static void ask_sharing(struct experiment_run *run, struct probe_request request, uint32_t *answer, uint32_t *cycles)
{
    const uint32_t sms = request.blocks;

    for (; request.first < sms && experiment_ask(run, &request, answer); request.first++)
        for (uint32_t i = 0; i < sms; i++) {
            const uint32_t of = answer[2 * request.first], to = answer[2 * i];

            if (of < sms && to < sms && i != request.first)
                cycles[of * sms + to] = answer[2 * i + 1];
        }
}

/* Groups: SMs that hit what each other brought, and all that such lead to, by the least of them and then numbered in
 * their order. Returns the pairs that do not agree with them. */
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

static void add_exact(struct experiment_run *run, const char *name, const char *unit, double value, size_t samples)
{
    experiment_number(run, (struct number){name, unit, sharing_method, value, value, value, samples, .reason = ""});
}

/* Numbers and groups of what was asked. `sorted` is room for as many cycles. */
static void add_sharing(struct experiment_run *run, const uint32_t *cycles, uint32_t *sorted)
{
    static const char *const shared_names[] = {"cycles_shared_of_the_fastest_sm", "cycles_shared_of_the_middle_sm",
                                               "cycles_shared_of_the_slowest_sm"};
    static const char *const other_names[] = {"cycles_not_shared_of_the_fastest_sm",
                                              "cycles_not_shared_of_the_middle_sm",
                                              "cycles_not_shared_of_the_slowest_sm"};
    struct outcome *outcome = run->outcome;
    const double threshold = geometry_behind(run->geometry, 1);
    const size_t wrong = group_sms(cycles, threshold, outcome);
    size_t count = 0, shared = 0;

    for (size_t i = 0; i < (size_t)outcome->sm_count * outcome->sm_count; i++)
        if (cycles[i])
            sorted[count++] = cycles[i];
    stats_sort_uint32(sorted, count);
    while (shared < count && sorted[shared] < threshold)
        shared++;
    add_median(run, "cycles_shared", sorted, shared);
    add_median(run, "cycles_not_shared", sorted + shared, count - shared);
    add_spread(run, shared_names, cycles, sorted, true);
    add_spread(run, other_names, cycles, sorted, false);
    add_exact(run, "groups", "groups", outcome->group_count, count);
    add_exact(run, "pairs_that_disagree", "of the pairs", (double)wrong / (double)count, count);
}

void experiment_sharing(struct experiment_run *run)
{
    const struct geometry_level *levels = run->geometry->level;
    const uint32_t sms = run->out->device.sm_count, fits = levels[1].fits_bytes.value;
    const size_t pairs = (size_t)sms * sms;
    struct probe_request request = {.kind = PROBE_SHARING, .blocks = sms, .step = 4};
    uint32_t *cycles;

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
    cycles = calloc(2 * pairs + 2 * sms, sizeof(*cycles));
    run->outcome->group = calloc(sms, sizeof(*run->outcome->group));
    run->outcome->sm_count = sms;
    if (cycles && run->outcome->group)
        ask_sharing(run, request, cycles + 2 * pairs, cycles);
    else
        run->status = log_memory("pairs of SMs");
    if (run->status == STATUS_OK)
        add_sharing(run, cycles, cycles + pairs);
    free(cycles);
}
