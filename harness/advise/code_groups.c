/* SPDX-License-Identifier: MIT
 * Puts kernels of one template, and the tables of kernels, together. */
#include "code_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_name.h"
#include "log.h"
#include "memory.h"

/* -- kernels ----------------------------------------------------------------------------------- */

/* A kernel, to be sorted by the name that it shares. */
struct member {
    const char *name;
    size_t bytes; /* of the name, that are shared */
    size_t kernel, first; /* first: of the kernels that share it */
};

static int compare_names(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const size_t bytes = a->bytes < b->bytes ? a->bytes : b->bytes;
    const int order = strncmp(a->name, b->name, bytes);

    if (order != 0)
        return order;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->kernel < b->kernel ? -1 : 1;
}

static int compare_places(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->kernel < b->kernel ? -1 : 1;
}

enum status kernel_groups_open(const struct user_code *code, struct kernel_groups *out)
{
    struct member *members = calloc(code->count + 1, sizeof(*members));
    enum status status = STATUS_OK;

    *out = (struct kernel_groups){.members = calloc(code->count + 1, sizeof(*out->members))};
    if (!members || !out->members)
        status = log_memory("the kernels of %s", code->path);
    for (size_t i = 0; status == STATUS_OK && i < code->count; i++)
        members[i] =
            (struct member){code->kernels[i].name, kernel_base_bytes(code->kernels[i].name), i, i};
    if (status == STATUS_OK)
        qsort(members, code->count, sizeof(*members), compare_names);
    for (size_t i = 1; status == STATUS_OK && i < code->count; i++)
        if (members[i].bytes == members[i - 1].bytes &&
            memcmp(members[i].name, members[i - 1].name, members[i].bytes) == 0)
            members[i].first = members[i - 1].first;
    if (status == STATUS_OK)
        qsort(members, code->count, sizeof(*members), compare_places);
    for (size_t i = 0; status == STATUS_OK && i < code->count; i++) {
        if (members[i].first == members[i].kernel) {
            if (!memory_grow(&out->groups, out->count, sizeof(*out->groups))) {
                status = log_memory("the kernels of %s", code->path);
                break;
            }
            out->groups[out->count] = (struct kernel_group){.first = i};
            kernel_base_name(members[i].name, out->groups[out->count].name, GROUP_NAME_BYTES);
            out->count++;
        }
        out->members[i] = members[i].kernel;
        out->groups[out->count - 1].count++;
    }
    free(members);
    if (status != STATUS_OK)
        kernel_groups_close(out);
    return status;
}

void kernel_groups_close(struct kernel_groups *groups)
{
    free(groups->groups);
    free(groups->members);
    *groups = (struct kernel_groups){0};
}

/* -- words ------------------------------------------------------------------------------------- */

/* The number of a condition; that of all where it is none of them. */
static size_t condition_number(const struct conditions *conditions, const char *text)
{
    size_t number = 0;

    while (number < conditions->count && strcmp(conditions->texts[number], text) != 0)
        number++;
    return number;
}

static void conditions_add(struct conditions *conditions, const char *text)
{
    if (text && conditions->count < CONDITIONS_MAX &&
        condition_number(conditions, text) == conditions->count)
        conditions->texts[conditions->count++] = text;
}

void conditions_find(const struct user_code *code, struct conditions *out)
{
    *out = (struct conditions){0};
    for (size_t k = 0; k < code->count; k++)
        for (size_t i = 0; i < code->kernels[k].access_count; i++)
            conditions_add(out, code->kernels[k].accesses[i].condition);
}

const char *condition_mark(const struct conditions *conditions, const char *text)
{
    static const char *const marks[CONDITIONS_MAX + 1] = {" *", " **", " ***", " ?"};

    return text && conditions ? marks[condition_number(conditions, text)] : "";
}

/* Of memory that has no name. */
static const char offset_word[] = "offset ";

bool load_is_named(const struct user_access *load)
{
    return load->table[0] && strncmp(load->table, offset_word, strlen(offset_word)) != 0;
}

void load_table_name(const struct user_access *load, char *out, size_t bytes)
{
    if (load_is_named(load))
        snprintf(out, bytes, "%s", load->readable);
    else if (load->table[0])
        snprintf(out, bytes, "%s memory at %s", load->memory, load->table + strlen(offset_word));
    else if (strcmp(load->memory, "compiler") == 0)
        snprintf(out, bytes, "(the compiler's own)");
    else
        snprintf(out, bytes, "%s memory", load->memory);
}

/* -- tables ------------------------------------------------------------------------------------ */

const struct verdict_words verdict_words[VERDICT_WORDS] = {
    {"faster elsewhere", "would be faster elsewhere", "would be faster elsewhere", true},
    {"depends", "depends on which loads run most", "depend on which loads run most", true},
    {"bank conflicts", "has bank conflicts", "have bank conflicts", true},
    {"uncoalesced", "is uncoalesced", "are uncoalesced", true},
    {"cannot tell", "cannot be told", "cannot be told", false},
    {"as it should be", "is as it should be", "are as they should be", false},
    {"no table", "is an image", "are images", false},
};

static const struct verdict_words *words_of(const struct user_table *table)
{
    const struct verdict_words *row = verdict_words;

    while (row < verdict_words + VERDICT_WORDS - 1 && strcmp(row->verdict, table->verdict) != 0)
        row++;
    return row;
}

/* A table of a kernel, to be sorted. */
struct item {
    const struct user_table *table;
    const struct verdict_words *verdict;
    size_t group;
    bool declared;
};

/* Whether two are of one table: 0. */
static int compare_tables(const struct item *a, const struct item *b)
{
    int order;

    if (a->declared != b->declared)
        return a->declared ? -1 : 1;
    if (!a->declared && a->group != b->group)
        return a->group < b->group ? -1 : 1;
    order = strcmp(a->table->load.table, b->table->load.table);
    return order != 0 ? order : strcmp(a->table->load.memory, b->table->load.memory);
}

/* Whether two tables of one verdict are told alike: 0. Where there is something to do, reasons have
 * numbers, and what to do is the same. */
static int compare_told(const struct item *a, const struct item *b)
{
    if (a->verdict->open)
        return strcmp(a->table->better ? a->table->better : "",
                      b->table->better ? b->table->better : "");
    return strcmp(a->table->why, b->table->why);
}

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    const int order = compare_tables(a, b);

    if (order != 0)
        return order;
    if (a->verdict != b->verdict)
        return a->verdict < b->verdict ? -1 : 1;
    if (compare_told(a, b) != 0)
        return compare_told(a, b);
    return (a->group > b->group) - (a->group < b->group);
}

/* The least gain; 0 where none is known. */
static double gain_of(const struct user_table *table)
{
    return table->better && table->low > 0 ? table->low : 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct table_row *a = left, *b = right;
    const double a_gain = gain_of(a->table), b_gain = gain_of(b->table);
    int order;

    if (a->verdict != b->verdict)
        return a->verdict < b->verdict ? -1 : 1;
    if (a->declared != b->declared)
        return a->declared ? -1 : 1;
    if (a_gain != b_gain)
        return a_gain > b_gain ? -1 : 1;
    order = strcmp(a->table->why, b->table->why);
    if (order != 0)
        return order;
    if (a->kernels != b->kernels)
        return a->kernels > b->kernels ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

static void add_item(struct table_row *row, const struct item *item, size_t group_before)
{
    const double addresses = item->table->counts.addresses;

    row->reasons_differ |= strcmp(row->table->why, item->table->why) != 0;
    conditions_add(&row->conditions, item->table->load.condition);
    if (gain_of(item->table) > gain_of(row->table))
        row->table = item->table;
    row->kernels++;
    row->groups += item->group != group_before;
    /* Where one is not known, the range is not. */
    row->addresses_low = addresses < row->addresses_low ? addresses : row->addresses_low;
    row->addresses_high = addresses > row->addresses_high ? addresses : row->addresses_high;
    if (isnan(addresses))
        row->addresses_low = row->addresses_high = NAN;
}

/* Marks the worst of the rows of one table, which are those from `first` on. The verdict of the
 * first row has most to do. Of that verdict, the row with the greatest gain is the worst. */
static void mark_worst(struct table_rows *out, size_t first)
{
    struct table_row *worst = &out->rows[first];

    for (size_t i = first + 1; i < out->count; i++)
        if (out->rows[i].verdict == worst->verdict &&
            gain_of(out->rows[i].table) > gain_of(worst->table))
            worst = &out->rows[i];
    worst->worst = true;
}

/* Makes the rows of sorted items. */
static enum status merge_items(const struct item *items, size_t count, struct table_rows *out)
{
    size_t first = 0; /* row of a table */

    for (size_t i = 0; i < count; i++) {
        const struct item *item = &items[i];
        const bool same = i > 0 && compare_tables(item - 1, item) == 0;

        if (!same && i > 0) {
            mark_worst(out, first);
            first = out->count;
        }
        if (!same || item[-1].verdict != item->verdict || compare_told(item - 1, item) != 0) {
            if (!memory_grow(&out->rows, out->count, sizeof(*out->rows)))
                return log_memory("the tables of a file");
            out->rows[out->count++] =
                (struct table_row){.table = item->table,
                                   .verdict = item->verdict,
                                   .group = item->group,
                                   .addresses_low = item->table->counts.addresses,
                                   .addresses_high = item->table->counts.addresses,
                                   .declared = item->declared};
            add_item(&out->rows[out->count - 1], item, SIZE_MAX);
        } else {
            add_item(&out->rows[out->count - 1], item, item[-1].group);
        }
    }
    if (count > 0)
        mark_worst(out, first);
    return STATUS_OK;
}

enum status table_rows_open(const struct user_code *code, const struct kernel_groups *groups,
                            struct table_rows *out)
{
    struct item *items;
    size_t count = 0;
    enum status status = STATUS_OK;

    *out = (struct table_rows){0};
    for (size_t k = 0; k < code->count; k++)
        count += code->kernels[k].table_count;
    items = calloc(count + 1, sizeof(*items));
    if (!items)
        return log_memory("the tables of %s", code->path);
    count = 0;
    for (size_t g = 0; g < groups->count; g++)
        for (size_t m = 0; m < groups->groups[g].count; m++) {
            const struct cubin_kernel *kernel =
                &code->kernels[groups->members[groups->groups[g].first + m]];

            for (size_t t = 0; t < kernel->table_count; t++) {
                const struct user_table *table = &kernel->tables[t];

                items[count++] =
                    (struct item){table, words_of(table), g, table->load.table_bytes.known};
            }
        }
    qsort(items, count, sizeof(*items), compare_items);
    status = merge_items(items, count, out);
    free(items);
    if (status != STATUS_OK)
        table_rows_close(out);
    else if (out->count > 0)
        qsort(out->rows, out->count, sizeof(*out->rows), compare_rows);
    return status;
}

void table_rows_close(struct table_rows *rows)
{
    free(rows->rows);
    *rows = (struct table_rows){0};
}
