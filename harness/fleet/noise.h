/* SPDX-License-Identifier: MIT
 * How far the processes of a cell differ, as far as that is known: by calibrations, those of a store among them, else by
 * default. The view process_deviations of a store (store_2.sql) says the same in SQL. */
#ifndef CBANK_NOISE_H
#define CBANK_NOISE_H

#include "calibration.h"
#include "store.h"

struct noise {
    struct calibration *calibrations; /* owned; a later one goes before an earlier one */
    size_t count;
};

/* What is asked about: a cell on a GPU. Texts are "" where they are not known. */
struct noise_of {
    const struct cell *cell;
    double median_ns;
    const char *uuid, *name, *driver; /* of the GPU */
    const char *sha256; /* of the kernel */
};

/* What holds: a calibration of that GPU, else one of another GPU of its model, each with that driver and code, else the
 * default. */
struct deviation noise_find(const struct noise *noise, const struct noise_of *of);

/* Adds a calibration, which is then the noise's, also after an error: STATUS_ENVIRONMENT out of memory. */
enum status noise_add(struct noise *noise, struct calibration *calibration);

/* Adds what a store knows. */
enum status noise_read_store(struct noise *noise, struct store *store);

/* Within a transaction of the caller's: writes into a store what this program assumes where nobody calibrated; puts in a
 * calibration, the content of whose file has that hash. Errors are kept by the database. */
void noise_write_defaults(struct store *store);
void noise_write(struct store *store, const struct calibration *calibration, const char *hash, const char *file);

/* Releases; accepts a zeroed struct. */
void noise_close(struct noise *noise);

#endif
