/* SPDX-License-Identifier: MIT
 * Measured lookups: built in by measured_texts.S as the files they are, or read. */
#include "measured.h"

#include <stdlib.h>
#include <string.h>

#include "cell_json.h"
#include "json.h"
#include "log.h"
#include "schema.h"

/* Of measured_texts.S. */
extern const char cbank_lookups_h200[], cbank_lookups_h100[];

static const struct measured_text {
    const char *card, *file, *json;
} measured_texts[] = {
    {"H200", "results/lookups/h200.json", cbank_lookups_h200},
    {"H100 80GB HBM3", "results/lookups/h100.json", cbank_lookups_h100},
};

enum { LOOKUPS_MAX = 10000, TIMES_MAX = 1000 };

/* -- the document ------------------------------------------------------------------------------ */

#define TIME(kind, key, member, presence) FIELD(kind, struct measured_time, key, member, presence)

static const struct field time_rows[] = {
    {TIME(field_row, "path", path, REQUIRED), .table = &table_of_paths},
    {TIME(field_number, "ns", ns, REQUIRED), .low = 1e-3, .high = 1e15, .rules = ABOVE(0)},
};
static const struct objects time_list = {OBJECTS(time_rows, struct measured_time,
                                                 struct measured_lookup, count),
                                         .max = TIMES_MAX};

#define LOOKUP(kind, key, member, presence) \
    FIELD(kind, struct measured_lookup, key, member, presence)

static const struct field lookup_rows[] = {
    {LOOKUP(field_cell, "identity", cell, REQUIRED)},
    {LOOKUP(field_number, "addresses_per_load", addresses, REQUIRED), .low = 1, .high = 32,
     .about = "exact, of a warp's load in the mean", .rules = AT_LEAST(1)},
    {LOOKUP(field_number, "sectors_per_load", sectors, REQUIRED), .low = 1, .high = 64,
     .rules = AT_LEAST(1)},
    {LOOKUP(field_number, "wavefronts_per_load", wavefronts, REQUIRED), .low = 1, .high = 64,
     .rules = AT_LEAST(1)},
    {LOOKUP(field_reference, "file", file, REQUIRED), .about = "of its result"},
    {LOOKUP(field_list, "times", times, REQUIRED), .low = 2, .elements = &time_list,
     .about = "of one more launch in a stream of launches, in each memory space"},
};
static const struct objects lookup_list = {OBJECTS(lookup_rows, struct measured_lookup,
                                                   struct measured, count),
                                           .line = true, .max = LOOKUPS_MAX};

static const struct field rows[] = {
    {FIELD(field_text, struct measured, "card", card, REQUIRED), .low = 1,
     .about = "of the GPU that measured them"},
    {FIELD(field_list, struct measured, "lookups", lookups, REQUIRED), .elements = &lookup_list},
};

const struct document measured_document = {
    .schema = "cbank-lookups",
    .what = "measured lookups",
    .remedy = "results/lookups/ has examples",
    .about = "Lookups that were measured in every memory space, by which cbank advise ranks those "
             "near them where there is no GPU. Keys end in their unit.",
    .major = 1,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status measured_read(const char *path, const char *card, struct measured *out)
{
    const struct measured_text *text = NULL;
    enum status status;

    *out = (struct measured){.lookups = NULL};
    for (size_t i = 0; !path && i < sizeof(measured_texts) / sizeof(measured_texts[0]); i++)
        if (strcmp(measured_texts[i].card, card) == 0)
            text = &measured_texts[i];
    if (!path && !text)
        return STATUS_OK;
    status = document_parse(&measured_document, path ? path : text->file, path ? NULL : text->json,
                            path ? 0 : strlen(text->json), out, &out->tree);
    if (status == STATUS_OK && strcmp(out->card, card) != 0)
        return log_error(STATUS_USAGE,
                         "%s has lookups of %s, and the card is that of %s; name its "
                         "card with --card",
                         path, out->card, card);
    return status;
}

void measured_close(struct measured *measured)
{
    for (size_t i = 0; i < measured->count; i++)
        free(measured->lookups[i].times);
    free(measured->lookups);
    json_free(measured->tree);
    *measured = (struct measured){.lookups = NULL};
}
