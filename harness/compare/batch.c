/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_report.h"
#include "json.h"
#include "log.h"
#include "series.h"

/* student_quantile(1 - STATS_CONFIDENCE, INFINITY): computing it takes longer than everything else here. */
static const double errors_to_end = 1.9599877075001344;

/* A line that is being judged. */
struct line {
    char name[320]; /* for messages */
    const cJSON *json;
    struct compare_options options;
    cJSON *out; /* what is printed */
};

static double number_of(const cJSON *object, const char *key, double otherwise)
{
    const cJSON *item = json_get(object, key);

    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static bool bool_of(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(json_get(object, key));
}

/* Reads a side: times of processes, with their intervals where they are known. */
static enum status read_side(const struct line *line, const cJSON *json, struct judged_side *out, bool *valid)
{
    const cJSON *times = json_get(json, "time_ns"), *low = json_get(json, "ci_low"), *high = json_get(json, "ci_high");
    const int count = cJSON_GetArraySize(times);
    struct process_time *processes = calloc((size_t)count + 1, sizeof(*processes));
    enum status status = STATUS_OK;

    if (!processes)
        return log_memory("a comparison");
    for (int i = 0; i < count; i++) {
        const double time = cJSON_GetNumberValue(cJSON_GetArrayItem(times, i)); /* NaN: no number */

        /* Half of a 95 % interval, in standard errors of the logarithm. It includes SERIES_PROCESS. */
        const double error =
            log(cJSON_GetNumberValue(cJSON_GetArrayItem(high, i)) / cJSON_GetNumberValue(cJSON_GetArrayItem(low, i))) /
            2 / errors_to_end;

        processes[i] = (struct process_time){.value = time, .error = error};
        if (!isnan(error))
            processes[i].error = sqrt(fmax(error * error - SERIES_PROCESS * SERIES_PROCESS, 0));
        *valid = *valid && time > 0;
        if (isnan(time))
            status = STATUS_USAGE;
    }
    out->processes = (size_t)count;
    out->clock_mhz = number_of(json, "clock_mhz", NAN);
    if (count == 0 || status != STATUS_OK)
        status = log_error(STATUS_USAGE, "%s: a side needs time_ns, an array of one number a process", line->name);
    else if (*valid)
        status = estimate_of(processes, out->processes, false, &out->estimate);
    free(processes);
    return status;
}

/* Judges cells that are given as numbers. */
static enum status judge_numbers(struct line *line, const cJSON *list)
{
    const size_t count = (size_t)cJSON_GetArraySize(list);
    struct judged_cell *cells = calloc(count + 1, sizeof(*cells)), **valid = calloc(count + 1, sizeof(*valid));
    enum status status = cells && valid ? STATUS_OK : log_memory("a comparison");
    cJSON *out = json_add(line->out, "cells", cJSON_CreateArray());
    const cJSON *json = list->child;
    size_t valid_count = 0;

    for (size_t i = 0; status == STATUS_OK && i < count; i++, json = json->next) {
        struct judged_cell *cell = &cells[i];
        const cJSON *before = json_get(json, "deviation");
        bool good = true;

        *cell = judged_unknown;
        cell->cold = bool_of(json, "cold");
        cell->copies = bool_of(json, "copies");
        cell->plans_differ = bool_of(line->json, "plans_differ");
        if (before)
            cell->before = (struct deviation){number_of(before, "value", NAN),
                                              number_of(before, "degrees_of_freedom", 0), DEVIATION_CALIBRATED};
        if (before && !(cell->before.value >= 0 && cell->before.degrees > 0))
            status = log_error(STATUS_USAGE, "%s: deviation: expected {\"value\": 0.001, \"degrees_of_freedom\": 12}",
                               line->name);
        for (size_t k = 0; status == STATUS_OK && k < SIDES; k++) {
            const cJSON *side = json_get(json, side_names[k]);

            cell->doubtful = cell->doubtful || bool_of(side, "doubtful");
            status = read_side(line, side, &cell->sides[k], &good);
        }
        if (good)
            valid[valid_count++] = cell;
    }
    if (status == STATUS_OK)
        status = judge(valid, valid_count, &line->options.judge);
    json = list->child;
    for (size_t i = 0; status == STATUS_OK && i < count; i++, json = json->next) {
        cJSON *cell = json_append(out, cJSON_CreateObject());

        if (json_get(json, "cell"))
            json_add(cell, "cell", cJSON_Duplicate(json_get(json, "cell"), true));
        json_add_text(cell, "verdict", verdict_rows[cells[i].verdict].name);
        fields_write(cell, &judged_fields, &cells[i]);
    }
    free(valid);
    free(cells);
    return status;
}

/* Compares files. Where they cannot be, the line says so, and the next is read. */
static enum status compare_files(struct line *line)
{
    struct sides sides[SIDES] = {0};
    struct comparison comparison = {0};
    enum status status = STATUS_OK;

    for (size_t i = 0; i < SIDES; i++) {
        const cJSON *path, *paths = json_get(line->json, side_names[i]);

        cJSON_ArrayForEach (path, paths) {
            if (status == STATUS_OK && cJSON_IsString(path))
                status = sides_add(&sides[i], path->valuestring);
        }
        if (status == STATUS_OK && sides[i].count == 0)
            status = log_error(STATUS_USAGE, "%s: %s: expected names of files", line->name, side_names[i]);
    }
    if (status == STATUS_OK)
        status = compare_sides(sides, &line->options, &comparison);
    if (status == STATUS_OK)
        json_add(line->out, "comparison", comparison_to_json(&comparison));
    json_add_integer(line->out, "status",
                     (uint64_t)(status == STATUS_OK ? comparison_status(&comparison, true) : status));
    comparison_close(&comparison);
    for (size_t i = 0; i < SIDES; i++)
        sides_close(&sides[i]);
    return status == STATUS_ENVIRONMENT ? status : STATUS_OK;
}

enum status batch_compare(const char *path, const struct compare_options *options)
{
    const bool piped = strcmp(path, "-") == 0;
    FILE *in = piped ? stdin : fopen(path, "r");
    enum status status = STATUS_OK;
    char *text = NULL;
    size_t room = 0, number = 0;
    ssize_t bytes;

    while (in && status == STATUS_OK && (bytes = getline(&text, &room, in)) >= 0) {
        struct line line = {.options = *options};
        struct judge_options *judge = &line.options.judge;
        char *printed = NULL;
        cJSON *json = NULL;
        double analyses;

        snprintf(line.name, sizeof(line.name), "%s line %zu", piped ? "standard input" : path, ++number);
        if (strspn(text, " \t\r\n") == (size_t)bytes)
            continue;
        status = json_parse(line.name, text, (size_t)bytes, &json);
        line.json = json;
        line.out = cJSON_CreateObject();
        analyses = number_of(json, "interim_analyses", 1);
        judge->threshold = number_of(json, "threshold", 100 * judge->threshold) / 100;
        judge->interim_analyses = analyses >= 1 && analyses < 1000 ? (unsigned)analyses : 0;
        judge->boards_differ = bool_of(json, "boards_differ");
        if (json_get(json, "id"))
            json_add(line.out, "id", cJSON_Duplicate(json_get(json, "id"), true));
        if (status == STATUS_OK && (!(judge->threshold > 0) || judge->interim_analyses == 0))
            status = log_error(STATUS_USAGE, "%s: threshold or interim_analyses: expected a number above 0", line.name);
        else if (status == STATUS_OK && cJSON_IsArray(json_get(json, "cells")))
            status = judge_numbers(&line, json_get(json, "cells"));
        else if (status == STATUS_OK && cJSON_IsArray(json_get(json, side_names[BASE])))
            status = compare_files(&line);
        else if (status == STATUS_OK)
            status = log_error(STATUS_USAGE, "%s: expected base and new, arrays of files, or cells", line.name);
        if (status == STATUS_OK)
            printed = cJSON_PrintUnformatted(line.out);
        if (printed)
            puts(printed);
        else if (status == STATUS_OK)
            status = log_memory("a verdict");
        cJSON_free(printed);
        cJSON_Delete(line.out);
        json_free(json);
    }
    if (status == STATUS_OK && (!in || ferror(in)))
        status = log_error(STATUS_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    if (in && !piped)
        fclose(in);
    free(text);
    return status;
}
