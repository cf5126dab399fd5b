/* SPDX-License-Identifier: MIT
 * The loads of the user's kernels, as text and as a part of the document. */
#include <inttypes.h>

#include "advise.h"
#include "field.h"
#include "text_print.h"
#include "user_code.h"

/* -- text ---------------------------------------------------------------------------------------------- */

static void count_value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const struct user_load *load = row;

    if (column->of || load->loops_known)
        out->number = column->of ? load->count : load->in_loops;
}

static bool means_note(const void *row, size_t index, char *out, size_t bytes)
{
    const struct user_load *load = row;

    snprintf(out, bytes, "%s", load->means);
    return index == 0 && !load->said;
}

static const bool all = true;

/* The last ones are for JSON. */
enum { TEXT_COLUMNS = 5 };

#define LOAD(kind, member) .value = kind, .of = GRID_MEMBER(struct user_load, member)

static const struct grid_column columns[] = {
    {.key = "load", .heading = "load", LOAD(grid_array, name), .head = true},
    {.key = "count", .heading = "number", .format = text_count, .value = count_value, .of = &all},
    {.key = "in_loops", .heading = "in loops", .format = text_count, .value = count_value},
    {.key = "place", .heading = "place", LOAD(grid_text, place)},
    {.key = "standing", .heading = "", LOAD(grid_text, standing)},
    {.key = "width_bytes", .format = text_count, LOAD(grid_integer, bytes)},
    {.key = "relative", .format = text_ratio, LOAD(grid_number, relative)},
    {.key = "means", LOAD(grid_text, means)},
};

static struct grid grid_of(const struct user_kernel *kernel, size_t column_count)
{
    return (struct grid){.columns = columns,
                         .column_count = column_count,
                         .rows = kernel->loads,
                         .row_count = kernel->load_count,
                         .row_bytes = sizeof(*kernel->loads),
                         .note = means_note};
}

enum status advise_print_code(FILE *stream, const struct advice *advice, const struct print_style *look)
{
    const struct user_code *code = advice->code;
    const struct card *card = &advice->card;
    enum status status = STATUS_OK;

    if (!code)
        return status;
    fputc('\n', stream);
    advise_put(stream, look, "code: %s, sm_%" PRIu32, code->path, code->architecture);
    if (code->architecture / 10 != card->cc_major || code->architecture % 10 > card->cc_minor)
        advise_put(stream, look,
                   "%s does not run it: loads are counted as they are, places compared by times of %s; compile with "
                   "-arch=sm_%" PRIu32 "%" PRIu32 ", or name the card of its chip with --card",
                   card->name, card->name, card->cc_major, card->cc_minor);
    for (size_t i = 0; status == STATUS_OK && i < code->count; i++) {
        const struct user_kernel *kernel = &code->kernels[i];
        const struct grid grid = grid_of(kernel, TEXT_COLUMNS);

        fputc('\n', stream);
        advise_put(stream, look, "kernel %s", kernel->name);
        status = grid_print(stream, &grid, look);
        if (kernel->calls_out)
            advise_put(stream, look, "it calls functions whose code is not in its own: what those load is not counted");
        advise_put(stream, look, "verdict: %s", kernel->verdict);
    }
    return status;
}

/* -- document ------------------------------------------------------------------------------------------ */

static void write_loads(cJSON *object, const struct field *field, const void *base)
{
    const struct grid grid = grid_of(base, sizeof(columns) / sizeof(columns[0]));

    json_add(object, field->key, grid_to_json(&grid));
}

static const struct field_kind kind_loads = {write_loads, NULL};

static const struct field kernel_fields[] = {
    {FIELD(field_reference, struct user_kernel, "name", name, REQUIRED)},
    {.key = "loads", .kind = &kind_loads},
    {FIELD(field_bool, struct user_kernel, "calls_out", calls_out, REQUIRED)},
    {FIELD(field_reference, struct user_kernel, "standing", standing, NULLABLE)},
    {FIELD(field_text, struct user_kernel, "verdict", verdict, REQUIRED)},
};
static const struct objects kernels = OBJECTS_OF(kernel_fields, struct user_kernel, struct user_code, count);

static const struct field code_fields[] = {
    {FIELD(field_reference, struct user_code, "file", path, REQUIRED)},
    {FIELD(field_uint32, struct user_code, "architecture", architecture, REQUIRED)},
    {FIELD(field_list, struct user_code, "kernels", kernels, REQUIRED), .of = &kernels},
};
const struct fields user_code_fields = FIELDS(code_fields);
