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
        cell->before = (struct deviation){number_of(before, "value", NAN), number_of(before, "degrees_of_freedom", 0),
                                          DEVIATION_CALIBRATED};
        if (before && !(cell->before.value >= 0 && cell->before.degrees > 0))
            status = log_error(STATUS_USAGE, "%s: deviation: expected {\"value\": 0.001, \"degrees_of_freedom\": 12}",
                               line->name);
        for (size_t k = 0; status == STATUS_OK && k < SIDES; k++) {
            const cJSON *side = json_get(json, side_names[k]);

            const cJSON *times = json_get(side, "time_ns"), *low = json_get(side, "ci_low"),
                        *high = json_get(side, "ci_high");
            struct judged_side *to = &cell->sides[k];
            struct process_time *processes;
            bool numbers;

            to->clock_mhz = number_of(side, "clock_mhz", NAN);
            cell->doubtful |= bool_of(side, "doubtful");
            to->processes = (size_t)cJSON_GetArraySize(times);
            processes = calloc(to->processes + 1, sizeof(*processes));
            numbers = to->processes > 0;
            for (int at = 0; processes && at < (int)to->processes; at++) {
                /* NaN: no number. Half of a 95 % interval, in standard errors of the logarithm, has SERIES_PROCESS. */
                const double time = cJSON_GetNumberValue(cJSON_GetArrayItem(times, at));
                const double error = log(cJSON_GetNumberValue(cJSON_GetArrayItem(high, at)) /
                                         cJSON_GetNumberValue(cJSON_GetArrayItem(low, at))) /
                                     2 / errors_to_end;

                processes[at] = (struct process_time){.value = time, .error = error};
                if (!isnan(error))
                    processes[at].error = sqrt(fmax(error * error - SERIES_PROCESS * SERIES_PROCESS, 0));
                numbers &= !isnan(time);
                good &= time > 0;
            }
            if (!processes)
                status = log_memory("a comparison");
            else if (!numbers)
                status =
                    log_error(STATUS_USAGE, "%s: a side needs time_ns, an array of one number a process", line->name);
            else if (good)
                status = estimate_of(processes, to->processes, false, &to->estimate);
            free(processes);
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
        double analyses, percent;

        snprintf(line.name, sizeof(line.name), "%s line %zu", piped ? "standard input" : path, ++number);
        if (strspn(text, " \t\r\n") == (size_t)bytes)
            continue;
        status = json_parse(line.name, text, (size_t)bytes, &json);
        line.json = json;
        line.out = cJSON_CreateObject();
        analyses = number_of(json, "interim_analyses", 1);
        percent = number_of(json, "threshold", 100 * judge->threshold);
        judge->boards_differ = bool_of(json, "boards_differ");
        if (json_get(json, "id"))
            json_add(line.out, "id", cJSON_Duplicate(json_get(json, "id"), true));
        if (status == STATUS_OK && !(percent > 0 && analyses >= 1 && analyses < 1000))
            status = log_error(STATUS_USAGE, "%s: threshold or interim_analyses: expected a number above 0", line.name);
        if (status == STATUS_OK) {
            judge->threshold = percent / 100;
            judge->other_analyses = (unsigned)analyses - 1;
        }
        if (status == STATUS_OK && cJSON_IsArray(json_get(json, "cells"))) {
            status = judge_numbers(&line, json_get(json, "cells"));
        } else if (status == STATUS_OK && !cJSON_IsArray(json_get(json, side_names[BASE]))) {
            status = log_error(STATUS_USAGE, "%s: expected base and new, arrays of files, or cells", line.name);
        } else if (status == STATUS_OK) {
            struct sides sides[SIDES] = {0};
            struct comparison comparison = {0};

            for (size_t i = 0; i < SIDES; i++) {
                const cJSON *file, *files = json_get(json, side_names[i]);

                cJSON_ArrayForEach (file, files)
                    if (status == STATUS_OK && cJSON_IsString(file))
                        status = sides_add(&sides[i], file->valuestring);
                if (status == STATUS_OK && sides[i].count == 0)
                    status = log_error(STATUS_USAGE, "%s: %s: expected names of files", line.name, side_names[i]);
            }
            if (status == STATUS_OK)
                status = compare_sides(sides, &line.options, &comparison);
            if (status == STATUS_OK)
                json_add(line.out, "comparison", comparison_to_json(&comparison));
            json_add_integer(line.out, "status",
                             (uint64_t)(status == STATUS_OK ? comparison_status(&comparison, true) : status));
            comparison_close(&comparison);
            for (size_t i = 0; i < SIDES; i++)
                sides_close(&sides[i]);
            /* Where files cannot be compared, the line says so, and the next one is read. */
            if (status == STATUS_USAGE)
                status = STATUS_OK;
        }
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
