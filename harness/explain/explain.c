/* SPDX-License-Identifier: MIT
 * What bounds a cell. The share of a unit's limit that a cell used, by a row of explain_units[]:
 *
 *   share = count / (limit x time), or count x cost / time;  an SM's unit: time x SMs with a block
 *
 * The greatest share names the unit. Below EXPLAIN_THRESHOLD no unit bounds the cell: it waits
 * (latency). */
#include "explain.h"

#include <math.h>

#include "text.h"
#include "text_print.h"
#include "user_cell.h"

const struct explain_unit explain_units[EXPLAIN_UNITS] = {
    {"issue", "instructions", NULL, CARD_ISSUE_PER_CYCLE, .scale = 1},
    {"constant cache", "idc_requests", NULL, CARD_CONSTANT_ADDRESS_CYCLES, .scale = 1,
     .cost = true},
    {"constant fills", "idc_misses_new", NULL, CARD_CONSTANT_FILL_CYCLES, .scale = 1, .cost = true},
    {"L1 loads", "l1_requests", NULL, CARD_L1_REQUESTS_PER_CYCLE, .scale = 1},
    {"texture", "texture_instructions", NULL, CARD_TEXTURE_REQUESTS_PER_CYCLE, .scale = 1},
    {"shared memory", "shared_wavefronts", NULL, CARD_SHARED_WAVEFRONTS_PER_CYCLE, .scale = 1},
    {"L2", "l2_sectors", NULL, CARD_L2_BYTES_PER_NS, .scale = ACCESS_SECTOR_BYTES, .chip = true},
    {"DRAM", "dram_read_bytes", "dram_write_bytes", CARD_DRAM_BYTES_PER_NS, .scale = 1,
     .chip = true},
};

void explain_cell(const struct cell_result *cell, const struct access_counts *counts,
                  const struct card *card, struct explained_cell *out)
{
    const uint32_t *grid = cell->of_case.grid;
    /* One of the two is 0. */
    const double blocks = (double)grid[0] * grid[1] * grid[2] + cell_grid_blocks(&cell->cell);
    const double sms = fmin(card->number[CARD_SM_COUNT].value, blocks);
    struct cell_estimate estimate;

    *out = (struct explained_cell){.cell = cell, .longest = -1, .model_ns = {NAN, NAN, NAN}};
    cell_identity(&cell->cell, out->identity);
    for (int i = 0; i < EXPLAIN_UNITS; i++) {
        const struct explain_unit *unit = &explain_units[i];
        const double key = card->number[unit->key].value;
        double count =
            unit->scale * counter_counted(cell->counters, cell->counter_count, unit->counter);

        if (unit->more)
            count += unit->scale * counter_counted(cell->counters, cell->counter_count, unit->more);
        /* For a unit of the SMs, the mean over SMs that have a block. */
        out->share[i] = (unit->cost ? count * key : count / key) /
                        (unit->chip ? cell->time.summary.value : cell->time.cycles * sms);
        if (isnan(out->share[i]))
            text_join(out->unknown, sizeof(out->unknown), ", ", "%s", unit->name);
        if (out->share[i] > (out->longest < 0 ? -1 : out->share[out->longest]))
            out->longest = i;
    }
    if (out->longest >= 0) {
        const double share = out->share[out->longest];

        out->bound = share >= EXPLAIN_THRESHOLD ? explain_units[out->longest].name : "latency";
        snprintf(out->busiest, sizeof(out->busiest), "%s %s", explain_units[out->longest].name,
                 text_of(text_share, share).text);
    }
    if (counts) {
        const struct time_kernel kernel = {
            .registers = cell->kernel.registers,
            .instructions = optional_nearest(
                counter_counted(cell->counters, cell->counter_count, "instructions")),
            .constant_requests = optional_nearest(
                counter_counted(cell->counters, cell->counter_count, "idc_requests")),
        };

        estimate_time(&cell->cell, counts, card, &kernel, &estimate);
        out->model_ns = estimate.time_ns;
    }
}
