/* SPDX-License-Identifier: MIT
 * Which SMs share a level. */
#include "experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "geometry.h"
#include "log.h"
#include "path.h"
#include "probe_args.h"
#include "stats.h"

enum { GRAIN_BYTES = 256, BANK_BYTES = CBANK_TABLE_BYTES };

static const char sharing_method[] =
    "one SM loads every line, then each of the others, one after the other, times its first load of a line of its own; "
    "shared: nearer to the latency of the second level than to that of the third";

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
    number->low = rank ? (double)sorted[rank - 1] : (double)NAN;
    number->high = rank ? (double)sorted[count - rank] : (double)NAN;
}

/* cycles[of * sms + to]: those of the first load of `to` of what `of` brought; 0: not known. */
static enum status ask_sharing(struct experiment_run *run, const struct path *path, uint32_t sms, uint32_t bytes,
                               uint32_t step, uint32_t *cycles)
{
    struct probe_request request = {.kind = PROBE_SHARING,
                                    .path = path,
                                    .blocks = run->sm_count,
                                    .bytes = bytes,
                                    .step = step,
                                    .grain = bytes / run->sm_count / 4 * 4};
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

    struct number *const near = experiment_number(outcome, "cycles_shared", own, sharing_method);

    if (near)
        set_median(near, sorted, shared);

    struct number *const far = experiment_number(outcome, "cycles_not_shared", own, sharing_method);

    if (far)
        set_median(far, sorted + shared, count - shared);
    free(sorted);

    struct number *const groups = experiment_number(outcome, "groups", "groups", sharing_method);

    if (groups) {
        groups->value = groups->low = groups->high = outcome->group_count;
        groups->samples = count;
    }

    struct number *const disagree = experiment_number(outcome, "pairs_that_disagree", "of the pairs", sharing_method);

    if (!disagree)
        return STATUS_ENVIRONMENT;
    disagree->value = disagree->low = disagree->high = (double)wrong / (double)count;
    disagree->samples = count;
    return STATUS_OK;
}

enum status experiment_sharing(struct experiment_run *run, struct outcome *outcome, const struct path *path)
{
    const struct outcome *known = experiment_outcome(run, "geometry", path->name);
    const struct geometry_number *fits = known ? &known->geometry->level[1].fits_bytes : NULL;
    uint32_t bytes = GRAIN_BYTES * run->sm_count < BANK_BYTES ? GRAIN_BYTES * run->sm_count : BANK_BYTES;
    const uint32_t step =
        known && known->geometry->level[0].fetch_bytes.known ? known->geometry->level[0].fetch_bytes.value : 4;
    uint32_t *cycles;
    enum status status;

    if (!experiment_usable(run, PROBE_SHARING, path, outcome))
        return STATUS_OK;
    if (!known || known->geometry->level_count < 3)
        return experiment_skip(outcome, "no three levels are known: what is shared cannot be told from what is not");
    if (fits->known && fits->value < bytes)
        bytes = fits->value;
    if (bytes / run->sm_count < 4)
        return experiment_skip(outcome, "the level is smaller than a word for each SM");
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
