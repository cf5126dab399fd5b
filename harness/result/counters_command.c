/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell_row.h"
#include "command.h"
#include "grid_value.h"
#include "log.h"
#include "show_page.h"

/* Which cells; an axis that was not given takes all. */
struct counters_options {
    struct selection rows[AXIS_COUNT];   /* of axes that are rows of tables */
    struct integers numbers[AXIS_COUNT]; /* of the others */
    const char *cell;                    /* NULL: all */
    struct format_options format;
};

/* clang-format off */
#define AXIS(name_, help_, kind_, member) \
    .name = name_, .argument = "LIST", .help = help_, .kind = &(kind_), .offset = offsetof(struct counters_options, member)

static const struct option_row option_rows[] = {
    {.name = "cell", .argument = "NAME", .help = "the cell of this identity, or those that a glob names",
     .kind = &option_text, .offset = offsetof(struct counters_options, cell)},
    {AXIS("workload", "cells of these workloads alone", option_selection, rows[AXIS_WORKLOAD]),
     .table = TABLE("workload", workloads, workload_count)},
    {AXIS("path", "cells of these load paths alone", option_selection, rows[AXIS_PATH]), .table = TABLE("path", paths, path_count)},
    {AXIS("pattern", "cells of these access patterns alone", option_selection, rows[AXIS_PATTERN]),
     .table = TABLE("pattern", patterns, pattern_count)},
    {AXIS("regime", "cells of these regimes alone", option_selection, rows[AXIS_REGIME]), .table = TABLE("regime", regimes, regime_count)},
    {AXIS("elements", "cells of so many elements alone", option_integers, numbers[AXIS_ELEMENTS]), .low = 1, .high = (double)CELL_ELEMENTS_MAX,
     .unit = "elements"},
    {AXIS("block-size", "cells of so many threads a block alone", option_integers, numbers[AXIS_BLOCK_SIZE]), .low = 1,
     .high = CELL_BLOCK_SIZE_MAX, .unit = "threads"},
#define PARAMETER(name_, option_, summary_, unit_, min_, max_, multiple_, fallback_, left_out_) \
    {AXIS(option_, summary_, option_integers, numbers[AXIS_PARAMETERS + PARAMETER_##name_]), .low = min_, .high = max_, .unit = unit_},
#include "parameters.def"
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(option_rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct counters_options, format)),
};

static bool is_chosen(const struct counters_options *options, const struct cell *cell)
{
    for (size_t axis = 0; axis < AXIS_COUNT; axis++) {
        const struct selection *rows = &options->rows[axis];
        const struct integers *numbers = &options->numbers[axis];
        const uint64_t place = cell_axis(cell, axis);
        bool chosen = rows->count + numbers->count == 0;

        for (size_t i = 0; i < rows->count; i++)
            chosen = chosen || (uintptr_t)rows->rows[i] == place;
        for (size_t i = 0; i < numbers->count; i++)
            chosen = chosen || numbers->values[i] == place;
        if (!chosen)
            return false;
    }
    return true;
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

/* -- what is printed ----------------------------------------------------------------------------------- */

struct listing {
    const struct counters_options *options;
    struct cell_rows rows;
    const char **names; /* owned: those that a column can have, as the rows of a table, counters first */
    size_t name_count, counter_count;
    struct quantity *quantities; /* owned */
    struct grid_column *columns; /* owned: those that say which cell, then from `first` on one a quantity */
    size_t column_count, first;
};

static enum status find_names(struct listing *listing, const struct result *result)
{
    struct table names = TABLE("column", listing->names, listing->name_count);
    size_t room = CELL_ROW_COLUMNS_MAX;

    for (size_t i = 0; i < result->cell_count; i++)
        room += result->cells[i].counter_count;
    names.rows = listing->names = calloc(room, sizeof(*listing->names));
    if (!listing->names)
        return log_memory("the names of counters");
    for (size_t i = 0; i < result->cell_count; i++)
        for (size_t k = 0; k < result->cells[i].counter_count; k++)
            if (!table_find(&names, result->cells[i].counters[k].name))
                listing->names[listing->name_count++] = result->cells[i].counters[k].name;
    listing->counter_count = listing->name_count;
    for (const struct cell_column *column = NULL; (column = cell_column_next(column, VIEW_CELLS));)
        if (column->column.format)
            listing->names[listing->name_count++] = column->column.key;
    return STATUS_OK;
}

static enum status parse_quantity(const struct listing *listing, const char *text, struct quantity *out)
{
    const struct table names = TABLE("column", listing->names, listing->name_count);
    const size_t length = strcspn(text, "/");

    *out = (struct quantity){.text = text};
    snprintf(out->names[0], NAME_BYTES, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES), text);
    snprintf(out->names[1], NAME_BYTES, "%s", text[length] ? text + length + 1 : "");
    if (!table_find(&names, out->names[0]))
        return table_unknown(&names, out->names[0]);
    return text[length] && !table_find(&names, out->names[1]) ? table_unknown(&names, out->names[1]) : STATUS_OK;
}

/* The columns that were asked for, all counters without any. */
static enum status make_columns(struct listing *listing, const struct invocation *invocation)
{
    const size_t asked = invocation->argument_count - 1;
    const size_t count = asked ? asked : listing->counter_count;
    enum status status = STATUS_OK;

    listing->quantities = calloc(count + 1, sizeof(*listing->quantities));
    listing->columns = calloc(CELL_ROW_COLUMNS_MAX + count, sizeof(*listing->columns));
    if (!listing->quantities || !listing->columns)
        return log_memory("%zu columns", count);
    listing->first = listing->column_count = cell_row_columns(VIEW_COUNTERS, listing->columns);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct quantity *quantity = &listing->quantities[i];

        status = parse_quantity(listing, asked ? invocation->arguments[1 + i] : listing->names[i], quantity);
        listing->columns[listing->column_count++] = (struct grid_column){.key = quantity->text,
                                                                         .heading = quantity->text,
                                                                         .format = text_count,
                                                                         .value = value_quantity,
                                                                         .of = quantity};
    }
    return status;
}

/* What a row has in a column, as people read it; the two others are room for it. */
static const char *shown(const struct grid *grid, size_t row, const struct grid_column *column,
                         struct grid_value *value, char room[TEXT_NUMBER_BYTES])
{
    grid_value_at(grid, row, column, value);
    return grid_shown(column, value, room);
}

static bool is_shared(const struct grid *grid, const struct grid_column *column)
{
    char room[2][TEXT_NUMBER_BYTES];
    struct grid_value values[2];
    const char *first = shown(grid, 0, column, &values[0], room[0]);
    bool shared = true;

    for (size_t i = 1; i < grid->row_count && shared; i++)
        shared = strcmp(first, shown(grid, i, column, &values[1], room[1])) == 0;
    return shared;
}

/* What all cells share is said once, and is no column of text. Returns how many columns are left. */
static size_t say_shared(struct page *page, const struct grid *grid, struct listing *listing)
{
    const bool modelled = listing->rows.rows[0].result->modelled_time;
    const char *before = "", *text;
    char room[TEXT_NUMBER_BYTES];
    struct grid_value value;
    size_t kept = 0;

    page_begin(page, 0);
    for (size_t i = 0; i < listing->column_count; i++) {
        const struct grid_column column = listing->columns[i];

        if (i < CELL_COLUMN_COUNT && is_shared(grid, &column)) {
            text = shown(grid, 0, &column, &value, room);
            if (strcmp(text, "-") != 0)
                page_say(page, "%s%s %s", before, column.heading, text);
            before = ", ";
        } else if (i < CELL_COLUMN_COUNT || i >= listing->first) {
            listing->columns[kept++] = column;
        }
    }
    page_say(page, "; %s", modelled ? "modelled: nothing was measured" : "one launch");
    page_end(page);
    return kept;
}

static enum status print_listing(struct listing *listing)
{
    const struct format_options *format = &listing->options->format;
    struct page page = {.stream = stdout, .markdown = format->markdown, .look = {.width = text_width(stdout)}};
    struct grid grid = {.columns = listing->columns,
                        .column_count = listing->column_count,
                        .rows = listing->rows.rows,
                        .row_count = listing->rows.count,
                        .row_bytes = sizeof(*listing->rows.rows),
                        .raw = format->raw};

    if (format->json)
        return json_put_owned(stdout, grid_to_json(&grid));
    if (format->csv) {
        grid_print_csv(stdout, &grid);
        return STATUS_OK;
    }
    grid.column_count = say_shared(&page, &grid, listing);
    return page_grid(&page, &grid);
}

/* -- the command --------------------------------------------------------------------------------------- */

static enum status choose_rows(struct listing *listing, const struct result *result, const char *file)
{
    struct cell_rows *rows = &listing->rows;
    const enum status status = cell_rows_open(result, file, listing->options->cell, rows);
    size_t kept = 0;

    if (status != STATUS_OK)
        return status;
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
        status = find_names(&listing, &result);
    if (status == STATUS_OK)
        status = make_columns(&listing, invocation);
    if (status == STATUS_OK)
        status = choose_rows(&listing, &result, file);
    if (status == STATUS_OK)
        status = print_listing(&listing);
    free(listing.columns);
    free(listing.quantities);
    free(listing.names);
    free(listing.rows.rows);
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
        "A COLUMN is a counter of the result (idc_requests), a number of show --csv (time_ns, cycles, operations), or a\n"
        "quotient of two such (idc_active_cycles/idc_requests). Without columns: all counters of the result. An exact counter is followed by =\n"
        "where it is what was expected and by ! where it is not; \"-\" stands for what the cell does not have.",
    .run = counters_of,
};
