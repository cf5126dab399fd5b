/* SPDX-License-Identifier: MIT
 * From words to the struct of a command's options, and then into the command. getopt_long reads the
 * words; each option that it finds is parsed into its member at once. After that come the values
 * that nobody typed:
 *
 *   the line  >  the preset that an option of the line chose (--sweep)  >  the row's fallback
 *
 * At last, files that would be written are held against everything that the line names. */
#include "parse.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "help.h"
#include "log.h"

enum { KEY_BASE = 0x1000 };

/* An option of the command. */
struct listed {
    const struct option_row *row;
    const struct option_group *group;
    char *base; /* the group's struct, whose members it sets */
    bool given; /* on the line */
};

static enum status parse_value(const struct listed *option, const char *text)
{
    return option->row->kind->parse(option->row, text, option->base + option->row->offset);
}

/* Whether writing a file would replace another one, or another output. */
static bool is_same_file(const char *written, const char *named)
{
    struct stat first, second;

    if (stat(written, &first) != 0)
        return strcmp(written, named) == 0;
    return S_ISREG(first.st_mode) && stat(named, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Refuses an output file (its row says `written`) that an argument or another option also names.
 * Otherwise the output would replace an input of the command, or another output. `-` is the same
 * for all. */
static enum status check_written(const struct invocation *invocation)
{
    for (size_t i = 0; i < invocation->given_count; i++) {
        const struct given_option *given = &invocation->given[i];
        bool same = false;

        if (!given->option->written)
            continue;
        for (size_t k = 0; !same && k < invocation->argument_count; k++) {
            const char *rest = invocation->arguments[k];
            char name[PATH_MAX];

            same = is_same_file(given->value, rest);
            for (size_t bytes; !same && *rest; rest += bytes + (rest[bytes] == ',')) {
                bytes = strcspn(rest, ",");
                snprintf(name, sizeof(name), "%.*s", (int)bytes, rest);
                same = is_same_file(given->value, name);
            }
        }
        for (size_t k = 0; !same && k < invocation->given_count; k++) {
            const struct given_option *another = &invocation->given[k];

            same = another->option != given->option && another->option->kind == &option_text &&
                   is_same_file(given->value, another->value);
        }
        if (same)
            return log_error(STATUS_USAGE,
                             "--%s: %s is named for something else, too; give another file",
                             given->option->name, given->value);
    }
    return STATUS_OK;
}

/* Lists the options of all groups with the members of `options`, and the same for getopt, then
 * --help. Those that are shown come first. Returns how many there are, and of these *shown are
 * shown. */
static size_t list_options(const struct command *command, char *options,
                           struct listed listed[OPTIONS_MAX], struct option known[OPTIONS_MAX + 2],
                           size_t *shown)
{
    size_t count = 0;

    for (int hidden = 0; hidden <= 1; hidden++) {
        for (size_t g = 0; g < command->group_count; g++)
            for (size_t i = 0; i < command->groups[g].count && count < OPTIONS_MAX; i++) {
                const struct option_group *group = &command->groups[g];
                const struct option_row *row = &group->rows[i];
                const size_t index = count;

                if (row->hidden != hidden)
                    continue;
                listed[index] =
                    (struct listed){.row = row, .group = group, .base = options + group->offset};
                known[index] =
                    (struct option){row->name, row->argument ? required_argument : no_argument,
                                    NULL, KEY_BASE + (int)index};
                count++;
            }
        *shown = hidden ? *shown : count;
    }
    known[count] = (struct option){"help", optional_argument, NULL, 'h'};
    return count;
}

enum status command_run(const struct command *command, int argc, char **argv)
{
    struct invocation invocation = {.argc = argc, .argv = argv};
    struct listed listed[OPTIONS_MAX];
    /* The same for getopt, then --help; `val` is KEY_BASE and the index. */
    struct option known[OPTIONS_MAX + 2] = {{NULL, 0, NULL, 0}};
    size_t count = 0, shown = 0;
    const struct table table = TABLE("option", known, shown);
    char **words, *options; /* getopt permutes the words; argv is recorded as typed */
    struct given_option *given;
    enum status status = STATUS_OK;
    int key;

    if (command->start)
        return command->start((size_t)argc - 1, argv + 1);
    words = malloc((size_t)argc * sizeof(*words));
    options = calloc(1, command->options_bytes + 1);
    invocation.given = given = calloc((size_t)argc, sizeof(*given));
    if (!words || !options || !given) {
        status = log_memory("the command line");
        goto out;
    }
    memcpy(words, argv + 1, (size_t)argc * sizeof(*argv));
    count = list_options(command, options, listed, known, &shown);
    opterr = 0;
    optind = 0; /* glibc starts anew */
    while (status == STATUS_OK && (key = getopt_long(argc - 1, words, ":h", known, NULL)) >= 0) {
        const char *word = words[optind - 1], *begin = word + strspn(word, "-");
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "="), begin);
        if (key == '?' && optopt &&
            optopt < KEY_BASE) /* a letter, perhaps in the middle of a word */
            snprintf(name, sizeof(name), "%c", optopt);
        if (key == 'h') {
            status = command_print_help(command, optarg);
            goto out;
        }
        if (key == ':') {
            status = log_error(STATUS_USAGE, "--%s needs a value", name);
        } else if (key == '?' && optopt >= KEY_BASE) {
            status = log_error(STATUS_USAGE, "--%s takes no value", name);
        } else if (key == '?') {
            status = table_unknown(&table, name);
        } else {
            struct listed *option = &listed[key - KEY_BASE];

            given[invocation.given_count++] = (struct given_option){.option = option->row,
                                                                    .group = option->group,
                                                                    .value = optarg};
            option->given = true;
            if (option->row->given)
                *(bool *)(option->base + option->row->given) = true;
            status = parse_value(option, optarg);
        }
    }
    invocation.arguments = words + optind;
    invocation.argument_count = (size_t)(argc - 1 - optind);
    /* Options that were not given get the value of a preset, or that of their row. */
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct listed *option = &listed[i];
        const char *value = option->row->fallback;

        for (size_t k = 0; k < count; k++) {
            const struct listed *other = &listed[k];
            const struct preset *preset = NULL;

            if (other->row->kind == &option_preset)
                preset = *(const struct preset **)(other->base + other->row->offset);
            for (size_t v = 0; preset && v < PRESET_VALUES_MAX && preset->values[v].option; v++)
                if (strcmp(preset->values[v].option, option->row->name) == 0)
                    value = preset->values[v].value;
        }
        if (value && !option->given)
            status = parse_value(option, value);
    }
    if (status == STATUS_OK && invocation.argument_count < command->arguments_min)
        status = log_error(STATUS_USAGE, "%s needs %s; try cbank %s --help", command->name,
                           command->arguments, command->name);
    else if (status == STATUS_OK && invocation.argument_count > command->arguments_max)
        status =
            log_error(STATUS_USAGE, "%s does not take '%s'; try cbank %s --help", command->name,
                      invocation.arguments[command->arguments_max], command->name);
    if (status == STATUS_OK)
        status = check_written(&invocation);
    if (status == STATUS_OK)
        status = command->run(options, &invocation);
out:
    for (size_t i = 0; i < count; i++)
        if (listed[i].row->kind->close)
            listed[i].row->kind->close(listed[i].base + listed[i].row->offset);
    free(given);
    free(options);
    free(words);
    return status;
}
