/* SPDX-License-Identifier: MIT
 * What the keys of a card are found by. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cache.h"
#include "card_parts.h"
#include "experiment.h"

static void no_value(struct card_found *out, const char *reason)
{
    out->number = (struct number){.value = NAN, .low = NAN, .high = NAN};
    snprintf(out->number.reason, sizeof(out->number.reason), "%s", reason);
}

/* -- ways to find -------------------------------------------------------------------------------------- */

static void find_number(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    const struct number *best = NULL;

    for (const struct number *one = outcome->numbers; one < outcome->numbers + outcome->number_count; one++)
        if (strcmp(one->name, row->number) == 0 && (!row->stride || one->stride == row->stride) &&
            (!best || isnan(best->value) || row->sign * one->value < row->sign * best->value))
            best = one;
    if (best && !isnan(best->value))
        out->number = *best;
    else if (best)
        no_value(out, best->reason[0] ? best->reason : "no such number was found");
    else
        no_value(out, "the experiment has no such number");
}

static void find_geometry(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    const struct geometry *geometry = outcome->geometry;
    const struct geometry_level *level = geometry ? &geometry->level[row->of_level - 1] : NULL;
    const struct geometry_finding *finding = geometry_findings;

    while (strcmp(finding->key, row->number) != 0)
        finding++;
    if (!geometry || geometry->level_count < row->of_level)
        no_value(out, "no such level was seen");
    else if (level->contradiction[0])
        no_value(out, level->contradiction);
    else
        out->number = number_of_finding(level, finding);
}

/* The one that it can be. */
static void find_replacement(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    find_geometry(row, outcome, out);
    if (isnan(out->number.value))
        return;
    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        if (out->number.value == (double)(1u << i))
            out->text = cache_replacement_names[i];
    if (!out->text) {
        no_value(out, "");
        snprintf(out->number.reason, sizeof(out->number.reason), "it is %s",
                 outcome->geometry->level[row->of_level - 1].replacement_name);
    }
}

static const struct verdict *verdict_of(const struct outcome *of, const char *name, uint32_t level, const char *before)
{
    for (const struct verdict *one = of->verdicts; one < of->verdicts + of->verdict_count; one++)
        if (strcmp(one->name, name) == 0 && one->level == level &&
            (!before || (one->before && strcmp(one->before, before) == 0)))
            return one;
    return NULL;
}

static void find_kept(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    const struct verdict *verdict = verdict_of(outcome, row->number, row->of_level, row->before);
    const char *value = verdict && verdict->value ? verdict->value : "";
    const bool kept = strcmp(value, "kept") == 0;
    struct number *number = &out->number;

    no_value(out, verdict ? verdict->reason : "the experiment does not say it of this level");
    if (!kept && strcmp(value, "lost") != 0)
        return;
    *number = (struct number){.value = kept, .low = kept, .high = kept};
    number->method = "share of a walk that the level answers after a launch, beside that after a flush";
    /* Samples of the walks that the verdict rests on. */
    for (const struct number *one = outcome->numbers; one < outcome->numbers + outcome->number_count; one++)
        if (one->level == row->of_level && one->before && strcmp(one->before, row->before) == 0)
            number->samples = one->samples;
}

void card_largest_group(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    struct number *number = &out->number;
    uint32_t largest = 0;

    (void)row;
    for (uint32_t g = 0; outcome->group && g < outcome->group_count; g++)
        largest = outcome_group_size(outcome, g) > largest ? outcome_group_size(outcome, g) : largest;
    no_value(out, largest ? "" : "no group of SMs was found");
    number->name = "largest_group";
    number->unit = "SMs";
    if (!largest)
        return;
    number->method = "SMs of the largest group of those that hit what each other brought";
    number->value = number->low = number->high = largest;
    for (size_t i = 0; i < outcome->number_count; i++)
        if (strcmp(outcome->numbers[i].name, "groups") == 0)
            number->samples = outcome->numbers[i].samples;
}

/* -- rows ---------------------------------------------------------------------------------------------- */

#define BANK    "geometry_constant"
#define MODULES "geometry_constant_modules"
#define LEFT    "invalidation_constant"

/* Of several rows of a key the first that finds something counts. */
/* clang-format off */
static const struct card_row rows[] = {
    {"idc", "line_bytes", find_geometry, BANK, "line_bytes", 1, .geometry = true},
    {"idc", "line_bytes", find_geometry, BANK, "fetch_bytes", 1, .geometry = true},
    {"idc", "ways", find_geometry, BANK, "ways", 1, .geometry = true},
    {"idc", "capacity_bytes", find_geometry, BANK, "capacity_bytes", 1, .geometry = true},
    {"gcc", "line_bytes", find_geometry, BANK, "line_bytes", 2, .geometry = true},
    {"gcc", "line_bytes", find_geometry, MODULES, "line_bytes", 2, .geometry = true},
    {"gcc", "line_bytes", find_geometry, BANK, "fetch_bytes", 2, .geometry = true},
    {"gcc", "ways", find_geometry, BANK, "ways", 2, .geometry = true},
    {"gcc", "ways", find_geometry, MODULES, "ways", 2, .geometry = true},
    {"gcc", "capacity_bytes", find_geometry, BANK, "capacity_bytes", 2, .geometry = true},
    {"gcc", "capacity_bytes", find_geometry, MODULES, "capacity_bytes", 2, .geometry = true},
    {"idc", "replacement", find_replacement, BANK, "replacement", 1, .geometry = true},
    {"gcc", "replacement", find_replacement, BANK, "replacement", 2, .geometry = true},
    {"gcc", "replacement", find_replacement, MODULES, "replacement", 2, .geometry = true},
    {"gcc", "sms", card_largest_group, "sharing_constant", .number = "largest group"},
    {"idc", "kept_between_launches", find_kept, LEFT, "what_it_held_is", 1, .before = "launch", .truth = true},
    {"gcc", "kept_between_launches", find_kept, LEFT, "what_it_held_is", 2, .before = "launch", .truth = true},
    {"idc", "request_cycles", find_number, "serialization_constant", "cycles_per_load_per_extra_address", .stride = 4,
     .verdict = "throughput_falls_per", .expected = "address"},
    {"idc", "miss_cycles", find_number, "counts_constant", "active_cycles_per_line", .stride = 0},
    {"", "shared_wavefronts_per_cycle", find_number, "serialization_shared", "cycles_per_load_per_extra_address",
     .stride = 128, .inverse = true},
    {"", "l1_requests_per_cycle", find_number, "throughput_global", "loads_per_cycle", .sign = -1},
    {"", "texture_requests_per_cycle", find_number, "throughput_texture", "loads_per_cycle", .sign = -1},
    {"", "uniform_request_cycles", find_number, "throughput_constant_uniform", "cycles_per_load", .sign = 1},
    {"", "immediate_request_cycles", find_number, "throughput_constant_operand", "cycles_per_load", .sign = 1},
};
/* clang-format on */

/* Whether the experiment also says what the row asks of it; else says what it does. */
static bool is_as_expected(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    const struct verdict *verdict = row->verdict ? verdict_of(outcome, row->verdict, 0, NULL) : NULL;
    const char *value = verdict && verdict->value ? verdict->value : "unclear";

    if (!row->verdict || strcmp(value, row->expected) == 0)
        return true;
    snprintf(out->number.reason, sizeof(out->number.reason), "%s is %s, and the key is of %s", row->verdict, value,
             row->expected);
    return false;
}

/* Asks one row. */
static void find_by(const struct card_row *row, const struct characterization *all, struct card_found *out)
{
    const struct outcome *outcome = characterization_outcome(all, row->experiment);

    *out = (struct card_found){.row = row};
    no_value(out, outcome ? outcome->reason : "");
    if (outcome && outcome->status == OUTCOME_OK && is_as_expected(row, outcome, out))
        row->find(row, outcome, out);
    if (row->inverse) {
        const struct number found = out->number;

        out->number.value = 1 / found.value;
        out->number.low = 1 / found.high;
        out->number.high = 1 / found.low;
    }
}

void card_find(const struct characterization *all, const char *level, const char *key, struct card_found *out)
{
    struct card_found found;

    *out = (struct card_found){.row = NULL};
    no_value(out, "");
    for (const struct card_row *row = rows; row < rows + COUNT(rows) && isnan(out->number.value); row++) {
        if (strcmp(row->key, key) != 0 || strcmp(row->level, level) != 0)
            continue;
        find_by(row, all, &found);
        if (!isnan(found.number.value) || !out->number.reason[0])
            *out = found;
    }
    if (out->row && isnan(out->number.value) && !out->number.reason[0])
        no_value(out, "there is no such experiment");
}
