/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "explain.h"
#include "log.h"
#include "text.h"

/* What the core matrix, to which cards are fitted, consists of; see workloads.def. */
enum { CORE_BLOCK_SIZE = 1024, CORE_UNITS = 1 << UNIT_IDC | 1 << UNIT_L1 };

/* Differences from the card, and of its misses from the counted ones, that are worth a word. */
#define CLOCK_LIMIT  0.01
#define LAUNCH_LIMIT 0.1
#define MISSES_LIMIT 0.1
#define TURNS_LIMIT  0.2 /* what the first level may be idle between turns */

/* Lines that a load asks for, and instructions that a warp executes, from which on they are worth a word. */
enum { MANY_LINES = 8 };

/* What a reason is looked for in. */
struct evidence {
    const struct result *result;
    const struct card *card;
    const struct explained_cell *cell;
    const struct cell_result *own; /* of the cell */
};

static double fixed_ns(const struct evidence *e)
{
    return e->cell->model.parts.launch_ns + e->cell->model.parts.wave_ns;
}

/* The lines of one warp come one after the other, and the model lets other warps work meanwhile. */
static double line_wait_ns(const struct evidence *e)
{
    return e->cell->model.levels.misses[0] / (double)e->cell->access.warps_active *
           e->card->levels[0].miss_latency_cycles * 1000 / e->card->sm_clock_mhz;
}

static double stream_bytes(const struct evidence *e)
{
    const struct cell *cell = &e->own->cell;

    return (1.0 + workload_streamed(cell->workload, cell->parameters)) * sizeof(uint32_t) * (double)cell->elements;
}

static bool through_idc(const struct evidence *e)
{
    return e->own->cell.path->unit == UNIT_IDC;
}

static const struct explained_count *misses(const struct evidence *e)
{
    return &e->cell->levels[EXPLAIN_LEVEL_IDC_MISSES];
}

/* Fills of the first level where each SM that has a block gets each line that the grid reads of the table once. */
static double once_fills(const struct evidence *e)
{
    return ceil((double)e->cell->access.footprint_bytes / e->card->levels[0].line_bytes) *
           fmin((double)e->cell->access.blocks, e->card->sm_count);
}

static double retried(const struct evidence *e)
{
    return counter_counted(e->own->counters, e->own->counter_count, "idc_misses_retried");
}

static double warp_instructions(const struct evidence *e)
{
    return counter_counted(e->own->counters, e->own->counter_count, "instructions") /
           (double)e->cell->access.warps_launched;
}

#define REASON(name, summary, applies, ...)                                            \
    static bool applies_##name(const struct evidence *e, char text[CELL_REASON_BYTES]) \
    {                                                                                  \
        return (applies) && snprintf(text, CELL_REASON_BYTES, __VA_ARGS__) > 0;        \
    }
#define FILLS_REASON REASON
#include "reasons.def"

const struct explain_reason explain_reasons[] = {
#define REASON(name, summary, applies, ...)       {#name, summary, false, applies_##name},
#define FILLS_REASON(name, summary, applies, ...) {#name, summary, true, applies_##name},
#include "reasons.def"
};

const size_t explain_reason_count = sizeof(explain_reasons) / sizeof(explain_reasons[0]);

enum status explain_find_reasons(const struct result *result, const struct card *card, struct explained_cell *cell)
{
    const struct evidence evidence = {.result = result, .card = card, .cell = cell, .own = cell->cell};

    cell->reasons = calloc(explain_reason_count, sizeof(*cell->reasons));
    if (!cell->reasons)
        return log_memory("reasons");
    for (const struct explain_reason *row = explain_reasons; row < explain_reasons + explain_reason_count; row++) {
        struct explained_reason *reason = &cell->reasons[cell->reason_count];

        reason->row = row;
        cell->reason_count +=
            (row->of_fills ? cell->fills : cell->agreement) == EXPLAIN_DIFFERS && row->applies(&evidence, reason->text);
    }
    return STATUS_OK;
}
