/* SPDX-License-Identifier: MIT */
#include "calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell_json.h"
#include "device_json.h"
#include "document.h"
#include "log.h"
#include "side.h"
#include "stats.h"
#include "version.h"
#include "version_json.h"

static int compare_cells(const void *left, const void *right)
{
    return cell_order(&((const struct calibrated_cell *)left)->cell, &((const struct calibrated_cell *)right)->cell);
}

static void sort_cells(struct calibration *calibration)
{
    if (calibration->cell_count > 0) /* else there is no array */
        qsort(calibration->cells, calibration->cell_count, sizeof(*calibration->cells), compare_cells);
}

/* -- making ------------------------------------------------------------------------------------------- */

/* The deviation that the processes of a cell show; not known where fewer than two timed it. */
static enum status calibrate(const struct side_cell *cell, struct calibrated_cell *out)
{
    struct estimate estimate;
    double least = INFINITY, greatest = 0;
    enum status status;

    *out = (struct calibrated_cell){.cell = cell->cell, .noise = NAN, .median_ns = NAN, .within = NAN};
    memcpy(out->sha256, cell->sha256, sizeof(out->sha256));
    if (cell->status != CELL_OK || cell->process_count < 2)
        return STATUS_OK;
    for (size_t i = 0; i < cell->process_count; i++) {
        least = fmin(least, cell->processes[i].value);
        greatest = fmax(greatest, cell->processes[i].value);
    }
    status = estimate_of(cell->processes, cell->process_count, false, &estimate);
    if (!(least > 0) || !isfinite(greatest / least) || status != STATUS_OK)
        return status;
    out->noise = greatest / least - 1;
    out->median_ns = estimate.ns;
    out->within = estimate.within;
    out->deviation = estimate.own;
    return STATUS_OK;
}

enum status calibration_of(const struct sides *sides, struct calibration *out)
{
    const struct side_identity *identity = &sides->total.identity;
    const struct side *side = sides->gpus;
    const char *label = sides->total.label;
    struct deviation_evidence *evidence;
    struct deviation_scale scales[2];
    enum status status = STATUS_OK;

    *out = (struct calibration){.processes = (uint32_t)sides->total.files,
                                .modelled = identity->modelled,
                                .device = identity->device};
    if (sides->total.files < 2)
        return log_error(STATUS_USAGE, "%s: %zu process is too few to calibrate; take two or more", label,
                         sides->total.files);
    if (sides->count != 1 || side_is_mixed(identity->device.driver) || side_is_mixed(identity->engine))
        return log_error(STATUS_USAGE,
                         "%s: the processes are of several GPUs, drivers or engines; calibrate each by itself", label);
    memcpy(out->engine, identity->engine, sizeof(out->engine));
    out->cells = calloc(side->cell_count + 1, sizeof(*out->cells));
    evidence = calloc(side->cell_count + 1, sizeof(*evidence));
    if (!out->cells || !evidence)
        status = log_memory("a calibration of %zu cells", side->cell_count);
    for (size_t i = 0; i < side->cell_count && status == STATUS_OK; i++)
        status = calibrate(&side->cells[i], &out->cells[out->cell_count++]);
    if (status != STATUS_OK) {
        free(evidence);
        calibration_close(out);
        return status;
    }
    sort_cells(out);
    /* The deviation of each cell is pooled with the default, which is scaled to all cells of the same cache state.
     * Where the error of times is not known, and for predictions, cells stay as they are. */
    for (size_t i = 0; i < out->cell_count; i++) {
        const struct calibrated_cell *cell = &out->cells[i];
        const bool cold = cell->cell.cache_state->flush, copies = cell_copied_bytes(&cell->cell) > 0;

        evidence[i] = (struct deviation_evidence){.flush = cold, .own = cell->deviation};
        if (!isnan(cell->within))
            evidence[i].before =
                deviation_at_least(deviation_default(CAUSE_process, cold, copies, cell->median_ns), cell->within);
    }
    deviation_find_scales(evidence, out->cell_count, scales);
    for (size_t i = 0; i < out->cell_count; i++) {
        struct calibrated_cell *cell = &out->cells[i];

        cell->has_deviation = cell->deviation.degrees > 0;
        cell->deviation = cell->has_deviation ? deviation_conclude(scales, &evidence[i])
                                              : (struct deviation){NAN, NAN, DEVIATION_UNKNOWN};
        if (cell->has_deviation)
            cell->deviation.origin = DEVIATION_PROCESSES;
    }
    free(evidence);
    return STATUS_OK;
}

/* -- using -------------------------------------------------------------------------------------------- */

const char *calibration_deviation(const struct calibration *calibration, const struct cell *cell,
                                  const struct side_identity *identity, const char *sha256, struct deviation *out)
{
    const struct device_info *of = &calibration->device, *device = &identity->device;
    const struct calibrated_cell key = {.cell = *cell}, *found = NULL;

    if (calibration->cell_count > 0)
        found = bsearch(&key, calibration->cells, calibration->cell_count, sizeof(key), compare_cells);
    if (!device->uuid[0] || !of->uuid[0])
        return "which GPU it is is not known";
    if (strcmp(device->name, of->name) != 0)
        return "the calibration is of another model of GPU";
    if (strcmp(device->driver, of->driver) != 0)
        return "the calibration is of another driver";
    if (!found)
        return "the calibration has no such cell";
    if (!found->has_deviation)
        return "the cell failed in the calibration";
    if (!sha256[0] || strcmp(sha256, found->sha256) != 0 || side_is_mixed(sha256))
        return "the calibration is of other code";
    *out = found->deviation;
    out->origin = DEVIATION_CALIBRATED;
    if (strcmp(device->uuid, of->uuid) != 0) {
        const struct deviation parts[] = {*out, deviation_default(CAUSE_board, cell->cache_state->flush,
                                                                  cell_copied_bytes(cell) > 0, found->median_ns)};

        *out = deviation_sum(parts, (const double[]){1, 1}, 2);
        out->origin = DEVIATION_OTHER_BOARD;
    }
    return NULL;
}

void calibration_close(struct calibration *calibration)
{
    free(calibration->cells);
    *calibration = (struct calibration){0};
}

/* -- the document -------------------------------------------------------------------------------------- */

/* Cells are sorted, and each is there once. */
static void check_cells(const struct node *node, void *base)
{
    struct calibration *calibration = base;

    sort_cells(calibration);
    for (size_t i = 1; i < calibration->cell_count; i++)
        if (compare_cells(&calibration->cells[i - 1], &calibration->cells[i]) == 0) {
            char identity[CELL_IDENTITY_BYTES];

            cell_identity(&calibration->cells[i].cell, identity);
            node_wrong(node, "the cell %s is twice in one calibration; remove one of the two", identity);
        }
}

static const struct object deviation_object = {
    .fields = {deviation_rows, DEVIATION_ROWS},
    .given = offsetof(struct calibrated_cell, has_deviation),
};

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct calibrated_cell, "", cell, REQUIRED)},
    {FIELD(field_number, struct calibrated_cell, "noise", noise, NULLABLE), .high = INFINITY},
    {FIELD(field_object, struct calibrated_cell, "process_deviation", deviation, NULLABLE), .of = &deviation_object},
    {FIELD(field_number, struct calibrated_cell, "median_ns", median_ns, NULLABLE), .high = INFINITY},
    {FIELD(field_text, struct calibrated_cell, "sass_sha256", sha256, NULLABLE)},
};

static const struct objects cell_list = {
    .fields = FIELDS(cell_rows),
    .element_bytes = sizeof(struct calibrated_cell),
    .count = offsetof(struct calibration, cell_count),
    .max = SIZE_MAX,
};

static const struct field rows[] = {
    {.key = "tool", .kind = &field_tool},
    /* These are calibration_fields. */
    {FIELD(field_text, struct calibration, "engine", engine, REQUIRED)},
    {FIELD(field_bool, struct calibration, "modelled", modelled, REQUIRED)},
    {FIELD(field_object, struct calibration, "device", device, REQUIRED), .of = &device_object},
    {FIELD(field_uint32, struct calibration, "processes", processes, REQUIRED), .low = 2, .high = UINT32_MAX},
    {FIELD(field_list, struct calibration, "cells", cells, REQUIRED), .of = &cell_list},
};

const struct fields calibration_fields = {rows + 1, 4};

static const struct document document = {
    .schema = "cbank-calibration",
    .what = "calibration",
    .remedy = "take a file that cbank calibrate wrote",
    .major = 1,
    .minor = 0,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX, .check = check_cells},
};

enum status calibration_write(const struct calibration *calibration, const char *path)
{
    return document_write(&document, calibration, path);
}

/* Nothing that is read refers to the tree, and after an error nothing is kept. */
enum status calibration_take(const char *name, const cJSON *tree, struct calibration *out)
{
    enum status status;

    *out = (struct calibration){.device = device_unknown};
    status = document_take(&document, name, tree, out);
    if (status != STATUS_OK)
        calibration_close(out);
    return status;
}

enum status calibration_read(const char *path, struct calibration *out)
{
    cJSON *tree;
    enum status status = json_read_file(path, &tree);

    *out = (struct calibration){0};
    if (status == STATUS_OK)
        status = calibration_take(path, tree, out);
    json_free(tree);
    return status;
}
