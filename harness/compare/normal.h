/* SPDX-License-Identifier: MIT
 * The normal of a model: what boards of each kind take for each cell. JSON, schema
 * results/normal.schema.json. Normals of some models are built into the program.
 *
 * A kind is a part number with sizes of groups of SMs (device.h). A board whose kind is not known
 * may be of any, so it is held against all kinds at once. */
#pragma once

#include "cell.h"
#include "device.h"
#include "document.h"
#include "sha256.h"

/* A cell on the boards of a kind. */
struct normal_cell {
    char identity[CELL_IDENTITY_BYTES];
    char sha256[SHA256_HEX_BYTES]; /* of its code */
    double ns; /* median over the boards */
    uint32_t boards;
    double deviation; /* between boards, of the logarithm; NaN: there is one */
    double clock_mhz; /* of the SMs */
};

struct normal_kind {
    struct board board;
    uint32_t boards;
    struct normal_cell *cells; /* owned */
    size_t cell_count;
};

struct normal {
    char model[DEVICE_TEXT_BYTES];
    struct normal_kind *kinds; /* owned */
    size_t kind_count;
};

extern const struct document normal_document;

/* Reads the file, or without one the normal of that model in the program; of the first model there
 * for NULL. *found tells whether
 * there is one; a file always is. STATUS_USAGE, logged, for a file that is none. The caller closes
 * *out, also after an error. */
enum status normal_read(const char *path, const char *model, struct normal *out, bool *found);

/* The kind of that board; NULL where it is not known, or was never seen. */
const struct normal_kind *normal_kind_of(const struct normal *normal, const struct board *board);

/* The cell of a kind; NULL if it has none. */
const struct normal_cell *normal_cell_of(const struct normal_kind *kind, const char *identity);

/* What any two kinds differ by in a cell, of the logarithm. NaN where two kinds or more do not have
 * the cell. */
double normal_apart(const struct normal *normal, const char *identity);

/* Releases; accepts a zeroed struct. */
void normal_close(struct normal *normal);
