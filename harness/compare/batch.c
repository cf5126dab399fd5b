/* SPDX-License-Identifier: MIT */
#include "batch.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "log.h"

/* A line that is being judged. */
struct line {
    const char *name; /* of the input, and the line's number */
    size_t number;
    const cJSON *json;
    struct compare_options options;
    cJSON *out; /* what is printed */
};

__attribute__((format(printf, 2, 3))) static enum status wrong(const struct line *line, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return log_error(STATUS_USAGE, "%s line %zu: %s", line->name, line->number, text);
}

static double number_of(const cJSON *object, const char *key, double otherwise)
{
    json_get_double(object, key, &otherwise);
    return otherwise;
}

static bool bool_of(const cJSON *object, const char *key)
{
    bool value = false;

    json_get_bool(object, key, &value);
    return value;
}

/* Adds the verdict on a cell. */
static void put_judged(cJSON *out, const char *verdict, const struct judged_cell *cell)
{
    json_add_text(out, "verdict", verdict);
    json_add_double(out, "base_ns", cell->sides[BASE].estimate.ns);
    json_add_double(out, "new_ns", cell->sides[NEW].estimate.ns);
    json_add_double(out, "ratio", cell->ratio.value);
    json_add_double(out, "ci_low", cell->ratio.ci_low);
    json_add_double(out, "ci_high", cell->ratio.ci_high);
    json_add_double(out, "p", cell->ratio.p);
    json_add_double(out, "adjusted_p", cell->adjusted_p);
    json_add_double(out, "deviation", cell->deviation.value);
    json_add_double(out, "degrees_of_freedom", cell->deviation.degrees);
    json_add_double(out, "processes_to_settle", cell->settle ? (double)cell->settle : NAN);
}

/* -- numbers ------------------------------------------------------------------------------------------- */

/* Reads a side: times of processes, with their intervals where they are known. */
static enum status read_side(const struct line *line, const cJSON *json, struct judged_side *out, bool *valid)
{
    const cJSON *times = json_get(json, "time_ns"), *time;
    const cJSON *low = json_get(json, "ci_low"), *high = json_get(json, "ci_high");
    const size_t count = cJSON_IsArray(times) ? (size_t)cJSON_GetArraySize(times) : 0;
    struct process_time *processes;
    enum status status = STATUS_OK;

    if (count == 0)
        return wrong(line, "a side needs time_ns, an array of one number a process");
    low = cJSON_IsArray(low) ? low->child : NULL;
    high = cJSON_IsArray(high) ? high->child : NULL;
    processes = calloc(count, sizeof(*processes));
    if (!processes)
        return log_memory("a comparison");
    out->processes = 0;
    cJSON_ArrayForEach (time, times) {
        const bool interval = cJSON_IsNumber(low) && cJSON_IsNumber(high);

        if (!cJSON_IsNumber(time))
            status = wrong(line, "time_ns: expected numbers");
        *valid = *valid && time->valuedouble > 0;
        processes[out->processes++] = (struct process_time){
            .count = 1,
            .value = time->valuedouble,
            .least = time->valuedouble,
            .error = interval ? process_error(low->valuedouble, high->valuedouble) : NAN,
        };
        low = low ? low->next : NULL;
        high = high ? high->next : NULL;
    }
    out->clock_mhz = number_of(json, "clock_mhz", NAN);
    if (status == STATUS_OK && *valid)
        status = estimate_of(processes, count, false, &out->estimate);
    free(processes);
    return status;
}

static enum status read_cell(const struct line *line, const cJSON *json, struct judged_cell *out, bool *valid)
{
    const cJSON *before = json_get(json, "deviation");
    enum status status = STATUS_OK;

    *out = judged_unknown;
    out->cold = bool_of(json, "cold");
    out->copies = bool_of(json, "copies");
    out->plans_differ = bool_of(line->json, "plans_differ");
    if (before)
        out->before = (struct deviation){number_of(before, "value", NAN), number_of(before, "degrees_of_freedom", 0),
                                         DEVIATION_CALIBRATED};
    if (before && (!(out->before.value >= 0) || !(out->before.degrees > 0)))
        return wrong(line, "deviation: expected {\"value\": 0.001, \"degrees_of_freedom\": 12}");
    *valid = true;
    for (size_t i = 0; status == STATUS_OK && i < SIDES; i++) {
        const cJSON *side = json_get(json, side_names[i]);

        out->doubtful = out->doubtful || bool_of(side, "doubtful");
        status = read_side(line, side, &out->sides[i], valid);
    }
    return status;
}

/* Judges cells that are given as numbers. `alone`: there is one, whose members are the line's. */
static enum status judge_numbers(struct line *line, const cJSON *first, size_t count, bool alone)
{
    struct judged_cell *cells = calloc(count + 1, sizeof(*cells)), **valid = calloc(count + 1, sizeof(*valid));
    const struct judge_options options = {.threshold = line->options.threshold,
                                          .looks = line->options.looks,
                                          .boards_differ = bool_of(line->json, "boards_differ")};
    enum status status = cells && valid ? STATUS_OK : log_memory("a comparison");
    size_t valid_count = 0, i = 0;

    for (const cJSON *json = first; status == STATUS_OK && i < count; json = json->next) {
        bool good = false;

        status = read_cell(line, json, &cells[i], &good);
        valid[valid_count] = &cells[i++];
        valid_count += good;
    }
    if (status == STATUS_OK)
        status = judge(valid, valid_count, &options);
    if (status == STATUS_OK) {
        cJSON *list = alone ? NULL : json_add(line->out, "cells", cJSON_CreateArray());

        i = 0;
        for (const cJSON *json = first; i < count; json = json->next, i++) {
            cJSON *out = alone ? line->out : json_append(list, cJSON_CreateObject());

            if (json_get(json, "cell"))
                json_add(out, "cell", cJSON_Duplicate(json_get(json, "cell"), true));
            put_judged(out, verdict_rows[cells[i].verdict].name, &cells[i]);
        }
    }
    free(valid);
    free(cells);
    return status;
}

/* -- files --------------------------------------------------------------------------------------------- */

/* Compares files. Where they cannot be, the line says so, and the next is read. */
static enum status compare_files(struct line *line)
{
    struct sides sides[SIDES] = {0};
    struct comparison comparison = {0};
    enum status status = STATUS_OK;

    for (size_t i = 0; i < SIDES; i++) {
        const cJSON *path, *paths = json_get(line->json, side_names[i]);

        if (cJSON_GetArraySize(paths) == 0)
            status = wrong(line, "%s: expected names of files", side_names[i]);
        cJSON_ArrayForEach (path, paths) {
            if (status == STATUS_OK)
                status = cJSON_IsString(path) ? sides_add(&sides[i], path->valuestring)
                                              : wrong(line, "%s: expected names of files", side_names[i]);
        }
    }
    if (status == STATUS_OK)
        status = compare_sides(sides, &line->options, &comparison);
    json_add_integer(line->out, "status", (uint64_t)(status == STATUS_OK ? comparison_status(&comparison) : status));
    if (status == STATUS_OK) {
        cJSON *counts = json_add(line->out, "counts", cJSON_CreateObject()), *list;

        for (size_t i = 0; i < VERDICTS; i++)
            json_add_integer(counts, verdict_rows[i].name, comparison.counts[i]);
        json_add(line->out, "comparable", cJSON_CreateBool(comparison.comparable));
        list = json_add(line->out, "cells", cJSON_CreateArray());
        for (size_t i = 0; i < comparison.cell_count; i++) {
            const struct comparison_cell *cell = &comparison.cells[i];
            cJSON *out = json_append(list, cJSON_CreateObject());
            char identity[CELL_IDENTITY_BYTES];

            cell_identity(&cell->cell, identity);
            json_add_text(out, "cell", identity);
            json_add_text(out, "uuid", gpu_identity(cell->gpu)->device.uuid);
            put_judged(out, verdict_rows[cell->verdict].name, &cell->judged);
        }
    }
    comparison_close(&comparison);
    for (size_t i = 0; i < SIDES; i++)
        sides_close(&sides[i]);
    return status == STATUS_ENVIRONMENT ? status : STATUS_OK;
}

/* -- lines --------------------------------------------------------------------------------------------- */

static enum status judge_line(struct line *line)
{
    const cJSON *cells = json_get(line->json, "cells"), *base = json_get(line->json, side_names[BASE]);
    const double looks = number_of(line->json, "looks", 1);

    line->options.threshold = number_of(line->json, "threshold", 100 * line->options.threshold) / 100;
    if (!(line->options.threshold > 0) || !(looks >= 1 && looks < 1000))
        return wrong(line, "threshold or looks: expected a number above 0");
    line->options.looks = (unsigned)looks;
    if (json_get(line->json, "id"))
        json_add(line->out, "id", cJSON_Duplicate(json_get(line->json, "id"), true));
    if (cJSON_IsArray(cells))
        return judge_numbers(line, cells->child, (size_t)cJSON_GetArraySize(cells), false);
    if (cJSON_IsArray(base))
        return compare_files(line);
    return cJSON_IsObject(base) ? judge_numbers(line, line->json, 1, true)
                                : wrong(line, "expected base and new (files or numbers), or cells");
}

enum status batch_compare(FILE *in, const char *name, const struct compare_options *options)
{
    struct line line = {.name = name};
    enum status status = STATUS_OK;
    char *text = NULL;
    size_t room = 0;
    ssize_t bytes;

    while (status == STATUS_OK && (bytes = getline(&text, &room, in)) >= 0) {
        char where[320];
        cJSON *json = NULL;
        char *printed;

        line.number++;
        snprintf(where, sizeof(where), "%s line %zu", name, line.number);
        if (strspn(text, " \t\r\n") == (size_t)bytes)
            continue;
        status = json_parse(where, text, (size_t)bytes, &json);
        line.json = json;
        line.options = *options;
        line.out = cJSON_CreateObject();
        if (status == STATUS_OK)
            status = judge_line(&line);
        if (status == STATUS_OK) {
            printed = json_whole(line.out) ? cJSON_PrintUnformatted(line.out) : NULL;
            if (printed)
                puts(printed);
            else
                status = log_memory("a verdict");
            cJSON_free(printed);
        }
        cJSON_Delete(line.out);
        cJSON_Delete(json);
    }
    if (status == STATUS_OK && ferror(in))
        status = log_error(STATUS_USAGE, "%s: cannot be read: %s", name, strerror(errno));
    free(text);
    return status;
}
