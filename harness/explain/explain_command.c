/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "card.h"
#include "command.h"
#include "explain.h"
#include "log.h"
#include "result.h"
#include "text.h"

struct explain_options {
    const char *card_path; /* NULL: the built-in card */
    const char *cell; /* NULL: all */
    bool json;
    struct look_options look;
};

#define MEMBER(name) .offset = offsetof(struct explain_options, name)

/* clang-format off */
static const struct option_row rows[] = {
    {.name = "card", .argument = "CARD", .help = "chip card that predicts: a file, or a name of cbank list cards (default h200)",
     .kind = &option_text, MEMBER(card_path)},
    {.name = "cell", .argument = "CELL",
     .help = "the cell of this identity WORKLOAD/PATH/PATTERN/..., or those that a glob names",
     .kind = &option_text, MEMBER(cell)},
    {.name = "json", .help = "print JSON", .kind = &option_flag, MEMBER(json)},
};
/* clang-format on */

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(look_option_rows, offsetof(struct explain_options, look)),
};

/* Adds what the card says of one file. */
static enum status add_file(const char *file, const char *name, struct explained_results *explained)
{
    struct result result;
    enum status status = result_read(file, &result);

    if (status != STATUS_OK)
        return status;
    status = explain_open(file, &result, explained->card, name, explained, &explained->results[explained->count]);
    if (status == STATUS_OK)
        explained->count++;
    else
        result_close(&result);
    return status;
}

/* Cell i of all files. */
static const struct cell *cell_at(const void *context, size_t i)
{
    const struct explanation *explanation = ((const struct explained_results *)context)->results;

    while (i >= explanation->result.cell_count)
        i -= explanation++->result.cell_count;
    return result_cell(&explanation->result, i);
}

/* STATUS_USAGE where the name is of no cell of any file. */
static enum status check_name(const char *name, const struct explained_results *explained)
{
    size_t chosen = 0, cells = 0;

    for (size_t i = 0; i < explained->count; i++) {
        chosen += explained->results[i].chosen;
        cells += explained->results[i].result.cell_count;
    }
    return chosen == 0 && name ? cell_unknown(name, cell_at, explained, cells) : STATUS_OK;
}

/* Prints what the card says of the files, `several` of which were named. */
static enum status print(const struct explain_options *options, const struct explained_results *explained, bool several)
{
    const struct grid_look look = {.width = text_width(stdout), .color = look_color(&options->look, STDOUT_FILENO)};
    enum status status = check_name(options->cell, explained);

    if (status == STATUS_OK && options->json)
        return document_write(&explain_document, explained, "-");
    for (size_t i = 0; status == STATUS_OK && i < explained->count; i++) {
        if (several) {
            fputs(i ? "\n" : "", stdout);
            text_put(stdout, escapes_none, explained->results[i].file);
            puts(":");
        }
        status = explain_print(stdout, &explained->results[i], explained->card, &look);
    }
    return status;
}

static enum status explain(const void *parsed, const struct invocation *invocation)
{
    const struct explain_options *options = parsed;
    struct card card;
    struct explained_results explained = {.card_file = options->card_path, .card = &card};
    const size_t count = invocation->argument_count;
    enum status worst = card_read(options->card_path, &card);

    if (worst != STATUS_OK)
        return worst;
    explained.results = calloc(count, sizeof(*explained.results));
    if (!explained.results)
        return log_memory("%zu files", count);
    for (size_t i = 0; i < count; i++)
        worst = status_worse(worst, add_file(invocation->arguments[i], options->cell, &explained));
    /* A document without results would say that there is nothing to say. */
    if (explained.count > 0)
        worst = status_worse(worst, print(options, &explained, count > 1));
    for (size_t i = explained.count; i-- > 0;) {
        explain_close(&explained.results[i]);
        result_close(&explained.results[i].result);
    }
    free(explained.results);
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
        "and what remains. Exact counters stand beside the expected, hits and misses of the constant levels beside the\n"
        "modelled. At the end: how many cells are within 10 %, and why others may not be. A card of another chip is refused (3).\n"
        "Cells that are not within the limit do not change the exit code.",
    .run = explain,
};
