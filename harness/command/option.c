/* SPDX-License-Identifier: MIT
 * Kinds of options: how a text becomes the member of a struct. Numbers are checked against their
 * row here and nowhere else, so a limit is said in one place. */
#include "option.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "parse_size.h"

static enum status bad_value(const struct option_row *option, const char *text,
                             const char *expected)
{
    return log_error(STATUS_USAGE, "--%s: '%s' is not %s", option->name, text, expected);
}

static enum status out_of_limits(const struct option_row *option, const char *text)
{
    if (option->multiple > 1)
        return log_error(STATUS_USAGE,
                         "--%s: %s is not a multiple of %" PRIu64 " from %.0f to %.0f %s",
                         option->name, text, option->multiple, option->low, option->high,
                         option->unit);
    return log_error(STATUS_USAGE, "--%s: %s is out of limits; %.15g to %.15g %s", option->name,
                     text, option->low, option->high, option->unit);
}

static enum status parse_integer(const struct option_row *option, const char *text, uint64_t *value)
{
    if (text[0] == '-' && parse_size(text + 1, value))
        return out_of_limits(option, text);
    if (!parse_size(text, value))
        return bad_value(option, text, "a whole number");
    if ((double)*value < option->low || (double)*value > option->high ||
        (option->multiple && *value % option->multiple))
        return out_of_limits(option, text);
    return STATUS_OK;
}

void integers_close(struct integers *integers)
{
    free(integers->values);
    *integers = (struct integers){0};
}

/* -- kinds ------------------------------------------------------------------------------------- */

static enum status parse_flag(const struct option_row *option, const char *text, void *member)
{
    (void)option, (void)text;
    *(bool *)member = true;
    return STATUS_OK;
}

const struct option_kind option_flag = {.parse = parse_flag};

static enum status parse_text(const struct option_row *option, const char *text, void *member)
{
    *(const char **)member = text;
    return text[0] ? STATUS_OK : bad_value(option, text, "a path or a name");
}

const struct option_kind option_text = {.parse = parse_text};

static enum status parse_one_integer(const struct option_row *option, const char *text,
                                     void *member)
{
    return parse_integer(option, text, member);
}

const struct option_kind option_integer = {.parse = parse_one_integer};

/* Adds a value that is not there yet. There is room for it. */
static void add_once(struct integers *integers, uint64_t value)
{
    for (size_t k = 0; k < integers->count; k++)
        if (integers->values[k] == value)
            return;
    integers->values[integers->count++] = value;
}

/* Adds the numbers of a list, which is changed. There is room for all. */
static enum status add_integers(const struct option_row *option, char *list,
                                struct integers *integers)
{
    for (char *word; (word = strsep(&list, ","));) {
        uint64_t value;
        const enum status status = parse_integer(option, word, &value);

        if (status != STATUS_OK)
            return status;
        add_once(integers, value);
    }
    return STATUS_OK;
}

static enum status parse_integers(const struct option_row *option, const char *text, void *member)
{
    struct integers *integers = member;
    char *copy = strdup(text);
    enum status status = STATUS_OK;

    integers_close(integers);
    integers->values = calloc(strlen(text) + 1, sizeof(uint64_t));
    integers->all = option->otherwise && strcmp(text, option->otherwise) == 0;
    if (!copy || !integers->values)
        status = log_memory("the command line");
    else if (!integers->all)
        status = add_integers(option, copy, integers);
    free(copy);
    return status;
}

static void close_integers(void *member)
{
    integers_close(member);
}

const struct option_kind option_integers = {.parse = parse_integers, .close = close_integers};

static enum status parse_number(const struct option_row *option, const char *text, void *member)
{
    char *end;
    const double number = strtod(text, &end);

    if (*end == '%' && strcmp(option->unit, "percent") == 0)
        end++;
    if (end == text || *end || !isfinite(number))
        return bad_value(option, text, "a number");
    *(double *)member = number;
    return number < option->low || number > option->high ? out_of_limits(option, text) : STATUS_OK;
}

const struct option_kind option_number = {.parse = parse_number};

static enum status parse_seed(const struct option_row *option, const char *text, void *member)
{
    char *end;

    errno = 0;
    *(uint64_t *)member = strtoull(text, &end, 10);
    return errno || end == text || *end || text[0] == '-'
               ? bad_value(option, text, "a whole number below 2^64")
               : STATUS_OK;
}

const struct option_kind option_seed = {.parse = parse_seed};

static enum status parse_choice(const struct option_row *option, const char *text, void *member)
{
    const void *row = table_find(&option->table, text);
    struct table table = option->table;

    *(const void **)member = row;
    if (row || (option->otherwise && strcmp(text, option->otherwise) == 0))
        return STATUS_OK;
    table.also = option->otherwise;
    return table_unknown(&table, text);
}

const struct option_kind option_choice = {.parse = parse_choice};
const struct option_kind option_preset = {.parse = parse_choice};

static enum status parse_selection(const struct option_row *option, const char *text, void *member)
{
    selection_close(member);
    return table_select(&option->table, text, member);
}

static void close_selection(void *member)
{
    selection_close(member);
}

const struct option_kind option_selection = {.parse = parse_selection, .close = close_selection};
