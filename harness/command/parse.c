/* SPDX-License-Identifier: MIT
 * From words to the struct of a command's options, and then into the command. getopt_long reads the
 * words; each option that it finds is parsed into its member at once. After that come the values
 * that nobody typed:
 *
 *   the line  >  the preset that an option of the line chose (--sweep)  >  the row's fallback
 *
 * At last, files that would be written are held against those that are read (file_check.h). */
#include "parse.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_check.h"
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

/* A command line while it is parsed. */
struct parsing {
    const struct command *command;
    struct invocation invocation;
    char **words;  /* getopt permutes them; argv is recorded as typed */
    char *options; /* the command's struct */
    struct given_option *given; /* those of the invocation */
    struct given_option unsaid[OPTIONS_MAX]; /* files that nobody typed */
    size_t unsaid_count;
    struct listed listed[OPTIONS_MAX]; /* those that help shows come first */
    /* The same for getopt, then --help; `val` is KEY_BASE and the index. */
    struct option known[OPTIONS_MAX + 2];
    size_t count, shown;
    bool helped; /* help was printed: nothing else is to be done */
};

static enum status parse_value(const struct listed *option, const char *text)
{
    return option->row->kind->parse(option->row, text, option->base + option->row->offset);
}

/* Lists the options of all groups, for the parser and for getopt. */
static void list_options(struct parsing *parsing)
{
    const struct command *command = parsing->command;

    for (int hidden = 0; hidden <= 1; hidden++) {
        for (size_t g = 0; g < command->group_count; g++)
            for (size_t i = 0; i < command->groups[g].count && parsing->count < OPTIONS_MAX; i++) {
                const struct option_group *group = &command->groups[g];
                const struct option_row *row = &group->rows[i];
                const size_t index = parsing->count;

                if (row->hidden != hidden)
                    continue;
                parsing->listed[index] = (struct listed){.row = row,
                                                         .group = group,
                                                         .base = parsing->options + group->offset};
                parsing->known[index] =
                    (struct option){row->name, row->argument ? required_argument : no_argument,
                                    NULL, KEY_BASE + (int)index};
                parsing->count++;
            }
        parsing->shown = hidden ? parsing->shown : parsing->count;
    }
    parsing->known[parsing->count] = (struct option){"help", optional_argument, NULL, 'h'};
}

/* The caller closes it, also after an error. */
static enum status open_parsing(struct parsing *parsing, const struct command *command, int argc,
                                char **argv)
{
    *parsing = (struct parsing){.command = command, .invocation = {.argc = argc, .argv = argv}};
    parsing->words = malloc((size_t)argc * sizeof(*argv));
    parsing->options = calloc(1, command->options_bytes + 1);
    parsing->invocation.given = parsing->given = calloc((size_t)argc, sizeof(*parsing->given));
    if (!parsing->words || !parsing->options || !parsing->given)
        return log_memory("the command line");
    memcpy(parsing->words, argv + 1, (size_t)argc * sizeof(*argv));
    list_options(parsing);
    return STATUS_OK;
}

static void close_parsing(struct parsing *parsing)
{
    for (size_t i = 0; i < parsing->count; i++) {
        const struct listed *option = &parsing->listed[i];

        if (option->row->kind->close)
            option->row->kind->close(option->base + option->row->offset);
    }
    free(parsing->given);
    free(parsing->options);
    free(parsing->words);
}

/* Says what is wrong with the word that getopt stopped at. */
static enum status refuse_word(const struct parsing *parsing, int key)
{
    const struct table table = TABLE("option", parsing->known, parsing->shown);
    const char *word = parsing->words[optind - 1], *begin = word + strspn(word, "-");
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "="), begin);
    if (key == '?' && optopt && optopt < KEY_BASE) /* a letter, perhaps in the middle of a word */
        snprintf(name, sizeof(name), "%c", optopt);
    if (key == ':')
        return log_error(STATUS_USAGE, "--%s needs a value", name);
    if (optopt >= KEY_BASE)
        return log_error(STATUS_USAGE, "--%s takes no value", name);
    return table_unknown(&table, name);
}

static enum status take_option(struct parsing *parsing, struct listed *option, const char *value)
{
    parsing->given[parsing->invocation.given_count++] = (struct given_option){
        .option = option->row,
        .group = option->group,
        .value = value,
    };
    option->given = true;
    if (option->row->given)
        *(bool *)(option->base + option->row->given) = true;
    return parse_value(option, value);
}

/* Takes the options of the line; what is left are its arguments. */
static enum status read_words(struct parsing *parsing)
{
    struct invocation *invocation = &parsing->invocation;
    int key;

    opterr = 0;
    optind = 0; /* glibc starts anew */
    while ((key = getopt_long(invocation->argc - 1, parsing->words, ":h", parsing->known, NULL)) >=
           0) {
        enum status status;

        if (key == 'h') {
            parsing->helped = true;
            return command_print_help(parsing->command, optarg);
        }
        status = key == ':' || key == '?'
                     ? refuse_word(parsing, key)
                     : take_option(parsing, &parsing->listed[key - KEY_BASE], optarg);
        if (status != STATUS_OK)
            return status;
    }
    invocation->arguments = parsing->words + optind;
    invocation->argument_count = (size_t)(invocation->argc - 1 - optind);
    return STATUS_OK;
}

/* The value that a preset gives to an option; NULL: none. */
static const char *preset_value(const struct parsing *parsing, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < parsing->count; i++) {
        const struct listed *option = &parsing->listed[i];
        const struct preset *preset = NULL;

        if (option->row->kind == &option_preset)
            preset = *(const struct preset **)(option->base + option->row->offset);
        for (size_t v = 0; preset && v < PRESET_VALUES_MAX && preset->values[v].option; v++)
            if (strcmp(preset->values[v].option, name) == 0)
                value = preset->values[v].value;
    }
    return value;
}

static bool is_given(const struct parsing *parsing, const char *name)
{
    for (size_t i = 0; name && i < parsing->count; i++)
        if (parsing->listed[i].given && strcmp(parsing->listed[i].row->name, name) == 0)
            return true;
    return false;
}

/* Options that were not given get the value of a preset, or that of their row. */
static enum status set_defaults(struct parsing *parsing)
{
    for (size_t i = 0; i < parsing->count; i++) {
        const struct listed *option = &parsing->listed[i];
        const char *preset = preset_value(parsing, option->row->name);
        const char *value = preset ? preset : option->row->fallback;
        enum status status;

        if (!value || option->given || is_given(parsing, option->row->instead))
            continue;
        if (option->row->file != FILE_NONE)
            parsing->unsaid[parsing->unsaid_count++] =
                (struct given_option){option->row, option->group, value};
        status = parse_value(option, value);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status check_arguments(const struct parsing *parsing)
{
    const struct command *command = parsing->command;
    const struct invocation *invocation = &parsing->invocation;

    if (invocation->argument_count < command->arguments_min)
        return log_error(STATUS_USAGE, "%s needs %s; try cbank %s --help", command->name,
                         command->arguments, command->name);
    if (invocation->argument_count > command->arguments_max)
        return log_error(STATUS_USAGE, "%s does not take '%s'; try cbank %s --help", command->name,
                         invocation->arguments[command->arguments_max], command->name);
    return file_check(command, invocation, parsing->unsaid, parsing->unsaid_count);
}

enum status command_run(const struct command *command, int argc, char **argv)
{
    struct parsing parsing;
    enum status status;

    if (command->start)
        return command->start((size_t)argc - 1, argv + 1);
    status = open_parsing(&parsing, command, argc, argv);
    if (status != STATUS_OK)
        goto out;
    status = read_words(&parsing);
    if (status != STATUS_OK || parsing.helped)
        goto out;
    status = set_defaults(&parsing);
    if (status != STATUS_OK)
        goto out;
    status = check_arguments(&parsing);
    if (status != STATUS_OK)
        goto out;
    status = command->run(parsing.options, &parsing.invocation);
out:
    close_parsing(&parsing);
    return status;
}
