/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "experiment.h"
#include "log.h"
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
static const char cold[] = "what a launch, and the flush of the regime cold, leave of the whole table";
static const char l1[] = "the L1 data cache and what is behind it";

/* Why levels that are not known are needed. */
static const char no_two[] = "no two levels of the path are known to tell apart";
static const char no_shared[] = "no three levels are known: what is shared cannot be told from what is not";
static const char no_lost[] = "no three levels are known: what was lost cannot be told from what was not";
static const char no_first[] = "the first level is not known";

#define ASKS(kind) (1u << PROBE_##kind)

/* Those that read counters are the last. */
const struct experiment experiments[] = {
    {"latency_constant", follows, "constant", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_constant_uniform", follows, "constant_uniform", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_constant_operand", follows, "constant_operand", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_param", follows, "param", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_global", follows_l1, "global", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_readonly", follows_l1, "readonly", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_restrict", follows_l1, "restrict", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_texture", follows_texture, "texture", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_global_l2", follows_l2, "global_l2", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_shared", follows, "shared", experiment_latency, .probes = ASKS(CHAIN)},
    {"geometry_constant", bank, "constant", experiment_geometry, .probes = ASKS(WALK), .bytes = BANK_BYTES},
    {"geometry_constant_modules", banks, "constant", experiment_geometry, .probes = ASKS(RELAY),
     .bytes = PROBE_MEMBERS * BANK_BYTES},
    {"serialization_constant", serializes, "constant", experiment_serialization, .probes = ASKS(CHAIN) | ASKS(STREAM)},
    {"serialization_global", serializes, "global", experiment_serialization, .probes = ASKS(CHAIN) | ASKS(STREAM)},
    {"serialization_readonly", serializes, "readonly", experiment_serialization, .probes = ASKS(CHAIN) | ASKS(STREAM)},
    {"serialization_shared", serializes, "shared", experiment_serialization, .probes = ASKS(CHAIN) | ASKS(STREAM)},
    {"crossover_global", crosses, "constant", experiment_crossover, .other = "global"},
    {"crossover_shared", crosses, "constant", experiment_crossover, .other = "shared"},
    {"throughput_constant", streams, "constant", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_constant_uniform", streams, "constant_uniform", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_constant_operand", streams, "constant_operand", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_param", streams, "param", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_global", streams, "global", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_readonly", streams, "readonly", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_texture", streams, "texture", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_shared", streams, "shared", experiment_throughput, .probes = ASKS(STREAM)},
    {"invalidation_constant", left, "constant", experiment_invalidation, .levels = 2, .unknown = no_two},
    {"sharing_constant", share, "constant", experiment_sharing, .probes = ASKS(SHARING), .levels = 3,
     .unknown = no_shared},
    {"geometry_global", l1, "global", experiment_geometry, .probes = ASKS(WALK), .bytes = 512 << 10},
    {"code_constant", code, "constant", experiment_code, .probes = ASKS(CODE), .levels = 3, .unknown = no_lost},
    {"activity_constant", activity, "constant", experiment_activity, .probes = ASKS(STREAM) | ASKS(COUNT)},
    {"activity_param", activity, "param", experiment_activity, .probes = ASKS(STREAM) | ASKS(COUNT)},
    {"counts_constant", counts, "constant", experiment_counts, .probes = ASKS(COUNT), .levels = 2, .unknown = no_first},
    {"cold_constant", cold, "constant", experiment_cold, .probes = ASKS(WALK) | ASKS(COUNT), .levels = 2,
     .unknown = no_two},
};
const size_t experiment_count = COUNT(experiments);

const struct outcome *characterization_outcome(const struct characterization *characterization, const char *name)
{
    const struct table table = TABLE("experiment", characterization->outcomes, characterization->count);

    return table_find(&table, name);
}

uint32_t outcome_group_size(const struct outcome *outcome, uint32_t group)
{
    uint32_t size = 0;

    for (uint32_t sm = 0; sm < outcome->sm_count; sm++)
        size += outcome->group[sm] == group;
    return size;
}

/* The levels behind a path: those that several banks showed, where one bank does not get behind them. */
static const struct geometry *geometry_of(const struct experiment_run *run, const char *path)
{
    char several[64];
    const struct outcome *one = experiment_outcome(run, "geometry", path), *more;

    snprintf(several, sizeof(several), "%s_modules", path);
    more = experiment_outcome(run, "geometry", several);
    if (one && more && more->geometry->level_count > one->geometry->level_count)
        return more->geometry;
    return one ? one->geometry : NULL;
}

/* Runs the experiment, unless it is seen before that it cannot be. */
static void run_experiment(struct experiment_run *run)
{
    const struct experiment *row = &run->outcome->experiment;
    const struct probe_source *source = &run->record->source;

    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++) {
        const struct probe_kernel *kernel =
            row->probes >> kind & 1 ? source->kernel(source->context, (enum probe_kind)kind, run->path) : NULL;

        if (kernel && !kernel->usable) {
            experiment_skip(run, kernel->reason);
            return;
        }
    }
    run->geometry = row->levels ? geometry_of(run, row->path) : NULL;
    if (row->levels && (!run->geometry || run->geometry->level_count < row->levels))
        experiment_skip(run, row->unknown);
    else
        row->run(run);
}

enum status characterize(struct probe_record *record, const struct characterization *recorded,
                         characterize_progress *progress, struct characterization *out)
{
    const struct table table = TABLE("path", paths, path_count);
    struct experiment_run run = {.record = record, .out = out};
    size_t first = 0;

    out->outcomes = calloc(experiment_count, sizeof(*out->outcomes));
    if (!out->outcomes)
        return log_memory("what is found");
    for (; run.status == STATUS_OK && out->count < experiment_count; out->count++) {
        const struct experiment *row = &experiments[out->count];
        const double start = clock_seconds();
        const size_t asked = record->count;
        const struct outcome *then; /* what the record has of it */

        if (progress)
            progress(row, out->count);
        run.path = table_find(&table, row->path);
        run.outcome = &out->outcomes[out->count];
        run.outcome->experiment = *row;
        then = recorded ? characterization_outcome(recorded, row->name) : NULL;
        run.outcome->newer = recorded && !then;
        if (run.outcome->newer)
            experiment_skip(&run, "the record is older than this experiment; record the GPU again to have it");
        else if (then && row->probes && then->status == OUTCOME_SKIPPED)
            experiment_skip(&run, then->reason);
        else
            run_experiment(&run);
        run.outcome->evidence_count = record->count - asked;
        run.outcome->seconds = clock_seconds() - start;
    }
    for (size_t i = 0; i < out->count && first < record->count; first += out->outcomes[i++].evidence_count)
        out->outcomes[i].evidence = record->exchanges + first;
    return run.status == STATUS_OK ? probes_describe(&record->source, &out->probes) : run.status;
}
