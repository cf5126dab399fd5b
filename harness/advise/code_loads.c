/* SPDX-License-Identifier: MIT
 * The loads of each kernel as text: how the addresses of each vary, and how many there are of each
 * kind. Instances of a template with one text are printed once. */
#include "code_loads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "log.h"
#include "memory.h"
#include "text.h"

#define LOAD(kind, name) .value = kind, .member = GRID_MEMBER(struct user_load, name)

static const struct grid_column columns[] = {
    {.key = "load", .heading = "load", LOAD(grid_array, name), .head = true},
    {.key = "count", .heading = "number", .format = text_count, LOAD(grid_integer, count)},
    {.key = "in_loops", .heading = "in loops", .format = text_count, LOAD(grid_optional, in_loops)},
};

#define ACCESS(kind, name) .value = kind, .member = GRID_MEMBER(struct access_row, name)

static const struct grid_column access_columns[] = {
    {.key = "table", .heading = "table", ACCESS(grid_array, table), .head = true},
    {.key = "line", .heading = "load", ACCESS(grid_array, line)},
    {.key = "varies", .heading = "address", ACCESS(grid_array, varies), .below = true},
    {.key = "count", .heading = "number", .format = text_count, ACCESS(grid_integer, count)},
};

/* -- rows -------------------------------------------------------------------------------------- */

static void fill_row(const struct user_access *access, const struct conditions *conditions,
                     bool lines, struct access_row *row)
{
    *row = (struct access_row){.count = 1};
    snprintf(row->line, sizeof(row->line), "%s", access->instruction);
    if (lines && access->line.known)
        text_join(row->line, sizeof(row->line), ", ",
                  access->file[0] ? "%s:%" PRIu64 : "%sline %" PRIu64, access->file,
                  access->line.value);
    if (conditions || load_is_named(access))
        load_table_name(access, row->table, sizeof(row->table));
    else
        snprintf(row->table, sizeof(row->table), "%s memory", access->memory);
    snprintf(row->varies, sizeof(row->varies),
             access->stride_bytes ? "%s, %" PRId64 " %s apart" : "%s",
             variation_names.names[access->variation], access->stride_bytes,
             access->stride_bytes == 1 ? "byte" : "bytes");
    if (access->variation >= VARIATION_THREAD && access->addresses.known)
        text_join(row->varies, sizeof(row->varies), ", ", "%" PRIu64 " addresses",
                  access->addresses.value);
    text_join(row->varies, sizeof(row->varies), "", "%s",
              condition_mark(conditions, access->condition));
}

bool access_rows_are_alike(const struct access_row *a, const struct access_row *b)
{
    return strcmp(a->line, b->line) == 0 && strcmp(a->table, b->table) == 0 &&
           strcmp(a->varies, b->varies) == 0;
}

enum status access_rows(const struct cubin_kernel *kernel, const struct conditions *conditions,
                        bool lines, struct access_row **rows, size_t *count)
{
    enum { NEAR = 64 }; /* rows: loads of unrolled rounds alternate */

    *count = 0;
    *rows = calloc(kernel->access_count + 1, sizeof(**rows));
    if (!*rows)
        return log_memory("the loads of %s", kernel->name);
    for (size_t i = 0; i < kernel->access_count; i++) {
        struct access_row *row = &(*rows)[*count];
        struct access_row *like = *count > NEAR ? row - NEAR : *rows;

        fill_row(&kernel->accesses[i], conditions, lines, row);
        while (like < row && !access_rows_are_alike(like, row))
            like++;
        like->count += like < row;
        *count += like == row;
    }
    return STATUS_OK;
}

/* -- text -------------------------------------------------------------------------------------- */

/* Prints the loads of a kernel, for all instances of its template that have the same loads. */
static enum status print_kernel(FILE *stream, const struct cubin_kernel *kernel,
                                const struct conditions *conditions, const struct print_style *look)
{
    const struct grid kinds = {GRID_COLUMNS(columns), GRID_ROWS(kernel->loads, kernel->load_count)};
    struct access_row *rows;
    struct grid accesses = {GRID_COLUMNS(access_columns), .stack = true};
    size_t count;
    enum status status = access_rows(kernel, conditions, true, &rows, &count);

    accesses.rows = rows;
    accesses.row_count = count;
    accesses.row_bytes = sizeof(*rows);
    if (status == STATUS_OK)
        status = grid_print(stream, &accesses, look);
    fputs(count > 0 && kernel->load_count > 0 ? "\n" : "", stream);
    if (status == STATUS_OK)
        status = grid_print(stream, &kinds, look);
    if (kernel->calls_out)
        advise_put(stream, look,
                   "it calls functions whose code is elsewhere: their loads are not counted");
    free(rows);
    return status;
}

/* Registers and local memory of one kernel. */
static void print_usage(FILE *stream, const struct kernel_usage *usage,
                        const struct print_style *look)
{
    char line[256] = "";

    if (usage->registers.known)
        text_join(line, sizeof(line), "", "%" PRIu64 " registers; ", usage->registers.value);
    if (usage->stack_bytes.known)
        text_join(line, sizeof(line), "", "%" PRIu64 " bytes of local memory",
                  usage->stack_bytes.value);
    else
        text_join(line, sizeof(line), "", "local memory");
    advise_put(stream, look, "%s, %" PRIu32 " loads and %" PRIu32 " stores there", line,
               usage->local_loads, usage->local_stores);
}

/* A text of loads, and the kernels that have it. */
struct variant {
    char *text; /* owned */
    const struct cubin_kernel *kernel; /* the first */
    size_t count;
};

/* Makes the text of a kernel, and adds it to those of the group. */
static enum status add_variant(const struct cubin_kernel *kernel,
                               const struct conditions *conditions, const struct print_style *look,
                               struct variant **variants, size_t *count)
{
    struct memory memory;
    FILE *stream = memory_open(&memory);
    enum status status = stream ? print_kernel(stream, kernel, conditions, look) : STATUS_OK;

    if (!memory_close(&memory, stream))
        status = log_memory("the loads of %s", kernel->name);
    for (size_t i = 0; status == STATUS_OK && i < *count; i++)
        if (strcmp((*variants)[i].text, memory.text) == 0) {
            (*variants)[i].count++;
            free(memory.text);
            return STATUS_OK;
        }
    if (status == STATUS_OK && !memory_grow(variants, *count, sizeof(**variants)))
        status = log_memory("the loads of %s", kernel->name);
    if (status == STATUS_OK)
        (*variants)[(*count)++] = (struct variant){memory.text, kernel, 1};
    else
        free(memory.text);
    return status;
}

static enum status print_group(FILE *stream, const struct user_code *code,
                               const struct kernel_groups *groups, const struct kernel_group *group,
                               const struct conditions *conditions, const struct print_style *look)
{
    struct variant *variants = NULL;
    size_t count = 0;
    enum status status = STATUS_OK;

    for (size_t m = 0; status == STATUS_OK && m < group->count; m++)
        status = add_variant(&code->kernels[groups->members[group->first + m]], conditions, look,
                             &variants, &count);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        struct text_wrap wrap = {.stream = stream, .width = look->width, .indent = 4};

        fputc('\n', stream);
        text_wrap(&wrap, "kernel ");
        text_wrap(&wrap, variants[i].kernel->readable);
        fputc('\n', stream);
        if (variants[i].count > 1)
            advise_put(stream, look, "and %zu more of %s, whose loads are alike",
                       variants[i].count - 1, group->name);
        else
            print_usage(stream, &variants[i].kernel->usage, look);
        fputs(variants[i].text, stream);
    }
    for (size_t i = 0; i < count; i++)
        free(variants[i].text);
    free(variants);
    return status;
}

/* Whether loads are of a row of kinds. Two rows may have one sentence, and two names begin alike.
 */
static bool is_of_row(const struct user_load *load, const struct load_row *row)
{
    return load->means == row->means && strncmp(load->name, row->before, strlen(row->before)) == 0;
}

/* Says what the kinds of loads are that the kernels have. */
static void print_kinds(FILE *stream, const struct user_code *code, const struct print_style *look)
{
    bool there[LOAD_ROWS] = {false};

    for (size_t k = 0; k < code->count; k++)
        for (size_t i = 0; i < code->kernels[k].load_count; i++)
            for (size_t row = 0; row < LOAD_ROWS; row++)
                there[row] |= is_of_row(&code->kernels[k].loads[i], &load_rows[row]);
    fputc('\n', stream);
    for (size_t row = 0; row < LOAD_ROWS; row++)
        if (there[row])
            advise_put(stream, look, "%s%s: %s", load_rows[row].before, load_rows[row].behind,
                       load_rows[row].means);
}

enum status code_loads_print(FILE *stream, const struct user_code *code,
                             const struct kernel_groups *groups,
                             const struct conditions *conditions, const struct print_style *look)
{
    enum status status = STATUS_OK;

    for (size_t g = 0; status == STATUS_OK && g < groups->count; g++)
        status = print_group(stream, code, groups, &groups->groups[g], conditions, look);
    if (status == STATUS_OK && code->count > 0)
        print_kinds(stream, code, look);
    return status;
}
