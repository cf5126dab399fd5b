/* SPDX-License-Identifier: MIT
 * Checks whether a document is valid. Folders of chips are checked by the analysis (scripts/cbank/check.py), which runs
 * this command on each file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis.h"
#include "calibration.h"
#include "card.h"
#include "characterization.h"
#include "command.h"
#include "document.h"
#include "log.h"
#include "result.h"
#include "text_print.h"
#include "verdict.h"

struct check_options {
    bool json, brief;
};

#define MEMBER(name) .offset = offsetof(struct check_options, name)

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "json", .help = "print JSON", .kind = &option_flag, MEMBER(json)},
    {.name = "brief", .help = "of a folder that contribute --brief made", .kind = &option_flag, MEMBER(brief), .hidden = true},
};
/* clang-format on */

static const struct option_group groups[] = {OPTION_GROUP(rows, 0)};

/* A document that was checked: a row of results/check.schema.json. */
struct checked {
    const char *file, *kind; /* kind NULL: not a document of cbank */
    bool measured;           /* a GPU answered */
    struct finding {
        char what[256];
        const char *remedy;
    } finding;
    size_t finding_count; /* 0 or 1 */
};

struct checks {
    struct checked *documents;
    size_t count;
};

static const struct field finding_rows[] = {
    {FIELD(field_text, struct finding, "what", what, REQUIRED)},
    {FIELD(field_reference, struct finding, "remedy", remedy, REQUIRED)},
};
static const struct objects finding_list = OBJECTS_OF(finding_rows, struct finding, struct checked, finding_count);
static const struct field checked_rows[] = {
    {FIELD(field_reference, struct checked, "file", file, REQUIRED)},
    {FIELD(field_reference, struct checked, "kind", kind, NULLABLE)},
    {FIELD(field_bool, struct checked, "measured", measured, REQUIRED)},
    {FIELD(field_array, struct checked, "findings", finding, REQUIRED), .of = &finding_list},
};
static const struct objects checked_list = OBJECTS_OF(checked_rows, struct checked, struct checks, count);
static const struct field check_rows[] = {
    {FIELD(field_list, struct checks, "documents", documents, REQUIRED), .of = &checked_list},
};
static const struct document check_document_kind = {.schema = "cbank-check",
                                                    .major = 1,
                                                    .root = {.fields = FIELDS(check_rows), .given = SIZE_MAX}};

/* Reads a document by its kind. STATUS_OK even if it is invalid; its reader has then logged the place. STATUS_USAGE:
 * the file does not exist. */
static enum status check_document(struct checked *out)
{
    union {
        struct result result;
        struct characterization characterization;
        struct calibration calibration;
        struct card card;
    } as = {0};
    const char *schema, *what = NULL;
    char differing[96];
    cJSON *json = NULL;
    const bool there = access(out->file, R_OK) == 0;
    enum status status = json_read_file(out->file, &json); /* which says why a file cannot be read */

    if (!there)
        return status;
    out->finding.remedy = "take the file as cbank wrote it, or write it again";
    schema = cJSON_GetStringValue(json_get(json_get(json, "schema"), "name"));
    schema = schema ? schema : "";
    if (strcmp(schema, "cbank-result") == 0) {
        struct exact_counts exact;

        out->kind = "result";
        status = result_read(out->file, &as.result);
        out->measured = !as.result.modelled_time;
        exact = exact_counts(as.result.cells, as.result.cell_count);
        snprintf(differing, sizeof(differing), "has %zu exact counters that differ from what the kernels ask for",
                 (size_t)exact.differing);
        if (status == STATUS_OK && !as.result.complete) {
            what = "is of a run that did not end";
            out->finding.remedy = "cbank run --resume FILE goes on with it";
        } else if (status == STATUS_OK && exact.differing) {
            what = differing;
            out->finding.remedy =
                "cbank counters FILE names them; the driver or the compiler changed the kernels: report it";
        }
        result_close(&as.result);
    } else if (strcmp(schema, "cbank-characterization") == 0) {
        out->kind = "characterization";
        status = characterization_read(out->file, &as.characterization);
        out->measured = !as.characterization.replayed;
        characterization_close(&as.characterization);
    } else if (strcmp(schema, "cbank-calibration") == 0) {
        out->kind = "calibration";
        status = calibration_read(out->file, &as.calibration);
        out->measured = !as.calibration.modelled;
        calibration_close(&as.calibration);
    } else if (strcmp(schema, "cbank-card") == 0) {
        out->kind = "card";
        status = card_read(out->file, &as.card);
    } else if (status == STATUS_OK) {
        what = "is no result, characterization, calibration or card";
    }
    json_free(json);
    if (status == STATUS_USAGE)
        snprintf(out->finding.what, sizeof(out->finding.what), "is not a valid %s",
                 out->kind ? out->kind : "JSON file");
    else if (what)
        snprintf(out->finding.what, sizeof(out->finding.what), "%s", what);
    out->finding_count = out->finding.what[0] != '\0';
    return status == STATUS_USAGE ? STATUS_OK : status;
}

static enum status check(const void *parsed, const struct invocation *invocation)
{
    const struct check_options *options = parsed;
    const struct text_wrap wrap = {.stream = stdout, .width = text_width(stdout), .indent = 2};
    struct checks checks = {.count = invocation->argument_count};
    enum status status = STATUS_OK, worst = STATUS_OK;
    static const char magic[] = "SQLite format 3";
    static char name[] = "check";

    for (size_t i = 0; i < checks.count; i++) {
        char head[sizeof(magic)] = "";
        struct stat found;
        FILE *file = NULL;

        /* The analysis looks at folders, and at databases of SQLite. */
        if (stat(invocation->arguments[i], &found) != 0)
            continue;
        if (S_ISREG(found.st_mode) && (file = fopen(invocation->arguments[i], "rb"))) {
            (void)!fread(head, 1, sizeof(head), file);
            fclose(file);
        }
        if (!S_ISDIR(found.st_mode) && memcmp(head, magic, sizeof(magic)) != 0)
            continue;
        invocation->argv[1] = name; /* which may be abbreviated */
        return analysis_start((size_t)invocation->argc - 1, invocation->argv + 1);
    }
    checks.documents = calloc(checks.count, sizeof(*checks.documents));
    if (!checks.documents)
        return log_memory("documents");
    for (size_t i = 0; status == STATUS_OK && i < checks.count; i++) {
        struct checked *checked = &checks.documents[i];

        checked->file = invocation->arguments[i];
        status = check_document(checked);
        worst = checked->finding_count ? STATUS_FINDING : worst;
        if (status != STATUS_OK || options->json)
            continue;
        if (checked->finding_count)
            text_paragraph(wrap, "%s: %s; %s", checked->file, checked->finding.what, checked->finding.remedy);
        else
            text_paragraph(wrap, "%s: a valid %s%s", checked->file, checked->kind,
                           checked->measured ? ", measured" : "");
    }
    if (status == STATUS_OK && options->json)
        status = document_write(&check_document_kind, &checks, "-");
    free(checks.documents);
    return status == STATUS_OK ? worst : status;
}

const struct command check_command = {
    .name = "check",
    .summary = "Check documents, stores, or the folder of a chip",
    .arguments = "FILE...|DIR...|STORE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct check_options),
    .details =
        "A FILE is a result, a characterization, a calibration or a card. It is read as all commands read it: every key, its\n"
        "type and its limits. A result must be complete, and its exact counters must be as expected.\n"
        "\n"
        "A DIR is the folder of a chip, as cbank contribute makes it. Then the analysis also compares the files with the\n"
        "manifest and with each other: hashes, GPU, driver, program and commands, the two processes of the default plan, and\n"
        "the card. No two folders may be of one chip.\n"
        "\n"
        "A STORE is a file that cbank ingest made. Then the analysis says which runs and cells do not fit their checksums.\n"
        "\n"
        "Exit code 1: something is missing, malformed or contradicts itself; each with the file and what to do. 2: no such\n"
        "file or folder.",
    .run = check,
};
