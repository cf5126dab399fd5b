/* SPDX-License-Identifier: MIT
 * `cbank show`: documents of every kind, by the name of their schema. kinds[] says how each is
 * checked and what of it is printed; results and characterizations have screens of their own.
 * --check takes files on all processors and prints in the order of the line. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise.h"
#include "analysis.h"
#include "calibration.h"
#include "card.h"
#include "characterization.h"
#include "command.h"
#include "explain.h"
#include "export.h"
#include "invalid.h"
#include "log.h"
#include "manifest.h"
#include "measured.h"
#include "memory.h"
#include "normal.h"
#include "parallel.h"
#include "ranking.h"
#include "report.h"
#include "schema.h"
#include "show_document.h"
#include "show_result.h"
#include "table_set.h"

/* A kind of document whose schema is printed. */
struct schema_row {
    const char *name;
    const struct document *document; /* NULL: of the analysis, whose command of that name says it */
};

/* results/NAME.schema.json, but for results/schema.json, are what they print. */
static const struct schema_row schema_rows[] = {
    {"result", &result_document},
    {"comparison", &comparison_document},
    {"calibration", &calibration_document},
    {"characterization", &characterization_document},
    {"card", &card_document},
    {"manifest", &manifest_document},
    {"normal", &normal_document},
    {"explanation", &explain_document},
    {"advice", &advise_document},
    {"tables", &table_set_document},
    {"ranking", &ranking_document},
    {"lookups", &measured_document},
    {"fleet", NULL},
    {"history", NULL},
    {"check", NULL},
};
static const size_t schema_count = sizeof(schema_rows) / sizeof(schema_rows[0]);

struct show_options {
    struct format_options format;
    const char *cell; /* NULL: all */
    bool all, check;
    const struct schema_row *schema; /* NULL: documents are shown */
    struct output_options look;
};

static const struct option_row rows[] = {
    {.name = "cell",
     .topic = TOPIC_VIEW,
     .argument = "CELL",
     .kind = &option_text,
     .offset = offsetof(struct show_options, cell),
     .help = "everything about the cell with this identity WORKLOAD/PATH/PATTERN/..., or about the "
             "cells of a glob"},
    {.name = "all",
     .topic = TOPIC_VIEW,
     .help = "print all of a document, not a screen",
     .kind = &option_flag,
     .offset = offsetof(struct show_options, all)},
    {.name = "check",
     .topic = TOPIC_VIEW,
     .help = "print no document, but for each file whether it is one: \"valid FILE\" or \"refused "
             "FILE\", what is wrong, and which cells of a result are invalid",
     .kind = &option_flag,
     .offset = offsetof(struct show_options, check)},
    {.name = "schema",
     .topic = TOPIC_VIEW,
     .argument = "KIND",
     .help = "print the JSON Schema of documents of this kind, and no document",
     .kind = &option_choice,
     .table = TABLE("kind of document", schema_rows, schema_count),
     .offset = offsetof(struct show_options, schema)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(format_option_rows, offsetof(struct show_options, format)),
    OPTION_GROUP(output_option_rows, offsetof(struct show_options, look)),
};

/* -- checking ---------------------------------------------------------------------------------- */

static enum status check_calibration(const char *file, const cJSON *tree)
{
    struct calibration calibration = {0};
    const enum status status = document_take(&calibration_document, file, tree, &calibration);

    calibration_close(&calibration);
    return status;
}

static enum status check_card(const char *file, const cJSON *tree)
{
    struct card card;

    return card_check(file, tree, &card);
}

static enum status check_normal(const char *file, const cJSON *tree)
{
    struct normal normal = {.kinds = NULL};
    const enum status status = document_take(&normal_document, file, tree, &normal);

    normal_close(&normal);
    return status;
}

static enum status check_lookups(const char *file, const cJSON *tree)
{
    struct measured measured = {.lookups = NULL};
    const enum status status = document_take(&measured_document, file, tree, &measured);

    measured_close(&measured);
    return status;
}

static enum status check_characterization(const char *file, const cJSON *tree)
{
    struct characterization characterization = {.count = 0};
    const enum status status = characterization_read(file, &characterization);

    (void)tree;
    characterization_close(&characterization);
    return status;
}

/* A document that is only written: nothing but its version is known. */
static enum status check_version(const char *file, const cJSON *tree)
{
    const char *version = cJSON_GetStringValue(json_get(json_get(tree, "schema"), "version"));

    if (version && strncmp(version, "1.", 2) == 0)
        return STATUS_OK;
    return log_error(STATUS_USAGE, "%s: schema.version: expected 1.x; write it again with cbank",
                     file);
}

#define DEVICE "device.name=GPU device.driver=driver"

/* clang-format off */
/* Documents by the name in their schema; results are apart, as they keep their tree. */
static const struct kind {
    const char *schema;
    enum status (*check)(const char *file, const cJSON *tree);
    struct shown_document shown; /* empty: it has a screen of its own */
} kinds[] = {
    {.schema = "cbank-characterization", .check = check_characterization},
    {.schema = "cbank-card", .check = check_card,
     .shown = {"name chip cc_major cc_minor",
               {{.path = "model", .columns = "@=number value low high from method"}}}},
    {.schema = "cbank-calibration", .check = check_calibration,
     .shown = {DEVICE " processes",
               {{.path = "cells",
                 .columns = "identity=cell process_deviation.value=deviation median_ns=time "
                            "process_deviation.degrees_of_freedom=degrees "
                            "process_deviation.origin=origin",
                 .descending = "process_deviation.value"}}}},
    {.schema = "cbank-manifest", .check = manifest_check,
     .shown = {DEVICE " measured_utc credit tool.version=version tool.git_commit=commit",
               {{.path = "files", .columns = "name=file bytes sha256"}}}},
    {.schema = "cbank-normal", .check = check_normal,
     .shown = {"model",
               {{.path = "kinds",
                 .columns = "board.part_number=part_number board.constant_cache_groups=groups "
                            "boards"}}}},
    {.schema = "cbank-lookups", .check = check_lookups,
     .shown = {"card", {{.path = "lookups", .columns = "identity=lookups file"}}}},
    {.schema = "cbank-comparison", .check = check_version,
     .shown = {"summary to_decide base.label=base base.device.name=GPU base.device.driver=driver "
               "new.label=new new.device.name=GPU new.device.driver=driver",
               {{.path = "cells",
                 .columns = "identity=cell verdict ratio.value=ratio ratio.ci_low=low "
                            "ratio.ci_high=high base_ns=base new_ns=new"}}}},
    {.schema = "cbank-explanation", .check = check_version,
     .shown = {"threshold",
               {{.path = "results", .columns = "file card " DEVICE},
                {.path = "results.cells",
                 .columns = "identity=cell time_ns=time bound model_ns.value=modelled "
                            "model_ns.low=low model_ns.high=high"}}}},
    {.schema = "cbank-advice", .check = check_version,
     .shown = {"card device configuration.workload=workload configuration.pattern=pattern "
               "configuration.table_bytes=table_bytes choice why measure",
               {{.path = "ranking",
                 .columns = "path time_ns=time ratio near.mean=near standing busy_ns=busy unit "
                            "requests_per_load=requests"},
                {.path = "near", .columns = "identity=near file"},
                {.path = "excluded", .columns = "path reason"},
                {.path = "code.kernels", .columns = "name=kernel tables loads"}}}},
    {.schema = "cbank-tables", .check = check_version,
     .shown = {"card constant_bytes shared_bytes param_bytes time_ns=time bound",
               {{.path = "tables",
                 .columns = "name chosen reads source constant_ns=constant shared_ns=shared "
                            "param_ns=param elsewhere_ns=elsewhere"}}}},
    {.schema = "cbank-ranking", .check = check_version,
     .shown = {DEVICE " started_utc=started threshold",
               {{.path = "cells",
                 .columns = "identity=cell verdict ratio.value=ratio ratio.ci_low=low "
                            "ratio.ci_high=high time_ns.value=time why"}}}},
    {.schema = "cbank-fleet", .check = check_version,
     .shown = {"store verdict answered expected nights night.first_utc=night",
               {{.path = "findings", .columns = "kind who change since_utc=since what"},
                {.path = "gpus", .columns = "uuid=GPU verdict driver last_utc=last name host"}}}},
    {.schema = "cbank-history", .check = check_version,
     .shown = {"schema.version=version",
               {{.path = "changes", .columns = "since_utc=since uuid=GPU change cell with"},
                {.path = "rows",
                 .columns = "started_utc=started uuid=GPU cells failed driver gpu=name file"},
                {.path = "forgotten", .columns = "file uuid=GPU why"}}}},
    {.schema = "cbank-check", .check = check_version,
     .shown = {"schema.version=version",
               {{.path = "documents", .columns = "file kind measured findings"},
                {.path = "folders", .columns = "folder gpu=GPU driver files bytes findings credit"},
                {.path = "stores", .columns = "store findings"}}}},
};
/* clang-format on */

static const struct kind *kind_of(const cJSON *tree)
{
    const char *schema = cJSON_GetStringValue(json_get(json_get(tree, "schema"), "name"));

    for (size_t i = 0; schema && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].schema, schema) == 0)
            return &kinds[i];
    return NULL;
}

/* Writes a line for each invalid cell: "invalid INDEX WORDS". */
static void put_invalid(FILE *stream, const struct result *result)
{
    for (size_t i = 0; i < result->cell_count; i++) {
        const uint32_t causes = result_cell_invalid(result, &result->cells[i]);

        if (!causes)
            continue;
        fprintf(stream, "invalid %zu %s\n", i, invalid_rows[__builtin_ctz(causes)].words);
    }
}

/* Reads a document of any kind, as commands read it, and writes which cells of a result are
 * invalid. STATUS_USAGE, logged, if it is wrong. */
static enum status check_file(const char *file, FILE *invalid)
{
    cJSON *tree = NULL;
    enum status status = json_read_file(file, &tree);
    const struct kind *kind = kind_of(tree);
    struct result result;

    if (status != STATUS_OK)
        return status;
    if (!kind) {
        status = result_take(file, tree, &result);
        if (status == STATUS_OK)
            put_invalid(invalid, &result);
        result_close(&result);
        return status;
    }
    status = kind->check(file, tree);
    json_free(tree);
    return status;
}

struct checking {
    char *const *files;
    enum status *statuses; /* of the files */
    struct memory *invalid; /* lines about the cells of each; text is owned */
};

static void check_some(void *context, uint64_t first, uint64_t count)
{
    struct checking *checking = context;

    for (uint64_t i = first; i < first + count; i++) {
        FILE *stream = memory_open(&checking->invalid[i]);

        checking->statuses[i] = stream ? check_file(checking->files[i], stream) : STATUS_OK;
        if (!memory_close(&checking->invalid[i], stream))
            checking->statuses[i] = log_memory("%s", checking->files[i]);
    }
}

static enum status check_files(char *const *files, size_t count)
{
    struct checking checking = {files, calloc(count, sizeof(*checking.statuses)),
                                calloc(count, sizeof(*checking.invalid))};
    enum status worst = STATUS_OK;

    if (!checking.statuses || !checking.invalid) {
        free(checking.statuses);
        free(checking.invalid);
        return log_memory("%zu files", count);
    }
    parallel_keep_memory();
    parallel_ranges(count, 1, check_some, &checking);
    for (size_t i = 0; i < count; i++) {
        fputs(checking.statuses[i] == STATUS_OK ? "valid " : "refused ", stdout);
        text_put(stdout, escapes_none, files[i]);
        putchar('\n');
        if (checking.invalid[i].text)
            fputs(checking.invalid[i].text, stdout);
        free(checking.invalid[i].text);
        worst = status_worse(worst, checking.statuses[i]);
    }
    free(checking.statuses);
    free(checking.invalid);
    return worst;
}

/* -- showing ----------------------------------------------------------------------------------- */

/* Of the analysis it does not return, unless it fails. */
static enum status show_schema(const struct schema_row *row)
{
    char name[16], option[] = "--schema", *words[] = {name, option};

    if (row->document)
        return json_put_owned(stdout, document_schema(row->document));
    snprintf(name, sizeof(name), "%s", row->name);
    return analysis_start(sizeof(words) / sizeof(words[0]), words);
}

/* A file of the command line, and the way to print it. */
struct shown_file {
    const struct show_options *options;
    const struct export *export; /* NULL: text */
    const char *file;
    size_t index; /* of the files */
    bool several; /* there are others */
};

/* Where a document begins that is one of several. */
static void separate(const struct shown_file *shown)
{
    if (!shown->several)
        return;
    fputs(shown->index ? "\n" : "", stdout);
    text_put(stdout, escapes_none, shown->file);
    puts(":");
}

/* Prints a result in the way that was asked for. Takes the tree. */
static enum status show_as_result(const struct shown_file *shown, cJSON *tree)
{
    const struct show_options *options = shown->options;
    const struct export_view view = {shown->file, options->cell, shown->index > 0};
    struct result result;
    enum status status = result_take(shown->file, tree, &result);

    if (status != STATUS_OK)
        return status;
    if (!(shown->export && shown->export->joins))
        separate(shown);
    if (shown->export)
        status = shown->export->print(stdout, &result, &view);
    else if (options->cell)
        status = show_cells(stdout, &result, shown->file, options->cell);
    else
        status = show_result(stdout, &result, output_color(&options->look, STDOUT_FILENO));
    result_close(&result);
    return status;
}

/* Prints another document. */
static enum status show_other(const struct shown_file *shown, const struct kind *kind,
                              const cJSON *tree)
{
    const struct show_options *options = shown->options;
    const struct print_style look = output_style(&options->look);
    enum status status;

    if (shown->export || options->cell)
        return log_error(STATUS_USAGE,
                         "%s: --csv, --json, --markdown and --cell are for results, and this is a "
                         "%s",
                         shown->file, kind->schema);
    if (!kind->shown.facts) {
        separate(shown);
        return characterization_show(shown->file, options->all);
    }
    status = kind->check(shown->file, tree);
    if (status != STATUS_OK)
        return status;
    fputs(shown->index ? "\n" : "", stdout);
    text_line(stdout, "%s: %s", shown->file, kind->schema + strlen("cbank-"));
    return document_show(&kind->shown, tree, &look, options->all);
}

static enum status show_file(const struct shown_file *shown)
{
    cJSON *tree = NULL;
    enum status status = json_read_file(shown->file, &tree);
    const struct kind *kind = kind_of(tree);

    if (status != STATUS_OK)
        return status;
    if (!kind)
        return show_as_result(shown, tree);
    status = show_other(shown, kind, tree);
    json_free(tree);
    return status;
}

static enum status show(const void *parsed, const struct invocation *invocation)
{
    const struct show_options *options = parsed;
    const size_t count = invocation->argument_count;
    struct shown_file shown = {.options = options, .several = count > 1};
    size_t format;
    enum status worst = format_taken(&options->format, &format);

    if (worst != STATUS_OK)
        return worst;
    shown.export = format < GRID_FORMAT_COUNT ? exports[format] : NULL;
    if (shown.export && shown.export->whole && (count > 1 || options->cell))
        return log_error(STATUS_USAGE,
                         "--%s prints one whole result; give one file, without --cell",
                         grid_formats[format]->name);
    if (options->schema)
        return show_schema(options->schema);
    if (count == 0)
        return log_error(STATUS_USAGE, "show needs FILE...; try cbank show --help");
    if (options->check)
        return check_files(invocation->arguments, count);
    for (; worst != STATUS_USAGE && shown.index < count; shown.index++) {
        shown.file = invocation->arguments[shown.index];
        worst = status_worse(worst, show_file(&shown));
    }
    return worst;
}

const struct command show_command = {
    .name = "show",
    .summary = "Print documents: the tables of results, a screen of any other",
    .arguments = "FILE...",
    .arguments_max = 1000,
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct show_options),
    .details =
        "A FILE is any document of cbank: a result, characterization, card, calibration, "
        "comparison, advice, explanation,\n"
        "history, verdict on a fleet, manifest of a chip's folder, or what cbank check found. "
        "--csv, --json, --markdown\n"
        "and --cell are for results. A characterization is analysed again.",
    .run = show,
};
