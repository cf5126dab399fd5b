/* SPDX-License-Identifier: MIT
 * Any document as a table, by a row that lists its keys: a list of objects becomes lines, a path
 * such as "ratio.value" a column, whose unit is the ending of the key. */
#include "show_document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "log.h"

enum {
    ROWS_MAX = 30, /* of a screen: the numbers of a card, the cells of the default plan */
    COLUMNS_MAX = 12,
    PAIR = 2, /* a name and what is said of it, which is not left out */
    KEY_BYTES = 64,
    WHOLE_DIGITS_MAX = 15, /* of a number that is shown with all digits */
};

/* Numbers of keys that end so are shown in a unit. */
static const struct {
    const char *end;
    grid_format *format;
} formats[] = {{"_ns", text_time}, {"change", text_change}};

/* An element of a list, and the document's value of a key in it. */
struct shown_row {
    const cJSON *item;
    double order;
};

/* The keys of a list or of the facts. */
struct keys {
    char text[GRID_TEXT_BYTES];
    const char *items[COLUMNS_MAX], *headings[COLUMNS_MAX];
    size_t count;
};

static void keys_of(const char *text, struct keys *out)
{
    char *rest = out->text, *key;

    out->count = 0;
    snprintf(out->text, sizeof(out->text), "%s", text);
    while (out->count < COLUMNS_MAX && (key = strsep(&rest, " "))) {
        out->items[out->count] = strsep(&key, "=");
        out->headings[out->count] = key ? key : out->items[out->count];
        out->count++;
    }
}

/* The first key of a path, "ratio" of "ratio.value"; returns the rest. */
static const char *first_key(const char *path, char key[KEY_BYTES])
{
    const size_t bytes = strcspn(path, ".");

    snprintf(key, KEY_BYTES, "%.*s", (int)bytes, path);
    return path + bytes + (path[bytes] == '.');
}

/* The value of a path in an object; NULL if there is none. */
static const cJSON *value_at(const cJSON *item, const char *path)
{
    char key[KEY_BYTES];

    while (item && *path) {
        path = first_key(path, key);
        item = json_get(item, key);
    }
    return item;
}

static void number_text(double value, char out[TEXT_NUMBER_BYTES])
{
    const bool whole = value == floor(value) && fabs(value) < pow(10, WHOLE_DIGITS_MAX);

    snprintf(out, TEXT_NUMBER_BYTES, whole ? "%.0f" : "%.5g", value);
}

static void value(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const cJSON *item = ((const struct shown_row *)row)->item;
    const bool named = strcmp(column->key, "@") == 0;
    const cJSON *found = named ? NULL : value_at(item, column->key);

    if (named)
        out->text = item->string;
    else if (cJSON_IsNumber(found) && column->format)
        out->number = found->valuedouble;
    else if (cJSON_IsBool(found))
        out->text = cJSON_IsTrue(found) ? "yes" : "no";
    else if (cJSON_IsString(found))
        out->text = found->valuestring;
    else if (cJSON_IsNumber(found) || cJSON_IsArray(found)) { /* of an array the length */
        number_text(cJSON_IsArray(found) ? cJSON_GetArraySize(found) : found->valuedouble,
                    out->room);
        out->text = out->room;
    }
}

/* The format of a column of numbers; NULL for texts. */
static grid_format *format_of(const char *key, const struct shown_row *rows, size_t count)
{
    const size_t bytes = strlen(key);

    for (size_t i = 0; i < count; i++) {
        const cJSON *found = value_at(rows[i].item, key);

        if (!found || cJSON_IsNull(found))
            continue;
        if (!cJSON_IsNumber(found))
            return NULL;
        for (size_t j = 0; j < sizeof(formats) / sizeof(formats[0]); j++) {
            const size_t end = strlen(formats[j].end);

            if (bytes >= end && strcmp(key + bytes - end, formats[j].end) == 0)
                return formats[j].format;
        }
        return number_text;
    }
    return NULL;
}

static void columns_of(const struct keys *keys, const struct shown_row *rows, size_t count,
                       struct grid_column columns[COLUMNS_MAX])
{
    for (size_t i = 0; i < keys->count; i++)
        columns[i] = (struct grid_column){
            .key = keys->items[i],
            .heading = keys->headings[i],
            .format = format_of(keys->items[i], rows, count),
            .value = value,
            .rank = keys->count > PAIR ? (unsigned)i : 0,
            .head = i == 0,
            .below = keys->count == PAIR && i == 1,
        };
}

/* Appends the elements of the list at a path to rows, as far as there is room; their number. */
static size_t gather(const cJSON *item, const char *path, struct shown_row *rows, size_t room)
{
    char key[KEY_BYTES];
    const char *rest = path;
    const cJSON *element;
    size_t count = 0;

    if (cJSON_IsArray(item) || !*path) {
        cJSON_ArrayForEach (element, item) {
            if (*path) {
                count += gather(element, path, rows ? rows + count : NULL, room - count);
            } else {
                if (rows && count < room)
                    rows[count].item = element;
                count++;
            }
        }
        return count;
    }
    rest = first_key(path, key);
    item = json_get(item, key);
    return item && (cJSON_IsArray(item) || cJSON_IsObject(item)) ? gather(item, rest, rows, room)
                                                                 : 0;
}

static int by_order(const void *first, const void *second)
{
    const double a = ((const struct shown_row *)first)->order,
                 b = ((const struct shown_row *)second)->order;

    return (a < b) - (a > b);
}

static enum status show_list(const struct shown_list *list, const cJSON *tree,
                             const struct print_style *look, bool all)
{
    const size_t count = gather(tree, list->path, NULL, 0),
                 printed = all || count < ROWS_MAX ? count : ROWS_MAX;
    struct shown_row *rows = calloc(count + 1, sizeof(*rows));
    struct grid_column columns[COLUMNS_MAX];
    struct grid grid = {.title = list->path, .columns = columns};
    struct keys keys;
    enum status status;

    if (!rows)
        return log_memory("a table");
    if (count == 0) {
        free(rows);
        return STATUS_OK;
    }
    gather(tree, list->path, rows, count);
    for (size_t i = 0; list->descending && i < count; i++) {
        const cJSON *found = value_at(rows[i].item, list->descending);

        rows[i].order = cJSON_IsNumber(found) ? found->valuedouble : -INFINITY;
    }
    if (list->descending)
        qsort(rows, count, sizeof(*rows), by_order);
    keys_of(list->columns, &keys);
    columns_of(&keys, rows, count, columns);
    grid.column_count = keys.count;
    grid.rows = rows;
    grid.row_count = printed;
    grid.row_bytes = sizeof(*rows);
    putchar('\n');
    status = grid_print(stdout, &grid, look);
    if (printed < count)
        printf("and %zu more; --all prints them\n", count - printed);
    free(rows);
    return status;
}

enum status document_show(const struct shown_document *shown, const cJSON *tree,
                          const struct print_style *look, bool all)
{
    const struct shown_row whole = {.item = tree};
    struct grid_column columns[COLUMNS_MAX];
    struct grid facts = {.columns = columns, GRID_ROWS(&whole, 1)};
    struct keys keys;
    enum status status = STATUS_OK;

    keys_of(shown->facts, &keys);
    columns_of(&keys, &whole, 1, columns);
    facts.column_count = keys.count;
    grid_print_records(stdout, &facts, look);
    for (size_t i = 0; status == STATUS_OK && i < SHOWN_LISTS_MAX && shown->lists[i].path; i++)
        status = show_list(&shown->lists[i], tree, look, all);
    return status;
}
