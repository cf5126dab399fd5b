/* SPDX-License-Identifier: MIT
 * What the keys of a card are found by. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cache.h"
#include "card_parts.h"
#include "characterize_fields.h"
#include "experiment.h"

static void no_value(struct card_found *out, const char *reason)
{
    *out = (struct card_found){.number = {.value = NAN, .low = NAN, .high = NAN}};
    snprintf(out->number.reason, sizeof(out->number.reason), "%s", reason);
}

/* -- ways to find -------------------------------------------------------------------------------------- */

static bool is_number(const struct number *number, const struct card_row *row)
{
    return strcmp(number->name, row->number) == 0 && (!row->stride || number->stride == row->stride) &&
           (!row->of_level || number->level == row->of_level);
}

static void find_number(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    const struct number *best = NULL;

    for (const struct number *one = outcome->numbers; one < outcome->numbers + outcome->number_count; one++)
        if (is_number(one, row) && (!best || isnan(best->value) || row->sign * one->value < row->sign * best->value))
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
    const struct geometry_level *level;
    size_t i = 0;

    if (!geometry || geometry->level_count < row->of_level) {
        no_value(out, "no such level was seen");
        return;
    }
    level = &geometry->level[row->of_level - 1];
    while (strcmp(geometry_findings[i].key, row->number) != 0)
        i++;
    out->number = number_of_finding(level, &geometry_findings[i]);
    if (level->contradiction[0])
        no_value(out, level->contradiction);
}

/* One that can be simulated: by its name, which geometry and cache share. */
static void find_replacement(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    const char *name;

    find_geometry(row, outcome, out);
    if (isnan(out->number.value))
        return;
    name = replacement_name((enum replacement)out->number.value);
    for (size_t i = 0; i < CACHE_REPLACEMENT_COUNT; i++)
        if (strcmp(name, cache_replacement_names[i]) == 0)
            out->text = cache_replacement_names[i];
    if (out->text)
        return;
    no_value(out, "");
    snprintf(out->number.reason, sizeof(out->number.reason), "it is %s, which is not simulated", name);
}

static const struct verdict *verdict_of(const struct outcome *outcome, const char *name, uint32_t level,
                                        const char *before)
{
    for (const struct verdict *one = outcome->verdicts; one < outcome->verdicts + outcome->verdict_count; one++)
        if (strcmp(one->name, name) == 0 && one->level == level &&
            (!before || (one->before && strcmp(one->before, before) == 0)))
            return one;
    return NULL;
}

/* Samples of the walks that such a verdict rests on. */
static uint64_t walked(const struct outcome *outcome, const struct card_row *row)
{
    for (const struct number *one = outcome->numbers; one < outcome->numbers + outcome->number_count; one++)
        if (one->level == row->of_level && one->before && strcmp(one->before, row->before) == 0)
            return one->samples;
    return 0;
}

static void find_kept(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    static const char *const words[] = {"lost", "kept"};
    const struct verdict *verdict = verdict_of(outcome, row->number, row->of_level, row->before);

    no_value(out, verdict ? verdict->reason : "the experiment does not say it of this level");
    for (size_t i = 0; verdict && verdict->value && i < COUNT(words); i++)
        if (strcmp(verdict->value, words[i]) == 0)
            out->number =
                (struct number){.method =
                                    "share of a walk that the level answers after a launch, beside that after a flush",
                                .value = (double)i,
                                .low = (double)i,
                                .high = (double)i,
                                .samples = walked(outcome, row)};
}

struct number card_largest_group(const struct outcome *outcome)
{
    struct number number = {.name = "largest_group",
                            .unit = "SMs",
                            .method = "SMs of the largest group of those that hit what each other brought"};

    for (uint32_t g = 0; outcome->group && g < outcome->group_count; g++)
        number.value = fmax(number.value, outcome_group_size(outcome, g));
    for (size_t i = 0; i < outcome->number_count; i++)
        if (strcmp(outcome->numbers[i].name, "groups") == 0)
            number.samples = outcome->numbers[i].samples;
    if (number.value < 1)
        number =
            (struct number){number.name, number.unit, NULL, NAN, NAN, NAN, 0, .reason = "no group of SMs was found"};
    else
        number.low = number.high = number.value;
    return number;
}

static void find_largest_group(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    (void)row;
    out->number = card_largest_group(outcome);
}

/* -- rows ---------------------------------------------------------------------------------------------- */

#define BANK    "geometry_constant"
#define MODULES "geometry_constant_modules"
#define GEOMETRY(level_, key_, find_, number_, of_level_, experiment_) \
    {.level = level_,                                                  \
     .key = key_,                                                      \
     .find = find_,                                                    \
     .number = number_,                                                \
     .of_level = of_level_,                                            \
     .experiment = experiment_,                                        \
     .geometry = true}
#define KEPT(level_, of_level_)             \
    {.level = level_,                       \
     .key = "kept_between_launches",        \
     .find = find_kept,                     \
     .experiment = "invalidation_constant", \
     .number = "what_it_held_is",           \
     .of_level = of_level_,                 \
     .before = "launch",                    \
     .truth = true}
#define RATE(key_, experiment_, number_, sign_) \
    {.key = key_, .find = find_number, .experiment = experiment_, .number = number_, .sign = sign_}

/* Of several rows of a key the first that finds something counts. */
/* clang-format off */
static const struct card_row rows[] = {
    GEOMETRY("idc", "line_bytes", find_geometry, "line_bytes", 1, BANK),
    GEOMETRY("idc", "line_bytes", find_geometry, "fetch_bytes", 1, BANK),
    GEOMETRY("idc", "ways", find_geometry, "ways", 1, BANK),
    GEOMETRY("idc", "capacity_bytes", find_geometry, "capacity_bytes", 1, BANK),
    GEOMETRY("gcc", "line_bytes", find_geometry, "line_bytes", 2, BANK),
    GEOMETRY("gcc", "line_bytes", find_geometry, "line_bytes", 2, MODULES),
    GEOMETRY("gcc", "line_bytes", find_geometry, "fetch_bytes", 2, BANK),
    GEOMETRY("gcc", "ways", find_geometry, "ways", 2, BANK),
    GEOMETRY("gcc", "ways", find_geometry, "ways", 2, MODULES),
    GEOMETRY("gcc", "capacity_bytes", find_geometry, "capacity_bytes", 2, BANK),
    GEOMETRY("gcc", "capacity_bytes", find_geometry, "capacity_bytes", 2, MODULES),
    GEOMETRY("idc", "replacement", find_replacement, "replacement", 1, BANK),
    GEOMETRY("gcc", "replacement", find_replacement, "replacement", 2, BANK),
    GEOMETRY("gcc", "replacement", find_replacement, "replacement", 2, MODULES),
    {.level = "gcc", .key = "sms", .experiment = "sharing_constant", .number = "largest group",
     .find = find_largest_group},
    KEPT("idc", 1),
    KEPT("gcc", 2),
    {.level = "idc", .key = "request_cycles", .experiment = "serialization_constant", .find = find_number,
     .number = "cycles_per_load_per_extra_address", .stride = 4, .verdict = "throughput_falls_per",
     .expected = "address"},
    {.key = "shared_wavefronts_per_cycle", .experiment = "serialization_shared", .find = find_number,
     .number = "cycles_per_load_per_extra_address", .stride = 128, .inverse = true},
    RATE("l1_requests_per_cycle", "throughput_global", "loads_per_cycle", -1),
    RATE("texture_requests_per_cycle", "throughput_texture", "loads_per_cycle", -1),
    RATE("uniform_request_cycles", "throughput_constant_uniform", "cycles_per_load", 1),
    RATE("immediate_request_cycles", "throughput_constant_operand", "cycles_per_load", 1),
};
/* clang-format on */

static bool is_key(const struct card_row *row, const char *level, const char *key)
{
    return strcmp(row->key, key) == 0 && (row->level && level ? strcmp(row->level, level) == 0 : row->level == level);
}

const struct card_row *card_row(const char *level, const char *key)
{
    for (const struct card_row *row = rows; row < rows + COUNT(rows); row++)
        if (is_key(row, level, key))
            return row;
    return NULL;
}

/* Whether the experiment also says what the row asks of it. */
static bool as_expected(const struct card_row *row, const struct outcome *outcome, struct card_found *out)
{
    const struct verdict *verdict = row->verdict ? verdict_of(outcome, row->verdict, 0, NULL) : NULL;
    const char *value = verdict && verdict->value ? verdict->value : "unclear";

    if (!row->verdict || strcmp(value, row->expected) == 0)
        return true;
    no_value(out, "");
    snprintf(out->number.reason, sizeof(out->number.reason), "%s is %s, and the key is of %s", row->verdict, value,
             row->expected);
    return false;
}

static void find_by(const struct card_row *row, const struct characterization *all, struct card_found *out)
{
    const struct outcome *outcome = characterization_outcome(all, row->experiment);
    struct number *number = &out->number;

    no_value(out, outcome ? outcome->reason : "");
    if (outcome && outcome->status == OUTCOME_OK && as_expected(row, outcome, out))
        row->find(row, outcome, out);
    if (row->inverse) {
        const double low = number->low;

        number->value = 1 / number->value;
        number->low = 1 / number->high;
        number->high = 1 / low;
    }
}

const struct card_row *card_find(const struct card_row *first, const struct characterization *all,
                                 struct card_found *out)
{
    char reason[NUMBER_REASON_BYTES] = "";

    for (const struct card_row *row = first; row < rows + COUNT(rows); row++) {
        if (!is_key(row, first->level, first->key))
            continue;
        find_by(row, all, out);
        if (!isnan(out->number.value))
            return row;
        if (!reason[0])
            memcpy(reason, out->number.reason, sizeof(reason));
    }
    no_value(out, reason[0] ? reason : "there is no such experiment");
    return NULL;
}
