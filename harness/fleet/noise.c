/* SPDX-License-Identifier: MIT */
#include "noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "log.h"
#include "side.h"
#include "memory.h"

struct deviation noise_find(const struct noise *noise, const struct noise_of *of)
{
    struct deviation found = deviation_default(
        CAUSE_process, of->cell->regime->flush, cell_copied_bytes(of->cell) > 0, of->median_ns);
    struct side_identity identity = {.device = device_unknown};

    snprintf(identity.device.name, sizeof(identity.device.name), "%s", of->name);
    snprintf(identity.device.uuid, sizeof(identity.device.uuid), "%s", of->uuid);
    snprintf(identity.device.driver, sizeof(identity.device.driver), "%s", of->driver);
    for (size_t i = noise->count; i-- > 0;) {
        struct deviation its;

        if (calibration_deviation(&noise->calibrations[i], of->cell, &identity, of->sha256, &its))
            continue;
        if (its.origin == DEVIATION_CALIBRATED)
            return its;
        if (found.origin == DEVIATION_DEFAULT)
            found = its;
    }
    return found;
}

enum status noise_add(struct noise *noise, struct calibration *calibration)
{
    if (!memory_grow(&noise->calibrations, noise->count, sizeof(*calibration))) {
        calibration_close(calibration);
        return log_memory("the calibrations");
    }
    noise->calibrations[noise->count++] = *calibration;
    *calibration = (struct calibration){0};
    return STATUS_OK;
}

void noise_close(struct noise *noise)
{
    for (size_t i = 0; i < noise->count; i++)
        calibration_close(&noise->calibrations[i]);
    free(noise->calibrations);
    *noise = (struct noise){0};
}

/* -- stores -------------------------------------------------------------------------------------------- */

static bool read_cell(struct store *store, struct sql_statement *row, struct calibration *calibration)
{
    struct calibrated_cell *cell;

    if (!memory_grow(&calibration->cells, calibration->cell_count, sizeof(*cell)))
        return false;
    cell = &calibration->cells[calibration->cell_count++];
    *cell = (struct calibrated_cell){.noise = NAN, .within = NAN, .has_deviation = true};
    store_read_cell(store, sql_text(row, 0), &cell->cell);
    snprintf(cell->sha256, sizeof(cell->sha256), "%s", sql_text(row, 1));
    cell->median_ns = sql_number(row, 2);
    cell->deviation =
        (struct deviation){.value = sql_number(row, 3), .degrees = sql_number(row, 4), .origin = DEVIATION_PROCESSES};
    return true;
}

static enum status read_cells(struct store *store, struct sql_statement *rows, int64_t id,
                              struct calibration *calibration)
{
    struct sql *sql = store_sql(store);

    sql_set_integer(rows, 1, id);
    while (sql_row(rows))
        if (!read_cell(store, rows, calibration))
            sql_no_memory(sql);
    if (sql_status(sql) == STATUS_OK)
        calibration_sort(calibration);
    return sql_status(sql);
}

enum status noise_read_store(struct noise *noise, struct store *store)
{
    struct sql *sql = store_sql(store);
    struct sql_statement *list =
        sql_prepare(sql,
                    "SELECT calibration_id, uuid, name, driver, processes FROM calibrations ORDER BY calibration_id");
    struct sql_statement *rows =
        sql_prepare(sql, "SELECT cell, sass_sha256, median_ns, deviation, degrees FROM calibrated"
                         " JOIN identities USING (identity_id) WHERE calibration_id = ?1");
    enum status status = STATUS_OK;

    while (status == STATUS_OK && sql_row(list)) {
        struct calibration calibration = {.device = device_unknown, .processes = (uint32_t)sql_integer(list, 4)};

        snprintf(calibration.device.uuid, sizeof(calibration.device.uuid), "%s", sql_text(list, 1));
        snprintf(calibration.device.name, sizeof(calibration.device.name), "%s", sql_text(list, 2));
        snprintf(calibration.device.driver, sizeof(calibration.device.driver), "%s", sql_text(list, 3));
        status = read_cells(store, rows, sql_integer(list, 0), &calibration);
        if (status == STATUS_OK)
            status = noise_add(noise, &calibration);
        calibration_close(&calibration);
    }
    sql_finish(rows);
    sql_finish(list);
    return status == STATUS_OK ? sql_status(sql) : status;
}

void noise_write_defaults(struct store *store)
{
    static const struct {
        const char *cause, *regime;
        double relative, ns, degrees;
    } known[] = {
#define DEVIATION(cause, regime, relative, ns, degrees) {#cause, #regime, relative, ns, degrees},
#include "deviation.def"
    };
    struct sql_statement *add =
        sql_prepare(store_sql(store), "INSERT OR REPLACE INTO default_deviations VALUES (?1, ?2, ?3, ?4, ?5)");

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        sql_set_text(add, 1, known[i].cause);
        sql_set_text(add, 2, known[i].regime);
        sql_set_number(add, 3, known[i].relative);
        sql_set_number(add, 4, known[i].ns);
        sql_set_number(add, 5, known[i].degrees);
        sql_change(add);
    }
    sql_finish(add);
}

void noise_write(struct store *store, const struct calibration *calibration, const char *hash, const char *file)
{
    struct sql *sql = store_sql(store);
    struct sql_statement *add = sql_prepare(
        sql, "INSERT INTO calibrations (hash, file, uuid, name, driver, processes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
    struct sql_statement *add_cell = sql_prepare(sql, "INSERT INTO calibrated VALUES (?1, ?2, ?3, ?4, ?5, ?6)");

    sql_set_text(add, 1, hash);
    sql_set_text(add, 2, file);
    sql_set_text(add, 3, calibration->device.uuid);
    sql_set_text(add, 4, calibration->device.name);
    sql_set_text(add, 5, calibration->device.driver);
    sql_set_integer(add, 6, calibration->processes);
    sql_change(add);
    sql_set_integer(add_cell, 2, sql_added(sql));
    for (const struct calibrated_cell *cell = calibration->cells; cell < calibration->cells + calibration->cell_count;
         cell++) {
        if (!cell->has_deviation || !(cell->median_ns > 0))
            continue;
        sql_set_integer(add_cell, 1, store_identity(store, &cell->cell));
        sql_set_text(add_cell, 3, cell->sha256);
        sql_set_number(add_cell, 4, cell->median_ns);
        sql_set_number(add_cell, 5, cell->deviation.value);
        sql_set_number(add_cell, 6, cell->deviation.degrees);
        sql_change(add_cell);
    }
    sql_finish(add_cell);
    sql_finish(add);
}
