/* SPDX-License-Identifier: MIT
 * What was found, as JSON (schema results/characterization.schema.json) and in short. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "characterize.h"
#include "geometry.h"

/* -- JSON ---------------------------------------------------------------------------------------------- */

static void write_number(const struct number *number, cJSON *array)
{
    cJSON *object = json_append(array, cJSON_CreateObject());

    json_add_text(object, "name", number->name);
    json_add_nonzero(object, "distinct", number->distinct);
    json_add_nonzero(object, "stride_bytes", number->stride);
    json_add_nonzero(object, "warps", number->warps);
    json_add_nonzero(object, "level", number->level);
    json_add_nonzero(object, "region_bytes", number->region_bytes);
    json_add_nonzero(object, "code_bytes", number->code_bytes);
    if (number->before)
        json_add_text(object, "before", number->before);
    json_add_double(object, "value", number->value);
    json_add_double(object, "low", number->low);
    json_add_double(object, "high", number->high);
    json_add_text(object, "unit", number->unit);
    json_add_integer(object, "samples", number->samples);
    json_add_text(object, "method", number->method);
    json_add_text(object, "reason", number->reason[0] ? number->reason : NULL);
}

static void write_verdict(const struct verdict *verdict, cJSON *array)
{
    cJSON *object = json_append(array, cJSON_CreateObject());

    json_add_text(object, "name", verdict->name);
    json_add_nonzero(object, "level", verdict->level);
    if (verdict->before)
        json_add_text(object, "before", verdict->before);
    json_add_text(object, "value", verdict->value);
    json_add_text(object, "reason", verdict->reason);
}

/* An integer that was found, or why not: there is no interval between two integers that both fit. */
static void write_finding(cJSON *level, const char *key, const struct geometry_number *finding, const char *unit)
{
    cJSON *object = json_add(level, key, cJSON_CreateObject());
    const double value = finding->known ? (double)finding->value : (double)NAN;

    json_add_double(object, "value", value);
    json_add_double(object, "low", value);
    json_add_double(object, "high", value);
    json_add_text(object, "unit", unit);
    json_add_integer(object, "samples", finding->samples);
    json_add_text(object, "method", finding->method);
    json_add_text(object, "reason", finding->reason[0] ? finding->reason : NULL);
}

static void write_level(const struct geometry_level *level, cJSON *array)
{
    cJSON *object = json_append(array, cJSON_CreateObject());
    cJSON *latency = json_add(object, "latency", cJSON_CreateObject());

    json_add_double(latency, "value", level->latency.median);
    json_add_double(latency, "low", level->latency.ci_low);
    json_add_double(latency, "high", level->latency.ci_high);
    json_add_text(latency, "unit", "cycles, the clock's own included");
    json_add_integer(latency, "samples", level->latency.count);
    json_add_text(latency, "method", "median of single accesses, distribution-free interval");
    json_add_text(latency, "reason", NULL);
    write_finding(object, "fetch_bytes", &level->fetch_bytes, "bytes");
    write_finding(object, "line_bytes", &level->line_bytes, "bytes");
    write_finding(object, "fits_bytes", &level->fits_bytes, "bytes");
    write_finding(object, "capacity_bytes", &level->capacity_bytes, "bytes");
    write_finding(object, "ways", &level->ways, "lines");
    write_finding(object, "sets", &level->sets, "sets");
    write_finding(object, "lines_taken", &level->lines_taken, "lines");
    write_finding(object, "replacement", &level->replacement, "row of enum replacement");
    json_add_text(object, "replacement_name",
                  level->replacement.known ? replacement_name((enum replacement)level->replacement.value) : NULL);
    if (level->bank_count) {
        double swaps[GEOMETRY_BANKS_MAX];

        for (uint32_t i = 0; i < level->bank_count; i++)
            swaps[i] = level->bank_swap[i];
        json_add(object, "bank_swaps", json_doubles(swaps, level->bank_count));
    }
    json_add_text(object, "contradiction", level->contradicts ? level->contradiction : NULL);
}

static void write_geometry(const struct outcome *outcome, const struct probe_record *record, cJSON *object)
{
    const struct geometry *geometry = outcome->geometry;
    cJSON *levels, *plateaus;

    json_add_integer(object, "searched_bytes", outcome->experiment->bytes);
    json_add_text(object, "shared_carve_out", record->source.shared_carve_out);
    json_add_integer(object, "walks", geometry->walks);
    json_add_integer(object, "accesses", geometry->accesses);
    levels = json_add(object, "levels", cJSON_CreateArray());
    for (uint32_t i = 0; i < geometry->level_count; i++)
        write_level(&geometry->level[i], levels);
    plateaus = json_add(object, "plateaus", cJSON_CreateArray());
    for (size_t i = 0; i < geometry->plateau_count; i++) {
        cJSON *plateau = json_append(plateaus, cJSON_CreateObject());

        json_add_integer(plateau, "first_bytes", geometry->plateau[i].first_bytes);
        json_add_integer(plateau, "last_bytes", geometry->plateau[i].last_bytes);
        json_add_double(plateau, "cycles", geometry->plateau[i].cycles);
    }
}

/* The SMs of each group. */
static void write_groups(const struct outcome *outcome, cJSON *array)
{
    double *members = malloc((outcome->sm_count + 1) * sizeof(*members));

    for (uint32_t g = 0; members && g < outcome->group_count; g++) {
        size_t count = 0;

        for (uint32_t sm = 0; sm < outcome->sm_count; sm++)
            if (outcome->group[sm] == g)
                members[count++] = sm;
        json_append(array, json_doubles(members, count));
    }
    free(members);
}

static void write_outcome(const struct outcome *outcome, const struct probe_record *record, cJSON *array)
{
    cJSON *object = json_append(array, cJSON_CreateObject()), *list;

    json_add_text(object, "name", outcome->experiment->name);
    json_add_text(object, "what", outcome->experiment->what);
    json_add_text(object, "path", outcome->experiment->path);
    if (outcome->experiment->other)
        json_add_text(object, "other", outcome->experiment->other);
    json_add_text(object, "status", outcome->status);
    json_add_text(object, "reason", outcome->reason[0] ? outcome->reason : NULL);
    json_add_double(object, "seconds", outcome->seconds);
    list = json_add(object, "numbers", cJSON_CreateArray());
    for (size_t i = 0; i < outcome->number_count; i++)
        write_number(&outcome->numbers[i], list);
    list = json_add(object, "verdicts", cJSON_CreateArray());
    for (size_t i = 0; i < outcome->verdict_count; i++)
        write_verdict(&outcome->verdicts[i], list);
    if (outcome->geometry)
        write_geometry(outcome, record, json_add(object, "geometry", cJSON_CreateObject()));
    if (outcome->group && outcome->group_count)
        write_groups(outcome, json_add(object, "groups", cJSON_CreateArray()));
    probe_record_write(record, outcome->first_exchange, outcome->exchange_count,
                       json_add(object, "evidence", cJSON_CreateArray()));
}

void characterization_write(const struct characterization *characterization, const struct probe_record *record,
                            cJSON *root)
{
    cJSON *array = json_add(root, "experiments", cJSON_CreateArray());

    for (size_t i = 0; i < characterization->count; i++)
        write_outcome(&characterization->outcomes[i], record, array);
}

/* -- in short ------------------------------------------------------------------------------------------ */

static void print_number(const struct number *number)
{
    printf("  %s", number->name);
    if (number->level)
        printf(", region of level %u", (unsigned)number->level);
    if (number->before)
        printf(", after %s", number->before);
    if (number->warps > 1)
        printf(", %u warps", (unsigned)number->warps);
    if (number->distinct > 1)
        printf(", %u distinct", (unsigned)number->distinct);
    if (number->stride && !number->level)
        printf(", %u bytes apart", (unsigned)number->stride);
    if (number->region_bytes)
        printf(", %u bytes", (unsigned)number->region_bytes);
    if (number->code_bytes)
        printf(", %u bytes of code", (unsigned)number->code_bytes);
    if (isnan(number->value))
        printf(": none, %s\n", number->reason);
    else
        printf(": %.4g [%.4g, %.4g] %s%s%s\n", number->value, number->low, number->high, number->unit,
               number->reason[0] ? ": " : "", number->reason);
}

static void print_verdict(const struct verdict *verdict)
{
    printf("  %s", verdict->name);
    if (verdict->level)
        printf(", level %u", (unsigned)verdict->level);
    if (verdict->before)
        printf(", after %s", verdict->before);
    printf(": %s: %s\n", verdict->value ? verdict->value : "unclear", verdict->reason);
}

static void print_groups(const struct outcome *outcome)
{
    printf("  SMs of each group:");
    for (uint32_t g = 0; g < outcome->group_count; g++) {
        uint32_t count = 0;

        for (uint32_t sm = 0; sm < outcome->sm_count; sm++)
            count += outcome->group[sm] == g;
        printf(" %u", (unsigned)count);
    }
    putchar('\n');
}

static void print_finding(const char *name, const struct geometry_number *finding)
{
    if (finding->known)
        printf("    %s %u\n", name, (unsigned)finding->value);
    else
        printf("    %s not found: %s\n", name, finding->reason);
}

static void print_geometry(const struct geometry *geometry)
{
    printf("  %zu walks, %zu accesses\n", geometry->walks, geometry->accesses);
    for (uint32_t i = 0; i < geometry->level_count; i++) {
        const struct geometry_level *level = &geometry->level[i];

        printf("  level %u: %.4g [%.4g, %.4g] cycles\n", (unsigned)i + 1, level->latency.median, level->latency.ci_low,
               level->latency.ci_high);
        print_finding("fetch_bytes", &level->fetch_bytes);
        print_finding("line_bytes", &level->line_bytes);
        print_finding("fits_bytes", &level->fits_bytes);
        print_finding("capacity_bytes", &level->capacity_bytes);
        print_finding("ways", &level->ways);
        print_finding("sets", &level->sets);
        if (level->replacement.known)
            printf("    replacement %s\n", replacement_name((enum replacement)level->replacement.value));
        else
            printf("    replacement not found: %s\n", level->replacement.reason);
        if (level->contradicts)
            printf("    contradiction: %s\n", level->contradiction);
    }
}

void characterization_print(const struct characterization *characterization)
{
    for (size_t i = 0; i < characterization->count; i++) {
        const struct outcome *outcome = &characterization->outcomes[i];

        printf("%s: %s (%s)%s%s\n", outcome->experiment->name, outcome->experiment->what, outcome->status,
               outcome->reason[0] ? ": " : "", outcome->reason);
        for (size_t n = 0; n < outcome->number_count; n++)
            print_number(&outcome->numbers[n]);
        for (size_t n = 0; n < outcome->verdict_count; n++)
            print_verdict(&outcome->verdicts[n]);
        if (outcome->group)
            print_groups(outcome);
        if (outcome->geometry)
            print_geometry(outcome->geometry);
    }
}
