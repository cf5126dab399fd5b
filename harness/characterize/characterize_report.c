/* SPDX-License-Identifier: MIT
 * What was found, in short. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "characterize.h"
#include "experiment.h"
#include "grid.h"
#include "text.h"

enum { INDENT = 2, LINE_BYTES = 768, NUMBERS_MAX = 256 };

/* -- verdicts ------------------------------------------------------------------------------------------ */

/* What a verdict means, by its name and value, NULL where it is unclear: # stands for the level, @ for what came before,
 * % for the share. */
/* clang-format off */
static const struct {
    const char *name, *value, *text;
} sentences[] = {
    {"latency_grows_per", "address", "Each further distinct address of a warp delays a load, also in the same line."},
    {"latency_grows_per", "line", "Each further line that a warp touches delays a load; an address in it does not."},
    {"latency_grows_per", "neither", "Further distinct addresses of a warp do not delay a load."},
    {"latency_grows_per", NULL, "Whether addresses or lines delay a load is unclear."},
    {"throughput_falls_per", "address", "Each further distinct address of a warp takes a turn, also in the same line."},
    {"throughput_falls_per", "line", "Each further line that a warp touches takes a turn; an address in it does not."},
    {"throughput_falls_per", "neither", "Further distinct addresses of a warp take no turns of their own."},
    {"throughput_falls_per", NULL, "Whether addresses or lines take turns is unclear."},
    {"what_it_held_is", "lost", "Level # is emptied by @: % of later accesses hit."},
    {"what_it_held_is", "kept", "Level # keeps what it holds over @: % of later accesses hit."},
    {"what_it_held_is", "partly kept", "Level # keeps part of what it holds over @: % of later accesses hit."},
    {"sets_swapped_by", "nothing", "Every bank has the same sets of level #."},
    {"sets_swapped_by", "order of launches", "The sets of level # are swapped by the order in which kernels start."},
    {"sets_swapped_by", "address", "The sets of level # are swapped by the address of the bank."},
    {"sets_swapped_by", NULL, "What swaps the sets of level # is unclear."},
    {"instructions_and_constants_share", "yes", "Level # holds instructions, too."},
    {"instructions_and_constants_share", "not seen", "That level # holds instructions, too, was not seen."},
    {"instructions_and_constants_share", NULL, "Whether level # holds instructions, too, is unclear."},
    {"counters_and_time", "agree", "Misses of level #, counted and timed, are equal."},
    {"counters_and_time", "differ", "Misses of level #, counted and timed, differ."},
};

static const struct {
    const char *name, *text;
} befores[] = {
    {"launch", "a kernel launch"},
    {"copy", "a copy of the table"},
    {"module", "a launch of another module's kernel"},
};
/* clang-format on */

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static const char *sentence_of(const struct verdict *verdict)
{
    for (size_t i = 0; i < COUNT(sentences); i++)
        if (same(sentences[i].name, verdict->name) && same(sentences[i].value, verdict->value))
            return sentences[i].text;
    return NULL;
}

static const char *before_of(const struct verdict *verdict)
{
    for (size_t i = 0; i < COUNT(befores); i++)
        if (same(befores[i].name, verdict->before))
            return befores[i].text;
    return verdict->before ? verdict->before : "";
}

const char *verdict_sentence(const struct verdict *verdict, char out[SENTENCE_BYTES])
{
    const char *text = sentence_of(verdict);
    size_t used = 0;

    if (!text)
        snprintf(out, SENTENCE_BYTES, "%s: %s.", verdict->name, verdict->value ? verdict->value : "unclear");
    for (; text && *text && used + 1 < SENTENCE_BYTES; text++) {
        char *at = out + used;
        const size_t room = SENTENCE_BYTES - used;

        if (*text == '#')
            snprintf(at, room, "%u", (unsigned)verdict->level);
        else if (*text == '@')
            snprintf(at, room, "%s", before_of(verdict));
        else if (*text == '%')
            snprintf(at, room, "%.0f %%", 100 * verdict->share);
        else
            snprintf(at, room, "%c", *text);
        used += strlen(at);
    }
    return out;
}

/* -- numbers ------------------------------------------------------------------------------------------- */

/* Prints a line of its own, wrapped. */
static void print_line(const struct grid_look *look, int indent, const char *text)
{
    struct text_wrap wrap = {.stream = stdout, .width = look->width, .column = indent, .indent = indent + INDENT};

    printf("%*s", indent, "");
    text_wrap(&wrap, text);
    putchar('\n');
}

static void text_short(double value, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.4g", value);
}

/* What a number is of. */
struct of_what {
    size_t offset; /* of a uint32_t in struct number */
    uint32_t above; /* it is worth saying when it is more */
};

static uint32_t of_what(const struct number *number, const struct of_what *of)
{
    return *(const uint32_t *)((const char *)number + of->offset);
}

static const struct number *number_at(const void *row)
{
    return *(const struct number *const *)row;
}

static void value_of_what(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const uint32_t value = of_what(number_at(row), column->of);

    out->number = value ? value : NAN;
}

static void value_before(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->text = number_at(row)->before;
}

static void value_double(const struct grid_column *column, const void *row, struct grid_value *out)
{
    out->number = *(const double *)((const char *)number_at(row) + *(const size_t *)column->of);
}

#define OF(key_, heading_, member, above)                                                                             \
    {                                                                                                                 \
        .key = key_, .heading = heading_, .format = text_short, .value = value_of_what, .of = &(const struct of_what) \
        {                                                                                                             \
            offsetof(struct number, member), above                                                                    \
        }                                                                                                             \
    }
#define DOUBLE(member)                                                                                         \
    {                                                                                                          \
        .key = #member, .heading = #member, .format = text_short, .value = value_double, .of = &(const size_t) \
        {                                                                                                      \
            offsetof(struct number, member)                                                                    \
        }                                                                                                      \
    }

/* Those of what numbers are of come first. */
enum { OF_COLUMNS = 6, NUMBER_COLUMNS = 10 };

/* clang-format off */
static const struct grid_column number_columns[NUMBER_COLUMNS] = {
    OF("level", "level", level, 0),
    OF("distinct", "addresses", distinct, 1),
    OF("stride_bytes", "bytes apart", stride, 0),
    OF("warps", "warps", warps, 1),
    OF("region_bytes", "bytes", region_bytes, 0),
    OF("code_bytes", "bytes of code", code_bytes, 0),
    {.key = "before", .heading = "after", .value = value_before},
    DOUBLE(value),
    DOUBLE(low),
    DOUBLE(high),
};
/* clang-format on */

/* Numbers of one name. */
struct group {
    const struct number *numbers[NUMBERS_MAX];
    size_t count;
};

static bool reason_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct number *number = number_at(row);

    snprintf(out, bytes, "%s", number->reason);
    return index == 0 && number->reason[0];
}

/* Whether the column says something of one of the numbers. */
static bool says(const struct group *group, size_t column)
{
    for (size_t i = 0; i < group->count; i++)
        if (column < OF_COLUMNS ? of_what(group->numbers[i], number_columns[column].of) >
                                      ((const struct of_what *)number_columns[column].of)->above
                                : column > OF_COLUMNS || group->numbers[i]->before)
            return true;
    return false;
}

/* "latency, 16 warps: 28 [28, 28] cycles" */
static void print_single(const struct grid_look *look, const struct group *group)
{
    const struct number *number = group->numbers[0];
    char line[LINE_BYTES];
    size_t used = (size_t)snprintf(line, sizeof(line), "%s", number->name);

    for (size_t c = 0; c < OF_COLUMNS; c++)
        if (says(group, c))
            used += (size_t)snprintf(line + used, sizeof(line) - used, ", %s %u", number_columns[c].heading,
                                     (unsigned)of_what(number, number_columns[c].of));
    if (isnan(number->value))
        snprintf(line + used, sizeof(line) - used, ": none: %s", number->reason);
    else
        snprintf(line + used, sizeof(line) - used, ": %.4g [%.4g, %.4g] %s%s%s", number->value, number->low,
                 number->high, number->unit, number->reason[0] ? ": " : "", number->reason);
    print_line(look, INDENT, line);
}

static enum status print_group(const struct grid_look *look, const struct group *group)
{
    const struct grid_look inner = {.width = look->width, .indent = 2 * INDENT};
    struct grid_column columns[NUMBER_COLUMNS];
    struct grid grid = {.columns = columns,
                        .rows = group->numbers,
                        .row_count = group->count,
                        .row_bytes = sizeof(group->numbers[0]),
                        .note = reason_note};
    char title[LINE_BYTES];

    for (size_t c = 0; c < NUMBER_COLUMNS; c++)
        if (says(group, c))
            columns[grid.column_count++] = number_columns[c];
    snprintf(title, sizeof(title), "%s, %s", group->numbers[0]->name, group->numbers[0]->unit);
    print_line(look, INDENT, title);
    return grid_print(stdout, &grid, &inner);
}

/* Numbers of a name together, in the order of the names. */
static enum status print_numbers(const struct grid_look *look, const struct outcome *outcome)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < outcome->number_count && status == STATUS_OK; i++) {
        const char *name = outcome->numbers[i].name;
        struct group group = {.count = 0};
        bool first = true;

        for (size_t k = 0; k < i; k++)
            first = first && strcmp(outcome->numbers[k].name, name) != 0;
        for (size_t k = i; first && k < outcome->number_count && group.count < NUMBERS_MAX; k++)
            if (strcmp(outcome->numbers[k].name, name) == 0)
                group.numbers[group.count++] = &outcome->numbers[k];
        if (group.count == 1)
            print_single(look, &group);
        else if (group.count > 1)
            status = print_group(look, &group);
    }
    return status;
}

/* -- geometry ------------------------------------------------------------------------------------------ */

struct level_row {
    size_t number;
    const struct geometry_level *level;
};

static const struct geometry_level *level_at(const void *row)
{
    return ((const struct level_row *)row)->level;
}

static void value_number(const struct grid_column *column, const void *row, struct grid_value *out)
{
    (void)column;
    out->number = (double)((const struct level_row *)row)->number;
}

static void value_latency(const struct grid_column *column, const void *row, struct grid_value *out)
{
    out->number = *(const double *)((const char *)&level_at(row)->latency + *(const size_t *)column->of);
}

static void value_finding(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct geometry_number *number = geometry_number(level_at(row), column->of);

    out->number = number->known ? number->value : NAN;
}

static void value_replacement(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct geometry_number *number = &level_at(row)->replacement;

    (void)column;
    out->text = number->known ? replacement_name((enum replacement)number->value) : NULL;
}

#define LATENCY(key_, heading_, member, rank_)                                                         \
    {                                                                                                  \
        .key = key_, .heading = heading_, .format = text_short, .value = value_latency, .rank = rank_, \
        .of = &(const size_t)                                                                          \
        {                                                                                              \
            offsetof(struct summary, member)                                                           \
        }                                                                                              \
    }
#define FINDING(heading_, row) \
    {.key = heading_, .heading = heading_, .format = text_count, .value = value_finding, .of = &geometry_findings[row]}

/* clang-format off */
static const struct grid_column level_columns[] = {
    {.key = "level", .heading = "level", .format = text_count, .value = value_number, .head = true},
    LATENCY("cycles", "cycles", median, 0),
    LATENCY("low", "low", ci_low, 1),
    LATENCY("high", "high", ci_high, 1),
    FINDING("fetches", 0),
    FINDING("line", 1),
    FINDING("fits", 2),
    FINDING("bytes", 3),
    FINDING("ways", 4),
    FINDING("sets", 5),
    {.key = "replacement", .heading = "replacement", .value = value_replacement},
};
/* clang-format on */

static bool missing(const struct geometry_level *level, size_t finding, const char *reason)
{
    const struct geometry_number *number = geometry_number(level, &geometry_findings[finding]);

    return !number->known && strcmp(number->reason, reason) == 0;
}

/* "ways, sets not found: the reason", each reason once. */
static bool missing_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct geometry_level *level = level_at(row);
    size_t notes = 0, used = 0;

    for (size_t i = 0; i < GEOMETRY_FINDINGS; i++) {
        const char *reason = geometry_number(level, &geometry_findings[i])->reason;
        bool first = missing(level, i, reason);

        for (size_t k = 0; k < i; k++)
            first = first && !missing(level, k, reason);
        if (!first || notes++ < index)
            continue;
        for (size_t k = i; k < GEOMETRY_FINDINGS; k++)
            if (missing(level, k, reason))
                used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? ", " : "", geometry_findings[k].key);
        snprintf(out + used, bytes - used, " not found: %s", reason);
        return true;
    }
    snprintf(out, bytes, "contradiction: %s", level->contradiction);
    return notes == index && level->contradiction[0];
}

static enum status print_geometry(const struct grid_look *look, const struct geometry *geometry)
{
    struct level_row rows[GEOMETRY_LEVELS_MAX];
    const struct grid_look inner = {.width = look->width, .indent = INDENT};
    const struct grid grid = {.columns = level_columns,
                              .column_count = COUNT(level_columns),
                              .rows = rows,
                              .row_count = geometry->level_count,
                              .row_bytes = sizeof(rows[0]),
                              .note = missing_note};

    for (size_t i = 0; i < geometry->level_count; i++)
        rows[i] = (struct level_row){i + 1, &geometry->level[i]};
    return grid_print(stdout, &grid, &inner);
}

/* -- all ----------------------------------------------------------------------------------------------- */

static void print_groups(const struct grid_look *look, const struct outcome *outcome)
{
    char line[LINE_BYTES] = "SMs of each group:";
    size_t used = strlen(line);

    for (uint32_t g = 0; g < outcome->group_count && used + 8 < sizeof(line); g++)
        used += (size_t)snprintf(line + used, sizeof(line) - used, " %u", (unsigned)outcome_group_size(outcome, g));
    print_line(look, INDENT, line);
}

static enum status print_outcome(const struct grid_look *look, const struct outcome *outcome)
{
    char line[LINE_BYTES], sentence[SENTENCE_BYTES];
    enum status status;

    snprintf(line, sizeof(line), "%s: %s", outcome->experiment.name, outcome->experiment.what);
    print_line(look, 0, line);
    if (outcome->status == OUTCOME_SKIPPED) {
        snprintf(line, sizeof(line), "skipped: %s", outcome->reason);
        print_line(look, INDENT, line);
    }
    for (const struct verdict *one = outcome->verdicts; one < outcome->verdicts + outcome->verdict_count; one++) {
        print_line(look, INDENT, verdict_sentence(one, sentence));
        if (isnan(one->share))
            print_line(look, 2 * INDENT, one->reason);
    }
    status = print_numbers(look, outcome);
    if (outcome->group)
        print_groups(look, outcome);
    if (status == STATUS_OK && outcome->geometry)
        status = print_geometry(look, outcome->geometry);
    return status;
}

enum status characterization_print(const struct characterization *characterization)
{
    const struct grid_look look = {.width = text_width(stdout)};
    enum status status = STATUS_OK;

    for (size_t i = 0; i < characterization->count && status == STATUS_OK; i++)
        status = print_outcome(&look, &characterization->outcomes[i]);
    return status;
}
