/* SPDX-License-Identifier: MIT
 * Normals: built in by normal_texts.S as the files they are, or read. */
#include "normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device_json.h"
#include "json.h"
#include "schema.h"

/* Of normal_texts.S. */
extern const char cbank_normal_h200[];

static const struct normal_text {
    const char *model, *file, *json;
} normal_texts[] = {
    {"NVIDIA H200", "results/normals/h200.json", cbank_normal_h200},
};

enum { KINDS_MAX = 1000, CELLS_MAX = 100000 };

/* -- the document ------------------------------------------------------------------------------ */

#define CELL(kind, key, member, presence) FIELD(kind, struct normal_cell, key, member, presence)

static const struct field cell_rows[] = {
    {CELL(field_text, "identity", identity, REQUIRED), .low = 1},
    {CELL(field_text, "sass_sha256", sha256, REQUIRED), .rules = PATTERN_HASH},
    {CELL(field_number, "time_ns", ns, REQUIRED), .low = 1e-3, .high = 1e15,
     .about = "the median over the boards of the kind", .rules = ABOVE(0)},
    {CELL(field_uint32, "boards", boards, REQUIRED), .low = 1, .about = "that have the cell"},
    {CELL(field_number, "deviation", deviation, NULLABLE),
     .about = "standard deviation between the boards, of the logarithm; null for one board",
     .rules = AT_LEAST(0)},
    {CELL(field_number, "sm_clock_mhz", clock_mhz, NULLABLE), .rules = ABOVE(0)},
};
static const struct objects cell_list = {OBJECTS(cell_rows, struct normal_cell, struct normal_kind,
                                                 cell_count),
                                         .line = true, .max = CELLS_MAX};

static const struct object board_object = {.fields = {board_rows, BOARD_ROWS}, .given = SIZE_MAX};

static const struct field_kind unread_words = {.schema = schema_words};

static const struct field kind_rows[] = {
    {FIELD(field_object, struct normal_kind, "board", board, REQUIRED), .object = &board_object,
     .about = "what the kind is known by"},
    {FIELD(field_uint32, struct normal_kind, "boards", boards, REQUIRED), .low = 1,
     .about = "that were measured"},
    {.key = "uuids", .kind = &unread_words, .about = "of these boards"},
    {FIELD(field_list, struct normal_kind, "cells", cells, REQUIRED), .elements = &cell_list},
};
static const struct objects kind_list = {OBJECTS(kind_rows, struct normal_kind, struct normal,
                                                 kind_count),
                                         .max = KINDS_MAX};

static const struct field rows[] = {
    {FIELD(field_text, struct normal, "model", model, REQUIRED), .low = 1,
     .about = "name of the GPU"},
    {.key = "drivers", .kind = &unread_words, .about = "under which it was measured"},
    {FIELD(field_list, struct normal, "kinds", kinds, REQUIRED), .low = 1, .elements = &kind_list,
     .about = "the kind with the most boards first"},
};

const struct document normal_document = {
    .schema = "cbank-normal",
    .what = "normal",
    .remedy = "results/normals/ has examples",
    .about = "What boards of each kind of a model take for each cell, which cbank normal holds a "
             "result against. A kind is a part number with numbers of SMs that share an L1.5 "
             "constant cache. Keys end in their unit.",
    .major = 1,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status normal_read(const char *path, const char *model, struct normal *out, bool *found)
{
    const struct normal_text *text = NULL;
    cJSON *tree = NULL;
    enum status status;

    *out = (struct normal){.kinds = NULL};
    for (size_t i = 0; !path && !text && i < sizeof(normal_texts) / sizeof(normal_texts[0]); i++)
        if (!model || strcmp(normal_texts[i].model, model) == 0)
            text = &normal_texts[i];
    *found = path || text;
    if (!*found)
        return STATUS_OK;
    status = document_parse(&normal_document, path ? path : text->file, path ? NULL : text->json,
                            path ? 0 : strlen(text->json), out, &tree);
    json_free(tree);
    return status;
}

/* -- asking ------------------------------------------------------------------------------------ */

const struct normal_kind *normal_kind_of(const struct normal *normal, const struct board *board)
{
    for (size_t i = 0; i < normal->kind_count; i++)
        if (board_kinds(&normal->kinds[i].board, board) == KINDS_ONE)
            return &normal->kinds[i];
    return NULL;
}

const struct normal_cell *normal_cell_of(const struct normal_kind *kind, const char *identity)
{
    for (size_t i = 0; i < kind->cell_count; i++)
        if (strcmp(kind->cells[i].identity, identity) == 0)
            return &kind->cells[i];
    return NULL;
}

double normal_apart(const struct normal *normal, const char *identity)
{
    double least = INFINITY, most = 0;
    size_t count = 0;

    for (size_t i = 0; i < normal->kind_count; i++) {
        const struct normal_cell *cell = normal_cell_of(&normal->kinds[i], identity);

        if (!cell)
            continue;
        least = fmin(least, cell->ns);
        most = fmax(most, cell->ns);
        count++;
    }
    return count > 1 ? log(most / least) : NAN;
}

void normal_close(struct normal *normal)
{
    for (size_t i = 0; i < normal->kind_count; i++)
        free(normal->kinds[i].cells);
    free(normal->kinds);
    *normal = (struct normal){.kinds = NULL};
}
