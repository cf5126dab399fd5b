/* SPDX-License-Identifier: MIT
 * Help of the whole program: the overview, the man page and the completion, all from the rows of commands. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "version.h"

void help_print(const struct command_list *list)
{
    puts("Usage: cbank COMMAND [OPTION...]\n"
         "What reading a small table costs on an NVIDIA GPU: patterns by load paths, checked and counted.\n");
    for (size_t i = 0; i < list->count; i++)
        printf("  %-13s %s\n", list->commands[i]->name, list->commands[i]->summary);
    puts("\n  cbank COMMAND --help says more; cbank help prints this, cbank --version the version.\n"
         "Exit codes: 0 done; 1 a finding; 2 usage, I/O or malformed input; 3 the environment cannot;\n"
         "4 inconclusive, under --strict.");
}

/* -- the man page -------------------------------------------------------------------------------------- */

static const char man_begin[] =
    ".SH NAME\n"
    "cbank \\- measure what reading a small table costs on an NVIDIA GPU\n"
    ".SH SYNOPSIS\n"
    ".B cbank\n"
    ".I COMMAND\n"
    ".RI [ OPTION ...]\n"
    ".RI [ ARGUMENT ...]\n"
    ".SH DESCRIPTION\n"
    ".B cbank\n"
    "runs a matrix of access patterns by load paths over a table of 64 KB, which fills the constant bank of a CUDA\n"
    "module. It checks every output element against the CPU, times a launch with an interval, reads hardware counters\n"
    "through CUPTI, and writes everything to a JSON file.\n"
    ".PP\n"
    "Where there is no GPU the same plan runs on the model engine. It predicts exact counters and times from a chip\n"
    "card, and all that it prints or writes is labelled as modelled.\n"
    ".PP\n"
    ".B cbank\n"
    "never changes a setting of the device: no clocks, no power limit, no persistence, compute or MIG mode.\n"
    ".PP\n"
    "Lists are separated by commas. A long option may be shortened as long as it stays unambiguous. Whole numbers may be\n"
    "written as 128k, 12.8M or 64Ki.\n"
    ".SH COMMANDS\n";

static const char man_end[] =
    ".SH EXIT STATUS\n"
    ".TP\n"
    ".B 0\n"
    "Done, nothing worse. Counters that could not be read are a warning and no failure.\n"
    ".TP\n"
    ".B 1\n"
    "A finding: an output was wrong, a cell failed, an exact counter differs from its expected value, or in a comparison\n"
    "a cell regressed, is missing or is invalid.\n"
    ".TP\n"
    ".B 2\n"
    "Usage, input or output: an unknown name, a value out of its limits, a malformed file, a result that cannot be\n"
    "written.\n"
    ".TP\n"
    ".B 3\n"
    "The environment cannot do what was asked: no GPU for the cuda engine, no kernel for this GPU, two sides that are not\n"
    "comparable.\n"
    ".TP\n"
    ".B 4\n"
    "Inconclusive, under \\-\\-strict alone.\n"
    ".PP\n"
    "A run that gets SIGINT, SIGTERM or SIGHUP saves a valid result with\n"
    ".B complete\n"
    "false and ends by that signal. A second signal ends it at once.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n"
    ".B CBANK_CUPTI_DIR\n"
    "The folder of libcupti and libnvperf_host. When it is set, they are looked for nowhere else.\n"
    ".TP\n"
    ".BR CUDA_HOME \", \" CUDA_PATH\n"
    "CUDA toolkits in which CUPTI is looked for, before the one that the program was built with, /usr/local/cuda, and the\n"
    "loader's own path. The makefile takes its toolkit from them, too.\n"
    ".TP\n"
    ".B CUDA_VISIBLE_DEVICES\n"
    "Read by the CUDA driver: which GPUs there are, and their order.\n"
    ".TP\n"
    ".B COLUMNS\n"
    "How wide tables may be. Without it they are as wide as the terminal, or 80 columns.\n"
    ".TP\n"
    ".BR NO_COLOR \", \" TERM\n"
    "With NO_COLOR set, or TERM=dumb, nothing is coloured unless \\-\\-color=always says so.\n"
    ".SH FILES\n"
    ".TP\n"
    ".I PREFIX/share/cbank/*.schema.json\n"
    "JSON Schemas of all files that cbank writes.\n"
    ".TP\n"
    ".I PREFIX/share/cbank/cards/\n"
    "Chip cards.\n"
    ".PP\n"
    "A file is written under a temporary name and renamed.\n"
    ".SH EXAMPLES\n"
    "The default plan, into a file, and its tables again:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "cbank run \\-\\-json=result.json\n"
    "cbank show result.json\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "A convolution whose filter is in the constant bank or elsewhere:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "cbank run \\-\\-workload=conv_2d \\-\\-radius=1,3 \\-\\-path=constant,global,shared\n"
    ".fi\n"
    ".RE\n"
    ".PP\n"
    "A gate for drivers: calibrate before the update, compare after it, and fail on a regression:\n"
    ".PP\n"
    ".RS\n"
    ".nf\n"
    "cbank calibrate \\-\\-processes=3 \\-\\-keep=before \\-\\-json=noise.json\n"
    "cbank run \\-\\-json=after.json\n"
    "cbank compare before after.json \\-\\-calibration=noise.json \\-\\-junit=gate.xml\n"
    ".fi\n"
    ".RE\n"
    ".SH NOTES\n"
    "Reading counters needs CUPTI at run time and the permission to profile: root, CAP_SYS_ADMIN, or a driver loaded with\n"
    "NVreg_RestrictProfilingToAdminUsers=0. Without it cells are verified and timed all the same.\n"
    ".SH AUTHORS\n"
    "The cbank contributors. MIT licence.\n"
    ".SH SEE ALSO\n"
    ".BR nvidia\\-smi (1),\n"
    ".BR ncu (1)\n";

/* Prints text as roff: hyphens are minus signs, paragraphs are divided, no line begins with a request. */
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
    printf(".SS cbank %s%s%s\n", command->name, command->arguments ? " " : "",
           command->arguments ? command->arguments : "");
    put_sentence(command->summary);
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

void help_print_man(const struct command_list *list)
{
    puts(".\\\" SPDX-License-Identifier: MIT\n"
         ".\\\" Printed by cbank help --man; see CONTRIBUTING.md.");
    printf(".TH CBANK 1 \"\" \"cbank %s\" \"User Commands\"\n", tool.version);
    fputs(man_begin, stdout);
    for (size_t i = 0; i < list->count; i++)
        put_command(list->commands[i]);
    fputs(man_end, stdout);
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

static const char completion_end[] =
    "    esac\n"
    "}\n"
    "\n"
    "_cbank()\n"
    "{\n"
    "    local command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} option= list= words=\n"
    "    COMPREPLY=()\n"
    "\n"
    "    # Bash splits at \"=\": the value is a word of its own, or the \"=\" itself where it is still empty.\n"
    "    if [[ $word == = ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 1]} word=\n"
    "    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --* ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    fi\n"
    "    words=$(_cbank_words \"$command\" \"$option\")\n"
    "\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        COMPREPLY=($(compgen -W \"$(_cbank_options '')\" -- \"$word\"))\n"
    "    elif [[ $word == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$(_cbank_options \"$command\")\" -- \"$word\"))\n"
    "    elif [[ -n $words ]]; then\n"
    "        # A list: what stands before the last comma stays.\n"
    "        [[ $word == *,* ]] && list=${word%,*},\n"
    "        COMPREPLY=($(compgen -P \"$list\" -W \"$words\" -- \"${word##*,}\"))\n"
    "    else\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _cbank cbank\n";

static void put_option_names(const struct command *command)
{
    printf("    %s) echo '--help", command->name);
    for (size_t g = 0; g < command->group_count; g++)
        for (size_t i = 0; i < command->groups[g].count; i++)
            if (!command->groups[g].rows[i].hidden)
                printf(" --%s", command->groups[g].rows[i].name);
    puts("' ;;");
}

static void put_option_words(const struct command *command, const struct option_row *option)
{
    const char *word = option->kind->choices && !option->hidden ? option->kind->choices(option, 0) : NULL;

    if (!word)
        return;
    printf("    %s:--%s) echo '", command->name, option->name);
    for (size_t i = 0; (word = option->kind->choices(option, i)); i++)
        printf("%s%s", i ? " " : "", word);
    puts("' ;;");
}

void help_print_completion(const struct command_list *list)
{
    fputs(completion_begin, stdout);
    fputs("    '') echo '", stdout);
    for (size_t i = 0; i < list->count; i++)
        printf("%s%s", i ? " " : "", list->commands[i]->name);
    puts(" help' ;;");
    for (size_t i = 0; i < list->count; i++)
        put_option_names(list->commands[i]);
    fputs(completion_middle, stdout);
    for (size_t i = 0; i < list->count; i++)
        for (size_t g = 0; g < list->commands[i]->group_count; g++)
            for (size_t k = 0; k < list->commands[i]->groups[g].count; k++)
                put_option_words(list->commands[i], &list->commands[i]->groups[g].rows[k]);
    fputs(completion_end, stdout);
}
