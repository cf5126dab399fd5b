/* SPDX-License-Identifier: MIT
 * Documents that are read: any bytes as one of them. A document that was read is used, written,
 * read again, and written the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "card_make.h"
#include "cells.h"
#include "characterization.h"
#include "estimate.h"
#include "fuzz.h"
#include "indices.h"
#include "kernel_parts.h"
#include "npy.h"
#include "show_result.h"
#include "side.h"
#include "user_table.h"
#include "verdict.h"

union any {
    struct result result;
    struct calibration calibration;
    struct card card;
    struct characterization characterization;
};

/* How a document is read, and what is done with it. */
struct kind {
    enum status (*parse)(const char *text, size_t bytes, union any *out);
    void (*use)(union any *document);
    enum status (*write)(const union any *document); /* on stdout; NULL: nothing writes one */
    void (*close)(union any *document);
};

/* Reads text. False when it is refused. */
static bool parse(const struct kind *kind, const char *text, size_t bytes, union any *out)
{
    enum status status;

    memset(out, 0, sizeof(*out));
    capture_begin(&fuzz_stderr);
    status = kind->parse(text, bytes, out);
    capture_end(&fuzz_stderr);
    require_said(status);
    if (status != STATUS_OK)
        kind->close(out);
    return status == STATUS_OK;
}

/* Its text as it is written; to free. */
static char *written(const struct kind *kind, const union any *document)
{
    enum status status;

    capture_begin(&fuzz_stdout);
    status = kind->write(document);
    capture_end(&fuzz_stdout);
    require(status == STATUS_OK, "it cannot be written", "");
    return capture_take(&fuzz_stdout);
}

static void execute(const struct kind *kind, const char *text, size_t bytes)
{
    union any document, again;
    char *first, *second;

    if (!parse(kind, text, bytes, &document))
        return;
    if (kind->write) {
        first = written(kind, &document);
        require(parse(kind, first, strlen(first), &again), "what was written is refused", first);
        second = written(kind, &again);
        require(strcmp(first, second) == 0, "written otherwise the second time", first);
        free(first);
        free(second);
        kind->close(&again);
    }
    capture_begin(&fuzz_stdout);
    capture_begin(&fuzz_stderr);
    kind->use(&document);
    capture_end(&fuzz_stderr);
    capture_end(&fuzz_stdout);
    kind->close(&document);
}

/* The target of a document: how text is read, how it is written on stdout (`writes`: whether it
 * is), and closed. */
#define TARGET(name, read, writes, write, close)                                                  \
    static enum status read_##name(const char *text, size_t bytes, union any *out)                \
    {                                                                                             \
        return read;                                                                              \
    }                                                                                             \
    static enum status write_##name(const union any *document)                                    \
    {                                                                                             \
        return write;                                                                             \
    }                                                                                             \
    static void close_##name(union any *document)                                                 \
    {                                                                                             \
        close;                                                                                    \
    }                                                                                             \
    void fuzz_##name(const char *text, size_t bytes)                                              \
    {                                                                                             \
        static const struct kind kind = {read_##name, use_##name, (writes) ? write_##name : NULL, \
                                         close_##name};                                           \
        execute(&kind, text, bytes);                                                              \
    }

/* -- result: shown in every form --------------------------------------------------------------- */

static void use_result(union any *document)
{
    const struct result *result = &document->result;

    result_verdict(result);
    if (show_result(stdout, result, true) != STATUS_OK)
        abort();
    show_cells(stdout, result, FUZZ_FILE, "*");
}

TARGET(result, result_parse(FUZZ_FILE, text, bytes, &out->result), true,
       result_write(&document->result, "-"), result_close(&document->result))

/* -- calibration ------------------------------------------------------------------------------- */

static enum status parse_calibration(const char *text, size_t bytes, union any *out)
{
    cJSON *tree = NULL;
    const enum status status =
        document_parse(&calibration_document, FUZZ_FILE, text, bytes, &out->calibration, &tree);

    json_free(tree);
    return status;
}

/* The deviation of each cell, as a comparison asks for it. */
static void use_calibration(union any *document)
{
    const struct calibration *calibration = &document->calibration;
    const struct side_identity identity = {.device = calibration->device};

    for (size_t i = 0; i < calibration->cell_count; i++) {
        const struct calibrated_cell *cell = &calibration->cells[i];
        struct deviation deviation = {.value = NAN};

        if (!calibration_deviation(calibration, &cell->cell, &identity, cell->sha256, &deviation))
            require(!isnan(deviation.value), "neither a deviation nor a reason", "");
    }
}

TARGET(calibration, parse_calibration(text, bytes, out), true,
       document_write(&calibration_document, &document->calibration, "-"),
       calibration_close(&document->calibration))

/* -- card: predicts a cell of each path, for which it need not know all ------------------------ */

static void use_card(union any *document)
{
    for (size_t i = 0; i < path_count; i++) {
        struct cell cell = cell_of(i, 0);
        struct access_counts access;
        struct cell_estimate estimate;
        char reason[CELL_REASON_BYTES];

        cell.elements = cell.block_size = 64;
        if (cell_obstacle(&cell, 90, reason))
            continue;
        require(access_count(&cell, &access) == STATUS_OK, "no counts", "");
        estimate_time(&cell, &access, &document->card, NULL, &estimate);
        require(estimate.missing ? isnan(estimate.time_ns.value) : estimate.time_ns.value >= 0,
                "a cell takes no time, or none that is a number", document->card.name);
    }
}

static enum status parse_card(const char *text, size_t bytes, struct card *out)
{
    cJSON *json = NULL;
    enum status status = json_parse(FUZZ_FILE, text, bytes, &json);

    if (status == STATUS_OK)
        status = card_check(FUZZ_FILE, json, out);
    json_free(json);
    return status;
}

TARGET(card, parse_card(text, bytes, &out->card), false, ((void)document, STATUS_OK),
       (void)document)

/* -- indices: as many as the file has bytes for; all can be read ------------------------------- */

void fuzz_npy(const char *text, size_t bytes)
{
    struct npy array;
    enum status status;
    uint64_t sum = 0;

    capture_begin(&fuzz_stderr);
    status = npy_parse(FUZZ_FILE, text, bytes, false, &array);
    capture_end(&fuzz_stderr);
    require_said(status);
    if (status != STATUS_OK)
        return;

    const struct indices indices = {array.values, array.bytes, array.is_signed, array.count};
    const uint64_t highest = indices_highest(&indices);

    for (uint64_t i = 0; i < array.count; i++) {
        uint32_t index;

        indices_read(&indices, i, 1, &index);
        sum += index;
        require(index <= highest, "an index above the highest", "");
    }
    require(sum <= highest * array.count || highest > UINT32_MAX, "a sum above the highest", "");
    require(indices_first_beyond(&indices, highest) < array.count, "no place of the highest", "");
}

/* -- characterization: printed, replayed, made a card of --------------------------------------- */

static void replay(const struct characterization *recorded)
{
    struct probe_replay answers = {.file = FUZZ_FILE,
                                   .probes = &recorded->probes,
                                   .exchanges = recorded->replay.exchanges,
                                   .count = recorded->replay.count};
    struct characterization made = {.replayed = FUZZ_FILE, .device = recorded->device};
    struct probe_record record = {.source = probe_replay_source(&answers)};

    if (characterize(&record, recorded, true, NULL, &made) == STATUS_OK &&
        document_write(&characterization_document, &made, "-") != STATUS_OK)
        abort();
    characterization_close(&made);
    probe_record_close(&record);
}

/* Reading the card that it begins with, which is built in, takes longer than all else. */
static void make_card(const struct characterization *found)
{
    const struct card_request request = {.found = found, .file = FUZZ_FILE};
    struct card_tally tally;
    cJSON *card = NULL;

    if (card_make(&request, &card, &tally) == STATUS_OK)
        require(card_check(FUZZ_FILE, card, &(struct card){0}) == STATUS_OK,
                "the card that was made is refused", "");
    json_free(card);
}

static void use_characterization(union any *document)
{
    const struct characterization *found = &document->characterization;

    if (characterization_print(found) != STATUS_OK)
        abort();
    characterization_print_all(found);
    replay(found);
    if (found->replay.count % 4 == 0)
        make_card(found);
}

TARGET(characterization, characterization_parse(FUZZ_FILE, text, bytes, &out->characterization),
       true, document_write(&characterization_document, &document->characterization, "-"),
       characterization_close(&document->characterization))
