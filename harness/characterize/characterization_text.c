/* SPDX-License-Identifier: MIT
 * A short text of the findings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "characterization.h"
#include "grid.h"
#include "text_print.h"

enum { INDENT = 2 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Prints a line of its own, wrapped. */
#define print_line(columns, first, ...)                                                                          \
    text_paragraph(                                                                                              \
        (struct text_wrap){.stream = stdout, .width = (columns), .column = (first), .indent = (first) + INDENT}, \
        __VA_ARGS__)

/* Prints a number; for several with one name, their range: the file has each of them. */
static void print_numbers(int width, const struct outcome *outcome)
{
    const struct number *const end = outcome->number_count ? outcome->numbers + outcome->number_count : NULL;

    for (const struct number *one = outcome->numbers; one != end; one++) {
        const struct number *other = outcome->numbers;
        double low = one->value, high = one->value;
        size_t count = 0;

        while (strcmp(other->name, one->name) != 0)
            other++;
        if (other < one)
            continue;
        for (; other < end; other++)
            if (strcmp(other->name, one->name) == 0) {
                low = fmin(low, other->value);
                high = fmax(high, other->value);
                count++;
            }
        if (count > 1)
            print_line(width, INDENT, "%s: %.4g to %.4g %s in %zu cases", one->name, low, high, one->unit, count);
        else if (isnan(one->value))
            print_line(width, INDENT, "%s: none: %s", one->name, one->reason);
        else
            print_line(width, INDENT, "%s: %.4g [%.4g, %.4g] %s%s%s", one->name, one->value, one->low, one->high,
                       one->unit, one->reason[0] ? ": " : "", one->reason);
    }
}

/* -- geometry ------------------------------------------------------------------------------------------ */

static void value_latency(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct summary *latency = &((const struct geometry_level *)row)->latency;

    (void)column;
    snprintf(out->room, sizeof(out->room), "%.4g [%.4g, %.4g]", latency->value, latency->ci_low, latency->ci_high);
    out->text = out->room;
}

static void value_finding(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct geometry_number *number = geometry_number(row, column->of);

    out->number = number->known ? (double)number->value : (double)NAN;
    if (number->known && !column->format)
        out->text = ((const struct geometry_level *)row)->replacement_name;
}

#define FINDING(key_, format_, row) \
    .key = key_, .heading = key_, .format = format_, .value = value_finding, .of = &geometry_findings[row]

static const struct grid_column level_columns[] = {
    {.key = "level",
     .heading = "level",
     .format = text_count,
     .value = grid_integer,
     .of = GRID_MEMBER(struct geometry_level, number),
     .head = true},
    {.key = "cycles", .heading = "cycles", .value = value_latency},
    {FINDING("fetch", text_count, 0)},
    {FINDING("line", text_count, 1)},
    {FINDING("fits", text_count, 2), .rank = 1},
    {FINDING("bytes", text_count, 3)},
    {FINDING("ways", text_count, 4)},
    {FINDING("sets", text_count, 5)},
    {FINDING("replacement", NULL, 7)},
};

/* Writes "ways, sets not found: the reason" for each run of findings with one reason, then the contradiction. */
static bool missing_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct geometry_level *level = row;
    const char *reason = NULL, *said = NULL;
    size_t notes = 0;

    out[0] = '\0';
    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
        const struct geometry_number *number = geometry_number(level, &geometry_findings[i]);

        notes += !number->known && !(reason && strcmp(reason, number->reason) == 0);
        reason = number->known ? NULL : number->reason;
        if (!reason || notes != index + 1)
            continue;
        text_join(out, bytes, ", ", "%s", geometry_findings[i].key);
        said = reason;
    }
    text_join(out, bytes, "", said ? " not found: %s" : "contradiction: %s", said ? said : level->contradiction);
    return said || (index == notes && level->contradiction[0]);
}

/* Prints levels, with latencies like those of loads without a clock. A chain does not read the clock: the access of the
 * first level takes longer in a pointer chase by that time. */
static enum status print_levels(int width, const struct characterization *all, const struct outcome *outcome)
{
    struct geometry_level level[GEOMETRY_LEVELS_MAX];
    const struct grid levels = {NULL,
                                level_columns,
                                COUNT(level_columns),
                                level,
                                outcome->geometry->level_count,
                                sizeof(level[0]),
                                .note = missing_note};
    const struct outcome *chain;
    double clock = NAN;
    char name[96];

    memcpy(level, outcome->geometry->level, sizeof(level));
    snprintf(name, sizeof(name), "latency_%s", outcome->experiment.path);
    chain = characterization_outcome(all, name);
    if (chain && chain->number_count && levels.row_count)
        clock = level[0].latency.value - chain->numbers[0].value;
    for (size_t i = 0; i < levels.row_count && !isnan(clock); i++) {
        level[i].latency.value -= clock;
        level[i].latency.ci_low -= clock;
        level[i].latency.ci_high -= clock;
    }
    if (isnan(clock))
        print_line(width, INDENT, "cycles: reading the clock included");
    else
        print_line(width, INDENT, "cycles: without the %.4g that reading the clock takes", clock);
    return grid_print(stdout, &levels, &(struct print_style){.width = width, .indent = INDENT});
}

/* -- all ----------------------------------------------------------------------------------------------- */

enum status characterization_print(const struct characterization *characterization)
{
    const int width = text_width(stdout);
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < characterization->count; i++) {
        const struct outcome *outcome = &characterization->outcomes[i];
        char sentence[SENTENCE_BYTES], sizes[TEXT_PARAGRAPH_BYTES / 2] = "";

        print_line(width, 0, "%s: %s", outcome->experiment.name, outcome->experiment.what);
        if (outcome->status == OUTCOME_SKIPPED)
            print_line(width, INDENT, "skipped: %s", outcome->reason);
        for (const struct verdict *one = outcome->verdicts; one < outcome->verdicts + outcome->verdict_count; one++) {
            print_line(width, INDENT, "%s", verdict_sentence(one, sentence));
            if (isnan(one->share))
                print_line(width, 2 * INDENT, "%s", one->reason);
        }
        print_numbers(width, outcome);
        for (uint32_t g = 0; g < outcome->group_count && strlen(sizes) + 8 < sizeof(sizes); g++) {
            uint32_t size = 0;

            for (uint32_t sm = 0; sm < outcome->sm_count; sm++)
                size += outcome->group[sm] == g;
            text_join(sizes, sizeof(sizes), " ", "%u", size);
        }
        if (outcome->group)
            print_line(width, INDENT, "SMs of each group: %s", sizes[0] ? sizes : "none");
        if (outcome->geometry)
            status = print_levels(width, characterization, outcome);
    }
    return status;
}
