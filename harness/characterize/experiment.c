/* SPDX-License-Identifier: MIT */
#include "experiment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "log.h"
#include "stats.h"

void experiment_number(struct outcome *outcome, const struct number *number)
{
    if (outcome->number_count == outcome->number_room) {
        const size_t room = 2 * outcome->number_room + 16;
        struct number *grown = realloc(outcome->numbers, room * sizeof(*grown));

        if (!grown) {
            log_error(STATUS_ENVIRONMENT, "out of memory for what was found; free some memory");
            outcome->out_of_memory = true;
            return;
        }
        outcome->numbers = grown;
        outcome->number_room = room;
    }
    outcome->numbers[outcome->number_count++] = *number;
}

void experiment_median(struct number *number, const double *samples, size_t count)
{
    double sorted[256];
    struct summary summary;

    stats_summarize(samples, count, sorted, &summary);
    number->value = summary.median;
    number->low = summary.ci_low;
    number->high = summary.ci_high;
    number->samples = count;
}

void experiment_verdict(struct outcome *outcome, const struct verdict *verdict, const char *reason, ...)
{
    struct verdict *added = &outcome->verdicts[outcome->verdict_count];
    va_list arguments;

    if (outcome->verdict_count + 1 < VERDICTS_MAX)
        outcome->verdict_count++;
    *added = *verdict;
    va_start(arguments, reason);
    vsnprintf(added->reason, sizeof(added->reason), reason, arguments);
    va_end(arguments);
}

enum status experiment_skip(struct outcome *outcome, const char *reason)
{
    outcome->status = OUTCOME_SKIPPED;
    snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason);
    return STATUS_OK;
}

const struct outcome *experiment_outcome(const struct experiment_run *run, const char *prefix, const char *path)
{
    const struct outcome *outcome;
    char name[96];

    snprintf(name, sizeof(name), "%s_%s", prefix, path);
    outcome = characterization_outcome(run->out, name);
    return outcome && outcome->status == OUTCOME_OK ? outcome : NULL;
}

const struct geometry *experiment_levels(const struct experiment_run *run, size_t levels, struct outcome *outcome,
                                         const char *reason)
{
    const struct outcome *known = experiment_outcome(run, "geometry", run->path->name);

    if (known && known->geometry->level_count >= levels)
        return known->geometry;
    experiment_skip(outcome, reason);
    return NULL;
}

bool experiment_usable(const struct experiment_run *run, enum probe_kind kind, struct outcome *outcome)
{
    const struct probe_source *source = &run->record->source;
    const struct probe_kernel *kernel = source->kernel(source->context, kind, run->path);

    if (!kernel->usable)
        experiment_skip(outcome, kernel->reason);
    return kernel->usable;
}
