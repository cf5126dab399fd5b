/* SPDX-License-Identifier: MIT */
#include "calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cell_json.h"
#include "document.h"
#include "log.h"
#include "version.h"

static int compare_cells(const void *left, const void *right)
{
    return cell_order(&((const struct calibrated_cell *)left)->cell, &((const struct calibrated_cell *)right)->cell);
}

/* -- making ------------------------------------------------------------------------------------------- */

/* Noise and median of a cell from the medians of its processes; NaN where fewer than two processes timed it. */
static enum status calibrate(const struct side_cell *cell, struct calibrated_cell *out)
{
    const struct sample_side all = {cell->processes, cell->process_count};
    double least = INFINITY, greatest = 0;
    enum status status = STATUS_OK;

    *out = (struct calibrated_cell){.cell = cell->cell, .noise = NAN, .median_ns = NAN};
    memcpy(out->sha256, cell->sha256, sizeof(out->sha256));
    if (cell->status != CELL_OK || cell->process_count < 2)
        return STATUS_OK;
    for (size_t i = 0; i < cell->process_count && status == STATUS_OK; i++) {
        const struct sample_side one = {&cell->processes[i], 1};
        double median = NAN;

        status = side_median(&one, &median);
        least = fmin(least, median);
        greatest = fmax(greatest, median);
    }
    if (status == STATUS_OK)
        status = side_median(&all, &out->median_ns);
    if (status == STATUS_OK && least > 0 && isfinite(greatest / least))
        out->noise = greatest / least - 1;
    return status;
}

static bool is_mixed(const char *text)
{
    return strcmp(text, "mixed") == 0;
}

enum status calibration_of(const struct side *side, struct calibration *out)
{
    const struct side_identity *identity = &side->identity;
    enum status status = STATUS_OK;

    *out = (struct calibration){.processes = (uint32_t)side->files,
                                .modelled = identity->modelled,
                                .device = identity->device};
    if (side->files < 2)
        return log_error(STATUS_USAGE, "%s: %zu process is too few to calibrate; take two or more", side->label,
                         side->files);
    if (is_mixed(identity->device.uuid) || is_mixed(identity->device.driver) || is_mixed(identity->engine))
        return log_error(STATUS_USAGE,
                         "%s: the processes are of several GPUs, drivers or engines; calibrate each by "
                         "itself",
                         side->label);
    memcpy(out->engine, identity->engine, sizeof(out->engine));
    out->cells = calloc(side->cell_count + 1, sizeof(*out->cells));
    if (!out->cells)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a calibration of %zu cells", side->cell_count);
    out->cell_count = side->cell_count;
    for (size_t i = 0; i < side->cell_count && status == STATUS_OK; i++)
        status = calibrate(&side->cells[i], &out->cells[i]);
    qsort(out->cells, out->cell_count, sizeof(*out->cells), compare_cells);
    if (status != STATUS_OK)
        calibration_close(out);
    return status;
}

/* -- using -------------------------------------------------------------------------------------------- */

/* The cell in the calibration; NULL when it is not there. */
static const struct calibrated_cell *find_cell(const struct calibration *calibration, const struct cell *cell)
{
    const struct calibrated_cell key = {.cell = *cell};

    return calibration->cell_count
               ? bsearch(&key, calibration->cells, calibration->cell_count, sizeof(*calibration->cells), compare_cells)
               : NULL;
}

/* Why the calibration says nothing of a side; NULL when it does. */
static const char *side_obstacle(const struct device_info *of, const struct device_info *device)
{
    if (!device->uuid[0] || !of->uuid[0])
        return "which GPU it is is not known";
    if (strcmp(device->uuid, of->uuid) != 0)
        return "the calibration is of another GPU";
    return strcmp(device->driver, of->driver) != 0 ? "the calibration is of another driver" : NULL;
}

static const char *noise_obstacle(const struct calibrated_cell *cell, const char *sha256)
{
    if (!cell)
        return "the calibration has no such cell";
    if (isnan(cell->noise))
        return "the cell failed in the calibration";
    if (!sha256[0] || strcmp(sha256, cell->sha256) != 0 || is_mixed(sha256))
        return "the calibration is of other code";
    return NULL;
}

bool calibration_noise(const struct calibration *calibration, const struct cell *cell,
                       const struct side_identity *identity, const char *sha256, double *noise, const char **why)
{
    const struct calibrated_cell *found = find_cell(calibration, cell);

    *why = side_obstacle(&calibration->device, &identity->device);
    if (!*why)
        *why = noise_obstacle(found, sha256);
    if (*why)
        return false;
    *noise = found->noise;
    return true;
}

void calibration_close(struct calibration *calibration)
{
    free(calibration->cells);
    *calibration = (struct calibration){0};
}

/* -- the document -------------------------------------------------------------------------------------- */

static void write_processes(cJSON *object, const struct field *field, const void *base)
{
    json_add_integer(object, field->key, ((const struct calibration *)base)->processes);
}

static void read_processes(const struct node *node, const struct field *field, void *base)
{
    const char *key = node->reader->major == 1 ? "launches" : field->key;

    ((struct calibration *)base)->processes = (uint32_t)node_integer(node, key, 2, UINT32_MAX);
}

/* Cells are sorted, and each is there once. */
static void check_cells(const struct node *node, void *base)
{
    struct calibration *calibration = base;

    qsort(calibration->cells, calibration->cell_count, sizeof(*calibration->cells), compare_cells);
    for (size_t i = 1; i < calibration->cell_count; i++)
        if (compare_cells(&calibration->cells[i - 1], &calibration->cells[i]) == 0) {
            char identity[CELL_IDENTITY_BYTES];

            cell_identity(&calibration->cells[i].cell, identity);
            node_wrong(node, "the cell %s is twice in one calibration; remove one of the two", identity);
        }
}

static const struct field_kind kind_processes = {write_processes, read_processes};

static const struct field cell_rows[] = {
    {FIELD(field_cell, struct calibrated_cell, "", cell, REQUIRED)},
    {FIELD(field_number, struct calibrated_cell, "noise", noise, NULLABLE), .high = INFINITY},
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
    {FIELD(field_text, struct calibration, "engine", engine, LATER)},
    {FIELD(field_bool, struct calibration, "modelled", modelled, LATER)},
    {FIELD(field_object, struct calibration, "device", device, REQUIRED), .of = &device_object},
    {FIELD(kind_processes, struct calibration, "processes", processes, REQUIRED)},
    {FIELD(field_list, struct calibration, "cells", cells, REQUIRED), .of = &cell_list},
};

static const struct document document = {
    .schema = "cbank-calibration",
    .what = "calibration",
    .remedy = "take a file that cbank calibrate wrote",
    .major = 2,
    .oldest_major = 1,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX, .check = check_cells},
};

enum status calibration_write(const struct calibration *calibration, const char *path)
{
    return document_write(&document, calibration, path);
}

/* Ends reading: nothing that was read refers to the tree, and after an error nothing is kept. */
static enum status finish(enum status status, cJSON *tree, struct calibration *out)
{
    cJSON_Delete(tree);
    if (status != STATUS_OK)
        calibration_close(out);
    return status;
}

enum status calibration_read(const char *path, struct calibration *out)
{
    cJSON *tree = NULL;
    enum status status;

    *out = (struct calibration){.device = device_unknown};
    status = document_read(&document, path, out, &tree);
    return finish(status, tree, out);
}

enum status calibration_parse(const char *name, const char *text, size_t bytes, struct calibration *out)
{
    cJSON *tree = NULL;
    enum status status;

    *out = (struct calibration){.device = device_unknown};
    status = document_parse(&document, name, text, bytes, out, &tree);
    return finish(status, tree, out);
}
