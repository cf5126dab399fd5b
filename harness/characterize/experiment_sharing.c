/* SPDX-License-Identifier: MIT
 * Which SMs share a level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiment.h"
#include "log.h"
#include "stats.h"

enum { GRAIN_BYTES = 256 };

static const char sharing_method[] =
    "one SM loads every line, then each of the others, one after the other, times its first load of a line of its own; "
    "shared: nearer to the latency of the second level than to that of the third";

/* Cycles of pairs of SMs that are sorted: their median, the lower one of an even count. */
static void add_median(struct outcome *outcome, const char *name, const uint32_t *sorted, size_t count)
{
    const size_t rank = stats_median_rank(count, STATS_CONFIDENCE);
    struct number number = {name,        "cycles, the clock's own included", sharing_method, NAN, NAN, NAN, count,
                            .reason = ""};

    if (count)
        number.value = sorted[(count - 1) / 2];
    if (rank) {
        number.low = sorted[rank - 1];
        number.high = sorted[count - rank];
    }
    if (count == 0)
        snprintf(number.reason, sizeof(number.reason), "no pair of SMs");
    experiment_number(outcome, &number);
}

/* cycles[of * sms + to]: those of the first load of `to` of what `of` brought; 0: not known. */
static enum status ask_sharing(struct experiment_run *run, uint32_t sms, uint32_t bytes, uint32_t step,
                               uint32_t *cycles)
{
    struct probe_request request = {.kind = PROBE_SHARING,
                                    .path = run->path,
                                    .blocks = sms,
                                    .bytes = bytes,
                                    .step = step,
                                    .grain = bytes / sms / 4 * 4};
    uint32_t *answer = calloc(2 * (size_t)sms, sizeof(*answer));
    enum status status = answer ? STATUS_OK : log_error(STATUS_ENVIRONMENT, "out of memory");

    for (request.first = 0; status == STATUS_OK && request.first < sms; request.first++) {
        status = probe_record_ask(run->record, &request, answer);
        for (uint32_t i = 0; status == STATUS_OK && i < sms; i++) {
            const uint32_t of = answer[2 * request.first], to = answer[2 * i];

            if (of < sms && to < sms && i != request.first)
                cycles[of * sms + to] = answer[2 * i + 1];
        }
    }
    free(answer);
    return status;
}

/* Numbers groups, the SMs of which have the number of one of them, from 0 in the order of those. */
static void number_groups(struct outcome *outcome)
{
    uint32_t *const group = outcome->group;

    for (uint32_t i = 0; i < outcome->sm_count; i++) {
        if (group[i] != i)
            continue;
        for (uint32_t j = i + 1; j < outcome->sm_count; j++)
            group[j] = group[j] == i ? UINT32_MAX - outcome->group_count : group[j];
        group[i] = UINT32_MAX - outcome->group_count++;
    }
    for (uint32_t i = 0; i < outcome->sm_count; i++)
        group[i] = UINT32_MAX - group[i];
}

/* Groups: SMs that hit what each other brought, and all that such lead to. Returns the pairs that do not agree with
 * them. */
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
        for (uint32_t j = 0; j < sms; j++)
            wrong += cycles[i * sms + j] && (cycles[i * sms + j] < threshold) != (group[i] == group[j]);
    number_groups(outcome);
    return wrong;
}

static void add_exact(struct outcome *outcome, const char *name, const char *unit, double value, size_t samples)
{
    experiment_number(outcome,
                      &(struct number){name, unit, sharing_method, value, value, value, samples, .reason = ""});
}

/* Numbers and groups of what was asked. `sorted` is room for as many cycles. */
static void add_sharing(struct outcome *outcome, const uint32_t *cycles, double threshold, uint32_t *sorted)
{
    const size_t all = (size_t)outcome->sm_count * outcome->sm_count;
    const size_t wrong = group_sms(cycles, threshold, outcome);
    size_t count = 0, shared = 0;

    for (size_t i = 0; i < all; i++)
        if (cycles[i])
            sorted[count++] = cycles[i];
    stats_sort_uint32(sorted, count);
    while (shared < count && sorted[shared] < threshold)
        shared++;
    add_median(outcome, "cycles_shared", sorted, shared);
    add_median(outcome, "cycles_not_shared", sorted + shared, count - shared);
    add_exact(outcome, "groups", "groups", outcome->group_count, count);
    add_exact(outcome, "pairs_that_disagree", "of the pairs", (double)wrong / (double)count, count);
}

enum status experiment_sharing(struct experiment_run *run, struct outcome *outcome)
{
    const uint32_t sms = run->out->device.sm_count;
    const size_t pairs = (size_t)sms * sms;
    uint32_t bytes = GRAIN_BYTES * sms < BANK_BYTES ? GRAIN_BYTES * sms : BANK_BYTES, step, *cycles;
    const struct geometry *known;
    enum status status;

    if (!experiment_usable(run, PROBE_SHARING, outcome))
        return STATUS_OK;
    known =
        experiment_levels(run, 3, outcome, "no three levels are known: what is shared cannot be told from what is not");
    if (!known)
        return STATUS_OK;
    if (known->level[1].fits_bytes.known && known->level[1].fits_bytes.value < bytes)
        bytes = known->level[1].fits_bytes.value;
    if (bytes / sms < 4)
        return experiment_skip(outcome, "the level is smaller than a word for each SM");
    step = known->level[0].fetch_bytes.known ? known->level[0].fetch_bytes.value : 4;
    cycles = calloc(2 * pairs, sizeof(*cycles));
    outcome->group = calloc(sms, sizeof(*outcome->group));
    outcome->sm_count = sms;
    status = cycles && outcome->group ? ask_sharing(run, sms, bytes, step, cycles)
                                      : log_error(STATUS_ENVIRONMENT, "out of memory for pairs of SMs");
    if (status == STATUS_OK)
        add_sharing(outcome, cycles, geometry_behind(known, 1), cycles + pairs);
    free(cycles);
    return status;
}
