/* SPDX-License-Identifier: MIT
 * What bounds a cell. The share of a unit's limit that a cell used, by a row of explain_units[]:
 *
 *   share = count / (limit x time), or count x cost / time;  an SM's unit: time x SMs with a block
 *
 * A limit has an interval, and so has its share. The bound is the unit with the greatest share, if
 * all of its interval lies above EXPLAIN_THRESHOLD, and some of it is possible. Where that of every
 * unit lies below, the cell waits (latency). Else nothing is said. */
#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "text_print.h"
#include "user_cell.h"

/* clang-format off */
const struct explain_unit explain_units[EXPLAIN_UNITS] = {
#define SAME(key) key, .limit = key
    {"issue", "instructions", NULL, SAME(CARD_ISSUE_PER_CYCLE), .scale = 1},
    {"constant loads", "ldc_instructions", NULL, SAME(CARD_CONSTANT_LOADS_PER_CYCLE), .scale = 1},
    {"constant cache", "idc_requests", NULL, SAME(CARD_CONSTANT_ADDRESS_CYCLES), .scale = 1,
     .cost = true},
    {"constant fills", "idc_misses_new", NULL, SAME(CARD_CONSTANT_FILL_CYCLES), .scale = 1,
     .cost = true},
    {"L1 loads", "l1_requests", NULL, CARD_L1_REQUESTS_PER_CYCLE, CARD_L1_LIMIT_REQUESTS_PER_CYCLE,
     .scale = 1},
    {"texture", "texture_instructions", NULL, SAME(CARD_TEXTURE_REQUESTS_PER_CYCLE), .scale = 1,
     .active_only = true},
    {"shared memory", "shared_wavefronts", NULL, SAME(CARD_SHARED_WAVEFRONTS_PER_CYCLE),
     .scale = 1},
    {"L2", "l2_sectors", NULL, CARD_L2_BYTES_PER_NS, CARD_L2_LIMIT_BYTES_PER_NS,
     .scale = ACCESS_SECTOR_BYTES, .chip = true},
    {"DRAM", "dram_read_bytes", "dram_write_bytes", CARD_DRAM_BYTES_PER_NS,
     CARD_DRAM_LIMIT_BYTES_PER_NS, .scale = 1, .chip = true},
#undef SAME
};
/* clang-format on */

/* What a unit did: its counters. The instructions of textures count also where no thread is active,
 * which asks nothing of the unit: exact counts leave them out. */
static double count_of(const struct explain_unit *unit, const struct cell_result *cell,
                       const struct access_counts *counts)
{
    double count = counter_counted(cell->counters, cell->counter_count, unit->counter);

    if (unit->more)
        count += counter_counted(cell->counters, cell->counter_count, unit->more);
    if (unit->active_only && counts && count > (double)counts->payload_loads)
        count = (double)counts->payload_loads;
    return count * unit->scale;
}

/* The share of a unit that is busy for count / (limit x time), or count x cost / time. */
static struct time_range share_of(const struct explain_unit *unit, double count, double time,
                                  const struct card_number *number)
{
    if (unit->cost)
        return (struct time_range){count * number->value / time, count * number->low / time,
                                   count * number->high / time};
    return (struct time_range){count / (number->value * time), count / (number->high * time),
                               count / (number->low * time)};
}

/* Names the bound, or nothing. */
static const char *bound_of(const struct explained_cell *cell)
{
    const struct time_range *longest = &cell->share[cell->longest];

    if (longest->low >= EXPLAIN_THRESHOLD)
        return longest->low > EXPLAIN_IMPOSSIBLE ? NULL : explain_units[cell->longest].name;
    for (int i = 0; i < EXPLAIN_UNITS; i++)
        if (!(cell->share[i].high < EXPLAIN_THRESHOLD))
            return NULL;
    return "latency";
}

/* "DRAM 42% to 68%"; "L1 22%" where both ends print alike. */
static void print_busiest(struct explained_cell *cell)
{
    const struct time_range *share = &cell->share[cell->longest];
    const struct text_number low = text_of(text_share, share->low),
                             high = text_of(text_share, share->high);

    if (strcmp(low.text, high.text) == 0)
        snprintf(cell->busiest, sizeof(cell->busiest), "%s %s", explain_units[cell->longest].name,
                 low.text);
    else
        snprintf(cell->busiest, sizeof(cell->busiest), "%s %s to %s",
                 explain_units[cell->longest].name, low.text, high.text);
}

void explain_cell(const struct cell_result *cell, const struct access_counts *counts,
                  const struct card *card, bool unchecked, struct explained_cell *out)
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
        const struct card_number *limit = &card->number[unit->limit];

        /* For a unit of the SMs, the mean over SMs that have a block. */
        out->share[i] = share_of(unit, count_of(unit, cell, counts),
                                 unit->chip ? cell->time.summary.value : cell->time.cycles * sms,
                                 isnan(limit->value) ? &card->number[unit->key] : limit);
        if (isnan(out->share[i].value))
            text_join(out->unknown, sizeof(out->unknown), ", ", "%s", unit->name);
        if (out->share[i].value > (out->longest < 0 ? -1 : out->share[out->longest].value))
            out->longest = i;
    }
    if (out->longest >= 0) {
        out->bound = bound_of(out);
        print_busiest(out);
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
        model_group(&cell->cell, &estimate, out->model_group);
        if (unchecked)
            out->model_ns = estimate.time_ns;
        else
            model_checked_time(&cell->cell, card, &estimate, &out->model_ns);
    }
}
