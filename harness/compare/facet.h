/* SPDX-License-Identifier: MIT
 * Facets: what may differ between two sides, and must not where times are to be compared. */
#ifndef CBANK_FACET_H
#define CBANK_FACET_H

#include <stdbool.h>
#include <stddef.h>

#include "side.h"
#include "table.h"

struct facet {
    const char *name;    /* for --allow-diff: engine, device, uuid, driver, vbios, clocks, ecc, mig, sass */
    const char *summary;
    bool allowed;        /* may differ by default */
    size_t offset;       /* of the text in struct side_identity; SIZE_MAX: a facet of cells */
    /* A facet of cells: whether it differs between two that are the same measurement. */
    bool (*cell_differs)(const struct side_cell *base, const struct side_cell *new_cell);
};

extern const struct facet facets[];
extern const size_t facet_count;

/* A facet that differs. */
struct facet_difference {
    const struct facet *facet;
    bool allowed;
    char base[DEVICE_TEXT_BYTES], new_text[DEVICE_TEXT_BYTES]; /* "3 cells" for facets of cells */
};

/* Whether it may differ: by default, or since it is in the selection, which may be NULL. */
bool facet_is_allowed(const struct facet *facet, const struct selection *allowed);

/* Whether the texts of a facet of sides are known and not the same; "mixed" is the same as nothing. Sets those of
 * *out. */
bool facet_differs(const struct facet *facet, const struct side *base, const struct side *new_side,
                   struct facet_difference *out);

/* Whether the code of a cell is known on both sides and not the same. */
bool facet_code_differs(const struct side_cell *base, const struct side_cell *new_cell);

#endif
