/* SPDX-License-Identifier: MIT
 * The numbers and verdicts of a characterization that papers quote, in a card. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card_parts.h"
#include "experiment.h"

enum { DIGITS = 6, QUOTED_FINDINGS = 6 /* of the geometry: the first */ };

/* Numbers of experiments, by the beginning of the name of those. */
static const struct {
    const char *experiment, *numbers[3];
} quoted[] = {
    {"latency_", {"latency"}},
    {"serialization_", {"latency_per_extra_address", "cycles_per_load_per_extra_address"}},
    {"crossover_", {"latency_crossover", "throughput_crossover"}},
    {"throughput_", {"broadcast_bandwidth"}},
    {"sharing_", {"cycles_shared", "cycles_not_shared", "groups"}},
    {"code_", {"share_lost"}},
    {"activity_", {"unit_active_share"}},
    {"counts_", {"active_cycles_per_request", "active_cycles_per_line"}},
};

double card_rounded(double value)
{
    char text[32];

    if (!isfinite(value) || (value == floor(value) && fabs(value) < 9e15))
        return value;
    snprintf(text, sizeof(text), "%.*g", DIGITS, value);
    return strtod(text, NULL);
}

void card_add_evidence(cJSON *object, const char *id)
{
    if (id[0])
        json_append(json_add(object, "evidence", cJSON_CreateArray()), cJSON_CreateString(id));
}

/* Where quotations go, and what of. */
struct quotation {
    const char *id;
    cJSON *numbers, *verdicts;
    const struct outcome *outcome;
};

/* Adds an object with these fields. */
static void quote(const struct quotation *to, cJSON *array, struct fields fields, const void *base)
{
    cJSON *object = json_append(array, cJSON_CreateObject());

    json_add_text(object, "experiment", to->outcome->experiment.name);
    json_add_text(object, "path", to->outcome->experiment.path);
    fields_write(object, &fields, base);
    card_add_evidence(object, to->id);
}

static void quote_number(const struct quotation *to, struct number number)
{
    number.value = card_rounded(number.value);
    number.low = card_rounded(number.low);
    number.high = card_rounded(number.high);
    number.warps = number.distinct = 0; /* which the experiment says */
    number.before = NULL;
    quote(to, to->numbers, (struct fields){number_rows, NUMBER_ROWS}, &number);
}

static void quote_verdict(const struct quotation *to, const struct verdict *verdict)
{
    quote(to, to->verdicts, (struct fields){found_verdict_rows, 5}, verdict);
}

/* A level, and unless it is what answers behind all caches that were seen, its geometry. */
static void quote_level(const struct quotation *to, size_t index)
{
    const struct geometry *geometry = to->outcome->geometry;
    const struct geometry_level *level = &geometry->level[index];
    struct number number = {.value = level->latency.value,
                            .low = level->latency.ci_low,
                            .high = level->latency.ci_high,
                            .samples = level->latency.count};

    number.name = "latency";
    number.unit = "cycles";
    number.method = "median of single accesses, distribution-free interval, the clock's own included";
    number.level = (uint32_t)index + 1;
    quote_number(to, number);
    for (size_t i = 0; index + 1 < geometry->level_count && i < QUOTED_FINDINGS; i++) {
        number = number_of_finding(level, &geometry_findings[i]);
        number.level = (uint32_t)index + 1;
        if (level->contradiction[0])
            memcpy(number.reason, level->contradiction, sizeof(level->contradiction));
        quote_number(to, number);
    }
}

static bool is_quoted(const struct outcome *outcome, const struct number *number)
{
    for (size_t i = 0; i < COUNT(quoted); i++)
        for (size_t k = 0; k < COUNT(quoted[i].numbers) && quoted[i].numbers[k]; k++)
            if (strncmp(outcome->experiment.name, quoted[i].experiment, strlen(quoted[i].experiment)) == 0 &&
                strcmp(number->name, quoted[i].numbers[k]) == 0)
                return true;
    return false;
}

static void quote_outcome(const struct quotation *to)
{
    const struct outcome *outcome = to->outcome;
    const size_t levels = outcome->geometry ? outcome->geometry->level_count : 0;
    struct number largest = {.name = "largest_group",
                             .unit = "SMs",
                             .method = "SMs of the largest group of those that hit what each other brought"};

    for (size_t i = 0; i < outcome->number_count; i++)
        if (is_quoted(outcome, &outcome->numbers[i]))
            quote_number(to, outcome->numbers[i]);
    for (size_t i = 0; i < levels; i++)
        quote_level(to, i);
    if (outcome->group) {
        for (uint32_t g = 0; g < outcome->group_count; g++)
            largest.value = fmax(largest.value, outcome_group_size(outcome, g));
        largest.low = largest.high = largest.value;
        for (size_t i = 0; i < outcome->number_count; i++)
            if (strcmp(outcome->numbers[i].name, "groups") == 0)
                largest.samples = outcome->numbers[i].samples;
        quote_number(to, largest);
    }
    for (size_t i = 0; i < outcome->verdict_count; i++)
        quote_verdict(to, &outcome->verdicts[i]);
    for (size_t i = 0; i + 1 < levels; i++) {
        const struct geometry_number *found = &outcome->geometry->level[i].replacement;
        struct verdict verdict = {.name = "replacement", .level = (uint32_t)i + 1};

        verdict.value = found->known ? outcome->geometry->level[i].replacement_name : NULL;
        snprintf(verdict.reason, sizeof(verdict.reason), "%s", found->known ? found->method : found->reason);
        quote_verdict(to, &verdict);
    }
}

void card_quote(const struct characterization *all, const char *id, cJSON *card)
{
    struct quotation to = {.id = id};
    cJSON *skipped;

    to.numbers = json_add(card, "numbers", cJSON_CreateArray());
    to.verdicts = json_add(card, "verdicts", cJSON_CreateArray());
    skipped = json_add(card, "skipped", cJSON_CreateArray());
    for (to.outcome = all->outcomes; to.outcome < all->outcomes + all->count; to.outcome++)
        if (to.outcome->status == OUTCOME_OK) {
            quote_outcome(&to);
        } else {
            cJSON *object = json_append(skipped, cJSON_CreateObject());

            json_add_text(object, "experiment", to.outcome->experiment.name);
            json_add_text(object, "reason", to.outcome->reason);
        }
}
