/* SPDX-License-Identifier: MIT
 * Runs the experiments on one chip. The same analysis runs on the answers of a GPU and on a record
 * of them. */
#include "experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "child.h"
#include "log.h"
#include "table.h"

/* The quantities that several experiments measure. */
static const char follows[] = "cycles of a dependent load";
static const char follows_l1[] =
    "cycles of a dependent load that hits L1, the addition of its 64-bit address included";
static const char serializes[] = "cost of distinct addresses in a warp";
static const char streams[] = "loads of one address against resident warps";

#define ASKS(kind) (1u << PROBE_##kind)

/* Cells are measured before all probes: they are the first to be in the file. */
static const struct experiment experiments[] = {
    {"whole_kernels", "launches, the start and the life of blocks, and bandwidths, by cells of run",
     "global", experiment_cells, .probes = ASKS(CELL)},
    {"latency_constant", follows, "constant", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_constant_uniform", follows, "constant_uniform", experiment_latency,
     .probes = ASKS(CHAIN)},
    {"latency_constant_operand", follows, "constant_operand", experiment_latency,
     .probes = ASKS(CHAIN)},
    {"latency_param", follows, "param", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_global", follows_l1, "global", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_readonly", follows_l1, "readonly", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_restrict", follows_l1, "restrict", experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_texture", "cycles of a dependent load that hits L1, by the texture unit", "texture",
     experiment_latency, .probes = ASKS(CHAIN)},
    {"latency_shared", follows, "shared", experiment_latency, .probes = ASKS(CHAIN)},
    {"geometry_constant", "levels behind a constant bank", "constant", experiment_geometry,
     .probes = ASKS(CHASE), .bytes = BANK_BYTES},
    {"geometry_constant_modules",
     "levels behind the constant banks of several modules that run side by side", "constant",
     experiment_geometry, .probes = ASKS(RELAY), .bytes = PROBE_MEMBERS * BANK_BYTES},
    {"serialization_constant", serializes, "constant", experiment_serialization,
     .probes = ASKS(CHAIN) | ASKS(STREAM)},
    {"serialization_global", serializes, "global", experiment_serialization,
     .probes = ASKS(CHAIN) | ASKS(STREAM)},
    {"serialization_readonly", serializes, "readonly", experiment_serialization,
     .probes = ASKS(CHAIN) | ASKS(STREAM)},
    {"serialization_shared", serializes, "shared", experiment_serialization,
     .probes = ASKS(CHAIN) | ASKS(STREAM)},
    {"throughput_constant", streams, "constant", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_constant_uniform", streams, "constant_uniform", experiment_throughput,
     .probes = ASKS(STREAM)},
    {"throughput_constant_operand", streams, "constant_operand", experiment_throughput,
     .probes = ASKS(STREAM)},
    {"throughput_param", streams, "param", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_global", streams, "global", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_readonly", streams, "readonly", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_texture", streams, "texture", experiment_throughput, .probes = ASKS(STREAM)},
    {"throughput_shared", streams, "shared", experiment_throughput, .probes = ASKS(STREAM)},
    {"invalidation_constant",
     "what is left of each constant level after what comes between two launches", "constant",
     experiment_invalidation, .levels = 2,
     .unknown = "no two levels of the path are known to tell apart"},
    {"sharing_constant", "which SMs hit what one of them brought, behind the first constant level",
     "constant", experiment_sharing, .probes = ASKS(SHARING), .levels = 3,
     .unknown = "no three levels are known: what is shared cannot be told from what is not"},
    {"geometry_global", "the L1 data cache and what is behind it", "global", experiment_geometry,
     .probes = ASKS(CHASE), .bytes = 512 << 10},
    {"every_sm_global", "lines of L2 from every SM: the latency of level 2 in geometry_global",
     "global", experiment_every_sm, .probes = ASKS(CHASE), .levels = 2,
     .unknown = "no second level is known"},
    {"bandwidth_l1", "bytes of L1 hits, by the width of a load", "global", experiment_bandwidth_l1,
     .probes = ASKS(TRANSFER)},
    {"bandwidth_l2", "bytes that L2 gives all SMs", "global", experiment_bandwidth_l2,
     .probes = ASKS(TRANSFER)},
    {"bandwidth_memory", "bytes that device memory gives, and takes", "global",
     experiment_bandwidth_memory, .probes = ASKS(TRANSFER)},
};

/* Leaves one latency of each level, without what timing adds: that of the first beyond a chain of
 * loads, which is not timed access by access. Where chases through several banks show a level,
 * theirs is kept. An experiment that saw the second level from every SM knows better than a chase
 * on one. */
static void settle_latencies(struct characterization *out)
{
    const struct outcome *modules = characterization_outcome(out, "geometry_constant_modules");
    const struct geometry *several = modules ? modules->geometry : NULL;

    for (size_t i = 0; i < out->count; i++) {
        const char *path = out->outcomes[i].experiment.path;
        const struct number *chain = experiment_chain(out, path);
        struct geometry *geometry = out->outcomes[i].geometry;
        const struct summary *every = NULL;

        for (size_t k = 0; k < out->count; k++)
            if (out->outcomes[k].latency.count &&
                strcmp(out->outcomes[k].experiment.path, path) == 0)
                every = &out->outcomes[k].latency;
        if (geometry && geometry->level_count)
            geometry->timing_cycles =
                geometry->level[0].latency.value - (chain ? chain->value : NAN);
        for (size_t k = 0; geometry && k < geometry->level_count; k++) {
            struct geometry_level *level = &geometry->level[k];
            const bool elsewhere = k > 0 && several && several != geometry &&
                                   k < several->level_count &&
                                   strcmp(path, modules->experiment.path) == 0;

            level->every_sm = k == 1 && every && !elsewhere;
            level->latency.value -= elsewhere ? NAN : geometry->timing_cycles;
            level->latency.ci_low -= elsewhere ? NAN : geometry->timing_cycles;
            level->latency.ci_high -= elsewhere ? NAN : geometry->timing_cycles;
            if (level->every_sm) {
                level->latency = *every;
            } else if (k == 0 && chain) {
                level->latency.ci_low = chain->low;
                level->latency.ci_high = chain->high;
            }
        }
    }
}

/* Records the groups of SMs as facts of the board, as every run does. */
static void describe_board(struct characterization *out)
{
    const struct outcome *sharing = characterization_outcome(out, "sharing_constant");
    struct board *board = &out->device.board;

    if (!board->given || !sharing)
        return;
    if (sharing->group_count > 0)
        board_set_groups(board, sharing->group, sharing->sm_count, sharing->group_count);
    else
        snprintf(board->groups_reason, sizeof(board->groups_reason), "%.190s", sharing->reason);
}

/* Points each outcome to its part of the answers. */
static void give_evidence(const struct probe_record *record, struct characterization *out)
{
    size_t first = 0;

    for (size_t i = 0; i < out->count && first < record->count;
         first += out->outcomes[i++].evidence_count)
        out->outcomes[i].evidence = record->exchanges + first;
}

/* Shows the experiments so far, without geometry, whose latencies are not settled. */
static enum status show_so_far(const struct probe_record *record,
                               const struct characterize_watch *watch, struct characterization *out)
{
    struct characterization so_far = *out;
    enum status status;

    if (!watch)
        return STATUS_OK;
    give_evidence(record, out);
    so_far.outcomes = calloc(out->count + 1, sizeof(*so_far.outcomes));
    if (!so_far.outcomes)
        return log_memory("the outcomes of experiments");
    memcpy(so_far.outcomes, out->outcomes, out->count * sizeof(*so_far.outcomes));
    for (size_t i = 0; i < out->count; i++)
        so_far.outcomes[i].geometry = NULL;
    status = probes_describe(&record->source, &so_far.probes);
    if (status == STATUS_OK)
        status = watch->after(watch->context, &so_far);
    free(so_far.probes.kernels);
    free(so_far.outcomes);
    return status;
}

/* The levels that an experiment needs: those of the path's geometry. Several banks may show a level
 * that one bank does not get behind. */
static const struct geometry *geometry_of(const struct experiment_run *run,
                                          const struct experiment *row)
{
    const struct outcome *single = experiment_outcome(run, "geometry", row->path);
    const struct outcome *several = experiment_outcome(run, "geometry", "constant_modules");

    if (!row->levels || !single)
        return NULL;
    if (several && strcmp(several->experiment.path, row->path) == 0 &&
        several->geometry->level_count > single->geometry->level_count)
        return several->geometry;
    return single->geometry;
}

/* Why an experiment cannot run; NULL if it can. */
static const char *obstacle_of(const struct experiment_run *run,
                               const struct characterization *recorded,
                               const struct experiment *row)
{
    const struct probe_source *source = &run->record->source;
    const struct outcome *then = recorded ? characterization_outcome(recorded, row->name) : NULL;

    if (recorded && !then)
        return "the record lacks this experiment; record the GPU again";
    if (then && row->probes && then->status == OUTCOME_SKIPPED)
        return then->reason;
    for (uint32_t kind = 0; kind < PROBE_KIND_COUNT; kind++) {
        const struct probe_kernel *kernel;

        if (!(row->probes >> kind & 1))
            continue;
        kernel = source->kernel(source->context, (enum probe_kind)kind, run->path);
        if (!kernel->usable)
            return kernel->reason;
    }
    if (row->levels && (!run->geometry || run->geometry->level_count < row->levels))
        return row->unknown;
    return NULL;
}

/* Runs an experiment into the next outcome, or skips it with the reason. */
static void run_experiment(struct experiment_run *run, const struct characterization *recorded,
                           const struct experiment *row, struct outcome *outcome)
{
    const double start = clock_seconds();
    const size_t asked = run->record->count;
    const char *reason;

    run->path = table_find(&table_of_paths, row->path);
    run->outcome = outcome;
    outcome->experiment = *row;
    run->geometry = geometry_of(run, row);
    reason = obstacle_of(run, recorded, row);
    if (reason)
        experiment_skip(run, reason);
    else
        row->run(run);
    for (size_t i = 0; i < outcome->verdict_count; i++)
        verdict_explain(&outcome->verdicts[i]);
    outcome->evidence_count = run->record->count - asked;
    outcome->seconds = clock_seconds() - start;
}

enum status characterize(struct probe_record *record, const struct characterization *recorded,
                         bool quiet, const struct characterize_watch *watch,
                         struct characterization *out)
{
    struct experiment_run run = {.record = record, .out = out};

    out->outcomes = calloc(COUNT(experiments), sizeof(*out->outcomes));
    if (!out->outcomes)
        return log_memory("the outcomes of experiments");
    while (run.status == STATUS_OK && out->count < COUNT(experiments)) {
        const struct experiment *row = &experiments[out->count];

        if (!quiet)
            fprintf(stderr, "%zu of %zu: %s\n", out->count + 1, COUNT(experiments), row->name);
        run_experiment(&run, recorded, row, &out->outcomes[out->count]);
        out->count++;
        if (run.status == STATUS_OK)
            run.status = show_so_far(record, watch, out);
        else if (interrupted()) { /* without this one, which it ended */
            out->count--;
            show_so_far(record, watch, out);
            out->count++;
        }
    }
    give_evidence(record, out);
    settle_latencies(out);
    describe_board(out);
    return run.status == STATUS_OK ? probes_describe(&record->source, &out->probes) : run.status;
}
