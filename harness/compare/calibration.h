/* SPDX-License-Identifier: MIT
 * Calibration: how much a cell's time differs between processes of the same thing on the same GPU. JSON,
 * schema results/calibration.schema.json. */
#ifndef CBANK_CALIBRATION_H
#define CBANK_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "cell.h"
#include "deviation.h"
#include "device.h"
#include "field.h"
#include "sass.h"
#include "status.h"

struct sides;
struct side_identity;

struct calibrated_cell {
    struct cell cell;
    double noise;               /* relative: the greatest ratio of the times of two processes, less 1, which grows
                                   with their number; NaN not known */
    double within;              /* error that times had within their processes; NaN not known */
    bool has_deviation;         /* the next is known */
    struct deviation deviation; /* between processes, that error included: the cell's own, pooled with what all cells
                                   show (deviation.h) */
    double median_ns;           /* over the processes; NaN with noise */
    char sha256[SASS_HASH_HEX_BYTES];
};

struct calibration {
    char engine[16]; /* of the processes */
    bool modelled; /* the times are predictions, and so the noise is none that was measured */
    struct device_info device;
    uint32_t processes;
    struct calibrated_cell *cells; /* owned; sorted by cell_order */
    size_t cell_count;
};

/* Makes a calibration of at least two processes of one GPU. STATUS_USAGE, logged, where there are fewer, or several GPUs,
 * drivers or engines; STATUS_ENVIRONMENT out of memory. On an error *out is empty. */
enum status calibration_of(const struct sides *sides, struct calibration *out);

/* Reads and writes as results are: strictly, exactly, atomically. On an error *out is empty. */
enum status calibration_read(const char *path, struct calibration *out);
enum status calibration_write(const struct calibration *calibration, const char *path);

/* As calibration_read, for a tree that was parsed; it stays the caller's, and `name` is what messages call it. */
enum status calibration_take(const char *name, const cJSON *tree, struct calibration *out);

/* Sets the deviation of a cell between processes, where the calibration is of that model of GPU, driver and SASS, and
 * returns NULL; else why it says nothing (static text). For another GPU of the model what boards differ by is added. */
const char *calibration_deviation(const struct calibration *calibration, const struct cell *cell,
                                  const struct side_identity *identity, const char *sha256, struct deviation *out);

/* The fields engine, modelled, device and processes of a calibration. */
extern const struct fields calibration_fields;

/* Releases; accepts a zeroed struct. */
void calibration_close(struct calibration *calibration);

#endif
