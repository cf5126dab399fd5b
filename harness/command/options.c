/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "log.h"

/* -- the table ---------------------------------------------------------------------------------------- */

/* One option: what help says and what parsing does. */
struct option_row {
    const char *name;
    char letter;            /* of its short form; 0 for none */
    const char *argument;   /* its name in help; NULL for a flag */
    const char *help;
    unsigned group;         /* enum option_group */
    enum status (*parse)(const struct option_row *row, const char *text, struct options *options);
    size_t offset;          /* of the member in struct options that parse sets */
    struct table table;     /* for choices */
    double min, max;        /* for numbers */
    uint64_t multiple;      /* for integers: 0 or what they must be a multiple of */
    const struct parameter *parameter; /* for integers that are a parameter's: more limits */
    const char *unit;       /* for the message about limits */
    const char *otherwise;  /* a word taken in place of numbers: "all", "auto" */
    const char *fallback;   /* parsed when the option was not given */
    bool hidden;            /* developers only: not in help */
};

static enum status parse_selection(const struct option_row *row, const char *text, struct options *options);
static enum status parse_choice(const struct option_row *row, const char *text, struct options *options);
static enum status parse_integers(const struct option_row *row, const char *text, struct options *options);
static enum status parse_integer(const struct option_row *row, const char *text, struct options *options);
static enum status parse_number(const struct option_row *row, const char *text, struct options *options);
static enum status parse_text(const struct option_row *row, const char *text, struct options *options);
static enum status parse_flag(const struct option_row *row, const char *text, struct options *options);
static enum status parse_seed(const struct option_row *row, const char *text, struct options *options);
static enum status parse_counters(const struct option_row *row, const char *text, struct options *options);
static enum status parse_color(const struct option_row *row, const char *text, struct options *options);
static enum status parse_slow(const struct option_row *row, const char *text, struct options *options);

/* A choice of --color; `mode` is what it stands for. */
struct color_row {
    const char *name;
    enum color_mode mode;
};

static const struct color_row color_rows[] = {
    {"auto", COLOR_AUTO},
    {"always", COLOR_ALWAYS},
    {"never", COLOR_NEVER},
};
static const size_t color_count = sizeof(color_rows) / sizeof(color_rows[0]);

#define MEMBER(member) offsetof(struct options, member)

/* clang-format off */
static const struct option_row option_rows[] = {
    {.name = "workload", .argument = "LIST", .help = "workloads, comma-separated, or all (default add)", .group = OPTIONS_PLAN,
     .parse = parse_selection, .offset = MEMBER(workloads), .table = TABLE("workload", workloads, workload_count),
     .fallback = "add"},
    {.name = "path", .argument = "LIST", .help = "load paths, or all (default constant,global,readonly)", .group = OPTIONS_PLAN,
     .parse = parse_selection, .offset = MEMBER(paths), .table = TABLE("path", paths, path_count),
     .fallback = "constant,global,readonly"},
    {.name = "pattern", .argument = "LIST", .help = "access patterns, or all (default: the workload's own)", .group = OPTIONS_PLAN,
     .parse = parse_selection, .offset = MEMBER(patterns), .table = TABLE("pattern", patterns, pattern_count)},
    {.name = "elements", .argument = "LIST", .help = "output elements, one a thread (default: the workload's own)",
     .group = OPTIONS_PLAN, .parse = parse_integers, .offset = MEMBER(elements), .min = 1,
     .max = (double)CELL_ELEMENTS_MAX, .unit = "elements"},
    {.name = "block-size", .argument = "LIST", .help = "threads a block, multiples of 32 (default: the workload's own)",
     .group = OPTIONS_PLAN, .parse = parse_integers, .offset = MEMBER(block_sizes), .min = 32,
     .max = CELL_BLOCK_SIZE_MAX, .multiple = CBANK_WARP_THREADS, .unit = "threads"},
#define PARAMETER(name_, option_, summary_, unit_, min_, max_, multiple_, fallback_)                        \
    {.name = option_, .argument = "LIST", .help = summary_ " (default " fallback_ ")", .group = OPTIONS_PLAN, \
     .parse = parse_integers, .offset = MEMBER(parameters[PARAMETER_##name_]), .min = min_, .max = max_,    \
     .multiple = multiple_, .parameter = &parameters[PARAMETER_##name_], .unit = unit_, .fallback = fallback_},
#include "parameters.def"
    {.name = "regime", .argument = "LIST", .help = "hot, cold, or all (default hot)", .group = OPTIONS_PLAN,
     .parse = parse_selection, .offset = MEMBER(regimes), .table = TABLE("regime", regimes, regime_count),
     .fallback = "hot"},
    {.name = "engine", .argument = "NAME", .help = "cuda, model, or auto: cuda where there is a GPU (default)",
     .group = OPTIONS_MEASURE, .parse = parse_choice, .offset = MEMBER(engine),
     .table = TABLE("engine", engine_rows, engine_count), .otherwise = "auto", .fallback = "auto"},
    {.name = "device", .argument = "LIST", .help = "GPU ordinals, or all; one result file each (default 0)",
     .group = OPTIONS_MEASURE, .parse = parse_integers, .offset = MEMBER(devices), .min = 0, .max = 1023,
     .unit = "as a device", .otherwise = "all", .fallback = "0"},
    {.name = "counters", .argument = "LIST", .help = "default, none, or names of the table and of CUPTI metrics",
     .group = OPTIONS_MEASURE, .parse = parse_counters, .fallback = "default"},
    {.name = "max-noise", .argument = "PERCENT",
     .help = "stop a cell when half its interval is below this share of the median (default 0.5)",
     .group = OPTIONS_MEASURE, .parse = parse_number, .offset = MEMBER(max_noise_percent), .min = 0.001,
     .max = 100, .unit = "percent", .fallback = "0.5"},
    {.name = "sample-us", .argument = "US",
     .help = "length of a hot sample; longer ones take fewer, less noisy samples (default 500)",
     .group = OPTIONS_MEASURE, .parse = parse_number, .offset = MEMBER(sample_us), .min = 10, .max = 1e6,
     .unit = "microseconds", .fallback = "500"},
    {.name = "max-samples", .argument = "N", .help = "samples of a cell at most (default 200)",
     .group = OPTIONS_MEASURE, .parse = parse_integer, .offset = MEMBER(samples_max), .min = 6, .max = 10000,
     .unit = "samples", .fallback = "200"},
    {.name = "max-seconds", .argument = "SECONDS", .help = "sampling time of a cell at most (default 2)",
     .group = OPTIONS_MEASURE, .parse = parse_number, .offset = MEMBER(seconds_max), .min = 0.001, .max = 3600,
     .unit = "seconds", .fallback = "2"},
    {.name = "seed", .argument = "N", .help = "of inputs and order; recorded (default: from the clock)",
     .group = OPTIONS_MEASURE, .parse = parse_seed, .offset = MEMBER(seed)},
    {.name = "fault", .argument = "NAME", .help = "plant a fault", .group = OPTIONS_MEASURE, .parse = parse_choice,
     .offset = MEMBER(fault), .table = TABLE("fault", faults, fault_count), .otherwise = "none",
     .fallback = "none", .hidden = true},
    {.name = "slow", .argument = "PATH:PERCENT", .help = "add work to the hot cells of a path",
     .group = OPTIONS_MEASURE, .parse = parse_slow, .table = TABLE("path", paths, path_count), .min = 0, .max = 1000,
     .unit = "percent", .hidden = true},
    {.name = "launches", .argument = "N", .help = "processes that run the plan (default 5)",
     .group = OPTIONS_CALIBRATE, .parse = parse_integer, .offset = MEMBER(launches), .min = 2, .max = 1000,
     .unit = "launches", .fallback = "5"},
    {.name = "keep", .argument = "FOLDER", .help = "keep the results of the launches there",
     .group = OPTIONS_CALIBRATE, .parse = parse_text, .offset = MEMBER(keep_path)},
    {.name = "json", .argument = "FILE", .help = "where the calibration goes (default calibration.json)",
     .group = OPTIONS_CALIBRATE, .parse = parse_text, .offset = MEMBER(json_path), .fallback = "calibration.json"},
    {.name = "device", .argument = "N", .help = "GPU ordinal (default 0)", .group = OPTIONS_CHARACTERIZE,
     .parse = parse_integer, .offset = MEMBER(ordinal), .min = 0, .max = 1023, .unit = "as a device", .fallback = "0"},
    {.name = "replay", .argument = "FILE", .help = "analyse the answers in a characterization again, without a GPU",
     .group = OPTIONS_CHARACTERIZE, .parse = parse_text, .offset = MEMBER(replay_path)},
    {.name = "json", .argument = "FILE",
     .help = "where everything goes that was measured, - for stdout (default characterization.json)",
     .group = OPTIONS_CHARACTERIZE, .parse = parse_text, .offset = MEMBER(json_path), .fallback = "characterization.json"},
    {.name = "card", .argument = "FILE", .help = "card that --new-card takes the other values from (default: built in)",
     .group = OPTIONS_CHARACTERIZE, .parse = parse_text, .offset = MEMBER(card_path)},
    {.name = "new-card", .argument = "FILE",
     .help = "write a card of the chip: what was found, and for the rest the values of --card",
     .group = OPTIONS_CHARACTERIZE, .parse = parse_text, .offset = MEMBER(new_card_path)},
    {.name = "threshold", .argument = "PERCENT", .help = "change of time that counts (default 1%)",
     .group = OPTIONS_COMPARE, .parse = parse_number, .offset = MEMBER(threshold_percent), .min = 0.001, .max = 1000,
     .unit = "percent", .fallback = "1"},
    {.name = "counter-threshold", .argument = "PERCENT",
     .help = "change of a measured counter that is shown (default 5%); exact ones are compared exactly",
     .group = OPTIONS_COMPARE, .parse = parse_number, .offset = MEMBER(counter_threshold_percent), .min = 0,
     .max = 1e6, .unit = "percent", .fallback = "5"},
    {.name = "allow-diff", .argument = "LIST", .help = "what may differ: engine, device, uuid, clocks, ecc, mig, sass",
     .group = OPTIONS_COMPARE, .parse = parse_selection, .offset = MEMBER(allowed),
     .table = TABLE("facet", facets, facet_count)},
    {.name = "calibration", .argument = "FILE", .help = "noise of the cells, from cbank calibrate",
     .group = OPTIONS_COMPARE, .parse = parse_text, .offset = MEMBER(calibration_path)},
    {.name = "all", .help = "show the cells that are the same, too", .group = OPTIONS_COMPARE, .parse = parse_flag,
     .offset = MEMBER(all)},
    {.name = "markdown", .argument = "FILE", .help = "write a report for a step summary", .group = OPTIONS_COMPARE,
     .parse = parse_text, .offset = MEMBER(markdown_path)},
    {.name = "junit", .argument = "FILE", .help = "write a JUnit report", .group = OPTIONS_COMPARE,
     .parse = parse_text, .offset = MEMBER(junit_path)},
    {.name = "json", .argument = "FILE", .help = "write the comparison as JSON", .group = OPTIONS_COMPARE,
     .parse = parse_text, .offset = MEMBER(json_path)},
    {.name = "csv", .argument = "FILE", .help = "write the comparison as CSV", .group = OPTIONS_COMPARE,
     .parse = parse_text, .offset = MEMBER(csv_path)},
    {.name = "format", .argument = "NAME", .help = "csv, gbench, bmf or otava", .group = OPTIONS_EXPORT,
     .parse = parse_choice, .offset = MEMBER(format), .table = TABLE("format", export_formats, export_format_count),
     .fallback = "csv"},
    {.name = "cell", .argument = "CELL", .help = "the cells named so, as WORKLOAD/PATH/PATTERN/..., or a part",
     .group = OPTIONS_HISTORY | OPTIONS_EXPLAIN, .parse = parse_text, .offset = MEMBER(cell)},
    {.name = "output", .letter = 'o', .argument = "DIR", .help = "folder of the page, made where there is none",
     .group = OPTIONS_REPORT, .parse = parse_text, .offset = MEMBER(output_path)},
    {.name = "interactive", .help = "filter cells, and see them in a chart, by a script in the page (needs libjs-d3)",
     .group = OPTIONS_REPORT, .parse = parse_flag, .offset = MEMBER(interactive)},
    {.name = "library", .argument = "FILE", .help = "d3.min.js for --interactive (default: the distribution's)",
     .group = OPTIONS_REPORT, .parse = parse_text, .offset = MEMBER(library_path)},
    {.name = "card", .argument = "FILE", .help = "chip card of the model engine (default: built in)",
     .group = OPTIONS_CARD, .parse = parse_text, .offset = MEMBER(card_path)},
    {.name = "json", .argument = "PATH",
     .help = "write the result to a file, into a folder (made if it ends in /), or - for stdout",
     .group = OPTIONS_OUTPUT, .parse = parse_text, .offset = MEMBER(json_path)},
    {.name = "resume", .argument = "FILE", .help = "measure what an interrupted result is missing, in place",
     .group = OPTIONS_OUTPUT, .parse = parse_text, .offset = MEMBER(resume_path)},
    {.name = "strict", .help = "exit 4 when a cell is inconclusive", .group = OPTIONS_GATE, .parse = parse_flag,
     .offset = MEMBER(strict)},
    {.name = "json", .help = "print JSON", .group = OPTIONS_LIST | OPTIONS_EXPLAIN, .parse = parse_flag,
     .offset = MEMBER(json)},
    {.name = "quiet", .help = "print errors and warnings alone", .group = OPTIONS_GATE | OPTIONS_CHARACTERIZE,
     .parse = parse_flag,
     .offset = MEMBER(quiet)},
    {.name = "color", .argument = "WHEN", .help = "auto, always or never; NO_COLOR is respected",
     .group = OPTIONS_SHOW, .parse = parse_color, .fallback = "auto",
     .table = TABLE("colour mode", color_rows, color_count)},
};
/* clang-format on */

enum { OPTION_COUNT = sizeof(option_rows) / sizeof(option_rows[0]), KEY_BASE = 0x1000 };

/* -- values ------------------------------------------------------------------------------------------- */

static void *member(const struct option_row *row, struct options *options)
{
    return (char *)options + row->offset;
}

static enum status bad_value(const struct option_row *row, const char *text, const char *expected)
{
    return log_error(STATUS_USAGE, "--%s: '%s' is not %s", row->name, text, expected);
}

static enum status parse_selection(const struct option_row *row, const char *text, struct options *options)
{
    struct selection *selection = member(row, options);

    selection_close(selection);
    return table_select(&row->table, text, selection);
}

static enum status parse_choice(const struct option_row *row, const char *text, struct options *options)
{
    const void *found = table_find(&row->table, text);

    if (!found && (!row->otherwise || strcmp(text, row->otherwise) != 0))
        return table_unknown(&row->table, text);
    memcpy(member(row, options), &found, sizeof(found));
    return STATUS_OK;
}

static enum status out_of_limits(const struct option_row *row, const char *text)
{
    if (row->multiple > 1)
        return log_error(STATUS_USAGE, "--%s: %s is not a multiple of %" PRIu64 " from %.0f to %.0f %s", row->name,
                         text, row->multiple, row->min, row->max, row->unit);
    if (row->parameter && row->parameter->multiple == 0)
        return log_error(STATUS_USAGE, "--%s: %s is not a power of two from %.0f to %.0f %s", row->name, text, row->min,
                         row->max, row->unit);
    return log_error(STATUS_USAGE, "--%s: %s is out of limits; %.15g to %.15g %s", row->name, text, row->min, row->max,
                     row->unit);
}

static enum status integer_value(const struct option_row *row, const char *text, uint64_t *value)
{
    const size_t digits = strspn(text, "0123456789");
    const bool negative = text[0] == '-' && text[1] && strspn(text + 1, "0123456789") == strlen(text + 1);

    if (negative || (digits > 0 && digits == strlen(text) && digits > 18))
        return out_of_limits(row, text);
    if (digits == 0 || text[digits])
        return bad_value(row, text, "a whole number");
    *value = strtoull(text, NULL, 10);
    if ((double)*value < row->min || (double)*value > row->max || (row->multiple && *value % row->multiple) ||
        (row->parameter && !parameter_allows(row->parameter, *value)))
        return out_of_limits(row, text);
    return STATUS_OK;
}

static enum status parse_integer(const struct option_row *row, const char *text, struct options *options)
{
    return integer_value(row, text, member(row, options));
}

static void integers_add(struct integers *integers, uint64_t value)
{
    for (size_t i = 0; i < integers->count; i++)
        if (integers->values[i] == value)
            return;
    integers->values[integers->count++] = value;
}

static enum status parse_integers(const struct option_row *row, const char *text, struct options *options)
{
    struct integers *integers = member(row, options);
    enum status status = STATUS_OK;
    char *names = strdup(text);
    uint64_t value;

    free(integers->values);
    *integers = (struct integers){.values = calloc(strlen(text) + 1, sizeof(uint64_t))};
    if (!names || !integers->values) {
        status = log_error(STATUS_ENVIRONMENT, "out of memory");
    } else if (row->otherwise && strcmp(text, row->otherwise) == 0) {
        integers->all = true;
    } else {
        for (char *rest = names, *name; status == STATUS_OK && (name = strsep(&rest, ","));) {
            status = integer_value(row, name, &value);
            if (status == STATUS_OK)
                integers_add(integers, value);
        }
    }
    free(names);
    return status;
}

static enum status parse_number(const struct option_row *row, const char *text, struct options *options)
{
    char *end;
    const double value = strtod(text, &end);

    if (*end == '%' && strcmp(row->unit, "percent") == 0)
        end++;
    if (end == text || *end || !isfinite(value))
        return bad_value(row, text, "a number");
    if (value < row->min || value > row->max)
        return out_of_limits(row, text);
    memcpy(member(row, options), &value, sizeof(value));
    return STATUS_OK;
}

static enum status parse_text(const struct option_row *row, const char *text, struct options *options)
{
    if (!text[0])
        return bad_value(row, text, "a path");
    memcpy(member(row, options), &text, sizeof(text));
    return STATUS_OK;
}

static enum status parse_flag(const struct option_row *row, const char *text, struct options *options)
{
    (void)text;
    *(bool *)member(row, options) = true;
    return STATUS_OK;
}

static enum status parse_seed(const struct option_row *row, const char *text, struct options *options)
{
    char *end;

    errno = 0;
    options->seed = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-')
        return bad_value(row, text, "a whole number below 2^64");
    options->seed_given = true;
    return STATUS_OK;
}

static enum status parse_counters(const struct option_row *row, const char *text, struct options *options)
{
    (void)row;
    counter_set_close(&options->counters);
    options->counters_text = text;
    return counter_set_parse(text, &options->counters);
}

static enum status parse_color(const struct option_row *row, const char *text, struct options *options)
{
    const struct color_row *found = table_find(&row->table, text);

    if (!found)
        return table_unknown(&row->table, text);
    options->color = found->mode;
    return STATUS_OK;
}

/* "PATH:PERCENT". */
static enum status parse_slow(const struct option_row *row, const char *text, struct options *options)
{
    char name[64];
    const size_t colon = strcspn(text, ":");
    struct option_row number = *row;

    snprintf(name, sizeof(name), "%.*s", (int)colon, text);
    options->slow_path = table_find(&row->table, name);
    if (!options->slow_path)
        return table_unknown(&row->table, name);
    number.offset = MEMBER(slow_percent);
    return parse_number(&number, text[colon] ? text + colon + 1 : "", options);
}

/* -- argp --------------------------------------------------------------------------------------------- */

/* What the callback of argp works on. */
struct parsing {
    const struct command *command;
    struct options *options;
    enum status status;
    bool given[OPTION_COUNT];
};

/* What argp calls an option: its letter where it has one. */
static int option_key(size_t index)
{
    return option_rows[index].letter ? option_rows[index].letter : KEY_BASE + (int)index;
}

static error_t parse_key(int key, char *argument, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    size_t index = 0;

    while (index < OPTION_COUNT && key != option_key(index))
        index++;
    if (index < OPTION_COUNT) {
        const struct option_row *row = &option_rows[index];

        parsing->given[index] = true;
        parsing->status = row->parse(row, argument, parsing->options);
        return parsing->status == STATUS_OK ? 0 : EINVAL;
    }
    if (key == ARGP_KEY_ARGS) {
        parsing->options->arguments = state->argv + state->next;
        parsing->options->argument_count = (size_t)(state->argc - state->next);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* The argp table of what a command takes. */
static void command_options(const struct command *command, bool hidden, struct argp_option options[OPTION_COUNT + 1])
{
    size_t count = 0;

    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];

        if (row->group & command->options && (hidden || !row->hidden))
            options[count++] = (struct argp_option){.name = row->name,
                                                    .key = option_key(i),
                                                    .arg = row->argument,
                                                    .doc = row->help,
                                                    .flags = row->hidden ? OPTION_HIDDEN : 0};
    }
    options[count] = (struct argp_option){0};
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
static enum status check_names(const struct argp_option *options, int argc, char **argv)
{
    static const struct argp_option builtin[] = {{.name = "help"}, {.name = "usage"}, {0}};
    struct argp_option shown[OPTION_COUNT + 2];
    size_t count = 0;

    for (size_t i = 0; options[i].name; i++)
        if (!(options[i].flags & OPTION_HIDDEN))
            shown[count++] = options[i];
    for (size_t i = 0; builtin[i].name; i++)
        shown[count++] = builtin[i];

    const struct table table = {"option", shown, sizeof(shown[0]), &count};

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char name[64];

        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[i] + 2, "="), argv[i] + 2);
        if (!is_option(options, name) && !is_option(builtin, name))
            return table_unknown(&table, name);
    }
    return STATUS_OK;
}

static enum status parse_fallbacks(const struct parsing *parsing)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_rows[i];

        if (row->group & parsing->command->options && !parsing->given[i] && row->fallback)
            status = row->parse(row, row->fallback, parsing->options);
        else if (row->group & (OPTIONS_PLAN | OPTIONS_MEASURE) && parsing->given[i])
            parsing->options->plan_given = true;
    }
    return status;
}

static enum status check_arguments(const struct command *command, const struct options *options)
{
    if (options->argument_count < command->arguments_min)
        return log_error(STATUS_USAGE, "%s needs %s; try cbank %s --help", command->name, command->arguments,
                         command->name);
    if (options->argument_count > command->arguments_max)
        return log_error(STATUS_USAGE, "%s does not take '%s'; try cbank %s --help", command->name,
                         options->arguments[command->arguments_max], command->name);
    return STATUS_OK;
}

static const char exit_codes[] =
    "\vExit codes: 0 done; 1 a finding (wrong output, failed cell, an exact counter differs); 2 usage, I/O or "
    "malformed input; 3 the environment cannot do what was asked; 4 inconclusive, under --strict. An interrupted "
    "run saves what it has and ends by the signal.";

/* Words that ask for help, and which. */
struct help_word {
    const char *word;
    unsigned flags;
};

static const struct help_word help_words[] = {
    {"--help", ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK},
    {"-?", ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK},
    {"--usage", ARGP_HELP_USAGE},
};

/* Prints help where a word asks for it; argp would exit after it. */
static bool print_help(const struct argp *argp, int argc, char **argv, char *program)
{
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof(help_words) / sizeof(help_words[0]); k++)
            if (strcmp(argv[i], help_words[k].word) == 0) {
                argp_help(argp, stdout, help_words[k].flags, program);
                return true;
            }
    return false;
}

enum status options_parse(const struct command *command, int argc, char **argv, struct options *out, bool *done)
{
    struct argp_option argp_options[OPTION_COUNT + 1];
    struct options options = {0};
    struct parsing parsing = {.command = command, .options = &options};
    char documentation[1024], program[64];
    enum status status;

    snprintf(documentation, sizeof(documentation), "%s.%s", command->summary, exit_codes);
    snprintf(program, sizeof(program), "cbank %s", command->name);
    command_options(command, true, argp_options);
    *done = false;
    status = check_names(argp_options, argc, argv);
    if (status != STATUS_OK)
        return status;

    const struct argp argp = {.options = argp_options,
                              .parser = parse_key,
                              .args_doc = command->arguments,
                              .doc = documentation};

    if (print_help(&argp, argc, argv, program)) {
        *done = true;
        return STATUS_OK;
    }
    argv[0] = program;
    if (argp_parse(&argp, argc, argv, ARGP_NO_EXIT, NULL, &parsing) != 0)
        status = parsing.status != STATUS_OK ? parsing.status : STATUS_USAGE;
    if (status == STATUS_OK)
        status = parse_fallbacks(&parsing);
    if (status == STATUS_OK)
        status = check_arguments(command, &options);
    if (status == STATUS_OK)
        *out = options;
    else
        options_close(&options);
    return status;
}

void options_close(struct options *options)
{
    selection_close(&options->workloads);
    selection_close(&options->paths);
    selection_close(&options->patterns);
    selection_close(&options->regimes);
    selection_close(&options->allowed);
    free(options->elements.values);
    free(options->block_sizes.values);
    free(options->devices.values);
    for (size_t i = 0; i < parameter_count; i++)
        free(options->parameters[i].values);
    counter_set_close(&options->counters);
    *options = (struct options){0};
}

bool options_color(const struct options *options, int descriptor)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (options->color != COLOR_AUTO)
        return options->color == COLOR_ALWAYS;
    return isatty(descriptor) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}
