/* SPDX-License-Identifier: MIT
 * Finding, suggesting and selecting rows by name. A row of any table begins with its name, so only
 * the size of a row is needed. An unknown name suggests the nearest one, within two edits. */
#include "table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

const void *table_row(const struct table *table, size_t index)
{
    return (const char *)table->rows + index * table->row_bytes;
}

static const char *table_name(const struct table *table, size_t index)
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

enum status table_unknown(const struct table *table, const char *name)
{
    const char *near = NULL; /* the name that was meant */
    size_t least = 3;        /* its edits: two letters may be wrong, but not every one */
    char valid[8192] = "";

    for (size_t i = 0; i < *table->count; i++) {
        const char *row = table_name(table, i);
        const size_t edits =
            strlen(name) > 2 && strncmp(row, name, strlen(name)) == 0 ? 1 : text_edits(name, row);

        text_join(valid, sizeof(valid), ", ", "%s", row);
        if (edits < least && edits < strlen(name)) {
            near = row;
            least = edits;
        }
    }
    if (table->also)
        text_join(valid, sizeof(valid), ", ", "%s", table->also);
    return log_error(STATUS_USAGE, "unknown %s '%s'; valid: %s%s%s%s", table->what, name, valid,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Adds the row, or with NULL every row; each once. */
static void add_rows(struct selection *selection, const struct table *table, const void *row)
{
    for (size_t i = 0, k; i < *table->count; i++) {
        for (k = 0; k < selection->count && selection->rows[k] != table_row(table, i);)
            k++;
        if (k == selection->count && (!row || table_row(table, i) == row))
            selection->rows[selection->count++] = table_row(table, i);
    }
}

/* Adds the rows of a list, which is changed. There is room for all rows of the table. */
static enum status add_names(struct selection *selection, const struct table *table, char *list)
{
    for (char *name; (name = strsep(&list, ","));) {
        const void *row = table_find(table, name);

        if (!row && strcmp(name, "all") != 0)
            return table_unknown(table, name);
        add_rows(selection, table, row);
    }
    return STATUS_OK;
}

enum status table_select(const struct table *table, const char *list, struct selection *out)
{
    struct selection selection = {.rows = calloc(*table->count, sizeof(void *))};
    char *names = strdup(list);
    const enum status status =
        selection.rows && names ? add_names(&selection, table, names) : log_memory("names");

    free(names);
    if (status != STATUS_OK) {
        selection_close(&selection);
        return status;
    }
    *out = selection;
    return STATUS_OK;
}

void selection_close(struct selection *selection)
{
    free(selection->rows);
    *selection = (struct selection){0};
}
