/* SPDX-License-Identifier: MIT
 * A side of a comparison by GPU: results of each are processes of its own. */
#ifndef CBANK_GPUS_H
#define CBANK_GPUS_H

#include "compare.h"

struct gpu_sides {
    struct side total; /* of all GPUs, without cells; its label is the caller's to set */
    struct side *sides; /* owned: one a GPU, by UUID and name, in the order in which they came */
    size_t count;
};

/* Adds what a file or a folder holds. On an error there is a side still, to close. */
enum status gpu_sides_add(struct gpu_sides *sides, const char *path);

/* Compares the GPUs of two sides: each with itself, by UUID; where there is one on each side, that with that. A GPU that
 * is on one side alone is missing, or new. STATUS_USAGE, logged, where the UUID may differ and a side has several GPUs:
 * it does not say which are compared. Of the sides all is in the comparison, so they have to live as long. */
enum status gpu_sides_compare(const struct gpu_sides sides[SIDES], const struct compare_options *options,
                              struct comparison *out);

/* Releases; accepts a zeroed struct. */
void gpu_sides_close(struct gpu_sides *sides);

#endif
