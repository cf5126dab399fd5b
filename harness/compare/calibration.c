/* SPDX-License-Identifier: MIT */
#include "calibration.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity_json.h"
#include "json.h"
#include "log.h"
#include "text.h"

static const char schema_name[] = "cbank-calibration";
enum { SCHEMA_MAJOR = 1, SCHEMA_MINOR = 1 };

static int compare_cells(const void *left, const void *right)
{
    return cell_order(&((const struct calibrated_cell *)left)->cell, &((const struct calibrated_cell *)right)->cell);
}

/* -- making ------------------------------------------------------------------------------------------- */

/* Noise and median of a cell from the medians of its launches; NaN where fewer than two launches timed it. */
static enum status calibrate(const struct side_cell *cell, struct calibrated_cell *out)
{
    const struct sample_side all = {cell->launches, cell->launch_count};
    double least = INFINITY, greatest = 0;
    enum status status = STATUS_OK;

    *out = (struct calibrated_cell){.cell = cell->cell, .noise = NAN, .median_ns = NAN};
    memcpy(out->sha256, cell->sha256, sizeof(out->sha256));
    if (cell->status != CELL_OK || cell->launch_count < 2)
        return STATUS_OK;
    for (size_t i = 0; i < cell->launch_count && status == STATUS_OK; i++) {
        const struct sample_side one = {&cell->launches[i], 1};
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

    *out = (struct calibration){.launches = side->files};
    if (side->files < 2)
        return log_error(STATUS_USAGE, "%s: %zu launch is too few to calibrate; take two or more", side->label,
                         side->files);
    if (is_mixed(identity->uuid) || is_mixed(identity->driver) || is_mixed(identity->engine))
        return log_error(STATUS_USAGE,
                         "%s: the launches are of several GPUs, drivers or engines; calibrate each by "
                         "itself",
                         side->label);
    memcpy(out->uuid, identity->uuid, sizeof(out->uuid));
    memcpy(out->device, identity->device, sizeof(out->device));
    memcpy(out->driver, identity->driver, sizeof(out->driver));
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
static const char *side_obstacle(const struct calibration *calibration, const struct side_identity *identity)
{
    if (!identity->uuid[0] || !calibration->uuid[0])
        return "which GPU it is is not known";
    if (strcmp(identity->uuid, calibration->uuid) != 0)
        return "the calibration is of another GPU";
    if (strcmp(identity->driver, calibration->driver) != 0)
        return "the calibration is of another driver";
    return NULL;
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

    *why = side_obstacle(calibration, identity);
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
    cJSON_Delete(calibration->storage);
    *calibration = (struct calibration){0};
}

/* -- writing ------------------------------------------------------------------------------------------ */

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

static void write_cell(cJSON *cells, const struct calibrated_cell *cell)
{
    cJSON *object = json_append(cells, cJSON_CreateObject());

    json_add_identity(object, &cell->cell);
    json_add_double(object, "noise", cell->noise);
    json_add_double(object, "median_ns", cell->median_ns);
    json_add_text(object, "sass_sha256", text_or_null(cell->sha256));
}

enum status calibration_write(const struct calibration *calibration, const char *path)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *schema = json_add(root, "schema", cJSON_CreateObject());
    cJSON *device, *cells;
    enum status status;
    char version[32];

    snprintf(version, sizeof(version), "%d.%d", SCHEMA_MAJOR, SCHEMA_MINOR);
    json_add_text(schema, "name", schema_name);
    json_add_text(schema, "version", version);
    json_add_tool(root);
    device = json_add(root, "device", cJSON_CreateObject());
    json_add_text(device, "name", calibration->device);
    json_add_text(device, "uuid", text_or_null(calibration->uuid));
    json_add_text(device, "driver", text_or_null(calibration->driver));
    json_add_integer(root, "launches", calibration->launches);
    cells = json_add(root, "cells", cJSON_CreateArray());
    for (size_t i = 0; i < calibration->cell_count; i++)
        write_cell(cells, &calibration->cells[i]);
    status = json_write(path, root);
    cJSON_Delete(root);
    return status;
}

/* -- reading ------------------------------------------------------------------------------------------ */

/* Where reading stands. After the first error nothing more is said, and what is read means nothing. */
struct old_reader {
    const char *file;
    char place[32]; /* "cells[3]." or "" */
    enum status status;
};

/* Says that the member `key` is not what was expected. */
static void refuse(struct old_reader *reader, const char *key, const char *expected)
{
    if (reader->status == STATUS_OK)
        reader->status = log_error(STATUS_USAGE, "%s: %s%s: expected %s; take a file that cbank calibrate wrote",
                                   reader->file, reader->place, key, expected);
}

static void read_text(struct old_reader *reader, const cJSON *object, const char *key, bool required, char *out,
                      size_t bytes)
{
    const char *text = "";
    char expected[64];

    snprintf(expected, sizeof(expected), "a string of at most %zu bytes%s", bytes - 1, required ? "" : " or null");
    if ((!json_get_text(object, key, &text) && (required || !cJSON_IsNull(json_get(object, key)))) ||
        strlen(text) >= bytes)
        refuse(reader, key, expected);
    else
        snprintf(out, bytes, "%s", text);
}

static uint64_t read_integer(struct old_reader *reader, const cJSON *object, const char *key, uint64_t low,
                             uint64_t high)
{
    uint64_t value = low;
    char expected[80];

    snprintf(expected, sizeof(expected), "an integer from %" PRIu64 " to %" PRIu64, low, high);
    if (!json_get_integer(object, key, &value) || value < low || value > high)
        refuse(reader, key, expected);
    return value;
}

/* A number of at least 0; NaN for null. */
static double read_number(struct old_reader *reader, const cJSON *object, const char *key)
{
    double value = NAN;

    if (!cJSON_IsNull(json_get(object, key)) && (!json_get_double(object, key, &value) || !(value >= 0)))
        refuse(reader, key, "a number of at least 0 or null");
    return value;
}

static void read_identity(struct old_reader *reader, const cJSON *object, struct cell *cell)
{
    struct identity_fault fault;

    if (!json_get_identity(object, cell, &fault) && reader->status == STATUS_OK)
        reader->status = log_error(STATUS_USAGE, "%s: %s%s: %s", reader->file, reader->place, fault.key, fault.text);
}

static void read_cell(struct old_reader *reader, const cJSON *object, struct calibrated_cell *cell)
{
    read_identity(reader, object, &cell->cell);
    cell->noise = read_number(reader, object, "noise");
    cell->median_ns = read_number(reader, object, "median_ns");
    read_text(reader, object, "sass_sha256", false, cell->sha256, sizeof(cell->sha256));
}

/* Refuses a cell that is there twice; the cells are sorted. */
static void check_once(struct old_reader *reader, const struct calibration *calibration)
{
    for (size_t i = 1; i < calibration->cell_count && reader->status == STATUS_OK; i++)
        if (cell_equal(&calibration->cells[i - 1].cell, &calibration->cells[i].cell)) {
            char identity[CELL_IDENTITY_BYTES];

            cell_identity(&calibration->cells[i].cell, identity);
            reader->status = log_error(STATUS_USAGE,
                                       "%s: the cell %s is twice in one calibration; remove one of "
                                       "the two",
                                       reader->file, identity);
        }
}

static void read_cells(struct old_reader *reader, const cJSON *root, struct calibration *out)
{
    const cJSON *array = json_get(root, "cells"), *item;

    if (!cJSON_IsArray(array)) {
        refuse(reader, "cells", "an array");
        return;
    }
    out->cells = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof(*out->cells));
    if (!out->cells) {
        reader->status = log_error(STATUS_ENVIRONMENT, "%s: out of memory; free some memory", reader->file);
        return;
    }
    cJSON_ArrayForEach (item, array) {
        snprintf(reader->place, sizeof(reader->place), "cells[%zu].", out->cell_count);
        read_cell(reader, item, &out->cells[out->cell_count++]);
        if (reader->status != STATUS_OK)
            return;
    }
    qsort(out->cells, out->cell_count, sizeof(*out->cells), compare_cells);
    check_once(reader, out);
}

static void check_schema(struct old_reader *reader, const cJSON *root)
{
    const cJSON *schema = json_get(root, "schema");
    const char *name = "", *version = "";
    char shown[TEXT_SHOWN_BYTES];
    unsigned major, minor;
    int used = 0;

    json_get_text(schema, "name", &name);
    json_get_text(schema, "version", &version);
    if (strcmp(name, schema_name) != 0)
        reader->status = log_error(STATUS_USAGE,
                                   "%s: schema.name is '%s': this is no calibration; take a file that "
                                   "cbank calibrate wrote",
                                   reader->file, text_shown(name, shown));
    else if (version[strspn(version, "0123456789.")] || sscanf(version, "%5u.%5u%n", &major, &minor, &used) != 2 ||
             version[used] != '\0')
        refuse(reader, "schema.version", "a version like \"1.0\"");
    else if (major != SCHEMA_MAJOR)
        reader->status = log_error(STATUS_USAGE,
                                   "%s: schema.version is %s, this build reads %d.x; use the cbank that "
                                   "wrote the file",
                                   reader->file, text_shown(version, shown), SCHEMA_MAJOR);
}

static void read_device(struct old_reader *reader, const cJSON *root, struct calibration *out)
{
    const cJSON *device = json_get(root, "device");

    if (!cJSON_IsObject(device)) {
        refuse(reader, "device", "an object");
        return;
    }
    snprintf(reader->place, sizeof(reader->place), "device.");
    read_text(reader, device, "name", true, out->device, sizeof(out->device));
    read_text(reader, device, "uuid", false, out->uuid, sizeof(out->uuid));
    read_text(reader, device, "driver", false, out->driver, sizeof(out->driver));
    reader->place[0] = '\0';
}

/* Takes what a parsed file says; root is deleted. */
static enum status calibration_take(const char *name, cJSON *root, struct calibration *out)
{
    struct old_reader reader = {.file = name, .status = STATUS_OK};

    *out = (struct calibration){0};
    check_schema(&reader, root);
    if (reader.status == STATUS_OK) {
        read_device(&reader, root, out);
        out->launches = read_integer(&reader, root, "launches", 2, UINT32_MAX);
    }
    if (reader.status == STATUS_OK)
        read_cells(&reader, root, out);
    cJSON_Delete(root);
    if (reader.status != STATUS_OK)
        calibration_close(out);
    return reader.status;
}

enum status calibration_read(const char *path, struct calibration *out)
{
    cJSON *root = NULL;
    const enum status status = json_read_file(path, &root);

    return status == STATUS_OK ? calibration_take(path, root, out) : status;
}

enum status calibration_parse(const char *name, const char *text, size_t bytes, struct calibration *out)
{
    cJSON *root = NULL;
    const enum status status = json_parse(name, text, bytes, &root);

    return status == STATUS_OK ? calibration_take(name, root, out) : status;
}
