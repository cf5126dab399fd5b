/* SPDX-License-Identifier: MIT
 * The JSON of Google Benchmark (its json_reporter.cc, json_schema_version 1), as tools/gbench/report.py
 * reads it: entries of one name are repetitions of one benchmark, real_time and cpu_time numbers in
 * time_unit. There is no CPU time of a launch, and compare.py takes none for zero, of which its U test
 * makes an error: cpu_time repeats real_time. The same cell of several results is one benchmark. An
 * entry without a time stops compare.py: cells without time are named in the context instead. Where there are
 * two repetitions, aggregates follow: mean, median, stddev and, without a unit, cv. compare.py's OVERALL_GEOMEAN is of
 * all repetitions, of which cells have different numbers: it says nothing here. */
#include <math.h>
#include <stdlib.h>

#include "catalogue.h"
#include "log.h"
#include "stats.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A sample of a cell, as a repetition of the benchmark that the entry is. */
static cJSON *gbench_entry(const struct catalogue *catalogue, size_t at, size_t r, size_t repetition, double time_ns)
{
    const struct entry *entry = &catalogue->entries[at];
    const uint32_t launches = entry->found[r]->time.launches_per_sample;
    cJSON *object = cJSON_CreateObject();

    json_add_text(object, "name", entry->name);
    json_add_integer(object, "family_index", at);
    json_add_integer(object, "per_family_instance_index", 0);
    json_add_text(object, "run_name", entry->name);
    json_add_text(object, "run_type", "iteration");
    json_add_integer(object, "repetitions", entry->samples);
    json_add_integer(object, "repetition_index", repetition);
    json_add_integer(object, "threads", 1);
    json_add_integer(object, "iterations", launches ? launches : 1);
    json_add_double(object, "real_time", time_ns);
    json_add_double(object, "cpu_time", time_ns);
    json_add_text(object, "time_unit", "ns");
    if (catalogue->results[r]->modelled_time)
        json_add_text(object, "label", "modelled");
    return object;
}

/* The figures that Google Benchmark gives of repetitions. */
static const char *const aggregates[] = {"mean", "median", "stddev", "cv"};

enum { AGGREGATES = COUNT(aggregates) };

static void aggregate(double *samples, size_t count, double out[AGGREGATES])
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        sum += samples[i];
    for (size_t i = 0; i < count; i++)
        squares += (samples[i] - sum / (double)count) * (samples[i] - sum / (double)count);
    stats_sort(samples, count);
    out[0] = sum / (double)count;
    out[1] = stats_median(samples, count);
    out[2] = sqrt(squares / (double)(count - 1));
    out[3] = out[2] / out[0];
}

static cJSON *gbench_aggregate(const struct catalogue *catalogue, size_t at, size_t which, double value)
{
    const struct entry *entry = &catalogue->entries[at];
    const char *name = aggregates[which];
    cJSON *object = cJSON_CreateObject();
    char whole[CELL_IDENTITY_BYTES + 8];

    snprintf(whole, sizeof(whole), "%s_%s", entry->name, name);
    json_add_text(object, "name", whole);
    json_add_integer(object, "family_index", at);
    json_add_integer(object, "per_family_instance_index", 0);
    json_add_text(object, "run_name", entry->name);
    json_add_text(object, "run_type", "aggregate");
    json_add_integer(object, "repetitions", entry->samples);
    json_add_integer(object, "threads", 1);
    json_add_text(object, "aggregate_name", name);
    json_add_text(object, "aggregate_unit", which == AGGREGATES - 1 ? "percentage" : "time");
    json_add_integer(object, "iterations", entry->samples);
    json_add_double(object, "real_time", value);
    json_add_double(object, "cpu_time", value);
    json_add_text(object, "time_unit", "ns");
    return object;
}

/* Writes the aggregates of a cell's samples of all results, where there are two. */
static enum status gbench_aggregates(FILE *stream, const struct catalogue *catalogue, size_t at)
{
    const struct entry *entry = &catalogue->entries[at];
    double *all = calloc(entry->samples + 1, sizeof(*all)), values[AGGREGATES];
    enum status status = all ? STATUS_OK : log_memory("%zu samples", entry->samples);
    const double *samples;
    size_t count = 0;

    for (size_t r = 0; all && r < catalogue->result_count; r++)
        for (size_t i = 0, of = entry->found[r] ? cell_samples(entry->found[r], &samples) : 0; i < of; i++)
            all[count++] = samples[i];
    if (count > 1)
        aggregate(all, count, values);
    for (size_t i = 0; i < AGGREGATES && count > 1 && status == STATUS_OK; i++) {
        fputs(",", stream);
        status = json_put_owned(stream, gbench_aggregate(catalogue, at, i, values[i]));
    }
    free(all);
    return status;
}

/* Writes the cell's samples of all results, one at a time: all of them as a tree would take a gigabyte for some
 * hundred results. *separator goes before the next entry. */
static enum status gbench_cell(FILE *stream, const struct catalogue *catalogue, size_t at, const char **separator)
{
    const struct cell_result *const *found = catalogue->entries[at].found;
    enum status status = STATUS_OK;
    size_t repetition = 0;
    const double *samples;

    for (size_t r = 0; r < catalogue->result_count; r++) {
        const size_t count = found[r] ? cell_samples(found[r], &samples) : 0;

        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            fputs(*separator, stream);
            status = json_put_owned(stream, gbench_entry(catalogue, at, r, repetition++, samples[i]));
            *separator = ",";
        }
    }
    return status;
}

/* The cells of which no result has a time, and why. */
static cJSON *gbench_without_time(const struct catalogue *catalogue)
{
    cJSON *without = cJSON_CreateObject();

    for (size_t i = 0; i < catalogue->count; i++) {
        const struct cell_result *const *found = catalogue->entries[i].found;

        if (catalogue->entries[i].samples > 0)
            continue;
        while (!*found)
            found++;
        json_add_text(without, catalogue->entries[i].name,
                      (*found)->reason[0] ? (*found)->reason : cell_status_names[(*found)->status]);
    }
    return without;
}

static cJSON *gbench_context(const struct catalogue *catalogue)
{
    const struct result *first = catalogue->result_count ? catalogue->results[0] : NULL;
    cJSON *context = cJSON_CreateObject();

    json_add_text(context, "date", first ? first->started_utc : NULL);
    json_add_text(context, "executable", "cbank");
    json_add_integer(context, "json_schema_version", 1);
    json_add_integer(context, "results", catalogue->result_count);
    json_add_text(context, "engine", first ? first->engine : NULL);
    json_add_text(context, "device", first ? first->device.name : NULL);
    json_add_text(context, "uuid", first ? first->device.uuid : NULL);
    json_add_text(context, "driver", first ? first->device.driver : NULL);
    json_add(context, "cells_without_time", gbench_without_time(catalogue));
    return context;
}

enum status export_gbench(FILE *stream, const struct catalogue *catalogue)
{
    const char *separator = "";
    enum status status;

    fputs("{\n\"context\": ", stream);
    status = json_put_owned(stream, gbench_context(catalogue));
    if (status == STATUS_OK)
        fputs(",\n\"benchmarks\": [\n", stream);
    for (size_t i = 0; i < catalogue->count && status == STATUS_OK; i++) {
        status = gbench_cell(stream, catalogue, i, &separator);
        if (status == STATUS_OK)
            status = gbench_aggregates(stream, catalogue, i);
    }
    if (status == STATUS_OK)
        fputs("]\n}\n", stream);
    return status;
}
