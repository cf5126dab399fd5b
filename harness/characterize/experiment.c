/* SPDX-License-Identifier: MIT */
#include "experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct number *experiment_number(struct outcome *outcome, const char *name, const char *unit, const char *method)
{
    if (outcome->number_count == outcome->number_room) {
        const size_t room = 2 * outcome->number_room + 16;
        struct number *grown = realloc(outcome->numbers, room * sizeof(*grown));

        if (!grown) {
            log_error(STATUS_ENVIRONMENT, "out of memory for what was found");
            return NULL;
        }
        outcome->numbers = grown;
        outcome->number_room = room;
    }
    outcome->numbers[outcome->number_count] =
        (struct number){.name = name, .unit = unit, .method = method, .value = NAN, .low = NAN, .high = NAN};
    return &outcome->numbers[outcome->number_count++];
}

struct verdict *experiment_verdict(struct outcome *outcome, const char *name, const char *value)
{
    struct verdict *verdict = &outcome->verdicts[outcome->verdict_count];

    if (outcome->verdict_count + 1 < COUNT(outcome->verdicts))
        outcome->verdict_count++;
    *verdict = (struct verdict){.name = name, .value = value};
    return verdict;
}

enum status experiment_skip(struct outcome *outcome, const char *reason)
{
    outcome->status = "skipped";
    snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason);
    return STATUS_OK;
}

void experiment_summarize(struct number *number, const double *samples, size_t count)
{
    double sorted[256];
    struct summary summary;

    stats_summarize(samples, count, sorted, &summary);
    number->value = summary.median;
    number->low = summary.ci_low;
    number->high = summary.ci_high;
    number->samples = count;
}

const struct outcome *experiment_outcome(const struct experiment_run *run, const char *prefix, const char *path)
{
    char name[96];

    snprintf(name, sizeof(name), "%s_%s", prefix, path);
    for (size_t i = 0; i < run->out->count; i++)
        if (strcmp(run->out->outcomes[i].experiment->name, name) == 0 &&
            strcmp(run->out->outcomes[i].status, "ok") == 0)
            return &run->out->outcomes[i];
    return NULL;
}

bool experiment_usable(const struct experiment_run *run, enum probe_kind kind, const struct path *path,
                       struct outcome *outcome)
{
    const struct probe_kernel *kernel = probe_record_kernel(run->record, kind, path);

    if (!kernel->usable)
        experiment_skip(outcome, kernel->reason);
    return kernel->usable;
}
