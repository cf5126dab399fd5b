/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

const void *table_row(const struct table *table, size_t index)
{
    return (const char *)table->rows + index * table->row_bytes;
}

const char *table_name(const struct table *table, size_t index)
{
    const char *name;

    memcpy(&name, table_row(table, index), sizeof(name));
    return name;
}

const void *table_find(const struct table *table, const char *name)
{
    for (size_t i = 0; i < *table->count; i++)
        if (strcmp(table_name(table, i), name) == 0)
            return table_row(table, i);
    return NULL;
}

enum { NAME_BYTES_MAX = 128, VALID_BYTES = 8192 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein distance; infinite for names that are too long to compare. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t bytes = strlen(b);
    size_t row[NAME_BYTES_MAX];

    if (bytes >= NAME_BYTES_MAX)
        return (size_t)-1;
    for (size_t j = 0; j <= bytes; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= bytes; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[bytes];
}

const char *table_closest(const struct table *table, const char *name)
{
    const char *closest = NULL;
    size_t distance = (strlen(name) + 1) / 2 + 1;

    for (size_t i = 0; i < *table->count; i++) {
        const size_t d = edit_distance(name, table_name(table, i));

        if (d < distance) {
            distance = d;
            closest = table_name(table, i);
        }
    }
    return closest;
}

enum status table_unknown(const struct table *table, const char *name)
{
    const char *closest = table_closest(table, name);
    char valid[VALID_BYTES] = "";

    for (size_t i = 0; i < *table->count; i++)
        text_join(valid, sizeof(valid), ", ", "%s", table_name(table, i));
    return log_error(STATUS_USAGE, "unknown %s '%s'; %s%s%svalid: %s", table->what, name,
                     closest ? "did you mean '" : "", closest ? closest : "", closest ? "'? " : "", valid);
}

static void select_row(struct selection *selection, const void *row)
{
    for (size_t i = 0; i < selection->count; i++)
        if (selection->rows[i] == row)
            return;
    selection->rows[selection->count++] = row;
}

/* Selects the rows that one name stands for. */
static enum status select_name(const struct table *table, const char *name, struct selection *selection)
{
    const void *row = table_find(table, name);

    if (row) {
        select_row(selection, row);
        return STATUS_OK;
    }
    if (strcmp(name, "all") != 0)
        return table_unknown(table, name);
    for (size_t i = 0; i < *table->count; i++)
        select_row(selection, table_row(table, i));
    return STATUS_OK;
}

enum status table_select(const struct table *table, const char *list, struct selection *out)
{
    struct selection selection = {.rows = calloc(*table->count, sizeof(void *))};
    char *names = strdup(list);
    enum status status = STATUS_OK;

    if (!selection.rows || !names) {
        status = log_memory("names");
        goto out;
    }
    for (char *rest = names, *name; status == STATUS_OK && (name = strsep(&rest, ","));)
        status = select_name(table, name, &selection);
out:
    free(names);
    if (status == STATUS_OK)
        *out = selection;
    else
        selection_close(&selection);
    return status;
}

void selection_close(struct selection *selection)
{
    free(selection->rows);
    *selection = (struct selection){0};
}
