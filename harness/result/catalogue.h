/* SPDX-License-Identifier: MIT
 * Cells of several results, each once: what exports write. */
#ifndef CBANK_CATALOGUE_H
#define CBANK_CATALOGUE_H

#include <stdio.h>

#include "result.h"

/* A cell of any of the results. */
struct entry {
    char name[CELL_IDENTITY_BYTES];
    const struct cell *cell;
    const struct cell_result **found; /* owned: by result; NULL where it lacks the cell */
    size_t samples;                   /* in all results */
    bool skipped; /* by every result that has it: it cannot be on these chips, nothing is missing */
};

/* Each cell once, in the order of the first result and then of later ones. */
struct catalogue {
    const struct result *const *results; /* not owned */
    size_t result_count;
    struct entry *entries; /* owned: room for one a cell of every result */
    size_t count;
    size_t samples_most; /* of a cell of a result */
    bool raw; /* text of CSV, see text_csv */
};

/* Fills a catalogue, whose results stay the caller's. The caller closes *out, on failure too. STATUS_ENVIRONMENT, logged, out
 * of memory. */
enum status catalogue_open(const struct result *const *results, size_t count, struct catalogue *out);
void catalogue_close(struct catalogue *catalogue);

/* Samples of a cell; of a prediction, its one time. 0 where it has none. */
size_t cell_samples(const struct cell_result *cell, const double **samples);

/* The rows of export_formats that are in files of their own. */
enum status export_gbench(FILE *stream, const struct catalogue *catalogue);

#endif
