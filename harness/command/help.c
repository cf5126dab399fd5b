/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "parse.h"
#include "text.h"
#include "version.h"

/* Texts from the files of those names; help_text.S includes them. */
extern const char help_man_begin[], help_man_end[], help_completion_end[];

static const struct command *command_at(const struct table *commands, size_t i)
{
    return ((const struct command_row *)table_row(commands, i))->command;
}

void help_print(const struct table *commands)
{
    enum { SUMMARY_COLUMN = 16 };

    command_paragraph("Usage: cbank COMMAND [OPTION...]", 0);
    command_paragraph(
        "Measures the cost of reading a small table on an NVIDIA GPU: patterns by load paths, checked and "
        "counted.",
        0);
    putchar('\n');
    for (size_t i = 0; i < *commands->count; i++) {
        printf("  %-13s ", table_name(commands, i));
        command_paragraph(command_at(commands, i)->summary, SUMMARY_COLUMN);
    }
    putchar('\n');
    command_paragraph("cbank COMMAND --help explains a command, cbank help prints this, cbank --version the version.",
                      0);
    command_paragraph("Exit codes: 0 done; 1 a finding; 2 usage, I/O or malformed input; 3 the environment cannot; "
                      "4 inconclusive, under --strict.",
                      0);
}

/* -- the man page -------------------------------------------------------------------------------------- */

/* Prints text as roff: hyphens become minus signs, paragraphs are divided, and no line begins with a request. */
static void put_roff(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '-')
            fputs("\\-", stdout);
        else if (*c == '\\')
            fputs("\\e", stdout);
        else if (c[0] == '\n' && c[1] == '\n')
            fputs("\n.PP\n", stdout), c++;
        else
            putchar(*c);
    }
}

static void put_sentence(const char *text)
{
    const size_t bytes = strlen(text);

    put_roff(text);
    fputs(bytes && strchr(".:?", text[bytes - 1]) ? "\n" : ".\n", stdout);
}

static void put_option(const struct option_row *option)
{
    printf(".TP\n");
    if (option->letter)
        printf(".BI \\-%c \" %s, \\fB\\-\\-", option->letter, option->argument ? option->argument : "");
    else
        printf(option->argument ? ".BI \\-\\-" : ".B \\-\\-");
    put_roff(option->name);
    if (option->argument)
        printf(option->letter ? "=\\fI%s\"" : "= %s", option->argument);
    putchar('\n');
    put_sentence(option->help);
}

static void put_command(const struct command *command)
{
    printf(".SS cbank %s%s", command->name, command->arguments ? " " : "");
    put_roff(command->arguments ? command->arguments : "");
    putchar('\n');
    put_sentence(command->summary);
    for (size_t i = 0; command->argument_table && i < *command->argument_table->count; i++)
        printf("%s%s", i ? ", " : ".PP\nOne of: ", table_name(command->argument_table, i));
    fputs(command->argument_table ? ".\n" : "", stdout);
    if (command->details) {
        fputs(".PP\n", stdout);
        put_roff(command->details);
        putchar('\n');
    }
    for (size_t g = 0; g < command->group_count; g++)
        for (size_t i = 0; i < command->groups[g].count; i++)
            if (!command->groups[g].rows[i].hidden)
                put_option(&command->groups[g].rows[i]);
}

void help_print_man(const struct table *commands)
{
    puts(".\\\" SPDX-License-Identifier: MIT\n"
         ".\\\" Printed by cbank help --man; see CONTRIBUTING.md.");
    printf(".TH CBANK 1 \"\" \"cbank %s\" \"User Commands\"\n", tool.version);
    fputs(help_man_begin, stdout);
    for (size_t i = 0; i < *commands->count; i++)
        put_command(command_at(commands, i));
    fputs(help_man_end, stdout);
}

/* -- completion ---------------------------------------------------------------------------------------- */

static const char completion_begin[] =
    "# SPDX-License-Identifier: MIT\n"
    "#\n"
    "# Completion of cbank for bash. Printed by cbank help --completion; see CONTRIBUTING.md.\n"
    "\n"
    "# Options of a command.\n"
    "_cbank_options()\n"
    "{\n"
    "    case $1 in\n";

static const char completion_middle[] =
    "    esac\n"
    "}\n"
    "\n"
    "# Words that an option of a command takes; nothing where it takes files or numbers.\n"
    "_cbank_words()\n"
    "{\n"
    "    case $1:$2 in\n";

void help_print_completion(const struct table *commands)
{
    fputs(completion_begin, stdout);
    fputs("    '') echo '", stdout);
    for (size_t i = 0; i < *commands->count; i++)
        printf("%s%s", i ? " " : "", table_name(commands, i));
    puts(" help' ;;");
    for (size_t i = 0; i < *commands->count; i++) {
        const struct command *command = command_at(commands, i);

        printf("    %s) echo '--help", command->name);
        for (size_t g = 0; g < command->group_count; g++)
            for (size_t k = 0; k < command->groups[g].count; k++)
                if (!command->groups[g].rows[k].hidden)
                    printf(" --%s", command->groups[g].rows[k].name);
        puts("' ;;");
    }
    fputs(completion_middle, stdout);
    for (size_t i = 0; i < *commands->count; i++) {
        const struct command *command = command_at(commands, i);
        const struct table *words = command->argument_table;

        for (size_t k = 0; words && k < *words->count; k++)
            if (k == 0)
                printf("    %s:) echo '%s", command->name, table_name(words, k));
            else
                printf(" %s", table_name(words, k));
        fputs(words ? "' ;;\n" : "", stdout);
        for (size_t g = 0; g < command->group_count; g++)
            for (size_t k = 0; k < command->groups[g].count; k++) {
                const struct option_row *option = &command->groups[g].rows[k];
                const char *word = option->kind->choices && !option->hidden ? option->kind->choices(option, 0) : NULL;

                if (!word)
                    continue;
                printf("    %s:--%s) echo '", command->name, option->name);
                for (size_t c = 0; (word = option->kind->choices(option, c)); c++)
                    printf("%s%s", c ? " " : "", word);
                puts("' ;;");
            }
    }
    fputs(help_completion_end, stdout);
}
