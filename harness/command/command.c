/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

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

static enum status parse_fallbacks(const struct parsing *parsing)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < parsing->count; i++)
        if (parsing->rows[i]->fallback && !was_given(parsing, parsing->rows[i]))
            status = parse_value(parsing, i, parsing->rows[i]->fallback);
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

static const char exit_codes[] =
    "\vExit codes: 0 done; 1 a finding (wrong output, failed cell, an exact counter differs); 2 usage, I/O or "
    "malformed input; 3 the environment cannot do what was asked; 4 inconclusive, under --strict. An interrupted "
    "run saves what it has and ends by the signal.";

/* The help that a word asks for, as flags of argp_help; 0 for none. A word may be a beginning of --help or --usage that
 * no option of the command has. */
static unsigned help_asked(const struct parsing *parsing, const char *word)
{
    const unsigned whole = ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK;
    const bool begins = strlen(word) > 2 && !is_option(parsing->shown, word + 2);

    if (strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0 || (begins && strncmp("--help", word, strlen(word)) == 0))
        return whole;
    return begins && strncmp("--usage", word, strlen(word)) == 0 ? ARGP_HELP_USAGE : 0;
}

/* Prints help where a word asks for it: argp would exit after it. */
static bool print_help(const struct parsing *parsing, const struct argp *argp, int argc, char **argv, char *program)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const unsigned flags = help_asked(parsing, argv[i]);

        if (flags) {
            argp_help(argp, stdout, flags, program);
            putchar('\n');
            return true;
        }
    }
    return false;
}

/* Parses words[0 .. count - 1], words[0] being the command's name, and runs the command. */
static enum status parse_and_run(struct parsing *parsing, int count, char **words)
{
    const struct command *command = parsing->command;
    char documentation[1024], program[64];
    const struct argp argp = {.options = parsing->shown,
                              .parser = parse_key,
                              .args_doc = command->arguments,
                              .doc = documentation};
    enum status status;

    snprintf(documentation, sizeof(documentation), "%s%s%s", command->summary,
             command->summary[strlen(command->summary) - 1] == '?' ? "" : ".", exit_codes);
    snprintf(program, sizeof(program), "cbank %s", command->name);
    if (print_help(parsing, &argp, count, words, program))
        return STATUS_OK;
    status = check_names(parsing, count, words);
    if (status != STATUS_OK)
        return status;
    words[0] = program;
    if (argp_parse(&argp, count, words, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, parsing) != 0)
        return parsing->status != STATUS_OK ? parsing->status : STATUS_USAGE;
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
        status = log_error(STATUS_ENVIRONMENT, "out of memory for the command line");
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
