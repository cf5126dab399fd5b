/* SPDX-License-Identifier: MIT
 * Lookups that were measured: the times of one configuration in every memory space, of one GPU.
 * JSON, schema results/lookups.schema.json. Those of some GPUs are built into the program;
 * scripts/studies/measured_lookups.py makes them of committed results. */
#pragma once

#include "card.h"
#include "cell.h"
#include "document.h"

/* The time in a memory space. */
struct measured_time {
    const struct path *path;
    double ns;
};

/* The lookups of a configuration. */
struct measured_lookup {
    struct cell cell; /* in one of the memory spaces */
    double addresses, sectors, wavefronts; /* exact, of a warp's load in the mean */
    const char *file; /* of its result */
    struct measured_time *times; /* owned */
    size_t count;
};

struct measured {
    char card[CARD_NAME_BYTES]; /* of the GPU */
    struct measured_lookup *lookups; /* owned */
    size_t count;
    cJSON *tree; /* owned; `file` lies in it */
};

extern const struct document measured_document;

/* Reads the file, or without one those of the program that are of a card of this name: none is no
 * error. STATUS_USAGE, logged, for a file that is none, or of another GPU. The caller closes *out,
 * also after an error. */
enum status measured_read(const char *path, const char *card, struct measured *out);

/* Releases; accepts a zeroed struct. */
void measured_close(struct measured *measured);
