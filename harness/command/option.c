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

/* -- messages ------------------------------------------------------------------------------------------ */

static enum status bad_value(const struct option_row *option, const char *text, const char *expected)
{
    return log_error(STATUS_USAGE, "--%s: '%s' is not %s", option->name, text, expected);
}

static enum status out_of_limits(const struct option_row *option, const char *text)
{
    char step[48] = "";

    if (option->power_of_two)
        snprintf(step, sizeof(step), "a power of two from ");
    else if (option->multiple > 1)
        snprintf(step, sizeof(step), "a multiple of %" PRIu64 " from ", option->multiple);
    if (step[0])
        return log_error(STATUS_USAGE, "--%s: %s is not %s%.0f to %.0f %s", option->name, text, step, option->low,
                         option->high, option->unit);
    return log_error(STATUS_USAGE, "--%s: %s is out of limits; %.15g to %.15g %s", option->name, text, option->low,
                     option->high, option->unit);
}

/* -- numbers ------------------------------------------------------------------------------------------- */

static enum status parse_integer(const struct option_row *option, const char *text, void *member)
{
    uint64_t *value = member;

    if (text[0] == '-' && parse_size(text + 1, value))
        return out_of_limits(option, text);
    if (!parse_size(text, value))
        return bad_value(option, text, "a whole number");
    if ((double)*value < option->low || (double)*value > option->high ||
        (option->multiple && *value % option->multiple) || (option->power_of_two && (*value & (*value - 1))))
        return out_of_limits(option, text);
    return STATUS_OK;
}

void integers_close(struct integers *integers)
{
    free(integers->values);
    *integers = (struct integers){0};
}

static void close_integers(void *member)
{
    integers_close(member);
}

static enum status parse_integers(const struct option_row *option, const char *text, void *member)
{
    struct integers *integers = member;
    enum status status = STATUS_OK;
    char *copy = strdup(text);
    uint64_t value;

    integers_close(integers);
    integers->values = calloc(strlen(text) + 1, sizeof(uint64_t));
    if (!copy || !integers->values) {
        free(copy);
        return log_memory("the command line");
    }
    integers->all = option->otherwise && strcmp(text, option->otherwise) == 0;
    for (char *rest = integers->all ? NULL : copy, *word; status == STATUS_OK && (word = strsep(&rest, ","));) {
        size_t k = 0;

        status = parse_integer(option, word, &value);
        while (status == STATUS_OK && k < integers->count && integers->values[k] != value)
            k++;
        if (status == STATUS_OK && k == integers->count) /* each once */
            integers->values[integers->count++] = value;
    }
    free(copy);
    return status;
}

static enum status parse_number(const struct option_row *option, const char *text, void *member)
{
    char *end;
    const double value = strtod(text, &end);

    if (*end == '%' && strcmp(option->unit, "percent") == 0)
        end++;
    if (end == text || *end || !isfinite(value))
        return bad_value(option, text, "a number");
    if (value < option->low || value > option->high)
        return out_of_limits(option, text);
    *(double *)member = value;
    return STATUS_OK;
}

static enum status parse_seed(const struct option_row *option, const char *text, void *member)
{
    char *end;

    errno = 0;
    *(uint64_t *)member = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-')
        return bad_value(option, text, "a whole number below 2^64");
    return STATUS_OK;
}

/* -- words --------------------------------------------------------------------------------------------- */

static enum status parse_flag(const struct option_row *option, const char *text, void *member)
{
    (void)option;
    (void)text;
    *(bool *)member = true;
    return STATUS_OK;
}

static enum status parse_text(const struct option_row *option, const char *text, void *member)
{
    if (!text[0])
        return bad_value(option, text, "a path or a name");
    *(const char **)member = text;
    return STATUS_OK;
}

static enum status parse_choice(const struct option_row *option, const char *text, void *member)
{
    const void *row = table_find(&option->table, text);

    if (!row && (!option->otherwise || strcmp(text, option->otherwise) != 0))
        return table_unknown(&option->table, text);
    *(const void **)member = row;
    return STATUS_OK;
}

static void close_selection(void *member)
{
    selection_close(member);
}

static enum status parse_selection(const struct option_row *option, const char *text, void *member)
{
    selection_close(member);
    return table_select(&option->table, text, member);
}

static const char *row_or(const struct option_row *option, size_t index, const char *last)
{
    const size_t count = *option->table.count;

    return index < count ? table_name(&option->table, index) : index == count ? last : NULL;
}

static const char *choice_words(const struct option_row *option, size_t index)
{
    return row_or(option, index, option->otherwise);
}

static const char *selection_words(const struct option_row *option, size_t index)
{
    return row_or(option, index, "all");
}

static const char *integer_words(const struct option_row *option, size_t index)
{
    return index == 0 ? option->otherwise : NULL;
}

const struct option_kind option_flag = {parse_flag, NULL, NULL};
const struct option_kind option_text = {parse_text, NULL, NULL};
const struct option_kind option_integer = {parse_integer, NULL, NULL};
const struct option_kind option_integers = {parse_integers, close_integers, integer_words};
const struct option_kind option_number = {parse_number, NULL, NULL};
const struct option_kind option_seed = {parse_seed, NULL, NULL};
const struct option_kind option_choice = {parse_choice, NULL, choice_words};
const struct option_kind option_preset = {parse_choice, NULL, choice_words};
const struct option_kind option_selection = {parse_selection, close_selection, selection_words};

const char *preset_value(const struct preset *preset, const char *option)
{
    for (size_t i = 0; preset && i < PRESET_VALUES_MAX && preset->values[i].option; i++)
        if (strcmp(preset->values[i].option, option) == 0)
            return preset->values[i].value;
    return NULL;
}
