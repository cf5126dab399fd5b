/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "log.h"
#include "result_indices.h"

#define PART(member, term_) {#member, offsetof(struct model_parts, member##_ns), term_}

const struct explain_part explain_parts[EXPLAIN_PARTS] = {
    PART(launch, EXPLAIN_TERM_ALONE),
    PART(wave, EXPLAIN_TERM_ALONE),
    PART(residency, 0),
    [EXPLAIN_PART_ISSUE] = PART(issue, 1),
    PART(serialization, 2),
    PART(misses, 2),
    PART(stream, 3),
};

const char *const explain_agreement_names[] = {
    [EXPLAIN_UNKNOWN] = NULL,
    [EXPLAIN_EQUAL] = "equal",
    [EXPLAIN_WITHIN] = "within",
    [EXPLAIN_DIFFERS] = "differs",
};

double explain_part_ns(const struct model_parts *parts, size_t part)
{
    return *(const double *)((const char *)parts + explain_parts[part].offset);
}

bool explain_is_long(const struct explained_cell *cell)
{
    return isfinite(cell->remainder) && cell->time->value > EXPLAIN_LONG_NS;
}

/* -- counts ------------------------------------------------------------------------------------------- */

/* One quantity of the constant levels. */
static const struct level_row {
    const char *name;
    const char *counters;
    const char *plus;  /* counter */
    const char *minus; /* counter that is taken from it; NULL for none */
} level_rows[EXPLAIN_LEVELS] = {
    {"idc_hits", "idc_requests - idc_misses_new", "idc_requests", "idc_misses_new"},
    [EXPLAIN_LEVEL_IDC_MISSES] = {"idc_misses", "idc_misses_new", "idc_misses_new", NULL},
    {"gcc_requests", "gcc_constant_requests", "gcc_constant_requests", NULL},
    {"gcc_hits", "gcc_constant_requests - gcc_constant_misses", "gcc_constant_requests", "gcc_constant_misses"},
    {"gcc_misses", "gcc_constant_misses", "gcc_constant_misses", NULL},
};

static enum explain_agreement agreement_of(const struct explained_count *count)
{
    if (!isfinite(count->measured) || !isfinite(count->low) || !isfinite(count->high))
        return EXPLAIN_UNKNOWN;
    if (count->measured < count->low || count->measured > count->high)
        return EXPLAIN_DIFFERS;
    return count->low == count->high ? EXPLAIN_EQUAL : EXPLAIN_WITHIN;
}

/* A counter of the cell beside what is expected of an exact one, loads of parameters included, or modelled of another. */
static struct explained_count count_of(const struct explained_cell *cell, const struct card *card, const char *name)
{
    static const struct counter_value none = {.status = COUNTER_NOT_COLLECTED, .kind = COUNTER_MEASURED, .value = NAN};
    const struct counter_value *found = counter_find(cell->cell->counters, cell->cell->counter_count, name);
    const struct counter_value *value = found ? found : &none;
    struct model_count model = {.low = value->expected, .high = value->expected};
    struct explained_count count = {.name = name, .counters = name, .status = value->status, .measured = value->value};

    if (value->kind != COUNTER_EXACT)
        model = model_counter(name, &cell->cell->cell, &cell->access, card, &cell->model.levels);
    count.reason = value->status == COUNTER_OK ? NULL : value->reason;
    count.low = model.low;
    count.high = model.high;
    count.agreement = agreement_of(&count);
    return count;
}

static struct explained_count level_of(const struct explained_cell *cell, const struct card *card,
                                       const struct level_row *row)
{
    struct explained_count count = count_of(cell, card, row->plus);

    if (row->minus) {
        const struct explained_count minus = count_of(cell, card, row->minus);

        count.status = count.status == COUNTER_OK ? minus.status : count.status;
        count.reason = count.reason ? count.reason : minus.reason;
        count.measured -= minus.measured;
        count.low -= minus.high;
        count.high -= minus.low;
        count.agreement = agreement_of(&count);
    }
    count.name = row->name;
    count.counters = row->counters;
    return count;
}

/* How the fills of the first constant level agree. Of tables that are elsewhere they are of parameters alone. */
static enum explain_agreement fills_agreement(const struct explained_cell *cell)
{
    const struct explained_count *count = &cell->levels[EXPLAIN_LEVEL_IDC_MISSES];

    if (cell->cell->cell.path->home == TABLE_GLOBAL || cell->level_count == 0 || count->agreement == EXPLAIN_UNKNOWN ||
        count->measured == 0)
        return EXPLAIN_UNKNOWN;
    return fabs(count->low / count->measured - 1) > EXPLAIN_FILLS_LIMIT ? EXPLAIN_DIFFERS : EXPLAIN_WITHIN;
}

static enum status add_counts(struct explained_cell *cell, const struct card *card)
{
    const struct cell_result *own = cell->cell;

    cell->exact = calloc(own->counter_count + EXPLAIN_LEVELS, sizeof(*cell->exact));
    if (!cell->exact)
        return log_memory("counters");
    for (size_t i = 0; i < own->counter_count; i++)
        if (own->counters[i].kind == COUNTER_EXACT)
            cell->exact[cell->exact_count++] = count_of(cell, card, own->counters[i].name);
    cell->levels = cell->exact + cell->exact_count;
    for (size_t i = 0; cell->predicted && i < EXPLAIN_LEVELS; i++)
        cell->levels[cell->level_count++] = level_of(cell, card, &level_rows[i]);
    cell->fills = fills_agreement(cell);
    return STATUS_OK;
}

/* -- cells -------------------------------------------------------------------------------------------- */

/* The parts of the term that is longest. */
static uint32_t find_bound(const struct model_parts *parts)
{
    double terms[EXPLAIN_TERMS] = {0};
    int longest = 0;
    uint32_t bound = 0;

    for (size_t i = 0; i < EXPLAIN_PARTS; i++)
        if (explain_parts[i].term != EXPLAIN_TERM_ALONE)
            terms[explain_parts[i].term] += explain_part_ns(parts, i);
    for (int i = 1; i < EXPLAIN_TERMS; i++)
        if (terms[i] > terms[longest])
            longest = i;
    for (size_t i = 0; i < EXPLAIN_PARTS; i++)
        if (explain_parts[i].term == longest)
            bound |= 1u << i;
    return bound;
}

static void tally_counts(struct explain_summary *summary, const struct explained_cell *cell)
{
    for (size_t i = 0; i < cell->exact_count; i++) {
        summary->exact += cell->exact[i].agreement != EXPLAIN_UNKNOWN;
        summary->exact_equal += cell->exact[i].agreement == EXPLAIN_EQUAL;
    }
    for (size_t i = 0; cell->access.warps_launched == 1 && i < cell->level_count; i++) {
        summary->single += cell->levels[i].agreement != EXPLAIN_UNKNOWN;
        summary->single_equal += cell->levels[i].agreement == EXPLAIN_EQUAL;
        summary->single_within += cell->levels[i].agreement == EXPLAIN_WITHIN;
    }
    summary->fills += cell->fills != EXPLAIN_UNKNOWN;
    summary->fills_within += cell->fills == EXPLAIN_WITHIN;
}

static void tally_cell(struct explain_summary *summary, const struct explained_cell *cell)
{
    struct explain_tally *tally = &summary->tallies[explain_is_long(cell)];

    tally_counts(summary, cell);
    for (size_t i = 0; i < cell->reason_count; i++)
        summary->reasons |= 1ull << (cell->reasons[i].row - explain_reasons);
    if (!isfinite(cell->remainder)) {
        summary->untimed++;
        return;
    }
    tally->cells++;
    tally->within += cell->agreement == EXPLAIN_WITHIN;
    if (tally->cells == 1 || fabs(cell->remainder) > fabs(tally->largest_remainder)) {
        cell_identity(&cell->cell->cell, tally->largest);
        tally->largest_remainder = cell->remainder;
    }
}

/* Counts what cell i asks for, unless an earlier explanation has it. */
static enum status count(const struct explanation *explanation, size_t i, const struct explained_results *before,
                         struct access_counts *access)
{
    const struct cell *cell = &explanation->cells[i].cell->cell;

    for (size_t other = 0; before && other < before->count; other++)
        for (size_t j = 0; j < before->results[other].result.cell_count; j++) {
            const struct explained_cell *its = &before->results[other].cells[j];

            if (access_take(&its->cell->cell, &its->access, cell, &access[i]))
                return STATUS_OK;
        }
    return access_count_next(result_cell, &explanation->result, i, access);
}

/* Predicts the time of cell i, unless there is no such cell; access has room for the counts of every cell. */
static enum status predict(const struct explanation *explanation, size_t i, const struct card *card,
                           const struct explained_results *before, struct access_counts *access)
{
    struct explained_cell *cell = &explanation->cells[i];
    const struct cell_result *own = cell->cell;
    /* A prediction knew no kernel. */
    const bool measured = !explanation->result.modelled_time;
    const struct model_kernel kernel = {
        .registers = measured ? own->kernel.registers : 0,
        .instructions = measured ? counter_counted(own->counters, own->counter_count, "instructions") : NAN,
    };
    const double measured_ns = own->status == CELL_OK || own->status == CELL_PENDING ? own->time.summary.value : NAN;
    char obstacle[CELL_REASON_BYTES];
    enum status status;

    if (own->status == CELL_SKIPPED || cell_obstacle(&own->cell, 0, obstacle))
        return STATUS_OK;
    status = count(explanation, i, before, access);
    if (status == STATUS_OK)
        status = model_predict(&own->cell, &access[i], card, &kernel, &cell->model);
    if (status != STATUS_OK)
        return status;
    cell->predicted = true;
    cell->timed = isfinite(cell->model.time_ns);
    cell->access = access[i];
    cell->bound = find_bound(&cell->model.parts);
    cell->remainder_ns = measured_ns - cell->model.time_ns;
    cell->remainder = cell->remainder_ns / measured_ns;
    if (isfinite(cell->remainder))
        cell->agreement = fabs(cell->remainder) > EXPLAIN_LIMIT ? EXPLAIN_DIFFERS : EXPLAIN_WITHIN;
    return STATUS_OK;
}

static enum status explain_cell(struct explanation *explanation, size_t i, const struct card *card,
                                const struct explained_results *before, struct access_counts *access)
{
    struct explained_cell *cell = &explanation->cells[i];
    enum status status;

    cell->cell = &explanation->result.cells[i];
    cell->time = isfinite(cell->cell->time.summary.value) ? &cell->cell->time.summary : NULL;
    cell->remainder_ns = cell->remainder = NAN;
    status = predict(explanation, i, card, before, access);
    if (status == STATUS_OK)
        status = add_counts(cell, card);
    if (status == STATUS_OK && (cell->agreement == EXPLAIN_DIFFERS || cell->fills == EXPLAIN_DIFFERS))
        status = explain_find_reasons(&explanation->result, card, cell);
    if (status == STATUS_OK)
        tally_cell(&explanation->summary, cell);
    return status;
}

static enum status refuse(const char *file, const struct device_info *device, const struct card *card)
{
    return log_error(STATUS_ENVIRONMENT,
                     "%s is of %s (%s, compute capability %" PRIu32 ".%" PRIu32 ", %" PRIu32 " SMs), the card of %s "
                     "(%s, %" PRIu32 ".%" PRIu32 ", %" PRIu32 "): not comparable; name a card of that chip with --card",
                     file, device->name, device->chip[0] ? device->chip : "chip not known", device->cc_major,
                     device->cc_minor, device->sm_count, card->name, card->chip[0] ? card->chip : "chip not known",
                     card->cc_major, card->cc_minor, card->sm_count);
}

enum status explain_open(const char *file, const struct result *result, const struct card *card, const char *name,
                         struct explained_results *before, struct explanation *out)
{
    const struct explain_tally nothing = {.largest_remainder = NAN};
    /* One more than needed: of nothing, calloc may give NULL. */
    struct explanation explanation = {
        .file = file,
        .result = *result,
        .cells = calloc(result->cell_count + 1, sizeof(*explanation.cells)),
        .summary = {.limit = EXPLAIN_LIMIT,
                    .long_ns = EXPLAIN_LONG_NS,
                    .fills_limit = EXPLAIN_FILLS_LIMIT,
                    .tallies = {nothing, nothing}},
    };
    struct access_counts *access = calloc(result->cell_count + 1, sizeof(*access));
    enum status status = STATUS_OK;

    if (!model_knows(&result->device, card))
        status = refuse(file, &result->device, card);
    else if (!explanation.cells || !access)
        status = log_memory("%zu cells", result->cell_count);
    else
        status =
            result_give_indices(&explanation.result,
                                before && before->count ? &before->results[0].indices : &explanation.indices, NULL);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++) {
        status = explain_cell(&explanation, i, card, before, access);
        explanation.cells[i].chosen = !name || cell_is_named(&result->cells[i].cell, name);
        explanation.chosen += explanation.cells[i].chosen;
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
    for (size_t i = 0; explanation->cells && i < explanation->result.cell_count; i++) {
        free(explanation->cells[i].exact);
        free(explanation->cells[i].reasons);
    }
    free(explanation->cells);
    explanation->cells = NULL;
    index_list_close(&explanation->indices);
}
