/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "text.h"
#include "text_print.h"

enum { KEY_BASE = 0x1000, OPTIONS_MAX = 64 };

/* An option of the command. */
struct listed {
    const struct option_row *row;
    const struct option_group *group;
    char *base; /* the group's struct, whose members it sets */
    bool given; /* on the line */
};

/* A command line that is being parsed. */
struct parsing {
    const struct command *command;
    char *options; /* the command's struct */
    struct given_option *given;
    struct invocation invocation;
    struct listed listed[OPTIONS_MAX];
    struct argp_option shown[OPTIONS_MAX + 1]; /* what argp knows of each */
    size_t count;
    enum status status;
};

static enum status parse_value(const struct listed *option, const char *text)
{
    return option->row->kind->parse(option->row, text, option->base + option->row->offset);
}

static error_t parse_key(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;

    if (key == ARGP_KEY_ARGS) {
        parsing->invocation.arguments = state->argv + state->next;
        parsing->invocation.argument_count = (size_t)(state->argc - state->next);
        return 0;
    }
    for (size_t i = 0; i < parsing->count; i++)
        if (key == parsing->shown[i].key) {
            struct listed *option = &parsing->listed[i];

            parsing->given[parsing->invocation.given_count++] =
                (struct given_option){.option = option->row, .group = option->group, .value = text};
            option->given = true;
            if (option->row->given)
                *(bool *)(option->base + option->row->given) = true;
            parsing->status = parse_value(option, text);
            return parsing->status == STATUS_OK ? 0 : EINVAL;
        }
    return ARGP_ERR_UNKNOWN;
}

/* Whether `name` begins the name of an option, even a hidden one: argp accepts unique beginnings. */
static bool is_option(const struct argp_option *options, const char *name)
{
    for (; options->name; options++)
        if (strncmp(options->name, name, strlen(name)) == 0)
            return true;
    return false;
}

/* argp reports an unknown option without a suggestion. This looks first, and suggests the closest. */
static enum status check_names(const struct parsing *parsing, int argc, char **argv)
{
    static const struct argp_option builtin[] = {{.name = "help"}, {.name = "usage"}, {0}};
    struct argp_option shown[OPTIONS_MAX + 2];
    size_t count = 0;

    for (size_t i = 0; i < parsing->count; i++)
        if (!parsing->listed[i].row->hidden)
            shown[count++] = parsing->shown[i];
    for (size_t i = 0; builtin[i].name; i++)
        shown[count++] = builtin[i];

    const struct table table = {"option", shown, sizeof(shown[0]), &count};

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char name[64];

        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[i] + 2, "="), argv[i] + 2);
        if (!is_option(parsing->shown, name) && !is_option(builtin, name))
            return table_unknown(&table, name);
    }
    return STATUS_OK;
}

/* Parses the values of options that were not given: from the given preset, or from their rows. */
static enum status parse_fallbacks(const struct parsing *parsing)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < parsing->count; i++) {
        const struct listed *option = &parsing->listed[i];
        const char *value = NULL;

        for (size_t k = 0; !value && k < parsing->count; k++) {
            const struct listed *preset = &parsing->listed[k];

            if (preset->row->kind == &option_preset)
                value = preset_value(*(const struct preset **)(preset->base + preset->row->offset), option->row->name);
        }
        value = value ? value : option->row->fallback;
        if (value && !option->given)
            status = parse_value(option, value);
    }
    return status;
}

/* Whether writing a file would replace another one, or another output. */
static bool is_same_file(const char *written, const char *other)
{
    struct stat one, two;

    if (stat(written, &one) != 0)
        return strcmp(written, other) == 0;
    return S_ISREG(one.st_mode) && stat(other, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* Refuses an output file (its row says `written`) that an argument or another option also names. Otherwise the output
 * would replace an input of the command, or another output. `-` is the same for all. */
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
            const struct given_option *other = &invocation->given[k];

            same = other->option != given->option && other->option->kind == &option_text &&
                   is_same_file(given->value, other->value);
        }
        if (same)
            return log_error(STATUS_USAGE, "--%s: %s is named for something else, too; give another file",
                             given->option->name, given->value);
    }
    return STATUS_OK;
}

/* -- help ---------------------------------------------------------------------------------------------- */

void command_paragraph(const char *text, int indent)
{
    struct text_wrap wrap = {.stream = stdout, .width = TEXT_WIDTH, .column = indent, .indent = indent};

    text_wrap(&wrap, text);
    putchar('\n');
}

static const char exit_codes[] =
    "Exit codes: 0 done; 1 a finding; 2 usage, I/O or malformed input; 3 the environment cannot; 4 inconclusive, "
    "under --strict. A finding is wrong output, a failed cell, a wrong exact counter or uncorrected memory errors. "
    "An interrupted run saves its results and ends by the signal.";

/* argp prints help, too, but ends the process when out of memory. */
void command_print_help(const struct command *command)
{
    const char *end = command->summary[strlen(command->summary) - 1] == '?' ? "" : ".";
    char line[256];

    snprintf(line, sizeof(line), "Usage: cbank %s [OPTION...] %s", command->name,
             command->arguments ? command->arguments : "");
    command_paragraph(line, 0);
    snprintf(line, sizeof(line), "%s%s", command->summary, end);
    command_paragraph(line, 0);
    putchar('\n');
    for (const struct option_row *row = NULL, *before = NULL;; before = row) { /* in the order of the alphabet */
        row = NULL;
        for (size_t g = 0; g < command->group_count; g++)
            for (size_t i = 0; i < command->groups[g].count; i++) {
                const struct option_row *one = &command->groups[g].rows[i];

                if (!one->hidden && (!before || strcmp(one->name, before->name) > 0) &&
                    (!row || strcmp(one->name, row->name) < 0))
                    row = one;
            }
        if (!row)
            break;

        enum { HELP_COLUMN = 29 };
        char letter[8] = "", name[80];

        if (row->letter)
            snprintf(letter, sizeof(letter), "-%c,", row->letter);
        snprintf(name, sizeof(name), "  %3s --%s%s%s", letter, row->name, row->argument ? "=" : "",
                 row->argument ? row->argument : "");
        printf("%-*s", HELP_COLUMN, name);
        if (strlen(name) >= HELP_COLUMN)
            printf("\n%*s", HELP_COLUMN, "");
        command_paragraph(row->help, HELP_COLUMN);
    }
    putchar('\n');
    command_paragraph(exit_codes, 0);
    putchar('\n');
}

/* -- a command ---------------------------------------------------------------------------------------- */

/* Parses the `count` words and runs the command. words[0] is the command's name. */
static enum status parse_and_run(struct parsing *parsing, int count, char **words)
{
    const struct command *command = parsing->command;
    const struct argp argp = {.options = parsing->shown, .parser = parse_key};
    char program[64];
    enum status status;
    error_t error;

    /* A word asks for help: a beginning of --help or --usage that no option of the command shares. */
    for (int i = 1; i < count && strcmp(words[i], "--") != 0; i++) {
        const char *word = words[i];
        const size_t bytes = strlen(word);

        if (strcmp(word, "-h") != 0 && strcmp(word, "-?") != 0 &&
            (bytes <= 2 || is_option(parsing->shown, word + 2) ||
             (strncmp("--help", word, bytes) != 0 && strncmp("--usage", word, bytes) != 0)))
            continue;
        command_print_help(command);
        return STATUS_OK;
    }
    snprintf(program, sizeof(program), "cbank %s", command->name);
    status = check_names(parsing, count, words);
    if (status != STATUS_OK)
        return status;
    words[0] = program;
    error = argp_parse(&argp, count, words, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, parsing);
    if (error != 0)
        return parsing->status != STATUS_OK ? parsing->status
               : error == ENOMEM            ? log_memory("the command line")
                                            : STATUS_USAGE;
    status = parse_fallbacks(parsing);
    if (status == STATUS_OK && parsing->invocation.argument_count < command->arguments_min)
        status = log_error(STATUS_USAGE, "%s needs %s; try cbank %s --help", command->name, command->arguments,
                           command->name);
    else if (status == STATUS_OK && parsing->invocation.argument_count > command->arguments_max)
        status = log_error(STATUS_USAGE, "%s does not take '%s'; try cbank %s --help", command->name,
                           parsing->invocation.arguments[command->arguments_max], command->name);
    if (status == STATUS_OK)
        status = check_written(&parsing->invocation);
    return status == STATUS_OK ? command->run(parsing->options, &parsing->invocation) : status;
}

enum status command_run(const struct command *command, int argc, char **argv)
{
    struct parsing parsing = {.command = command, .invocation = {.argc = argc, .argv = argv}};
    char **words; /* argp permutes these; argv is recorded as typed */
    enum status status;

    if (command->start)
        return command->start((size_t)argc - 1, argv + 1);
    words = malloc((size_t)argc * sizeof(*words));
    parsing.options = calloc(1, command->options_bytes + 1);
    parsing.given = calloc((size_t)argc, sizeof(*parsing.given));
    if (words && parsing.options && parsing.given) {
        memcpy(words, argv + 1, (size_t)argc * sizeof(*argv));
        parsing.invocation.given = parsing.given;
        /* argp gets the rows of all groups. An option's key is its letter, if it has one. */
        for (size_t g = 0; g < command->group_count; g++) {
            const struct option_group *group = &command->groups[g];

            for (size_t i = 0; i < group->count && parsing.count < OPTIONS_MAX; i++) {
                const struct option_row *row = &group->rows[i];
                const size_t index = parsing.count++;

                parsing.listed[index] =
                    (struct listed){.row = row, .group = group, .base = parsing.options + group->offset};
                parsing.shown[index] = (struct argp_option){
                    .name = row->name,
                    .key = row->letter ? row->letter : KEY_BASE + (int)index,
                    .arg = row->argument,
                    .doc = row->help,
                    .flags = row->hidden ? OPTION_HIDDEN : 0,
                };
            }
        }
        status = parse_and_run(&parsing, argc - 1, words);
        for (size_t i = 0; i < parsing.count; i++)
            if (parsing.listed[i].row->kind->close)
                parsing.listed[i].row->kind->close(parsing.listed[i].base + parsing.listed[i].row->offset);
    } else {
        status = log_memory("the command line");
    }
    free(parsing.given);
    free(parsing.options);
    free(words);
    return status;
}
