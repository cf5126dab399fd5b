/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell_row.h"
#include "command.h"
#include "grid_value.h"
#include "log.h"
#include "show_page.h"
#include "text_print.h"

/* Which cells; an axis that was not given takes all. */
struct counters_options {
    struct selection rows[AXIS_COUNT];   /* for axes that are rows of tables */
    struct integers numbers[AXIS_COUNT]; /* for the others */
    const char *cell;                    /* NULL: all */
    struct format_options format;
};

/* clang-format off */
#define AXIS(name_, help_, kind_, member) \
    .name = name_, .argument = "LIST", .help = help_, .kind = &(kind_), .offset = offsetof(struct counters_options, member)

static const struct option_row option_rows[] = {
    {.name = "cell", .argument = "NAME", .help = "the cell with this identity, or the cells of a glob",
     .kind = &option_text, .offset = offsetof(struct counters_options, cell)},
    {AXIS("workload", "cells of these workloads alone", option_selection, rows[AXIS_WORKLOAD]),
     .table = TABLE("workload", workloads, workload_count)},
    {AXIS("path", "cells of these load paths alone", option_selection, rows[AXIS_PATH]), .table = TABLE("path", paths, path_count)},
    {AXIS("pattern", "cells of these access patterns alone", option_selection, rows[AXIS_PATTERN]),
     .table = TABLE("pattern", patterns, pattern_count)},
    {AXIS("cache-state", "cells of these cache states alone", option_selection, rows[AXIS_CACHE_STATE]), .table = TABLE("cache_state", cache_states, cache_state_count)},
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

/* A column: a counter or a number of show --csv, or a quotient of two. */
struct quantity {
    const char *text;
    char names[2][NAME_BYTES]; /* the second is "" if there is no quotient */
};

/* The value of a quantity. *mark is '=' or '!' for an exact counter that is as expected or differs. */
static double measured(const struct cell_row *row, const char *name, char *mark)
{
    const struct counter_value *counter = counter_find(row->found->counters, row->found->counter_count, name);
    struct grid_value value = {.number = NAN};

    *mark = ' ';
    for (const struct cell_column *column = NULL; (column = cell_column_next(column, VIEW_CELLS));)
        if (column->column.format && strcmp(column->column.key, name) == 0) {
            column->column.value(&column->column, row, &value);
            return value.number;
        }
    if (!counter || counter->status != COUNTER_OK)
        return NAN;
    if (counter->kind == COUNTER_EXACT && isfinite(counter->expected))
        *mark = counter_differs(counter) ? '!' : '=';
    return counter->value;
}

static void value_quantity(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct quantity *quantity = column->of;
    const bool quotient = quantity->names[1][0];
    int decimals = 3;
    char mark;

    out->number = measured(row, quantity->names[0], &mark);
    if (quotient) {
        const double divisor = measured(row, quantity->names[1], &mark);

        out->number = divisor != 0 ? out->number / divisor : NAN;
        mark = ' ';
    } else {
        decimals = out->number == floor(out->number) || fabs(out->number) >= 1000 ? 0 : 2;
    }
    if (isfinite(out->number))
        snprintf(out->room, sizeof(out->room), "%.*f%c", decimals, out->number, mark);
    out->text = isfinite(out->number) ? out->room : "- ";
    out->style = mark == '!' ? GRID_BAD : GRID_PLAIN;
}

/* -- columns ------------------------------------------------------------------------------------------- */

struct listing {
    const char **names; /* owned: counters of the result, then numbers of show --csv */
    size_t name_count;
    struct quantity *quantities; /* owned */
    struct grid_column *columns; /* owned: those that identify the cell, then one for each quantity */
    size_t column_count, cell_columns;
};

/* Makes the requested columns; without a request, those of all counters. */
static enum status make_columns(struct listing *listing, const struct result *result, char *const *asked, size_t count)
{
    size_t room = CELL_ROW_COLUMNS_MAX, counters;
    struct table names;

    for (size_t i = 0; i < result->cell_count; i++)
        room += result->cells[i].counter_count;
    listing->names = calloc(room, sizeof(*listing->names));
    listing->quantities = calloc(room + count, sizeof(*listing->quantities));
    listing->columns = calloc(CELL_ROW_COLUMNS_MAX + room + count, sizeof(*listing->columns));
    if (!listing->names || !listing->quantities || !listing->columns)
        return log_memory("the columns of counters");
    names = (struct table)TABLE("column", listing->names, listing->name_count);
    for (size_t i = 0; i < result->cell_count; i++)
        for (size_t k = 0; k < result->cells[i].counter_count; k++)
            if (!table_find(&names, result->cells[i].counters[k].name))
                listing->names[listing->name_count++] = result->cells[i].counters[k].name;
    counters = listing->name_count;
    for (const struct cell_column *column = NULL; (column = cell_column_next(column, VIEW_CELLS));)
        if (column->column.format)
            listing->names[listing->name_count++] = column->column.key;
    listing->cell_columns = listing->column_count = cell_row_columns(VIEW_COUNTERS, listing->columns);
    for (size_t i = 0; i < (count ? count : counters); i++) {
        struct quantity *quantity = &listing->quantities[i];
        const char *text = quantity->text = count ? asked[i] : listing->names[i];
        const size_t length = strcspn(text, "/");

        snprintf(quantity->names[0], NAME_BYTES, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES), text);
        snprintf(quantity->names[1], NAME_BYTES, "%s", text[length] ? text + length + 1 : "");
        for (int part = 0; part <= (text[length] == '/'); part++)
            if (!table_find(&names, quantity->names[part]))
                return table_unknown(&names, quantity->names[part]);
        listing->columns[listing->column_count++] = (struct grid_column){
            .key = text, .heading = text, .format = text_count, .value = value_quantity, .of = quantity};
    }
    return STATUS_OK;
}

/* Prints text. Facts that all cells have in common are printed once, not as columns. */
static enum status print_text(struct grid *grid, struct listing *listing, bool modelled, bool markdown)
{
    struct page page = {.stream = stdout, .markdown = markdown, .look = {.width = text_width(stdout)}};
    const struct cell_row *rows = grid->rows;
    uint32_t differing = 0;
    char shared[CELL_IDENTITY_BYTES] = "";
    const char *before = "";

    for (size_t i = 1; i < grid->row_count; i++) {
        differing |= rows[i].cell->index_file_hash != rows->cell->index_file_hash ? CELL_TRACE_BIT : 0;
        for (size_t k = 0; k < parameter_count; k++)
            differing |= (uint32_t)(rows[i].cell->parameters[k] != rows->cell->parameters[k]) << k;
    }
    cell_parameters_text(rows->cell, ~differing, shared, sizeof(shared));
    listing->columns[CELL_PARAMETERS_COLUMN].of = &differing;
    grid->column_count = 0;
    page_begin(&page, 0);
    for (size_t i = 0; i < listing->column_count; i++) {
        const struct grid_column column = listing->columns[i];
        char room[2][TEXT_NUMBER_BYTES];
        struct grid_value values[2];
        const char *first;
        bool common = i < CELL_NAMING_COLUMNS;

        grid_value_at(grid, 0, &column, &values[0]);
        first = grid_shown(&column, &values[0], room[0]);
        for (size_t k = 1; common && k < grid->row_count; k++) {
            grid_value_at(grid, k, &column, &values[1]);
            common = strcmp(first, grid_shown(&column, &values[1], room[1])) == 0;
        }
        if (common) {
            if (strcmp(first, "-") != 0)
                page_say(&page, "%s%s %s", before, column.heading, first);
            before = ", ";
        } else if (i < CELL_NAMING_COLUMNS || i >= listing->cell_columns) {
            listing->columns[grid->column_count++] = column;
        }
    }
    page_say(&page, "%s%s; %s", shared[0] ? ", " : "", shared,
             modelled ? "modelled: nothing was measured" : "one launch");
    page_end(&page);
    return page_grid(&page, grid);
}

/* -- the command --------------------------------------------------------------------------------------- */

static enum status counters_of(const void *parsed, const struct invocation *invocation)
{
    const struct counters_options *options = parsed;
    const char *file = invocation->arguments[0];
    struct cell_rows rows = {0};
    struct listing listing = {0};
    struct result result = {0};
    struct grid grid;
    enum status status = format_check(&options->format);

    if (status == STATUS_OK)
        status = result_read(file, &result);
    if (status == STATUS_OK)
        status = make_columns(&listing, &result, invocation->arguments + 1, invocation->argument_count - 1);
    if (status == STATUS_OK)
        status = cell_rows_open(&result, file, options->cell, &rows);
    if (status != STATUS_OK)
        goto out;
    grid = (struct grid){.columns = listing.columns,
                         .column_count = listing.column_count,
                         .rows = rows.rows,
                         .row_bytes = sizeof(*rows.rows),
                         .raw = options->format.raw};
    for (size_t i = 0; i < rows.count; i++)
        if (is_chosen(options, rows.rows[i].cell))
            rows.rows[grid.row_count++] = rows.rows[i];
    if (grid.row_count == 0)
        status = log_error(STATUS_USAGE, "no such cell in %s; cbank show prints those that it has", file);
    else if (options->format.json)
        status = json_put_owned(stdout, grid_to_json(&grid));
    else if (options->format.csv)
        grid_print_csv(stdout, &grid);
    else
        status = print_text(&grid, &listing, result.modelled_time, options->format.markdown);
out:
    free(listing.columns);
    free(listing.quantities);
    free(listing.names);
    free(rows.rows);
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
