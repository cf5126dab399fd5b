/* SPDX-License-Identifier: MIT
 * What all experiments do: ask, and add a number, a verdict or the reason why there is none. After
 * the first error, asking and adding have no effect, so an experiment reads without checks. */
#include "experiment.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "log.h"
#include "memory.h"

bool experiment_ask(struct experiment_run *run, struct probe_request *request, uint32_t *answer)
{
    request->path = run->path;
    if (run->status == STATUS_OK)
        run->status = probe_record_ask(run->record, request, answer);
    return run->status == STATUS_OK;
}

void experiment_number(struct experiment_run *run, struct number number)
{
    struct outcome *outcome = run->outcome;

    if (run->status == STATUS_OK &&
        !memory_grow(&outcome->numbers, outcome->number_count, sizeof(number)))
        run->status = log_memory("what was found");
    if (run->status == STATUS_OK)
        outcome->numbers[outcome->number_count++] = number;
}

struct number experiment_unknown(struct number number, const char *reason)
{
    number.value = number.low = number.high = NAN;
    snprintf(number.reason, sizeof(number.reason), "%s", reason);
    return number;
}

void experiment_median(struct number *number, const double *samples, size_t count)
{
    double sorted[256];
    struct summary summary;

    stats_summarize(samples, count, sorted, &summary);
    number->value = summary.value;
    number->low = summary.ci_low;
    number->high = summary.ci_high;
    number->samples = count;
}

struct verdict *experiment_verdict(struct experiment_run *run, const char *name, uint32_t level,
                                   const char *value, const char *reason, ...)
{
    struct verdict *verdict = &run->outcome->verdicts[run->outcome->verdict_count];
    va_list arguments;

    *verdict = (struct verdict){.name = name, .value = value, .level = level, .share = NAN};
    va_start(arguments, reason);
    vsnprintf(verdict->reason, sizeof(verdict->reason), reason, arguments);
    va_end(arguments);
    run->outcome->verdict_count += run->outcome->verdict_count + 1 < VERDICTS_MAX;
    return verdict;
}

void experiment_skip(struct experiment_run *run, const char *reason)
{
    run->outcome->status = OUTCOME_SKIPPED;
    snprintf(run->outcome->reason, sizeof(run->outcome->reason), "%s", reason);
}

const struct number *experiment_chain(const struct characterization *found, const char *path)
{
    const struct outcome *chain;
    char name[64];

    snprintf(name, sizeof(name), "latency_%s", path);
    chain = characterization_outcome(found, name);
    return chain && chain->number_count > 0 ? chain->numbers : NULL;
}

double experiment_timing(const struct experiment_run *run, double first_level_cycles)
{
    const struct number *chain = experiment_chain(run->out, run->path->name);

    return first_level_cycles - (chain ? chain->value : NAN);
}

const struct outcome *experiment_outcome(const struct experiment_run *run, const char *prefix,
                                         const char *path)
{
    const struct outcome *outcome;
    char name[96];

    snprintf(name, sizeof(name), "%s_%s", prefix, path);
    outcome = characterization_outcome(run->out, name);
    return outcome && outcome->status == OUTCOME_OK ? outcome : NULL;
}
