/* SPDX-License-Identifier: MIT
 * A calibration: made from processes of one GPU, asked for the deviation of a cell, and its
 * document. */
#include "calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell_json.h"
#include "device_json.h"
#include "launch_path.h"
#include "log.h"
#include "schema.h"
#include "side.h"
#include "version_json.h"

/* -- making ------------------------------------------------------------------------------------ */

/* What the processes say of a cell: its noise and median, and the evidence of its deviation. */
static enum status calibrate_cell(const struct side_identity *identity,
                                  const struct side_cell *from, struct calibrated_cell *to,
                                  struct deviation_evidence *evidence)
{
    double least = INFINITY, greatest = 0;
    struct estimate estimate;
    enum status status;

    *to = (struct calibrated_cell){.cell = from->cell, .noise = NAN, .median_ns = NAN};
    memcpy(to->sha256, from->sha256, sizeof(to->sha256));
    evidence->flush = from->cell.cache_state->flush;
    if (from->status != CELL_OK || from->process_count < 2)
        return STATUS_OK;
    for (size_t k = 0; k < from->process_count; k++) {
        least = fmin(least, from->processes[k].value);
        greatest = fmax(greatest, from->processes[k].value);
    }
    status = estimate_of(from->processes, from->process_count, false, &estimate);
    if (!(least > 0) || !isfinite(greatest / least) || status != STATUS_OK)
        return status;
    to->noise = greatest / least - 1;
    to->median_ns = estimate.ns;
    evidence->own = estimate.own;
    /* Where the error of times is not known, and for predictions, the cell's own deviation stays as
     * it is. */
    if (isnan(estimate.within))
        return STATUS_OK;
    evidence->before =
        deviation_default(side_unmeasured(identity, &from->cell) ? CAUSE_WIDEST : CAUSE_PROCESS,
                          evidence->flush, cell_waits_for_host(&from->cell), estimate.ns);
    evidence->before.value = fmax(evidence->before.value, estimate.within);
    return STATUS_OK;
}

/* STATUS_USAGE, logged, unless there are two processes of one GPU, driver and engine. */
static enum status check_sides(const struct sides *sides)
{
    const struct side_identity *identity = &sides->total.identity;

    if (sides->total.files >= 2 && sides->count == 1 &&
        strcmp(identity->device.driver, SIDE_MIXED) != 0 &&
        strcmp(identity->engine, SIDE_MIXED) != 0)
        return STATUS_OK;
    return log_error(STATUS_USAGE,
                     "%s: a calibration takes two or more processes of one GPU, driver and engine",
                     sides->total.label);
}

enum status calibration_of(const struct sides *sides, struct calibration *out)
{
    const struct side_identity *identity = &sides->total.identity;
    const struct side *side = sides->gpus;
    struct deviation_evidence *evidence = NULL;
    enum status status = check_sides(sides);
    size_t timed = 0;

    *out = (struct calibration){.processes = (uint32_t)sides->total.files,
                                .modelled = identity->modelled,
                                .device = identity->device};
    if (status != STATUS_OK)
        return status;
    memcpy(out->engine, identity->engine, sizeof(out->engine));
    out->cells = calloc(side->cell_count + 1, sizeof(*out->cells));
    evidence = calloc(side->cell_count + 1, sizeof(*evidence));
    if (!out->cells || !evidence) {
        status = log_memory("a calibration of %zu cells", side->cell_count);
        goto out;
    }
    out->cell_count = side->cell_count;
    for (size_t i = 0; i < out->cell_count; i++) {
        status = calibrate_cell(identity, &side->cells[i], &out->cells[i], &evidence[i]);
        if (status != STATUS_OK)
            goto out;
        timed += side->cells[i].process_count > 0;
    }
    if (timed == 0) {
        status = log_error(STATUS_ENVIRONMENT, "nothing was measured: no cell of the results has a "
                                               "time; calibrate cells that can be measured here");
        goto out;
    }
    deviation_conclude(evidence, out->cell_count, false);
    for (size_t i = 0; i < out->cell_count; i++) {
        struct calibrated_cell *cell = &out->cells[i];

        cell->has_deviation = evidence[i].own.degrees > 0;
        cell->deviation = cell->has_deviation ? evidence[i].concluded
                                              : (struct deviation){NAN, NAN, DEVIATION_UNKNOWN};
        if (cell->has_deviation)
            cell->deviation.origin = DEVIATION_PROCESSES;
    }
out:
    free(evidence);
    if (status != STATUS_OK)
        calibration_close(out);
    return status;
}

/* -- using ------------------------------------------------------------------------------------- */

const char *calibration_deviation(const struct calibration *calibration, const struct cell *cell,
                                  const struct side_identity *identity, const char *sha256,
                                  struct deviation *out)
{
    const struct device_info *calibrated = &calibration->device, *device = &identity->device;
    const struct calibrated_cell *found = NULL;

    for (size_t i = 0; i < calibration->cell_count && !found; i++)
        found = cell_order(&calibration->cells[i].cell, cell) == 0 ? &calibration->cells[i] : NULL;
    if (!device->uuid[0] || strcmp(device->uuid, calibrated->uuid) != 0)
        return "the calibration is of another GPU";
    if (strcmp(device->driver, calibrated->driver) != 0)
        return "the calibration is of another driver";
    if (!found || !found->has_deviation)
        return "the calibration has no time of the cell";
    if (!sha256[0] || strcmp(sha256, found->sha256) != 0 || strcmp(sha256, SIDE_MIXED) == 0)
        return "the calibration is of other code";
    *out = found->deviation;
    out->origin = DEVIATION_CALIBRATED;
    return NULL;
}

void calibration_close(struct calibration *calibration)
{
    free(calibration->cells);
    *calibration = (struct calibration){0};
}

/* -- the document ------------------------------------------------------------------------------ */

static const struct object deviation_object = {.fields = {deviation_rows, DEVIATION_ROWS},
                                               .given =
                                                   offsetof(struct calibrated_cell, has_deviation)};

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct calibrated_cell, "", cell, REQUIRED)},
    {FIELD(field_number, struct calibrated_cell, "noise", noise, NULLABLE), .high = INFINITY,
     .about = "greatest relative difference between the times of two processes, 0.01 is 1 %, which "
              "grows with the number of processes; null where a process failed or fewer than two "
              "timed the cell",
     .rules = AT_LEAST(0), .column = COLUMN(.frame = "noise")},
    {FIELD(field_object, struct calibrated_cell, "process_deviation", deviation, NULLABLE),
     .object = &deviation_object, .about = "null with noise",
     .column = COLUMN(.frame = "deviation")},
    {FIELD(field_number, struct calibrated_cell, "median_ns", median_ns, NULLABLE),
     .high = INFINITY, .about = "median of the times of the processes; null with noise",
     .rules = AT_LEAST(0), .column = COLUMN(.frame = "time_ns")},
    {FIELD(field_text, struct calibrated_cell, "sass_sha256", sha256, NULLABLE),
     .about = "of the kernel's code; null where it is not known, mixed where the processes ran "
              "different code: the noise then applies nowhere"},
};

static const struct objects cell_list = {OBJECTS(cell_rows, struct calibrated_cell,
                                                 struct calibration, cell_count),
                                         .max = SIZE_MAX};

static const struct field rows[] = {
    {.key = "tool", .kind = &field_tool, .about = "what wrote the file"},
    /* These are calibration_fields. */
    {FIELD(field_text, struct calibration, "engine", engine, REQUIRED),
     .about = "of the processes: cuda, model"},
    {FIELD(field_bool, struct calibration, "modelled", modelled, REQUIRED),
     .about = "the times are predictions, and the noise is none that was measured"},
    {FIELD(field_object, struct calibration, "device", device, REQUIRED), .object = &device_object,
     .about = "the GPU that the calibration is of; it applies to no other driver and model, and "
              "for another GPU of the model with what GPUs differ by added. Where its uuid is null "
              "it applies nowhere"},
    {FIELD(field_uint32, struct calibration, "processes", processes, REQUIRED), .low = 2,
     .high = UINT32_MAX, .about = "runs of the program that measured the plan",
     .rules = AT_LEAST(2)},
    {FIELD(field_list, struct calibration, "cells", cells, REQUIRED), .elements = &cell_list,
     .about = "each cell once"},
};

const struct fields calibration_fields = {rows + 1, 4};

const struct document calibration_document = {
    .schema = "cbank-calibration",
    .what = "calibration",
    .remedy = "take a file that cbank calibrate wrote",
    .about = "How much the time of each cell differs between processes of the same plan on one "
             "GPU. A reader "
             "takes any version 1.x and ignores keys that it does not know. A value that is not "
             "known is null.",
    .major = 1,
    .minor = 1,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status calibration_read(const char *path, struct calibration *out)
{
    cJSON *tree = NULL;
    enum status status;

    *out = (struct calibration){.device = device_unknown};
    status = document_read(&calibration_document, path, out, &tree);
    if (status != STATUS_OK)
        calibration_close(out);
    json_free(tree);
    return status;
}
