/* SPDX-License-Identifier: MIT
 * Calibration: how much a cell's time differs between processes that measure the same on the same
 * GPU. JSON, schema results/calibration.schema.json. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cell.h"
#include "deviation.h"
#include "device.h"
#include "document.h"
#include "sha256.h"
#include "status.h"

struct sides;
struct side_identity;

struct calibrated_cell {
    struct cell cell;
    double noise; /* relative: the greatest ratio of the times of two processes, less 1; it grows
                     with their number; NaN: not known */
    bool has_deviation; /* the next member is known */
    struct deviation deviation; /* between processes, including that error: the cell's own, pooled
                                   with that of all cells (deviation.h) */
    double median_ns; /* over the processes; NaN if noise is NaN */
    char sha256[SHA256_HEX_BYTES];
};

struct calibration {
    char engine[16]; /* of the processes */
    bool modelled; /* the times are predictions, so the noise was not measured */
    struct device_info device;
    uint32_t processes;
    struct calibrated_cell *cells; /* owned */
    size_t cell_count;
};

/* Makes a calibration from at least two processes of one GPU. STATUS_USAGE, logged, if there are
 * fewer, or several GPUs, drivers or engines; STATUS_ENVIRONMENT when out of
 * memory, or where no cell was measured. On an error *out is empty. */
enum status calibration_of(const struct sides *sides, struct calibration *out);

/* The document of a struct calibration. Nothing that is read refers to the tree. */
extern const struct document calibration_document;

/* Reads a file strictly. On an error *out is empty. */
enum status calibration_read(const char *path, struct calibration *out);

/* Sets the deviation of a cell between processes, if the calibration is for this GPU, driver and
 * SASS, and returns NULL; else the reason (static text). */
const char *calibration_deviation(const struct calibration *calibration, const struct cell *cell,
                                  const struct side_identity *identity, const char *sha256,
                                  struct deviation *out);

/* The fields engine, modelled, device and processes of a calibration. */
extern const struct fields calibration_fields;

/* Releases; accepts a zeroed struct. */
void calibration_close(struct calibration *calibration);
