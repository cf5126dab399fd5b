/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "card.h"
#include "commands.h"
#include "explain.h"
#include "explain_report.h"
#include "json.h"
#include "result.h"

/* Explains one file: into the document where there is one, else as text. */
static enum status explain_file(const struct options *options, size_t index, const struct card *card, cJSON *document)
{
    const char *file = options->arguments[index];
    struct explanation explanation = {0};
    struct result result;
    enum status status = result_read(file, &result);

    if (status != STATUS_OK)
        return status;
    status = explain_open(file, &result, card, &explanation);
    if (status == STATUS_OK && options->json) {
        explain_json_add(document, &explanation, file, options->cell);
    } else if (status == STATUS_OK) {
        if (options->argument_count > 1)
            printf("%s%s:\n", index ? "\n" : "", file);
        explain_print(stdout, &explanation, options->cell, options_color(options, STDOUT_FILENO));
    }
    explain_close(&explanation);
    result_close(&result);
    return status;
}

enum status command_explain(const struct options *options, int argc, char **argv)
{
    struct card card;
    enum status worst = card_read(options->card_path, &card);
    cJSON *document;

    (void)argc;
    (void)argv;
    if (worst != STATUS_OK)
        return worst;
    document = options->json ? explain_json_open(&card, options->card_path) : NULL;
    for (size_t i = 0; i < options->argument_count; i++)
        worst = status_worse(worst, explain_file(options, i, &card, document));
    /* A document without results would say that there is nothing to say. */
    if (options->json && cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(document, "results")) > 0)
        worst = status_worse(worst, json_write("-", document));
    cJSON_Delete(document);
    return worst;
}
