/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

enum { KEY_BASE = 0x1000, OPTIONS_MAX = 64, COMMANDS_MAX = 64 };

/* A command line that is being parsed. */
struct parsing {
    const struct command *command;
    char *options; /* the command's struct */
    struct given_option *given;
    struct invocation invocation;
    struct argp_option shown[OPTIONS_MAX + 1];     /* what argp knows */
    const struct option_row *rows[OPTIONS_MAX];        /* the row of each */
    const struct option_group *groups[OPTIONS_MAX]; /* and its group */
    size_t count;
    enum status status;
};

static void *member_of(const struct parsing *parsing, size_t index, size_t offset)
{
    return parsing->options + parsing->groups[index]->offset + offset;
}

/* Lists the rows of all groups for argp; an option's key is its letter, where it has one. */
static void list_options(struct parsing *parsing)
{
    for (size_t g = 0; g < parsing->command->group_count; g++) {
        const struct option_group *group = &parsing->command->groups[g];

        for (size_t i = 0; i < group->count && parsing->count < OPTIONS_MAX; i++) {
            const struct option_row *row = &group->rows[i];
            const size_t index = parsing->count++;

            parsing->rows[index] = row;
            parsing->groups[index] = group;
            parsing->shown[index] = (struct argp_option){
                .name = row->name,
                .key = row->letter ? row->letter : KEY_BASE + (int)index,
                .arg = row->argument,
                .doc = row->help,
                .flags = row->hidden ? OPTION_HIDDEN : 0,
            };
        }
    }
}

static enum status parse_value(const struct parsing *parsing, size_t index, const char *text)
{
    const struct option_row *row = parsing->rows[index];

    return row->kind->parse(row, text, member_of(parsing, index, row->offset));
}

static void note_given(struct parsing *parsing, size_t index, const char *text)
{
    const struct option_row *row = parsing->rows[index];

    parsing->given[parsing->invocation.given_count++] =
        (struct given_option){.option = row, .group = parsing->groups[index], .value = text};
    if (row->given)
        *(bool *)member_of(parsing, index, row->given) = true;
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
            note_given(parsing, i, text);
            parsing->status = parse_value(parsing, i, text);
            return parsing->status == STATUS_OK ? 0 : EINVAL;
        }
    return ARGP_ERR_UNKNOWN;
}

/* Whether `name` begins the name of an option, hidden ones too: argp takes unique beginnings. */
static bool is_option(const struct argp_option *options, const char *name)
{
    for (; options->name; options++)
        if (strncmp(options->name, name, strlen(name)) == 0)
            return true;
    return false;
}

/* argp names an unknown option and no other. This looks first, to suggest the closest. */
static enum status check_names(const struct parsing *parsing, int argc, char **argv)
{
    static const struct argp_option builtin[] = {{.name = "help"}, {.name = "usage"}, {0}};
    struct argp_option shown[OPTIONS_MAX + 2];
    size_t count = 0;

    for (size_t i = 0; i < parsing->count; i++)
        if (!parsing->rows[i]->hidden)
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

static bool was_given(const struct parsing *parsing, const struct option_row *row)
{
    for (size_t i = 0; i < parsing->invocation.given_count; i++)
        if (parsing->given[i].option == row)
            return true;
    return false;
}

/* What stands for an option that was not given: what a preset that was given says of it, or its row. NULL: nothing. */
static const char *fallback_of(const struct parsing *parsing, const struct option_row *row)
{
    const char *value = NULL;

    for (size_t i = 0; !value && i < parsing->count; i++)
        if (parsing->rows[i]->kind == &option_preset)
            value =
                preset_value(*(const struct preset *const *)member_of(parsing, i, parsing->rows[i]->offset), row->name);
    return value ? value : row->fallback;
}

static enum status parse_fallbacks(const struct parsing *parsing)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < parsing->count; i++) {
        const char *value = was_given(parsing, parsing->rows[i]) ? NULL : fallback_of(parsing, parsing->rows[i]);

        if (value)
            status = parse_value(parsing, i, value);
    }
    return status;
}

static enum status check_arguments(const struct parsing *parsing)
{
    const struct command *command = parsing->command;
    const struct invocation *invocation = &parsing->invocation;

    if (invocation->argument_count < command->arguments_min)
        return log_error(STATUS_USAGE, "%s needs %s; try cbank %s --help", command->name, command->arguments,
                         command->name);
    if (invocation->argument_count > command->arguments_max)
        return log_error(STATUS_USAGE, "%s does not take '%s'; try cbank %s --help", command->name,
                         invocation->arguments[command->arguments_max], command->name);
    return STATUS_OK;
}

/* -- help ---------------------------------------------------------------------------------------------- */

static const char exit_codes[] =
    "Exit codes: 0 done; 1 a finding (wrong output, failed cell, an exact counter differs, uncorrected memory "
    "errors); 2 usage, I/O or "
    "malformed input; 3 the environment cannot do what was asked; 4 inconclusive, under --strict. An interrupted "
    "run saves what it has and ends by the signal.";

static void print_paragraph(const char *text, int indent)
{
    struct text_wrap wrap = {.stream = stdout, .width = TEXT_WIDTH, .column = indent, .indent = indent};

    text_wrap(&wrap, text);
    putchar('\n');
}

/* The option whose name follows in the order of the alphabet, from "" on; NULL behind the last. */
static const struct option_row *next_option(const struct parsing *parsing, const char *name)
{
    const struct option_row *next = NULL;

    for (size_t i = 0; i < parsing->count; i++) {
        const struct option_row *row = parsing->rows[i];

        if (!row->hidden && strcmp(row->name, name) > 0 && (!next || strcmp(row->name, next->name) < 0))
            next = row;
    }
    return next;
}

static void print_option(const struct option_row *row)
{
    enum { HELP_COLUMN = 29 };
    char letter[8] = "", name[80];

    if (row->letter)
        snprintf(letter, sizeof(letter), "-%c,", row->letter);
    snprintf(name, sizeof(name), "  %3s --%s%s%s", letter, row->name, row->argument ? "=" : "",
             row->argument ? row->argument : "");
    printf("%-*s", HELP_COLUMN, name);
    if (strlen(name) >= HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    print_paragraph(row->help, HELP_COLUMN);
}

/* argp prints help, too, but ends the process where it has no memory for that. */
static void print_help(const struct parsing *parsing)
{
    const struct command *command = parsing->command;
    const char *end = command->summary[strlen(command->summary) - 1] == '?' ? "" : ".";
    char line[256];

    snprintf(line, sizeof(line), "Usage: cbank %s [OPTION...] %s", command->name,
             command->arguments ? command->arguments : "");
    print_paragraph(line, 0);
    snprintf(line, sizeof(line), "%s%s", command->summary, end);
    print_paragraph(line, 0);
    putchar('\n');
    for (const struct option_row *row = NULL; (row = next_option(parsing, row ? row->name : ""));)
        print_option(row);
    putchar('\n');
    print_paragraph(exit_codes, 0);
    putchar('\n');
}

/* Whether a word asks for help: a beginning of --help or --usage, too, that no option of the command has. */
static bool is_help(const struct parsing *parsing, const char *word)
{
    const size_t bytes = strlen(word);

    if (strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0)
        return true;
    return bytes > 2 && !is_option(parsing->shown, word + 2) &&
           (strncmp("--help", word, bytes) == 0 || strncmp("--usage", word, bytes) == 0);
}

static bool help_asked(const struct parsing *parsing, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(parsing, argv[i]))
            return true;
    return false;
}

/* Parses words[0 .. count - 1], words[0] being the command's name, and runs the command. */
static enum status parse_and_run(struct parsing *parsing, int count, char **words)
{
    const struct command *command = parsing->command;
    const struct argp argp = {.options = parsing->shown, .parser = parse_key};
    char program[64];
    enum status status;
    error_t error;

    if (help_asked(parsing, count, words)) {
        print_help(parsing);
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
    if (status == STATUS_OK)
        status = check_arguments(parsing);
    return status == STATUS_OK ? command->run(parsing->options, &parsing->invocation) : status;
}

static void close_options(struct parsing *parsing)
{
    for (size_t i = 0; i < parsing->count; i++)
        if (parsing->rows[i]->kind->close)
            parsing->rows[i]->kind->close(member_of(parsing, i, parsing->rows[i]->offset));
}

enum status command_run(const struct command *command, int argc, char **argv)
{
    struct parsing parsing = {.command = command, .invocation = {.argc = argc, .argv = argv}};
    char **words = malloc((size_t)argc * sizeof(*words)); /* argp moves them about, and argv is recorded as typed */
    enum status status;

    parsing.options = calloc(1, command->options_bytes + 1);
    parsing.given = calloc((size_t)argc, sizeof(*parsing.given));
    if (words && parsing.options && parsing.given) {
        memcpy(words, argv + 1, (size_t)argc * sizeof(*argv));
        parsing.invocation.given = parsing.given;
        list_options(&parsing);
        status = parse_and_run(&parsing, argc - 1, words);
        close_options(&parsing);
    } else {
        status = log_memory("the command line");
    }
    free(parsing.given);
    free(parsing.options);
    free(words);
    return status;
}

void command_help(const struct command *command)
{
    char name[] = "help", help[] = "--help";
    char *argv[] = {name, name, help, NULL};

    command_run(command, 3, argv);
}

const struct command *command_find(const struct command_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->commands[i]->name, name) == 0)
            return list->commands[i];
    return NULL;
}

enum status command_unknown(const struct command_list *list, const char *name)
{
    const char *names[COMMANDS_MAX];
    const struct table table = {"command", names, sizeof(names[0]), &list->count};

    for (size_t i = 0; i < list->count && i < COMMANDS_MAX; i++)
        names[i] = list->commands[i]->name;
    return table_unknown(&table, name);
}

void command_line(const struct invocation *invocation, char *out, size_t bytes)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < invocation->argc && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? " " : "", invocation->argv[i]);
}
