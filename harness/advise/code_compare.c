/* SPDX-License-Identifier: MIT
 * Compares what was said of two files: kernels by their mangled names, whatever the path of their
 * source was, within these tables by name and memory, and loads by their rows. */
#include "code_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code_loads.h"
#include "kernel_name.h"
#include "log.h"
#include "memory.h"
#include "schema.h"
#include "text.h"

/* -- changes of a kernel ----------------------------------------------------------------------- */

/* The two sides of a kernel, and where its changes go. */
struct sides {
    const struct cubin_kernel *before, *after;
    struct code_comparison *out;
};

static enum status add_change(const struct sides *sides, const struct code_change *change)
{
    struct code_comparison *out = sides->out;

    if (!memory_grow(&out->changes, out->change_count, sizeof(*out->changes)))
        return log_memory("the changes of %s", sides->after->name);
    out->changes[out->change_count] = *change;
    out->changes[out->change_count++].kernel = sides->after->readable;
    return STATUS_OK;
}

static enum status compare_usage(const struct sides *sides)
{
    const struct kernel_usage *before = &sides->before->usage, *after = &sides->after->usage;
    const struct {
        const char *name;
        struct optional before, after;
    } rows[] = {
        {"registers", before->registers, after->registers},
        {"bytes of local memory", before->stack_bytes, after->stack_bytes},
        {"loads from local memory", optional_of(before->local_loads),
         optional_of(after->local_loads)},
        {"stores to local memory", optional_of(before->local_stores),
         optional_of(after->local_stores)},
        {"bytes of parameters", before->parameter_bytes, after->parameter_bytes},
        {"bytes of __constant__ variables", before->constant_bytes, after->constant_bytes},
    };
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct code_change change = {.kind = "use",
                                     .before = rows[i].before,
                                     .after = rows[i].after,
                                     .wavefronts_before = NAN,
                                     .wavefronts_after = NAN};

        if (rows[i].before.known == rows[i].after.known &&
            rows[i].before.value == rows[i].after.value)
            continue;
        snprintf(change.name, sizeof(change.name), "%s", rows[i].name);
        status = add_change(sides, &change);
    }
    return status;
}

/* Whether a table has no name, in the same memory as another. */
static bool is_nameless(const struct user_table *table, const struct user_table *like)
{
    return !load_is_named(&table->load) && strcmp(table->load.memory, like->load.memory) == 0;
}

/* Which of the nameless tables in its memory a table is, from 1. */
static size_t number_of(const struct cubin_kernel *kernel, const struct user_table *table)
{
    size_t number = 0;

    for (const struct user_table *t = kernel->tables; t <= table; t++)
        number += is_nameless(t, table);
    return number;
}

/* The table of kernel `counterpart` with the same name in the same memory; of those without a name,
 * with the same number, as where they begin differs among architectures. NULL: there is none. */
static const struct user_table *same_table(const struct cubin_kernel *counterpart,
                                           const struct cubin_kernel *kernel,
                                           const struct user_table *table)
{
    const bool named = load_is_named(&table->load);
    const size_t number = named ? 0 : number_of(kernel, table);

    for (const struct user_table *t = counterpart->tables;
         t < counterpart->tables + counterpart->table_count; t++)
        if (named ? kernel_compare_names(t->load.table, table->load.table) == 0 &&
                        strcmp(t->load.memory, table->load.memory) == 0
                  : is_nameless(t, table) && number_of(counterpart, t) == number)
            return t;
    return NULL;
}

/* The wavefronts of a load of shared memory. NaN: it reads other memory, or they are not known. */
static double wavefronts_of(const struct user_table *table)
{
    return table && strcmp(table->load.memory, "shared") == 0 ? table->counts.wavefronts : NAN;
}

/* Whether both are known and differ. Where one is known, its loads tell what changed. */
static bool wavefronts_differ(const struct user_table *before, const struct user_table *after)
{
    return fabs(wavefronts_of(before) - wavefronts_of(after)) > 1e-6;
}

static bool is_same_verdict(const struct user_table *before, const struct user_table *after)
{
    return strcmp(before->verdict, after->verdict) == 0 &&
           strcmp(before->better ? before->better : "", after->better ? after->better : "") == 0;
}

/* One of both may be NULL. */
static enum status compare_table(const struct sides *sides, const struct user_table *before,
                                 const struct user_table *after)
{
    struct code_change change = {.kind = "table",
                                 .verdict_before = before ? before->verdict : NULL,
                                 .verdict_after = after ? after->verdict : NULL,
                                 .better_before = before ? before->better : NULL,
                                 .better_after = after ? after->better : NULL,
                                 .wavefronts_before = wavefronts_of(before),
                                 .wavefronts_after = wavefronts_of(after)};
    const struct user_access *load = after ? &after->load : &before->load;

    if (before && after && is_same_verdict(before, after) && !wavefronts_differ(before, after))
        return STATUS_OK;
    if (load_is_named(load))
        snprintf(change.name, sizeof(change.name), "%s in %s", load->readable, load->memory);
    else
        snprintf(change.name, sizeof(change.name), "%s memory, array %zu", load->memory,
                 after ? number_of(sides->after, after) : number_of(sides->before, before));
    return add_change(sides, &change);
}

static enum status compare_tables(const struct sides *sides)
{
    enum status status = STATUS_OK;

    for (size_t t = 0; status == STATUS_OK && t < sides->after->table_count; t++)
        status =
            compare_table(sides, same_table(sides->before, sides->after, &sides->after->tables[t]),
                          &sides->after->tables[t]);
    for (size_t t = 0; status == STATUS_OK && t < sides->before->table_count; t++)
        if (!same_table(sides->after, sides->before, &sides->before->tables[t]))
            status = compare_table(sides, &sides->before->tables[t], NULL);
    return status;
}

static enum status add_load(const struct sides *sides, const struct access_row *row,
                            uint32_t before, uint32_t after)
{
    struct code_change change = {.kind = "load",
                                 .before = optional_of(before),
                                 .after = optional_of(after),
                                 .wavefronts_before = NAN,
                                 .wavefronts_after = NAN};

    if (before == after)
        return STATUS_OK;
    text_join(change.name, sizeof(change.name), "", "%s: %s, %s", row->line, row->table,
              row->varies);
    return add_change(sides, &change);
}

/* Takes the rows of `before` that are like a row, and returns their number of instructions. */
static uint32_t take_alike(const struct access_row *row, struct access_row *before, size_t count)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < count; i++)
        if (before[i].count > 0 && access_rows_are_alike(row, &before[i])) {
            sum += before[i].count;
            before[i].count = 0;
        }
    return sum;
}

/* The file of the first line that is known; "": none is. */
static const char *file_of(const struct cubin_kernel *kernel)
{
    for (size_t i = 0; i < kernel->access_count; i++)
        if (kernel->accesses[i].line.known)
            return kernel->accesses[i].file;
    return "";
}

static enum status compare_loads(const struct sides *sides)
{
    const char *file = file_of(sides->before);
    const bool lines = file[0] && strcmp(file, file_of(sides->after)) == 0;
    struct access_row *before = NULL, *after = NULL;
    size_t before_count, after_count;
    enum status status = access_rows(sides->before, NULL, lines, &before, &before_count);

    if (status == STATUS_OK)
        status = access_rows(sides->after, NULL, lines, &after, &after_count);
    for (size_t i = 0; status == STATUS_OK && i < after_count; i++) {
        const uint32_t count =
            after[i].count + take_alike(&after[i], after + i + 1, after_count - i - 1);

        if (after[i].count > 0)
            status = add_load(sides, &after[i], take_alike(&after[i], before, before_count), count);
    }
    for (size_t i = 0; status == STATUS_OK && i < before_count; i++) {
        const uint32_t count =
            before[i].count + take_alike(&before[i], before + i + 1, before_count - i - 1);

        if (before[i].count > 0)
            status = add_load(sides, &before[i], count, 0);
    }
    free(before);
    free(after);
    return status;
}

static enum status compare_kernels(const struct sides *sides)
{
    const size_t changes = sides->out->change_count;
    enum status status = compare_usage(sides);

    if (status == STATUS_OK)
        status = compare_tables(sides);
    if (status == STATUS_OK)
        status = compare_loads(sides);
    sides->out->both++;
    sides->out->changed += sides->out->change_count > changes;
    return status;
}

/* -- pairs of kernels -------------------------------------------------------------------------- */

/* The kernels of a file that have no counterpart yet. */
struct unpaired {
    const struct cubin_kernel **kernels; /* owned */
    size_t count;
};

static int by_name(const void *left, const void *right)
{
    const struct cubin_kernel *const *a = left, *const *b = right;
    const int order = strcmp((*a)->name, (*b)->name);

    return order != 0 ? order : (*a > *b) - (*a < *b);
}

static int by_name_in_any_file(const void *left, const void *right)
{
    const struct cubin_kernel *const *a = left, *const *b = right;
    const int order = kernel_compare_names((*a)->name, (*b)->name);

    return order != 0 ? order : by_name(left, right);
}

/* Out of memory: false, logged. */
static bool take_kernels(const struct user_code *code, struct unpaired *out)
{
    out->kernels = calloc(code->count + 1, sizeof(const struct cubin_kernel *));
    if (!out->kernels) {
        log_memory("the kernels of %s", code->path);
        return false;
    }
    for (size_t i = 0; i < code->count; i++)
        out->kernels[out->count++] = &code->kernels[i];
    return true;
}

/* How many kernels from a place on have the name of the first. */
static size_t namesakes(const struct unpaired *list, size_t from,
                        int (*compare)(const char *, const char *))
{
    size_t count = 1;

    while (from + count < list->count &&
           compare(list->kernels[from]->name, list->kernels[from + count]->name) == 0)
        count++;
    return count;
}

/* Pairs kernels of one name. Both lists are sorted by `compare`, and lose what is paired. Kernels
 * that share a name are paired in order; where `alone`, they are paired only if each list has one.
 * pairs[i]: the kernel of `before` for kernel i of the other file, whose first is `first`. */
static void pair_kernels(struct unpaired *before, struct unpaired *after,
                         int (*compare)(const char *, const char *), bool alone,
                         const struct cubin_kernel **pairs, const struct cubin_kernel *first)
{
    const struct unpaired from = *before, to = *after;
    size_t b = 0, a = 0;

    before->count = after->count = 0;
    while (b < from.count || a < to.count) {
        const int order = b == from.count ? 1
                          : a == to.count ? -1
                                          : compare(from.kernels[b]->name, to.kernels[a]->name);
        size_t b_end = b + (order <= 0 ? namesakes(&from, b, compare) : 0);
        size_t a_end = a + (order >= 0 ? namesakes(&to, a, compare) : 0);

        if (!alone || (b_end - b == 1 && a_end - a == 1))
            while (b < b_end && a < a_end)
                pairs[to.kernels[a++] - first] = from.kernels[b++];
        while (b < b_end)
            before->kernels[before->count++] = from.kernels[b++];
        while (a < a_end)
            after->kernels[after->count++] = to.kernels[a++];
    }
}

static enum status add_lone(struct code_comparison *out, const struct unpaired *list, bool before)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!memory_grow(&out->lone, out->lone_count, sizeof(*out->lone)))
            return log_memory("the kernels of two files");
        out->lone[out->lone_count++] = (struct lone_kernel){list->kernels[i]->readable, before};
    }
    return STATUS_OK;
}

/* First by their names, then what is left by names that leave out in which file they are. */
static enum status pair_files(struct code_comparison *out, const struct cubin_kernel **pairs)
{
    struct unpaired before = {0}, after = {0};
    enum status status = STATUS_ENVIRONMENT;

    if (take_kernels(out->before, &before) && take_kernels(out->after, &after)) {
        const size_t bytes = sizeof(const struct cubin_kernel *);

        qsort(before.kernels, before.count, bytes, by_name);
        qsort(after.kernels, after.count, bytes, by_name);
        pair_kernels(&before, &after, strcmp, false, pairs, out->after->kernels);
        qsort(before.kernels, before.count, bytes, by_name_in_any_file);
        qsort(after.kernels, after.count, bytes, by_name_in_any_file);
        pair_kernels(&before, &after, kernel_compare_names, true, pairs, out->after->kernels);
        status = add_lone(out, &before, true);
        if (status == STATUS_OK)
            status = add_lone(out, &after, false);
    }
    free(before.kernels);
    free(after.kernels);
    return status;
}

enum status code_comparison_open(const struct user_code *before, const struct user_code *after,
                                 struct code_comparison *out)
{
    const struct cubin_kernel **pairs = calloc(after->count + 1, sizeof(*pairs));
    enum status status;

    *out = (struct code_comparison){.before = before, .after = after};
    status = pairs ? pair_files(out, pairs) : log_memory("the kernels of two files");
    for (size_t i = 0; status == STATUS_OK && i < after->count; i++) {
        const struct sides sides = {pairs[i], &after->kernels[i], out};

        if (pairs[i])
            status = compare_kernels(&sides);
    }
    if (status == STATUS_OK && out->both == 0)
        status = log_error(STATUS_ENVIRONMENT,
                           "no kernel is in both %s and %s: there is nothing to compare; kernels "
                           "are matched by their mangled names",
                           after->path, before->path);
    free(pairs);
    if (status != STATUS_OK)
        code_comparison_close(out);
    return status;
}

void code_comparison_close(struct code_comparison *comparison)
{
    free(comparison->changes);
    free(comparison->lone);
    *comparison = (struct code_comparison){0};
}

/* -- document ---------------------------------------------------------------------------------- */

#define COUNT_OR_NULL "\"type\": [\"integer\", \"null\"], " AT_LEAST(0)

static const struct field change_fields[] = {
    {FIELD(field_reference, struct code_change, "kernel", kernel, REQUIRED)},
    {FIELD(field_reference, struct code_change, "kind", kind, REQUIRED),
     .about = "use: of registers, local memory and constant banks",
     .rules = "\"enum\": [\"use\", \"table\", \"load\"]"},
    {FIELD(field_text, struct code_change, "name", name, REQUIRED)},
    {FIELD(field_optional, struct code_change, "before", before, NULLABLE),
     .about = "of a load: instructions", .rules = COUNT_OR_NULL},
    {FIELD(field_optional, struct code_change, "after", after, NULLABLE), .rules = COUNT_OR_NULL},
    {FIELD(field_reference, struct code_change, "verdict_before", verdict_before, NULLABLE),
     .about = "of a table; null: the older file has none of this name"},
    {FIELD(field_reference, struct code_change, "verdict_after", verdict_after, NULLABLE)},
    {FIELD(field_reference, struct code_change, "better_before", better_before, NULLABLE)},
    {FIELD(field_reference, struct code_change, "better_after", better_after, NULLABLE)},
    {FIELD(field_number, struct code_change, "wavefronts_before", wavefronts_before, NULLABLE),
     .about = "of a load, in the mean, of an array of shared memory"},
    {FIELD(field_number, struct code_change, "wavefronts_after", wavefronts_after, NULLABLE)},
};
static const struct objects changes =
    OBJECTS_OF(change_fields, struct code_change, struct code_comparison, change_count);

static const struct field lone_fields[] = {
    {FIELD(field_reference, struct lone_kernel, "kernel", name, REQUIRED)},
    {FIELD(field_bool, struct lone_kernel, "before", before, REQUIRED),
     .about = "the older file has it"},
};
static const struct objects lone =
    OBJECTS_OF(lone_fields, struct lone_kernel, struct code_comparison, lone_count);

static const struct field older_fields[] = {
    {FIELD(field_reference, struct user_code, "file", path, REQUIRED), .about = "the older one"},
    {FIELD(field_uint32, struct user_code, "architecture", architecture, REQUIRED)},
};
static const struct fields older = FIELDS(older_fields);

static const struct field comparison_fields[] = {
    {FIELD(field_pointer, struct code_comparison, NULL, before, REQUIRED), .fields = &older},
    {FIELD(field_list, struct code_comparison, "changes", changes, REQUIRED), .elements = &changes},
    {FIELD(field_list, struct code_comparison, "only_in_one", lone, REQUIRED), .elements = &lone},
};
const struct fields code_comparison_fields = FIELDS(comparison_fields);
