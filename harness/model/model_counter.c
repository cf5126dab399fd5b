/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernel_args.h"
#include "model.h"

/* Partitions of an SM: each has a scheduler and an immediate constant cache. One warp alone makes an H200 fetch a
 * quarter of the lines that four do. */
enum { SM_PARTITIONS = 4 };

/* The measured counters that the model predicts: what they count at which level of the card. Lookups that wait for a
 * line on its way are counted by idc_misses, idc_hits and, of several SMs, gcc_constant_misses, and not modelled. */
static const struct counted {
    const char *counter;
    const char *level;
    bool misses; /* else requests */
    bool immediate_lines; /* the requests of the immediate constant caches come too */
    bool others_may_hit;  /* lines that are not of the table count where the level does not hold them */
} counted_rows[] = {
    {.counter = "idc_misses_new", .level = "idc", .misses = true},
    {.counter = "gcc_constant_requests", .level = "gcc", .immediate_lines = true},
    {.counter = "gcc_constant_misses", .level = "gcc", .misses = true, .immediate_lines = true, .others_may_hit = true},
};

/* Constants beside the table. */
static const struct other_constant {
    uint32_t byte; /* of the bank of parameters, or of the compiler's */
    bool compiler;
    bool switched; /* of kernels that choose the pattern at run time */
} other_constants[MODEL_OTHER_LINES_MAX] = {
    {.byte = 0},
    {.byte = MODEL_PARAMETERS_BEGIN},
    {.byte = MODEL_PARAMETERS_BEGIN + offsetof(struct kernel_args, pattern), .switched = true},
    {.compiler = true, .switched = true},
};

enum { PARAMETERS_LINE = MODEL_OTHER_BANK_LINE + (1 << 13) + 5, COMPILER_LINE = MODEL_OTHER_BANK_LINE + (1 << 14) };

static bool is_read(const struct other_constant *constant, const struct cell *cell)
{
    return !constant->switched || cell->workload->index == INDEX_SWITCHED ||
           cell->workload->index == INDEX_SWITCHED_LENGTH;
}

uint32_t model_other_lines(const struct cell *cell, uint32_t line_bytes, uint64_t lines[MODEL_OTHER_LINES_MAX])
{
    const uint64_t first = cell->path->home == TABLE_PARAMETER ? 0 : PARAMETERS_LINE;
    uint32_t count = 0;

    for (size_t i = 0; i < MODEL_OTHER_LINES_MAX; i++)
        if (is_read(&other_constants[i], cell))
            lines[count++] = other_constants[i].compiler ? COMPILER_LINE : first + other_constants[i].byte / line_bytes;
    return count;
}

/* Lines that every SM with a block fetches beside the table: those that kernels have, by the card, and those of this kernel that
 * hold nothing of the table. */
static double lines_beside(const struct cell *cell, const struct card *card, uint32_t line_bytes)
{
    const uint32_t table = cell->path->home == TABLE_PARAMETER ? model_table_begin(cell) / line_bytes : 0;
    double lines = card->parameter_lines;

    for (size_t i = 0; i < MODEL_OTHER_LINES_MAX; i++)
        if (other_constants[i].switched && is_read(&other_constants[i], cell))
            lines += other_constants[i].compiler || table == 0 || other_constants[i].byte / line_bytes < table;
    return lines;
}

/* Partitions with a warp, of all SMs: blocks go round the SMs, and the warps of each round its partitions. */
static double partitions_used(const struct cell *cell, const struct access_counts *access, const struct card *card)
{
    const double rounds = floor((double)access->blocks / card->sm_count);
    const double left = (double)access->blocks - rounds * card->sm_count;
    const double warps = ceil(cell->block_size / (double)CBANK_WARP_THREADS);

    return left * fmin((rounds + 1) * warps, SM_PARTITIONS) +
           (card->sm_count - left) * fmin(rounds * warps, SM_PARTITIONS);
}

static struct model_count unknown(const char *reason)
{
    return (struct model_count){.low = NAN, .high = NAN, .reason = reason};
}

struct model_count model_counter(const char *name, const struct cell *cell, const struct access_counts *access,
                                 const struct card *card, const struct model_levels *levels)
{
    for (size_t i = 0; i < sizeof(counted_rows) / sizeof(counted_rows[0]); i++) {
        const struct counted *row = &counted_rows[i];
        const uint32_t level = card_level_index(card, row->level);
        double low, high, others; /* others: lines that are not of the table */

        if (strcmp(row->counter, name) != 0)
            continue;
        if (row->immediate_lines && (cell->path->unit == UNIT_UNIFORM || cell->path->unit == UNIT_IMC))
            return unknown("the model does not simulate the constant cache of this path");
        if (level == card->level_count)
            return unknown("the card has no such level of the constant path");
        if (card->parameter_lines == CARD_UNKNOWN || (row->immediate_lines && card->immediate_lines == CARD_UNKNOWN))
            return unknown("the card does not know how many lines every SM fetches beside the table");
        low = row->misses ? levels->misses[level] : levels->requests[level];
        if (isnan(low))
            return unknown("it does not follow from what the card knows of the level");
        others =
            fmin((double)access->blocks, card->sm_count) * lines_beside(cell, card, card->levels[level].line_bytes) +
            (row->others_may_hit ? 0 : levels->parameter_refills);
        if (row->immediate_lines)
            others += partitions_used(cell, access, card) * (card->immediate_lines / (double)SM_PARTITIONS);
        high = low + others;
        return (struct model_count){.low = row->others_may_hit ? low : high, .high = high};
    }
    return unknown("the model does not predict it");
}
