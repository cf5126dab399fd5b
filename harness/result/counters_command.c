/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell_row.h"
#include "command.h"
#include "log.h"
#include "show_page.h"

enum { ROW_AXES = 4, NUMBER_AXES = 2 + PARAMETER_COUNT };

/* Which cells; an axis that was not given takes all. */
struct counters_options {
    struct selection rows[ROW_AXES];      /* workloads, paths, patterns, regimes */
    struct integers numbers[NUMBER_AXES]; /* elements, block sizes, parameters */
    const char *cell; /* NULL: all */
    struct format_options format;
};

/* clang-format off */
#define AXIS(name_, help_, kind_, member) \
    .name = name_, .argument = "LIST", .help = help_, .kind = &(kind_), .offset = offsetof(struct counters_options, member)

static const struct option_row option_rows[] = {
    {.name = "cell", .argument = "NAME", .help = "the cell of this identity, or those that a glob names",
     .kind = &option_text, .offset = offsetof(struct counters_options, cell)},
    {AXIS("workload", "cells of these workloads alone", option_selection, rows[0]),
     .table = TABLE("workload", workloads, workload_count)},
    {AXIS("path", "cells of these load paths alone", option_selection, rows[1]), .table = TABLE("path", paths, path_count)},
    {AXIS("pattern", "cells of these access patterns alone", option_selection, rows[2]),
     .table = TABLE("pattern", patterns, pattern_count)},
    {AXIS("regime", "cells of these regimes alone", option_selection, rows[3]), .table = TABLE("regime", regimes, regime_count)},
    {AXIS("elements", "cells of so many elements alone", option_integers, numbers[0]), .low = 1, .high = (double)CELL_ELEMENTS_MAX,
     .unit = "elements"},
    {AXIS("block-size", "cells of so many threads a block alone", option_integers, numbers[1]), .low = 1,
     .high = CELL_BLOCK_SIZE_MAX, .unit = "threads"},
#define PARAMETER(name_, option_, summary_, unit_, min_, max_, multiple_, fallback_) \
    {AXIS(option_, summary_, option_integers, numbers[2 + PARAMETER_##name_]), .low = min_, .high = max_, .unit = unit_},
#include "parameters.def"
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(option_rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct counters_options, format)),
};

static bool is_chosen(const struct counters_options *options, const struct cell *cell)
{
    const void *const rows[ROW_AXES] = {cell->workload, cell->path, cell->pattern, cell->regime};
    bool chosen = true;

    for (size_t axis = 0; axis < ROW_AXES && chosen; axis++) {
        const struct selection *selection = &options->rows[axis];

        chosen = selection->count == 0;
        for (size_t i = 0; i < selection->count; i++)
            chosen = chosen || selection->rows[i] == rows[axis];
    }
    for (size_t axis = 0; axis < NUMBER_AXES && chosen; axis++) {
        const struct integers *integers = &options->numbers[axis];
        const uint64_t value = axis == 0 ? cell->elements : axis == 1 ? cell->block_size : cell->parameters[axis - 2];

        chosen = integers->count == 0;
        for (size_t i = 0; i < integers->count; i++)
            chosen = chosen || integers->values[i] == value;
    }
    return chosen;
}

/* -- quantities ---------------------------------------------------------------------------------------- */

enum { NAME_BYTES = 256 };

/* A column: a quantity, or a quotient of two. */
struct quantity {
    const char *text;
    char names[2][NAME_BYTES]; /* the second "" */
};

/* A number of show --csv, of which the name is the key. */
static const struct grid_column *find_plain(const char *name)
{
    for (const struct cell_column *column = NULL; (column = cell_column_next(column, VIEW_CELLS));)
        if (column->column.format && strcmp(column->column.key, name) == 0)
            return &column->column;
    return NULL;
}

/* The value of a quantity; *mark: '=' or '!' where it is an exact counter that is as expected or not. */
static double measured(const struct cell_row *row, const char *name, char *mark)
{
    const struct counter_value *counter = counter_find(row->found->counters, row->found->counter_count, name);
    const struct grid_column *plain = find_plain(name);
    struct grid_value value = {.number = NAN};

    *mark = ' ';
    if (plain)
        plain->value(plain, row, &value);
    if (plain || !counter || counter->status != COUNTER_OK)
        return value.number;
    if (counter->kind == COUNTER_EXACT && isfinite(counter->expected))
        *mark = counter_differs(counter) ? '!' : '=';
    return counter->value;
}

static void value_quantity(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct quantity *quantity = column->of;
    const bool quotient = quantity->names[1][0];
    char mark, unused;

    out->number = measured(row, quantity->names[0], &mark);
    if (quotient) {
        const double divisor = measured(row, quantity->names[1], &unused);

        out->number = divisor != 0 ? out->number / divisor : NAN;
        mark = ' ';
    }
    if (isfinite(out->number))
        snprintf(out->room, sizeof(out->room), "%.*f%c",
                 quotient                                                         ? 3
                 : out->number == floor(out->number) || fabs(out->number) >= 1000 ? 0
                                                                                  : 2,
                 out->number, mark);
    out->text = isfinite(out->number) ? out->room : "- ";
    out->style = mark == '!' ? GRID_BAD : GRID_PLAIN;
}

/* -- names --------------------------------------------------------------------------------------------- */

/* Names that columns can have, as the rows of a table: counters first. */
struct known {
    const char **names; /* owned */
    size_t count, counters;
};

static bool has_name(const struct known *known, const char *name)
{
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->names[i], name) == 0)
            return true;
    return false;
}

static enum status find_names(const struct result *result, struct known *out)
{
    size_t room = CELL_ROW_COLUMNS_MAX;

    for (size_t i = 0; i < result->cell_count; i++)
        room += result->cells[i].counter_count;
    *out = (struct known){.names = calloc(room, sizeof(*out->names))};
    if (!out->names)
        return log_error(STATUS_ENVIRONMENT, "out of memory for the names of counters");
    for (size_t i = 0; i < result->cell_count; i++)
        for (size_t k = 0; k < result->cells[i].counter_count; k++)
            if (!has_name(out, result->cells[i].counters[k].name))
                out->names[out->count++] = result->cells[i].counters[k].name;
    out->counters = out->count;
    for (const struct cell_column *column = NULL; (column = cell_column_next(column, VIEW_CELLS));)
        if (column->column.format)
            out->names[out->count++] = column->column.key;
    return STATUS_OK;
}

static enum status parse_quantity(const char *text, const struct known *known, struct quantity *out)
{
    const struct table table = {"column", known->names, sizeof(*known->names), &known->count};
    const char *slash = strchr(text, '/');
    const size_t length = slash ? (size_t)(slash - text) : strlen(text);

    *out = (struct quantity){.text = text};
    snprintf(out->names[0], NAME_BYTES, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES), text);
    snprintf(out->names[1], NAME_BYTES, "%s", slash ? slash + 1 : "");
    if (!has_name(known, out->names[0]))
        return table_unknown(&table, out->names[0]);
    return slash && !has_name(known, out->names[1]) ? table_unknown(&table, out->names[1]) : STATUS_OK;
}

/* -- the grid ------------------------------------------------------------------------------------------ */

/* What is printed. */
struct listing {
    const struct counters_options *options;
    struct cell_rows rows;
    struct known known;
    struct quantity *quantities; /* owned */
    struct grid_column *columns; /* owned: those that say which cell, then one a quantity */
    size_t column_count, quantity_count;
};

/* What the cell has in a column of its identity; "-" where it has nothing. */
static void identity_text(const struct grid_column *column, const struct cell_row *row, char out[TEXT_NUMBER_BYTES])
{
    struct grid_value value = {.number = NAN};

    column->value(column, row, &value);
    if (column->format)
        column->format(value.number, out);
    else
        snprintf(out, TEXT_NUMBER_BYTES, "%s", value.text);
}

static bool is_shared(const struct listing *listing, const struct grid_column *column)
{
    char first[TEXT_NUMBER_BYTES], text[TEXT_NUMBER_BYTES];

    identity_text(column, listing->rows.rows, first);
    for (size_t i = 1; i < listing->rows.count; i++) {
        identity_text(column, &listing->rows.rows[i], text);
        if (strcmp(text, first) != 0)
            return false;
    }
    return true;
}

/* What all cells share is said once, and is no column of text. Returns how many columns are left. */
static size_t say_shared(struct page *page, struct listing *listing)
{
    const bool modelled = listing->rows.rows[0].result->modelled_time;
    const char *before = "";
    char text[TEXT_NUMBER_BYTES];
    size_t kept = 0;

    page_begin(page, 0);
    for (size_t i = 0; i < CELL_COLUMN_COUNT; i++) {
        const struct grid_column *column = &cell_columns[i];

        if (!is_shared(listing, column)) {
            listing->columns[kept++] = *column;
            continue;
        }
        identity_text(column, listing->rows.rows, text);
        if (strcmp(text, "-") != 0)
            page_say(page, "%s%s %s", before, column->heading, text);
        before = ", ";
    }
    page_say(page, "; %s", modelled ? "modelled: nothing was measured" : "one launch");
    page_end(page);
    memmove(listing->columns + kept, listing->columns + listing->column_count - listing->quantity_count,
            listing->quantity_count * sizeof(*listing->columns));
    return kept + listing->quantity_count;
}

static enum status print_listing(struct listing *listing)
{
    const struct format_options *format = &listing->options->format;
    struct page page = {.stream = stdout, .markdown = format->markdown, .look = {.width = text_width(stdout)}};
    struct grid grid = {.columns = listing->columns,
                        .column_count = listing->column_count,
                        .rows = listing->rows.rows,
                        .row_count = listing->rows.count,
                        .row_bytes = sizeof(*listing->rows.rows)};

    if (format->json)
        return json_put_owned(stdout, grid_to_json(&grid));
    if (format->csv) {
        grid_print_csv(stdout, &grid);
        return STATUS_OK;
    }
    grid.column_count = say_shared(&page, listing);
    return page_grid(&page, &grid);
}

/* The columns that were asked for, all counters without any. */
static enum status make_columns(struct listing *listing, const struct invocation *invocation)
{
    const size_t asked = invocation->argument_count - 1;
    const size_t count = asked ? asked : listing->known.counters;
    enum status status = STATUS_OK;

    listing->quantities = calloc(count + 1, sizeof(*listing->quantities));
    listing->columns = calloc(CELL_ROW_COLUMNS_MAX + count, sizeof(*listing->columns));
    if (!listing->quantities || !listing->columns)
        return log_error(STATUS_ENVIRONMENT, "out of memory for %zu columns", count);
    listing->column_count = cell_row_columns(VIEW_COUNTERS, listing->columns);
    listing->quantity_count = count;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct quantity *quantity = &listing->quantities[i];

        status =
            parse_quantity(asked ? invocation->arguments[1 + i] : listing->known.names[i], &listing->known, quantity);
        listing->columns[listing->column_count++] = (struct grid_column){.key = quantity->text,
                                                                         .heading = quantity->text,
                                                                         .format = text_count,
                                                                         .value = value_quantity,
                                                                         .of = quantity};
    }
    return status;
}

static enum status choose_rows(struct listing *listing, const struct result *result, const char *file)
{
    struct cell_rows *rows = &listing->rows;
    size_t kept = 0;

    if (cell_rows_choose(rows, result, listing->options->cell) != STATUS_OK)
        return STATUS_USAGE;
    for (size_t i = 0; i < rows->count; i++)
        if (is_chosen(listing->options, rows->rows[i].cell))
            rows->rows[kept++] = rows->rows[i];
    rows->count = kept;
    return kept ? STATUS_OK : log_error(STATUS_USAGE, "no such cell in %s; cbank show prints those that it has", file);
}

static enum status counters_of(const void *parsed, const struct invocation *invocation)
{
    const char *file = invocation->arguments[0];
    struct listing listing = {.options = parsed};
    struct result result = {0};
    enum status status = format_check(&listing.options->format);

    if (status == STATUS_OK)
        status = result_read(file, &result);
    if (status == STATUS_OK)
        status = cell_rows_open(&result, file, &listing.rows);
    if (status == STATUS_OK)
        status = find_names(&result, &listing.known);
    if (status == STATUS_OK)
        status = make_columns(&listing, invocation);
    if (status == STATUS_OK)
        status = choose_rows(&listing, &result, file);
    if (status == STATUS_OK)
        status = print_listing(&listing);
    free(listing.columns);
    free(listing.quantities);
    free(listing.known.names);
    cell_rows_close(&listing.rows);
    result_close(&result);
    return status;
}

const struct command counters_command = {
    .name = "counters",
    .summary = "Print counters of a result, and quotients of them",
    .arguments = "FILE [COLUMN...]",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct counters_options),
    .details =
        "A COLUMN is a counter of the result (idc_requests), a number of show --csv (median_ns, cycles, operations), or a\n"
        "quotient of two such (idc_active_cycles/idc_requests). Without columns: all counters of the result. An exact counter is followed by =\n"
        "where it is what was expected and by ! where it is not; \"-\" stands for what the cell does not have.",
    .run = counters_of,
};
