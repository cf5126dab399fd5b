/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "card.h"
#include "command.h"
#include "explain.h"
#include "explain_report.h"
#include "json.h"
#include "result.h"

struct explain_options {
    const char *card_path; /* NULL: the built-in card */
    const char *cell; /* NULL: all */
    bool json;
    struct look_options look;
};

static const struct option_row rows[] = {
    {.name = "card",
     .argument = "FILE",
     .help = "chip card that predicts (default: built in)",
     .kind = &option_text,
     .offset = offsetof(struct explain_options, card_path)},
    {.name = "cell",
     .argument = "CELL",
     .help = "the cell of this identity WORKLOAD/PATH/PATTERN/..., or those that a glob names",
     .kind = &option_text,
     .offset = offsetof(struct explain_options, cell)},
    {.name = "json", .help = "print JSON", .kind = &option_flag, .offset = offsetof(struct explain_options, json)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct explain_options, look)),
};

/* Explains one file: into the document where there is one, else as text. */
static enum status explain_file(const struct explain_options *options, const struct invocation *invocation,
                                size_t index, const struct card *card, cJSON *document)
{
    const char *file = invocation->arguments[index];
    struct explanation explanation = {0};
    struct result result;
    enum status status = result_read(file, &result);

    if (status != STATUS_OK)
        return status;
    status = explain_open(file, &result, card, &explanation);
    if (status == STATUS_OK && options->json) {
        explain_json_add(document, &explanation, file, options->cell);
    } else if (status == STATUS_OK) {
        if (invocation->argument_count > 1)
            printf("%s%s:\n", index ? "\n" : "", file);
        explain_print(stdout, &explanation, options->cell, look_color(&options->look, STDOUT_FILENO));
    }
    explain_close(&explanation);
    result_close(&result);
    return status;
}

static enum status explain(const void *parsed, const struct invocation *invocation)
{
    const struct explain_options *options = parsed;
    struct card card;
    enum status worst = card_read(options->card_path, &card);
    cJSON *document;

    if (worst != STATUS_OK)
        return worst;
    document = options->json ? explain_json_open(&card, options->card_path) : NULL;
    for (size_t i = 0; i < invocation->argument_count; i++)
        worst = status_worse(worst, explain_file(options, invocation, i, &card, document));
    /* A document without results would say that there is nothing to say. */
    if (options->json && cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(document, "results")) > 0)
        worst = status_worse(worst, json_write("-", document));
    cJSON_Delete(document);
    return worst;
}

const struct command explain_command = {
    .name = "explain",
    .summary = "Print measured beside modelled: where the time of each cell goes",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = 1000,
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct explain_options),
    .details =
        "The time that a card predicts stands part by part beside what was measured: which of the parts that overlap bounds it,\n"
        "and what remains. Exact counters stand beside the expected, hits and misses of the constant levels beside those of the\n"
        "model. At the end: how many cells are within 10 %, and why others may not be. A card of another chip is refused (3).\n"
        "Cells that are not within the limit do not change the exit code.",
    .run = explain,
};
