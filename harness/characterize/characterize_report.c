/* SPDX-License-Identifier: MIT
 * What was found, in short. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"
#include "grid.h"

enum { INDENT = 2, NUMBERS_MAX = 256, NUMBER_COLUMNS = 10 /* behind the name */ };

/* -- verdicts ------------------------------------------------------------------------------------------ */

/* What a verdict means, by its name and value, "" where it is unclear: # stands for the level, @ for what came before, %
 * for the share, * for name and value. */
/* clang-format off */
static const struct {
    const char *name, *value, *text;
} sentences[] = {
    {"latency_grows_per", "address", "Each further distinct address of a warp delays a load, also in the same line."},
    {"latency_grows_per", "line", "Each further line that a warp touches delays a load; an address in it does not."},
    {"latency_grows_per", "neither", "Further distinct addresses of a warp do not delay a load."},
    {"latency_grows_per", "", "Whether addresses or lines delay a load is unclear."},
    {"throughput_falls_per", "address", "Each further distinct address of a warp takes a turn, also in the same line."},
    {"throughput_falls_per", "line", "Each further line that a warp touches takes a turn; an address in it does not."},
    {"throughput_falls_per", "neither", "Further distinct addresses of a warp take no turns of their own."},
    {"throughput_falls_per", "", "Whether addresses or lines take turns is unclear."},
    {"what_it_held_is", "lost", "Level # is emptied by @: % of later accesses hit."},
    {"what_it_held_is", "kept", "Level # keeps what it holds over @: % of later accesses hit."},
    {"what_it_held_is", "partly kept", "Level # keeps part of what it holds over @: % of later accesses hit."},
    {"what_it_held_is", "", "What @ leaves of level # cannot be told from what it held."},
    {"table_is", "cold", "After @ no level has a line of the table."},
    {"table_is", "not cold", "After @ some lines of the table are still there."},
    {"sets_swapped_by", "nothing", "Every bank has the same sets of level #."},
    {"sets_swapped_by", "order of launches", "The sets of level # are swapped by the order in which kernels start."},
    {"sets_swapped_by", "address", "The sets of level # are swapped by the address of the bank."},
    {"sets_swapped_by", "", "What swaps the sets of level # is unclear."},
    {"instructions_and_constants_share", "yes", "Level # holds instructions, too."},
    {"instructions_and_constants_share", "not seen", "That level # holds instructions, too, was not seen."},
    {"instructions_and_constants_share", "", "Whether level # holds instructions, too, is unclear."},
    {"counters_and_time", "agree", "Misses of level #, counted and timed, are equal."},
    {"counters_and_time", "differ", "Misses of level #, counted and timed, differ."},
};

static const char *const befores[PROBE_BEFORE_COUNT] = {
    [PROBE_BEFORE_LAUNCH] = "a kernel launch",
    [PROBE_BEFORE_COPY] = "a copy of the table",
    [PROBE_BEFORE_MODULE] = "a launch of another module's kernel",
    [PROBE_BEFORE_FLUSH] = "a flush",
};
/* clang-format on */

static const char *sentence_of(const struct verdict *verdict)
{
    for (size_t i = 0; i < COUNT(sentences); i++)
        if (strcmp(sentences[i].name, verdict->name) == 0 &&
            strcmp(sentences[i].value, verdict->value ? verdict->value : "") == 0)
            return sentences[i].text;
    return "*.";
}

static const char *before_of(const struct verdict *verdict)
{
    for (size_t i = 0; verdict->before && i < PROBE_BEFORE_COUNT; i++)
        if (befores[i] && strcmp(probe_before_names[i], verdict->before) == 0)
            return befores[i];
    return verdict->before;
}

const char *verdict_sentence(const struct verdict *verdict, char out[SENTENCE_BYTES])
{
    out[0] = '\0';
    for (const char *text = sentence_of(verdict); *text; text++)
        if (*text == '#')
            text_join(out, SENTENCE_BYTES, "", "%u", verdict->level);
        else if (*text == '@')
            text_join(out, SENTENCE_BYTES, "", "%s", before_of(verdict));
        else if (*text == '%')
            text_join(out, SENTENCE_BYTES, "", "%.0f %%", 100 * verdict->share);
        else if (*text == '*')
            text_join(out, SENTENCE_BYTES, "", "%s: %s", verdict->name, verdict->value ? verdict->value : "unclear");
        else
            text_join(out, SENTENCE_BYTES, "", "%c", *text);
    return out;
}

/* -- numbers ------------------------------------------------------------------------------------------- */

/* Prints a line of its own, wrapped. */
#define print_line(columns, first, ...)                                                                          \
    text_paragraph(                                                                                              \
        (struct text_wrap){.stream = stdout, .width = (columns), .column = (first), .indent = (first) + INDENT}, \
        __VA_ARGS__)

static void text_short(double value, char out[TEXT_NUMBER_BYTES])
{
    snprintf(out, TEXT_NUMBER_BYTES, "%.4g", value);
}

/* A member of a number, by its field: what the number is of, its value, the ends of the interval. */
static void value_of_field(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct field *field = column->of;
    const char *member = (const char *)row + field->offset;

    if (field->kind == &field_reference)
        out->text = *(const char *const *)member;
    else if (field->kind == &field_number)
        out->number = *(const double *)member;
    else if (*(const uint32_t *)member)
        out->number = *(const uint32_t *)member;
}

static bool reason_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct number *number = row;

    snprintf(out, bytes, "%s", number->reason);
    return index == 0 && number->reason[0];
}

/* Numbers of one name, in the columns that say something of one of them: of one address, one warp or the first level they
 * do not. */
static enum status print_table(int width, const struct number *numbers, size_t count)
{
    struct grid_column columns[NUMBER_COLUMNS];
    struct grid grid = {NULL, columns, 0, numbers, count, sizeof(*numbers), .note = reason_note};

    for (size_t i = 0; i < NUMBER_COLUMNS; i++) {
        const struct field *field = &number_field_rows[1 + i]; /* behind the name */
        struct grid_column *column = &columns[grid.column_count];
        bool says = field->kind == &field_number;

        *column = (struct grid_column){.key = field->key, .heading = field->key, .value = value_of_field, .of = field};
        column->format = field->kind == &field_reference ? NULL : text_short;
        for (size_t k = 0; k < count && !says; k++) {
            struct grid_value value = {.number = 0};

            value_of_field(column, &numbers[k], &value);
            says = value.text || value.number > 1;
        }
        grid.column_count += says;
    }
    print_line(width, INDENT, "%s, %s", numbers->name, numbers->unit);
    return grid_print(stdout, &grid, &(struct grid_look){.width = width, .indent = 2 * INDENT});
}

static void print_single(int width, const struct number *number)
{
    if (isnan(number->value))
        print_line(width, INDENT, "%s: none: %s", number->name, number->reason);
    else
        print_line(width, INDENT, "%s: %.4g [%.4g, %.4g] %s%s%s", number->name, number->value, number->low,
                   number->high, number->unit, number->reason[0] ? ": " : "", number->reason);
}

/* Numbers of a name together, in the order of the names. */
static enum status print_numbers(int width, const struct outcome *outcome)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < outcome->number_count && status == STATUS_OK; i++) {
        struct number numbers[NUMBERS_MAX];
        size_t count = 0;

        for (size_t k = 0; k < outcome->number_count && count < NUMBERS_MAX; k++) {
            if (strcmp(outcome->numbers[k].name, outcome->numbers[i].name) != 0)
                continue;
            if (k < i)
                break;
            numbers[count++] = outcome->numbers[k];
        }
        if (count == 1)
            print_single(width, numbers);
        else if (count)
            status = print_table(width, numbers, count);
    }
    return status;
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

/* "ways, sets not found: the reason", for each run of findings with one reason; then how the level contradicts itself. */
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

/* -- all ----------------------------------------------------------------------------------------------- */

static void print_groups(int width, const struct outcome *outcome)
{
    char sizes[TEXT_PARAGRAPH_BYTES / 2] = "";

    for (uint32_t g = 0; g < outcome->group_count && strlen(sizes) + 8 < sizeof(sizes); g++)
        text_join(sizes, sizeof(sizes), " ", "%u", outcome_group_size(outcome, g));
    print_line(width, INDENT, "SMs of each group: %s", sizes[0] ? sizes : "none");
}

/* What reading the clock adds to an access of a walk: of the first level it takes so much longer than a load of a chain,
 * which has no clock in it. NaN where there is no chain. */
static double clock_cycles(const struct characterization *all, const struct outcome *outcome)
{
    const struct outcome *chain;
    char name[96];

    snprintf(name, sizeof(name), "latency_%s", outcome->experiment.path);
    chain = characterization_outcome(all, name);
    return chain && chain->number_count && outcome->geometry->level_count
               ? outcome->geometry->level[0].latency.value - chain->numbers[0].value
               : NAN;
}

/* Levels, with latencies as loads that are not timed have them. */
static enum status print_levels(int width, const struct characterization *all, const struct outcome *outcome)
{
    const double clock = clock_cycles(all, outcome);
    struct geometry_level level[GEOMETRY_LEVELS_MAX];
    struct grid levels = {NULL, level_columns, COUNT(level_columns), .note = missing_note};

    memcpy(level, outcome->geometry->level, sizeof(level));
    for (size_t i = 0; i < outcome->geometry->level_count && !isnan(clock); i++) {
        level[i].latency.value -= clock;
        level[i].latency.ci_low -= clock;
        level[i].latency.ci_high -= clock;
    }
    if (isnan(clock))
        print_line(width, INDENT, "cycles: the clock's own included");
    else
        print_line(width, INDENT,
                   "cycles: less %.4g of the clock, by which an access of level 1 is longer than in a chain", clock);
    levels.rows = level;
    levels.row_count = outcome->geometry->level_count;
    levels.row_bytes = sizeof(level[0]);
    return grid_print(stdout, &levels, &(struct grid_look){.width = width, .indent = INDENT});
}

static enum status print_outcome(int width, const struct characterization *all, const struct outcome *outcome)
{
    char sentence[SENTENCE_BYTES];
    enum status status;

    print_line(width, 0, "%s: %s", outcome->experiment.name, outcome->experiment.what);
    if (outcome->status == OUTCOME_SKIPPED)
        print_line(width, INDENT, "skipped: %s", outcome->reason);
    for (const struct verdict *one = outcome->verdicts; one < outcome->verdicts + outcome->verdict_count; one++) {
        print_line(width, INDENT, "%s", verdict_sentence(one, sentence));
        if (isnan(one->share))
            print_line(width, 2 * INDENT, "%s", one->reason);
    }
    status = print_numbers(width, outcome);
    if (outcome->group)
        print_groups(width, outcome);
    return status == STATUS_OK && outcome->geometry ? print_levels(width, all, outcome) : status;
}

enum status characterization_print(const struct characterization *characterization)
{
    const int width = text_width(stdout);
    enum status status = STATUS_OK;

    for (size_t i = 0; i < characterization->count && status == STATUS_OK; i++)
        status = print_outcome(width, characterization, &characterization->outcomes[i]);
    return status;
}
