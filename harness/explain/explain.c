/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* What the core matrix, to which cards are fitted, consists of; see workloads.def. */
enum { CORE_BLOCK_SIZE = 1024, CORE_UNITS = 1 << UNIT_IDC | 1 << UNIT_L1 };

/* Differences from the card, and of its misses from the counted ones, that are worth a word. */
#define CLOCK_LIMIT  0.01
#define LAUNCH_LIMIT 0.1
#define MISSES_LIMIT 0.1

/* 32-bit registers of an SM, and of which a warp gets a whole number: since compute capability 3.5, except 3.7. */
enum { SM_REGISTERS = 65536, WARP_REGISTERS_STEP = 256 };

/* Of explain_parts. */
enum { PART_ISSUE = 3 };

#define PART(member, term_) {#member, offsetof(struct model_parts, member##_ns), term_}

const struct explain_part explain_parts[EXPLAIN_PARTS] = {
    PART(launch, EXPLAIN_TERM_ALONE),
    PART(wave, EXPLAIN_TERM_ALONE),
    PART(residency, 0),
    [PART_ISSUE] = PART(issue, 1),
    PART(serialization, 2),
    PART(misses, 2),
    PART(stream, 3),
};

const struct explain_level_row explain_levels[EXPLAIN_LEVELS] = {
    {"idc_hits", "idc_requests - idc_misses_new", "idc_requests", "idc_misses_new"},
    {"idc_misses", "idc_misses_new", "idc_misses_new", NULL},
    {"gcc_requests", "gcc_constant_requests", "gcc_constant_requests", NULL},
    {"gcc_hits", "gcc_constant_requests - gcc_constant_misses", "gcc_constant_requests", "gcc_constant_misses"},
    {"gcc_misses", "gcc_constant_misses", "gcc_constant_misses", NULL},
};

const char *const explain_verdict_names[] = {
    [EXPLAIN_UNKNOWN] = NULL,
    [EXPLAIN_EQUAL] = "equal",
    [EXPLAIN_WITHIN] = "within",
    [EXPLAIN_DIFFERS] = "differs",
};

double explain_part_ns(const struct model_parts *parts, size_t part)
{
    double ns;

    memcpy(&ns, (const char *)parts + explain_parts[part].offset, sizeof(ns));
    return ns;
}

bool explain_is_long(const struct explained_cell *cell)
{
    return isfinite(cell->remainder) && cell->cell->time.summary.median > EXPLAIN_LONG_NS;
}

bool explain_is_over(const struct explained_cell *cell)
{
    return isfinite(cell->remainder) && fabs(cell->remainder) > EXPLAIN_LIMIT;
}

enum explain_verdict explain_level_verdict(const struct explain_level *level)
{
    const struct model_count *modelled = &level->modelled;

    if (!isfinite(level->measured) || !isfinite(modelled->low) || !isfinite(modelled->high))
        return EXPLAIN_UNKNOWN;
    if (level->measured < modelled->low || level->measured > modelled->high)
        return EXPLAIN_DIFFERS;
    return modelled->low == modelled->high ? EXPLAIN_EQUAL : EXPLAIN_WITHIN;
}

/* -- counters ----------------------------------------------------------------------------------------- */

static const struct counter_value *find_counter(const struct cell_result *cell, const char *name)
{
    for (size_t i = 0; i < cell->counter_count; i++)
        if (strcmp(cell->counters[i].name, name) == 0)
            return &cell->counters[i];
    return NULL;
}

/* What was read; NaN where nothing was. */
static double counted(const struct cell_result *cell, const char *name)
{
    const struct counter_value *value = find_counter(cell, name);

    return value && value->status == COUNTER_OK ? value->value : NAN;
}

/* By the model, or the expected value of an exact counter: loads of parameters are in it. */
static struct model_count modelled(const struct explained_cell *cell, const struct card *card, const char *name)
{
    const struct counter_value *value = find_counter(cell->cell, name);
    struct model_count count = {NAN, NAN};
    const char *reason;

    if (value && value->kind == COUNTER_EXACT)
        return (struct model_count){value->expected, value->expected};
    model_counter(name, &cell->cell->cell, &cell->access, card, &cell->model.levels, &count, &reason);
    return count;
}

static struct explain_level explain_level(const struct explained_cell *cell, const struct card *card,
                                          const struct explain_level_row *row)
{
    struct explain_level level = {.measured = counted(cell->cell, row->plus),
                                  .modelled = modelled(cell, card, row->plus)};

    if (row->minus) {
        const struct model_count minus = modelled(cell, card, row->minus);

        level.measured -= counted(cell->cell, row->minus);
        level.modelled.low -= minus.high;
        level.modelled.high -= minus.low;
    }
    return level;
}

/* -- reasons ------------------------------------------------------------------------------------------ */

/* Writes the text of a reason that applies. */
__attribute__((format(printf, 3, 4))) static bool because(char *out, size_t bytes, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(out, bytes, format, arguments);
    va_end(arguments);
    return true;
}

#define REASON(name) \
    static bool name(const struct explanation *explanation, const struct explained_cell *cell, char *out, size_t bytes)

REASON(is_modelled)
{
    (void)cell;
    return explanation->result->modelled_time && because(out, bytes, "the time in the file is a prediction, too");
}

REASON(is_unstable)
{
    (void)explanation;
    return cell->cell->flags & FLAG_UNSTABLE &&
           because(out, bytes, "unstable: sampling stopped before the interval was narrow enough");
}

REASON(is_throttled)
{
    (void)explanation;
    return cell->cell->flags & FLAG_THROTTLED && because(out, bytes, "the driver held the clocks down");
}

REASON(clock_varied)
{
    (void)explanation;
    return cell->cell->flags & FLAG_CLOCK_VARIED && because(out, bytes, "the SM clock varied");
}

REASON(clock_differs)
{
    const double mhz = cell->cell->time.sm_clock_mhz, card_mhz = explanation->card->sm_clock_mhz;

    return fabs(mhz / card_mhz - 1) > CLOCK_LIMIT &&
           because(out, bytes, "the SM clock was %.0f MHz, the card has %.0f", mhz, card_mhz);
}

REASON(launch_differs)
{
    const double ns = explanation->result->device.launch_ns, card_ns = explanation->card->launch_ns;

    (void)cell;
    return fabs(ns / card_ns - 1) > LAUNCH_LIMIT &&
           because(out, bytes, "an empty launch took %.0f ns, the card has %.0f", ns, card_ns);
}

REASON(counter_off)
{
    (void)explanation;
    return cell->cell->flags & FLAG_COUNTER_DIFFERS &&
           because(out, bytes, "an exact counter differs: the kernel does something else than the model");
}

REASON(is_refill)
{
    const struct cell *own = &cell->cell->cell;

    (void)explanation;
    return own->workload->before == BEFORE_REFILL && own->path->home != TABLE_PARAMETER &&
           because(out, bytes, "the table is written before every launch, and that takes times of several modes");
}

REASON(modules_cost_nothing)
{
    return cell->cell->cell.parameters[PARAMETER_modules] > 1 && explanation->card->alternate_ns == 0 &&
           because(out, bytes, "modules alternate, which costs nothing on the card");
}

REASON(is_cold_and_short)
{
    (void)explanation;
    return cell->cell->cell.regime->flush && !explain_is_long(cell) &&
           because(out, bytes, "cold cells of a few us differ between processes by more than their interval");
}

REASON(is_short)
{
    const double fixed_ns = cell->model.parts.launch_ns + cell->model.parts.wave_ns;

    (void)explanation;
    return !explain_is_long(cell) &&
           because(out, bytes, "short: launch and first wave, which vary most, are %.0f%% of the prediction",
                   100 * fixed_ns / cell->model.time_ns);
}

REASON(leaves_sms_idle)
{
    return 2 * cell->access.blocks < explanation->card->sm_count &&
           because(out, bytes, "%" PRIu64 " of %" PRIu32 " SMs have a block, and the card's first wave is a full one",
                   cell->access.blocks, explanation->card->sm_count);
}

/* The lines of one warp come one after the other, and the model lets other warps work meanwhile. */
REASON(waits_for_lines)
{
    const struct card_level *first = &explanation->card->levels[0];
    const double misses = cell->model.levels.misses[0] / (double)cell->access.warps_active;
    const double wait_ns = misses * first->miss_latency_cycles * 1000 / explanation->card->sm_clock_mhz;
    const double rest_ns = cell->model.time_ns - cell->model.parts.launch_ns - cell->model.parts.wave_ns;

    return cell->remainder > 0 && wait_ns > rest_ns &&
           because(out, bytes, "a warp waits %.0f ns for its lines, and there are too few to hide that", wait_ns);
}

REASON(is_no_core_block)
{
    (void)explanation;
    return cell->cell->cell.block_size != CORE_BLOCK_SIZE &&
           because(out, bytes, "blocks of %" PRIu32 ": cards are fitted to blocks of %d", cell->cell->cell.block_size,
                   CORE_BLOCK_SIZE);
}

REASON(is_no_core_workload)
{
    (void)explanation;
    return cell->cell->cell.workload != &workloads[0] &&
           because(out, bytes, "cards are fitted to the workload %s", workloads[0].name);
}

REASON(is_no_core_unit)
{
    (void)explanation;
    return !(1u << cell->cell->cell.path->unit & CORE_UNITS) &&
           because(out, bytes, "no path that cards are fitted to has the unit of %s", cell->cell->cell.path->name);
}

/* Warps get registers in whole steps, and an SM's are in four parts, each for every fourth warp. */
REASON(registers_limit)
{
    const struct cell *own = &cell->cell->cell;
    const uint32_t block_warps = own->block_size / CBANK_WARP_THREADS, used = cell->cell->kernel.registers;
    const uint32_t steps = (used * CBANK_WARP_THREADS + WARP_REGISTERS_STEP - 1) / WARP_REGISTERS_STEP;
    const uint32_t warps = steps ? SM_REGISTERS / 4 / (steps * WARP_REGISTERS_STEP) * 4 : 0;
    const uint32_t resident = model_blocks_resident(own, explanation->card);

    return steps && warps / block_warps < resident &&
           because(out, bytes,
                   "%" PRIu32 " registers a thread leave room for %" PRIu32 " blocks on an SM, the model has %" PRIu32,
                   used, warps / block_warps, resident);
}

REASON(l2_keeps_a_part)
{
    const double room = (double)explanation->card->l2_kept_bytes;
    const double stream = 2.0 * sizeof(uint32_t) * (double)cell->cell->cell.elements;

    return !cell->cell->cell.regime->flush && stream > room && stream < 2 * room &&
           because(out, bytes, "L2 keeps a part of input and output, between sizes that the card has");
}

REASON(misses_differ)
{
    const double measured = counted(cell->cell, "idc_misses_new");
    const struct model_count model = modelled(cell, explanation->card, "idc_misses_new");

    return cell->cell->cell.path->unit == UNIT_IDC && fabs(model.low / measured - 1) > MISSES_LIMIT &&
           because(out, bytes, "the first level filled %.0f lines, the model has %.0f", measured, model.low);
}

REASON(misses_retried)
{
    const double retried = counted(cell->cell, "idc_misses_retried");

    (void)explanation;
    return retried > 0 && cell->cell->cell.path->unit == UNIT_IDC &&
           because(out, bytes, "%.0f lookups found no free tag and were tried again, which is not modelled", retried);
}

REASON(instructions_guessed)
{
    (void)explanation;
    return explain_parts[PART_ISSUE].term == cell->bound &&
           cell->model.parts.issue_ns > EXPLAIN_LIMIT * cell->model.time_ns &&
           because(out, bytes, "bound by issue, and the model guesses the number of instructions");
}

const struct explain_reason explain_reasons[] = {
    {"modelled", "the time in the file is a prediction", is_modelled},
    {"unstable", "sampling stopped before the interval was narrow enough", is_unstable},
    {"throttled", "the driver held the clocks down", is_throttled},
    {"clock_varied", "the SM clock varied", clock_varied},
    {"clock_differs", "the SM clock is not the card's", clock_differs},
    {"launch_differs", "an empty launch took another time than the card's", launch_differs},
    {"counter_differs", "an exact counter is not what was expected", counter_off},
    {"refill", "writing the table takes times of several modes", is_refill},
    {"modules", "that modules alternate costs nothing on the card", modules_cost_nothing},
    {"cold", "cold cells of a few us differ between processes by more than their interval", is_cold_and_short},
    {"short", "up to 10 us, most of it launch and first wave", is_short},
    {"idle_sms", "most SMs have no block", leaves_sms_idle},
    {"latency", "too few warps to hide the wait for lines", waits_for_lines},
    {"block_size", "another block size than cards are fitted to", is_no_core_block},
    {"workload", "another workload than cards are fitted to", is_no_core_workload},
    {"unit", "a unit that no cell which cards are fitted to has", is_no_core_unit},
    {"registers", "registers leave room for fewer blocks than the model has", registers_limit},
    {"l2_part", "L2 keeps a part of input and output", l2_keeps_a_part},
    {"misses_differ", "the model's fills of lines are not the counted ones", misses_differ},
    {"misses_retried", "lookups were tried again, which is not modelled", misses_retried},
    {"instructions", "bound by issue, and the number of instructions is a guess", instructions_guessed},
};

const size_t explain_reason_count = sizeof(explain_reasons) / sizeof(explain_reasons[0]);

static uint32_t find_reasons(const struct explanation *explanation, const struct explained_cell *cell)
{
    char text[CELL_REASON_BYTES];
    uint32_t reasons = 0;

    for (size_t i = 0; i < explain_reason_count; i++)
        if (explain_reasons[i].applies(explanation, cell, text, sizeof(text)))
            reasons |= 1u << i;
    return reasons;
}

/* -- cells -------------------------------------------------------------------------------------------- */

static int longest_term(const struct model_parts *parts)
{
    double terms[EXPLAIN_TERMS] = {0};
    int longest = 0;

    for (size_t i = 0; i < EXPLAIN_PARTS; i++)
        if (explain_parts[i].term != EXPLAIN_TERM_ALONE)
            terms[explain_parts[i].term] += explain_part_ns(parts, i);
    for (int i = 1; i < EXPLAIN_TERMS; i++)
        if (terms[i] > terms[longest])
            longest = i;
    return longest;
}

static void tally_cell(struct explanation *explanation, const struct explained_cell *cell)
{
    struct explain_tally *tally = &explanation->tallies[explain_is_long(cell)];

    for (size_t i = 0; i < cell->cell->counter_count; i++) {
        const struct counter_value *value = &cell->cell->counters[i];

        if (value->kind != COUNTER_EXACT || value->status != COUNTER_OK || !isfinite(value->expected))
            continue;
        explanation->exact++;
        explanation->exact_equal += !counter_differs(value);
    }
    for (size_t i = 0; cell->predicted && cell->access.warps_launched == 1 && i < EXPLAIN_LEVELS; i++) {
        const enum explain_verdict verdict = explain_level_verdict(&cell->levels[i]);

        explanation->single += verdict != EXPLAIN_UNKNOWN;
        explanation->single_equal += verdict == EXPLAIN_EQUAL;
        explanation->single_within += verdict == EXPLAIN_WITHIN;
    }
    if (!isfinite(cell->remainder)) {
        explanation->untimed++;
        return;
    }
    tally->cells++;
    tally->within += !explain_is_over(cell);
    if (!tally->largest || fabs(cell->remainder) > fabs(tally->largest->remainder))
        tally->largest = cell;
}

/* Predicts cell i; access has room for the counts of every cell. */
static enum status explain_cell(struct explanation *explanation, size_t i, struct access_counts *access)
{
    struct explained_cell *cell = &explanation->cells[i];
    const struct cell_result *own = &explanation->result->cells[i];
    const double measured_ns = own->status == CELL_OK || own->status == CELL_PENDING ? own->time.summary.median : NAN;
    char obstacle[CELL_REASON_BYTES];
    enum status status;

    *cell = (struct explained_cell){.cell = own, .remainder_ns = NAN, .remainder = NAN};
    if (own->status == CELL_SKIPPED || cell_obstacle(&own->cell, 0, obstacle))
        return STATUS_OK;
    status = access_count_next(result_cell, explanation->result, i, access);
    if (status == STATUS_OK)
        status = model_predict(&own->cell, &access[i], explanation->card, &cell->model);
    if (status != STATUS_OK)
        return status;
    cell->predicted = true;
    cell->access = access[i];
    cell->bound = longest_term(&cell->model.parts);
    cell->remainder_ns = measured_ns - cell->model.time_ns;
    cell->remainder = cell->remainder_ns / measured_ns;
    for (size_t level = 0; level < EXPLAIN_LEVELS; level++)
        cell->levels[level] = explain_level(cell, explanation->card, &explain_levels[level]);
    if (explain_is_over(cell))
        cell->reasons = find_reasons(explanation, cell);
    return STATUS_OK;
}

/* Whether the card says something about the device that the result is of. */
static bool same_chip(const struct device_info *device, const struct card *card)
{
    return device->cc_major == card->cc_major && device->cc_minor == card->cc_minor &&
           device->sm_count == card->sm_count &&
           (!device->chip[0] || !card->chip[0] || strcmp(device->chip, card->chip) == 0);
}

static enum status refuse(const char *name, const struct device_info *device, const struct card *card)
{
    return log_error(STATUS_ENVIRONMENT,
                     "%s is of %s (%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs), the card of %s "
                     "(%s, %" PRIu32 ".%" PRIu32 ", %" PRIu32 "): not comparable; name a card of that chip with --card",
                     name, device->name, device->chip[0] ? device->chip : "chip not known", device->cc_major,
                     device->cc_minor, device->sm_count, card->name, card->chip[0] ? card->chip : "chip not known",
                     card->cc_major, card->cc_minor, card->sm_count);
}

enum status explain_open(const char *name, const struct result *result, const struct card *card,
                         struct explanation *out)
{
    const struct device_info *device = &result->device;
    struct explanation explanation = {.result = result, .card = card};
    struct access_counts *access;
    enum status status = STATUS_OK;

    if (!same_chip(device, card))
        return refuse(name, device, card);
    /* One more than needed: of nothing, calloc may give NULL. */
    explanation.cells = calloc(result->cell_count + 1, sizeof(*explanation.cells));
    access = calloc(result->cell_count + 1, sizeof(*access));
    if (!explanation.cells || !access)
        status = log_error(STATUS_ENVIRONMENT, "out of memory for %zu cells", result->cell_count);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        status = explain_cell(&explanation, i, access);
        if (status == STATUS_OK)
            tally_cell(&explanation, &explanation.cells[i]);
    }
    free(access);
    if (status == STATUS_OK)
        *out = explanation;
    else
        explain_close(&explanation);
    return status;
}

void explain_close(struct explanation *explanation)
{
    free(explanation->cells);
    *explanation = (struct explanation){0};
}
