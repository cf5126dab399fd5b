/* SPDX-License-Identifier: MIT */
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

enum status option_parse(const struct option_kind *kind, const struct option_row *option,
                         const char *text, void *member)
{
    struct table table;
    struct integers *integers = member;
    enum status status = STATUS_OK;
    char *end, *copy;
    double number;
    const void *row;

    switch ((enum option_type)(kind - option_kinds)) {
    case OPTION_FLAG:
        *(bool *)member = true;
        return STATUS_OK;
    case OPTION_TEXT:
        *(const char **)member = text;
        return text[0] ? STATUS_OK : bad_value(option, text, "a path or a name");
    case OPTION_INTEGER:
        return parse_integer(option, text, member);
    case OPTION_INTEGERS:
        integers_close(integers);
        integers->values = calloc(strlen(text) + 1, sizeof(uint64_t));
        integers->all = option->otherwise && strcmp(text, option->otherwise) == 0;
        copy = strdup(text);
        if (!copy || !integers->values)
            status = log_memory("the command line");
        for (char *rest = integers->all ? NULL : copy, *word;
             status == STATUS_OK && (word = strsep(&rest, ","));) {
            uint64_t value;
            size_t k = 0;

            status = parse_integer(option, word, &value);
            while (status == STATUS_OK && k < integers->count && integers->values[k] != value)
                k++;
            if (status == STATUS_OK && k == integers->count) /* each once */
                integers->values[integers->count++] = value;
        }
        free(copy);
        return status;
    case OPTION_NUMBER:
        number = strtod(text, &end);
        if (*end == '%' && strcmp(option->unit, "percent") == 0)
            end++;
        if (end == text || *end || !isfinite(number))
            return bad_value(option, text, "a number");
        *(double *)member = number;
        return number < option->low || number > option->high ? out_of_limits(option, text)
                                                             : STATUS_OK;
    case OPTION_SEED:
        errno = 0;
        *(uint64_t *)member = strtoull(text, &end, 10);
        return errno || end == text || *end || text[0] == '-'
                   ? bad_value(option, text, "a whole number below 2^64")
                   : STATUS_OK;
    case OPTION_CHOICE:
    case OPTION_PRESET:
        row = table_find(&option->table, text);
        *(const void **)member = row;
        if (row || (option->otherwise && strcmp(text, option->otherwise) == 0))
            return STATUS_OK;
        table = option->table;
        table.also = option->otherwise;
        return table_unknown(&table, text);
    case OPTION_SELECTION:
        selection_close(member);
        return table_select(&option->table, text, member);
    default:
        return kind->parse(option, text, member);
    }
}

void option_close(const struct option_kind *kind, void *member)
{
    if (kind == &option_integers)
        integers_close(member);
    else if (kind == &option_selection)
        selection_close(member);
    else if (kind->close)
        kind->close(member);
}

const struct option_kind option_kinds[OPTION_TYPES] = {{NULL, NULL}};
