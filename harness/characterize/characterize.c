/* SPDX-License-Identifier: MIT */
#include "characterize.h"

#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "log.h"
#include "probe_args.h"
#include "table.h"

/* What they find out. */
static const char follows[] = "cycles of a dependent load";
static const char follows_l1[] = "cycles of a dependent load that hits L1, the addition of its 64-bit address included";
static const char follows_texture[] = "cycles of a dependent load that hits L1, by the texture unit";
static const char follows_l2[] =
    "cycles of a dependent load of one line that hits L2, the addition of its address included";
static const char bank[] = "levels behind a constant bank";
static const char banks[] = "levels behind the constant banks of several modules that run side by side";
static const char serializes[] = "cost of distinct addresses in a warp";
static const char crosses[] = "distinct addresses from which the other path is faster";
static const char streams[] = "loads of one address against resident warps";
static const char left[] = "what is left of each constant level after what comes between two launches";
static const char share[] = "which SMs hit what one of them brought, behind the first constant level";
static const char code[] = "what straight code leaves of the constants behind the first level";
static const char activity[] = "how much of the time the indexed constant cache is active under full load";
static const char counts[] = "lines that walks bring into the first constant level, counted and by time";
static const char l1[] = "the L1 data cache and what is behind it";

const struct experiment experiments[] = {
    {"latency_constant", follows, experiment_latency, "constant", NULL, 0, PROBE_WALK},
    {"latency_constant_uniform", follows, experiment_latency, "constant_uniform", NULL, 0, PROBE_WALK},
    {"latency_constant_operand", follows, experiment_latency, "constant_operand", NULL, 0, PROBE_WALK},
    {"latency_param", follows, experiment_latency, "param", NULL, 0, PROBE_WALK},
    {"latency_global", follows_l1, experiment_latency, "global", NULL, 0, PROBE_WALK},
    {"latency_readonly", follows_l1, experiment_latency, "readonly", NULL, 0, PROBE_WALK},
    {"latency_restrict", follows_l1, experiment_latency, "restrict", NULL, 0, PROBE_WALK},
    {"latency_texture", follows_texture, experiment_latency, "texture", NULL, 0, PROBE_WALK},
    {"latency_global_l2", follows_l2, experiment_latency, "global_l2", NULL, 0, PROBE_WALK},
    {"latency_shared", follows, experiment_latency, "shared", NULL, 0, PROBE_WALK},
    {"geometry_constant", bank, experiment_geometry, "constant", NULL, BANK_BYTES, PROBE_WALK},
    {"geometry_constant_modules", banks, experiment_geometry, "constant", NULL, PROBE_MEMBERS *BANK_BYTES, PROBE_RELAY},
    {"serialization_constant", serializes, experiment_serialization, "constant", NULL, 0, PROBE_WALK},
    {"serialization_global", serializes, experiment_serialization, "global", NULL, 0, PROBE_WALK},
    {"serialization_readonly", serializes, experiment_serialization, "readonly", NULL, 0, PROBE_WALK},
    {"serialization_shared", serializes, experiment_serialization, "shared", NULL, 0, PROBE_WALK},
    {"crossover_global", crosses, experiment_crossover, "constant", "global", 0, PROBE_WALK},
    {"crossover_shared", crosses, experiment_crossover, "constant", "shared", 0, PROBE_WALK},
    {"throughput_constant", streams, experiment_throughput, "constant", NULL, 0, PROBE_WALK},
    {"throughput_constant_uniform", streams, experiment_throughput, "constant_uniform", NULL, 0, PROBE_WALK},
    {"throughput_constant_operand", streams, experiment_throughput, "constant_operand", NULL, 0, PROBE_WALK},
    {"throughput_param", streams, experiment_throughput, "param", NULL, 0, PROBE_WALK},
    {"throughput_global", streams, experiment_throughput, "global", NULL, 0, PROBE_WALK},
    {"throughput_readonly", streams, experiment_throughput, "readonly", NULL, 0, PROBE_WALK},
    {"throughput_texture", streams, experiment_throughput, "texture", NULL, 0, PROBE_WALK},
    {"throughput_shared", streams, experiment_throughput, "shared", NULL, 0, PROBE_WALK},
    {"invalidation_constant", left, experiment_invalidation, "constant", NULL, 0, PROBE_WALK},
    {"sharing_constant", share, experiment_sharing, "constant", NULL, 0, PROBE_WALK},
    {"geometry_global", l1, experiment_geometry, "global", NULL, 512 << 10, PROBE_WALK},
    {"code_constant", code, experiment_code, "constant", NULL, 0, PROBE_WALK},
    {"activity_constant", activity, experiment_activity, "constant", NULL, 0, PROBE_WALK}, /* counters from here on */
    {"activity_param", activity, experiment_activity, "param", NULL, 0, PROBE_WALK},
    {"counts_constant", counts, experiment_counts, "constant", NULL, 0, PROBE_WALK},
};
const size_t experiment_count = sizeof(experiments) / sizeof(experiments[0]);

static const struct path *path_named(const char *name)
{
    const struct table table = TABLE("path", paths, path_count);

    return table_find(&table, name);
}

const struct outcome *characterization_outcome(const struct characterization *characterization, const char *name)
{
    for (size_t i = 0; i < characterization->count; i++)
        if (strcmp(characterization->outcomes[i].experiment.name, name) == 0)
            return &characterization->outcomes[i];
    return NULL;
}

uint32_t outcome_group_size(const struct outcome *outcome, uint32_t group)
{
    uint32_t size = 0;

    for (uint32_t sm = 0; sm < outcome->sm_count; sm++)
        size += outcome->group[sm] == group;
    return size;
}

static enum status run_experiment(const struct experiment *experiment, struct probe_record *record,
                                  const struct characterization *recorded, struct characterization *out)
{
    struct experiment_run run = {.record = record,
                                 .out = out,
                                 .experiment = experiment,
                                 .path = path_named(experiment->path)};
    struct outcome *outcome = &out->outcomes[out->count];
    const double start = clock_seconds();
    const size_t asked = record->count;
    enum status status;

    outcome->experiment = *experiment;
    if (recorded && !characterization_outcome(recorded, experiment->name))
        status = experiment_skip(outcome, "the record is older than this experiment; record the GPU again to have it");
    else
        status = experiment->run(&run, outcome);
    outcome->evidence_count = record->count - asked;
    outcome->seconds = clock_seconds() - start;
    out->count++;
    return outcome->out_of_memory ? STATUS_ENVIRONMENT : status;
}

enum status characterize(struct probe_record *record, const struct characterization *recorded,
                         characterize_progress *progress, struct characterization *out)
{
    size_t first = 0;

    out->outcomes = calloc(experiment_count, sizeof(*out->outcomes));
    if (!out->outcomes)
        return log_error(STATUS_ENVIRONMENT, "out of memory for what is found; free some memory");
    for (size_t i = 0; i < experiment_count; i++) {
        enum status status;

        if (progress)
            progress(&experiments[i], i);
        status = run_experiment(&experiments[i], record, recorded, out);
        if (status != STATUS_OK)
            return status;
    }
    for (size_t i = 0; i < out->count && first < record->count; first += out->outcomes[i++].evidence_count)
        out->outcomes[i].evidence = record->exchanges + first;
    return probes_describe(&record->source, &out->probes);
}
