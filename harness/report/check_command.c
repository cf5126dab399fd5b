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
#include "log.h"
#include "result.h"
#include "text.h"
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

/* The facts about a document. */
struct checked {
    const char *file, *kind; /* kind NULL: not a document of cbank */
    bool measured;           /* a GPU answered */
    char what[256];          /* the error; "" if there is none */
    const char *remedy;
};

/* -- documents ----------------------------------------------------------------------------------------- */

static enum status check_result(struct checked *out)
{
    struct result result = {0};
    struct exact_counts exact;
    const enum status status = result_read(out->file, &result);

    if (status == STATUS_OK) {
        exact = result_exact_counts(&result);
        out->measured = !result.modelled_time;
        if (!result.complete) {
            snprintf(out->what, sizeof(out->what), "is of a run that did not end");
            out->remedy = "cbank run --resume FILE goes on with it";
        } else if (exact.differing) {
            snprintf(out->what, sizeof(out->what), "has %zu exact counters that differ from what the kernels ask for",
                     (size_t)exact.differing);
            out->remedy = "cbank counters FILE names them; the driver or the compiler changed the kernels: report it";
        }
    }
    result_close(&result);
    return status;
}

static enum status check_characterization(struct checked *out)
{
    struct characterization found = {0};
    const enum status status = characterization_read(out->file, &found);

    out->measured = !found.replayed;
    characterization_close(&found);
    return status;
}

static enum status check_calibration(struct checked *out)
{
    struct calibration found = {0};
    const enum status status = calibration_read(out->file, &found);

    out->measured = !found.modelled;
    calibration_close(&found);
    return status;
}

static enum status check_card(struct checked *out)
{
    struct card card;

    return card_read(out->file, &card);
}

static const struct kind {
    const char *schema, *name;
    enum status (*check)(struct checked *out); /* reads it; sets `measured`, and `what` if something is wrong */
} kinds[] = {
    {"cbank-result", "result", check_result},
    {"cbank-characterization", "characterization", check_characterization},
    {"cbank-calibration", "calibration", check_calibration},
    {"cbank-card", "card", check_card},
};

/* STATUS_OK even if the document is invalid; its reader has then logged the place. STATUS_USAGE: the file does not
 * exist. */
static enum status check_document(const char *file, struct checked *out)
{
    const char *schema = "";
    cJSON *json = NULL;
    enum status status;

    *out = (struct checked){.file = file, .remedy = "take the file as cbank wrote it, or write it again"};
    if (access(file, R_OK) != 0)
        return json_read_file(file, &json); /* which says why not */
    status = json_read_file(file, &json);
    json_get_text(json_get(json, "schema"), "name", &schema);
    for (const struct kind *kind = kinds; status == STATUS_OK && kind < kinds + sizeof(kinds) / sizeof(kinds[0]);
         kind++)
        if (strcmp(kind->schema, schema) == 0) {
            out->kind = kind->name;
            status = kind->check(out);
        }
    if (status == STATUS_USAGE)
        snprintf(out->what, sizeof(out->what), "is not a valid %s", out->kind ? out->kind : "JSON file");
    else if (!out->kind)
        snprintf(out->what, sizeof(out->what), "is no result, characterization, calibration or card");
    json_free(json);
    return status == STATUS_USAGE ? STATUS_OK : status;
}

/* -- the command --------------------------------------------------------------------------------------- */

/* See results/check.schema.json. */
static void add_json(cJSON *documents, const struct checked *checked)
{
    cJSON *document = json_append(documents, cJSON_CreateObject());
    cJSON *findings, *finding;

    json_add_text(document, "file", checked->file);
    json_add_text(document, "kind", checked->kind);
    json_add(document, "measured", cJSON_CreateBool(checked->measured));
    findings = json_add(document, "findings", cJSON_CreateArray());
    if (!checked->what[0])
        return;
    finding = json_append(findings, cJSON_CreateObject());
    json_add_text(finding, "what", checked->what);
    json_add_text(finding, "remedy", checked->remedy);
}

static enum status check(const void *parsed, const struct invocation *invocation)
{
    const struct check_options *options = parsed;
    cJSON *root = cJSON_CreateObject(), *schema = json_add(root, "schema", cJSON_CreateObject());
    cJSON *documents = json_add(root, "documents", cJSON_CreateArray());
    enum status status = STATUS_OK, worst = STATUS_OK;
    static char name[] = "check";

    for (size_t i = 0; i < invocation->argument_count; i++) {
        struct stat file;

        if (stat(invocation->arguments[i], &file) != 0 || !S_ISDIR(file.st_mode))
            continue;
        cJSON_Delete(root);
        invocation->argv[1] = name; /* which may be abbreviated */
        return analysis_start((size_t)invocation->argc - 1, invocation->argv + 1);
    }
    json_add_text(schema, "name", "cbank-check");
    json_add_text(schema, "version", "1.0");
    for (size_t i = 0; status == STATUS_OK && i < invocation->argument_count; i++) {
        const struct text_wrap wrap = {.stream = stdout, .width = text_width(stdout), .indent = 2};
        struct checked checked;

        status = check_document(invocation->arguments[i], &checked);
        worst = checked.what[0] ? STATUS_FINDING : worst;
        if (options->json)
            add_json(documents, &checked);
        else if (status == STATUS_OK && checked.what[0])
            text_paragraph(wrap, "%s: %s; %s", checked.file, checked.what, checked.remedy);
        else if (status == STATUS_OK)
            text_paragraph(wrap, "%s: a valid %s%s", checked.file, checked.kind, checked.measured ? ", measured" : "");
    }
    if (status == STATUS_OK && options->json)
        return status_worse(json_put_owned(stdout, root), worst);
    cJSON_Delete(root);
    return status == STATUS_OK ? worst : status;
}

const struct command check_command = {
    .name = "check",
    .summary = "Check documents, or the folder of a chip",
    .arguments = "FILE...|DIR...",
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
        "Exit code 1: something is missing, malformed or contradicts itself; each with the file and what to do. 2: no such\n"
        "file or folder.",
    .run = check,
};
