/* SPDX-License-Identifier: MIT
 *
 * What was followed:
 *   csv     RFC 4180, one header line. A cell without samples has one row, with sample and time_ns empty. A parameter
 *           is a column of its own, so that what it varies can be grouped by; empty where the cell does not take it.
 *   gbench  The JSON of Google Benchmark (its json_reporter.cc, json_schema_version 1), as tools/gbench/report.py
 *           reads it: entries of one name are repetitions of one benchmark, real_time and cpu_time numbers in
 *           time_unit. There is no CPU time of a launch, and compare.py takes none for zero, of which its U test
 *           makes an error: cpu_time repeats real_time. The same cell of several results is one benchmark. An
 *           entry without a time stops compare.py: cells without time are named in the context instead.
 *   bmf     Bencher Metric Format v0, which Bencher's `json` adapter reads. One result: lower_value and
 *           upper_value are the interval of the median. Several: value is the median over the results, the bounds
 *           the least and greatest of them. Cells that every result skipped are left out, here and in otava. Names of
 *           measures have at most 64 characters; longer ones are left out, with a warning.
 *   otava   What CsvImporter of Apache Otava (formerly Hunter) reads: delimiter ',', quote_char '"',
 *           time_column `time` (ISO 8601, UTC), `attributes` engine, device, uuid, driver, vbios and complete,
 *           `metrics` by column. Rows are in the order of time: Otava does not sort. It takes no empty number:
 *           a result that lacks a cell has nan there. */
#include "export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "identity_csv.h"
#include "json.h"
#include "log.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { BMF_MEASURE_CHARACTERS_MAX = 64 };

/* -- cells of several results -------------------------------------------------------------------------- */

/* Each cell of any result once, in the order of the first result and then of later ones. */
struct catalogue {
    const struct result *const *results; /* not owned */
    size_t result_count;
    const struct cell_result **found;    /* owned: found[cell * result_count + result], NULL where it lacks */
    const struct cell **cells;           /* owned */
    size_t count;
};

static void catalogue_close(struct catalogue *catalogue)
{
    free(catalogue->found);
    free(catalogue->cells);
    *catalogue = (struct catalogue){0};
}

/* Index of the cell, or count when it is new. Results of one plan agree in their order: `guess` is right. */
static size_t catalogue_find(const struct catalogue *catalogue, const struct cell *cell, size_t guess)
{
    if (guess < catalogue->count && cell_equal(catalogue->cells[guess], cell))
        return guess;
    for (size_t i = 0; i < catalogue->count; i++)
        if (cell_equal(catalogue->cells[i], cell))
            return i;
    return catalogue->count;
}

/* Room for `room` cells, twice what there was. */
static enum status catalogue_grow(struct catalogue *catalogue, size_t room)
{
    const size_t row = catalogue->result_count * sizeof(*catalogue->found);
    const struct cell_result **found = realloc(catalogue->found, room * row + 1);
    const struct cell **cells;

    if (found)
        catalogue->found = found;
    cells = found ? realloc(catalogue->cells, room * sizeof(*cells)) : NULL;
    if (!cells)
        return log_error(STATUS_ENVIRONMENT, "out of memory for %zu cells of %zu results", room,
                         catalogue->result_count);
    catalogue->cells = cells;
    memset(found + catalogue->count * catalogue->result_count, 0, (room - catalogue->count) * row);
    return STATUS_OK;
}

/* The caller closes *out, on failure too. */
static enum status catalogue_open(const struct result *const *results, size_t count, struct catalogue *out)
{
    size_t room = 0;

    *out = (struct catalogue){.results = results, .result_count = count};
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i < results[r]->cell_count; i++) {
            const struct cell_result *cell = &results[r]->cells[i];
            const size_t at = catalogue_find(out, &cell->cell, i);

            if (at == room) {
                room = room ? 2 * room : 64;
                if (catalogue_grow(out, room) != STATUS_OK)
                    return STATUS_ENVIRONMENT;
            }
            if (at == out->count)
                out->cells[out->count++] = &cell->cell;
            out->found[at * count + r] = cell;
        }
    }
    return STATUS_OK;
}

/* Samples of a cell; of a prediction, its one time. 0 where it has none. */
static size_t cell_samples(const struct cell_result *cell, const double **samples)
{
    const struct cell_time *time = &cell->time;
    const bool sampled = time->samples_ns && time->summary.count > 0;

    *samples = sampled ? time->samples_ns : &time->summary.median;
    return sampled ? time->summary.count : isfinite(time->summary.median) ? 1 : 0;
}

static double cell_median(const struct cell_result *cell)
{
    return cell ? cell->time.summary.median : NAN;
}

/* Whether every result that has the cell skipped it: no such cell can be on these chips, and nothing is missing. */
static bool is_skipped(const struct catalogue *catalogue, size_t at)
{
    const struct cell_result *const *found = catalogue->found + at * catalogue->result_count;

    for (size_t r = 0; r < catalogue->result_count; r++)
        if (found[r] && found[r]->status != CELL_SKIPPED)
            return false;
    return true;
}

static const char *cell_reason(const struct cell_result *cell)
{
    return cell->reason[0] ? cell->reason : cell_status_names[cell->status];
}

/* -- csv ---------------------------------------------------------------------------------------------- */

/* One row: a sample, or a cell without any. */
struct sample_row {
    size_t index; /* of the result */
    const struct result *result;
    const struct cell_result *cell;
    bool sampled;
    size_t sample;
    double time_ns;
};

static void put_result(FILE *stream, const struct sample_row *row)
{
    fprintf(stream, "%zu", row->index);
}

static void put_started(FILE *stream, const struct sample_row *row)
{
    text_csv(stream, row->result->started_utc);
}

static void put_engine(FILE *stream, const struct sample_row *row)
{
    text_csv(stream, row->result->engine);
}

static void put_device(FILE *stream, const struct sample_row *row)
{
    text_csv(stream, row->result->device.name);
}

static void put_uuid(FILE *stream, const struct sample_row *row)
{
    text_csv(stream, row->result->device.uuid);
}

static void put_driver(FILE *stream, const struct sample_row *row)
{
    text_csv(stream, row->result->device.driver);
}

static void put_status(FILE *stream, const struct sample_row *row)
{
    text_csv(stream, cell_status_names[row->cell->status]);
}

static void put_reason(FILE *stream, const struct sample_row *row)
{
    text_csv(stream, row->cell->reason);
}

static void put_verified(FILE *stream, const struct sample_row *row)
{
    fputs(row->cell->verified ? "true" : "false", stream);
}

/* Names without a comma, separated by blanks. */
static void put_flags(FILE *stream, const struct sample_row *row)
{
    const char *separator = "";

    for (size_t bit = 0; bit < cell_flag_count; bit++) {
        if (!(row->cell->flags & 1u << bit))
            continue;
        fprintf(stream, "%s%s", separator, cell_flag_names[bit]);
        separator = " ";
    }
}

static void put_sha256(FILE *stream, const struct sample_row *row)
{
    text_csv(stream, row->cell->kernel.known ? row->cell->kernel.sha256 : "");
}

static void put_clock(FILE *stream, const struct sample_row *row)
{
    text_csv_number(stream, row->cell->time.sm_clock_mhz);
}

static void put_modelled(FILE *stream, const struct sample_row *row)
{
    fputs(row->result->modelled_time ? "true" : "false", stream);
}

static void put_launches(FILE *stream, const struct sample_row *row)
{
    if (row->sampled && row->cell->time.launches_per_sample > 0)
        fprintf(stream, "%" PRIu32, row->cell->time.launches_per_sample);
}

static void put_sample(FILE *stream, const struct sample_row *row)
{
    if (row->sampled)
        fprintf(stream, "%zu", row->sample);
}

static void put_time(FILE *stream, const struct sample_row *row)
{
    text_csv_number(stream, row->time_ns);
}

/* Before the columns of the cell's identity, and after them. */
static const struct {
    const char *name;
    void (*put)(FILE *stream, const struct sample_row *row);
} result_columns[] =
    {
        {"result", put_result}, {"started_utc", put_started}, {"engine", put_engine},
        {"device", put_device}, {"uuid", put_uuid},           {"driver", put_driver},
},
  cell_columns[] = {
      {"status", put_status},      {"reason", put_reason},
      {"verified", put_verified},  {"flags", put_flags},
      {"sass_sha256", put_sha256}, {"sm_clock_mhz", put_clock},
      {"modelled", put_modelled},  {"launches_per_sample", put_launches},
      {"sample", put_sample},      {"time_ns", put_time},
};

static void put_sample_row(FILE *stream, const struct sample_row *row)
{
    for (size_t i = 0; i < COUNT(result_columns); i++) {
        result_columns[i].put(stream, row);
        putc(',', stream);
    }
    identity_csv_fields(stream, &row->cell->cell);
    for (size_t i = 0; i < COUNT(cell_columns); i++) {
        fputs(i ? "," : "", stream);
        cell_columns[i].put(stream, row);
    }
    text_csv_end(stream);
}

static void put_sample_names(FILE *stream)
{
    for (size_t i = 0; i < COUNT(result_columns); i++)
        fprintf(stream, "%s,", result_columns[i].name);
    identity_csv_names(stream);
    for (size_t i = 0; i < COUNT(cell_columns); i++)
        fprintf(stream, "%s%s", i ? "," : "", cell_columns[i].name);
    text_csv_end(stream);
}

static void put_cell_samples(FILE *stream, struct sample_row *row)
{
    const double *samples;
    const size_t count = cell_samples(row->cell, &samples);

    row->sampled = count > 0;
    row->time_ns = NAN;
    if (count == 0)
        put_sample_row(stream, row);
    for (row->sample = 0; row->sample < count; row->sample++) {
        row->time_ns = samples[row->sample];
        put_sample_row(stream, row);
    }
}

static enum status write_csv(FILE *stream, const struct result *const *results, size_t count)
{
    put_sample_names(stream);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < results[r]->cell_count; i++)
            put_cell_samples(stream,
                             &(struct sample_row){.index = r, .result = results[r], .cell = &results[r]->cells[i]});
    return STATUS_OK;
}

/* -- gbench ------------------------------------------------------------------------------------------- */

/* A sample as a repetition of the benchmark that the cell is. */
struct repetition {
    const char *name;
    size_t family, index, count;
    const struct cell_result *cell;
    bool modelled;
    double time_ns;
};

static cJSON *gbench_entry(const struct repetition *repetition)
{
    const uint32_t launches = repetition->cell->time.launches_per_sample;
    cJSON *entry = cJSON_CreateObject();

    json_add_text(entry, "name", repetition->name);
    json_add_integer(entry, "family_index", repetition->family);
    json_add_integer(entry, "per_family_instance_index", 0);
    json_add_text(entry, "run_name", repetition->name);
    json_add_text(entry, "run_type", "iteration");
    json_add_integer(entry, "repetitions", repetition->count);
    json_add_integer(entry, "repetition_index", repetition->index);
    json_add_integer(entry, "threads", 1);
    json_add_integer(entry, "iterations", launches ? launches : 1);
    json_add_double(entry, "real_time", repetition->time_ns);
    json_add_double(entry, "cpu_time", repetition->time_ns);
    json_add_text(entry, "time_unit", "ns");
    if (repetition->modelled)
        json_add_text(entry, "label", "modelled");
    return entry;
}

/* Samples of the cell in all results. */
static size_t gbench_count(const struct catalogue *catalogue, size_t at)
{
    const struct cell_result *const *found = catalogue->found + at * catalogue->result_count;
    const double *samples;
    size_t count = 0;

    for (size_t r = 0; r < catalogue->result_count; r++)
        count += found[r] ? cell_samples(found[r], &samples) : 0;
    return count;
}

/* Writes the cell's samples of all results, one at a time: all of them as a tree would take a gigabyte for some
 * hundred results. *separator goes before the next entry. */
static enum status gbench_cell(FILE *stream, const struct catalogue *catalogue, size_t at, const char **separator)
{
    const struct cell_result *const *found = catalogue->found + at * catalogue->result_count;
    struct repetition repetition = {.family = at, .count = gbench_count(catalogue, at)};
    enum status status = STATUS_OK;
    char name[CELL_IDENTITY_BYTES];
    const double *samples;

    cell_identity(catalogue->cells[at], name);
    repetition.name = name;
    for (size_t r = 0; r < catalogue->result_count; r++) {
        const size_t count = found[r] ? cell_samples(found[r], &samples) : 0;

        repetition.cell = found[r];
        repetition.modelled = catalogue->results[r]->modelled_time;
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            repetition.time_ns = samples[i];
            fputs(*separator, stream);
            status = json_put_owned(stream, gbench_entry(&repetition));
            *separator = ",";
            repetition.index++;
        }
    }
    return status;
}

/* The cells of which no result has a time, and why. */
static cJSON *gbench_without_time(const struct catalogue *catalogue)
{
    cJSON *without = cJSON_CreateObject();

    for (size_t i = 0; i < catalogue->count; i++) {
        const struct cell_result *const *found = catalogue->found + i * catalogue->result_count;
        char name[CELL_IDENTITY_BYTES];
        size_t r = 0;

        if (gbench_count(catalogue, i) > 0)
            continue;
        while (!found[r])
            r++;
        cell_identity(catalogue->cells[i], name);
        json_add_text(without, name, cell_reason(found[r]));
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

static enum status write_gbench(FILE *stream, const struct result *const *results, size_t count)
{
    struct catalogue catalogue;
    enum status status = catalogue_open(results, count, &catalogue);
    const char *separator = "";

    if (status == STATUS_OK) {
        fputs("{\n\"context\": ", stream);
        status = json_put_owned(stream, gbench_context(&catalogue));
        fputs(",\n\"benchmarks\": [\n", stream);
    }
    for (size_t i = 0; i < catalogue.count && status == STATUS_OK; i++)
        status = gbench_cell(stream, &catalogue, i, &separator);
    if (status == STATUS_OK)
        fputs("]\n}\n", stream);
    catalogue_close(&catalogue);
    return status;
}

/* -- bmf ---------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Adds a metric, unless there is no value. Bounds that are not known are left out. */
static void bmf_add(cJSON *benchmark, const char *name, double value, double lower, double upper)
{
    cJSON *metric;

    if (!isfinite(value))
        return;
    if (strlen(name) > BMF_MEASURE_CHARACTERS_MAX) {
        log_warning("%s is left out: names of measures in the Bencher Metric Format have at most %d characters", name,
                    BMF_MEASURE_CHARACTERS_MAX);
        return;
    }
    metric = json_add(benchmark, name, cJSON_CreateObject());
    json_add_double(metric, "value", value);
    if (isfinite(lower))
        json_add_double(metric, "lower_value", lower);
    if (isfinite(upper))
        json_add_double(metric, "upper_value", upper);
}

/* Adds the metric of several values, of which those that are finite count; orders them. */
static void bmf_add_values(cJSON *benchmark, const char *name, double *values, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            values[kept++] = values[i];
    if (kept == 0)
        return;
    qsort(values, kept, sizeof(*values), compare_doubles);
    bmf_add(benchmark, name, (values[(kept - 1) / 2] + values[kept / 2]) / 2, kept > 1 ? values[0] : NAN,
            kept > 1 ? values[kept - 1] : NAN);
}

/* The time over the results; with one result, with the interval of its samples. values: room for one a result. */
static void bmf_time(const struct cell_result *const *found, size_t count, cJSON *benchmark, double *values)
{
    if (count == 1) {
        const struct summary *time = &found[0]->time.summary;

        bmf_add(benchmark, "time_ns", time->median, time->ci_low, time->ci_high);
        return;
    }
    for (size_t r = 0; r < count; r++)
        values[r] = cell_median(found[r]);
    bmf_add_values(benchmark, "time_ns", values, count);
}

static double counter_of(const struct cell_result *cell, const char *name)
{
    for (size_t i = 0; cell && i < cell->counter_count; i++)
        if (strcmp(cell->counters[i].name, name) == 0)
            return cell->counters[i].status == COUNTER_OK ? cell->counters[i].value : NAN;
    return NAN;
}

/* Every counter that a result read, each once. */
static void bmf_counters(const struct cell_result *const *found, size_t count, cJSON *benchmark, double *values)
{
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; found[r] && i < found[r]->counter_count; i++) {
            const char *name = found[r]->counters[i].name;

            if (json_get(benchmark, name))
                continue;
            for (size_t k = 0; k < count; k++)
                values[k] = counter_of(found[k], name);
            bmf_add_values(benchmark, name, values, count);
        }
    }
}

static cJSON *bmf_cell(const struct catalogue *catalogue, size_t at, double *values)
{
    const struct cell_result *const *found = catalogue->found + at * catalogue->result_count;
    cJSON *benchmark = cJSON_CreateObject();

    bmf_time(found, catalogue->result_count, benchmark, values);
    bmf_counters(found, catalogue->result_count, benchmark, values);
    return benchmark;
}

static enum status write_bmf(FILE *stream, const struct result *const *results, size_t count)
{
    struct catalogue catalogue;
    double *values = calloc(count + 1, sizeof(*values));
    enum status status = catalogue_open(results, count, &catalogue);

    if (status == STATUS_OK && !values)
        status = log_error(STATUS_ENVIRONMENT, "out of memory for %zu results", count);
    if (status == STATUS_OK) {
        cJSON *root = cJSON_CreateObject();

        for (size_t i = 0; i < catalogue.count; i++) {
            char name[CELL_IDENTITY_BYTES];

            if (is_skipped(&catalogue, i))
                continue;
            cell_identity(catalogue.cells[i], name);
            json_add(root, name, bmf_cell(&catalogue, i, values));
        }
        status = json_put_owned(stream, root);
    }
    catalogue_close(&catalogue);
    free(values);
    return status;
}

/* -- otava -------------------------------------------------------------------------------------------- */

/* A result, and where it stands among those that were given. */
struct dated {
    const char *started_utc;
    size_t index;
};

static int compare_dates(const void *left, const void *right)
{
    const struct dated *a = left, *b = right;
    const int order = strcmp(a->started_utc, b->started_utc);

    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static void otava_header(FILE *stream, const struct catalogue *catalogue)
{
    fputs("time,engine,device,uuid,driver,vbios,complete", stream);
    for (size_t i = 0; i < catalogue->count; i++) {
        char name[CELL_IDENTITY_BYTES];

        if (is_skipped(catalogue, i))
            continue;
        cell_identity(catalogue->cells[i], name);
        putc(',', stream);
        text_csv(stream, name);
    }
    text_csv_end(stream);
}

static void otava_row(FILE *stream, const struct catalogue *catalogue, size_t r)
{
    const struct result *result = catalogue->results[r];
    const char *const attributes[] = {result->started_utc,
                                      result->engine,
                                      result->device.name,
                                      result->device.uuid,
                                      result->device.driver,
                                      result->device.vbios,
                                      result->complete ? "true" : "false"};

    for (size_t i = 0; i < COUNT(attributes); i++) {
        fputs(i ? "," : "", stream);
        text_csv(stream, attributes[i]);
    }
    for (size_t i = 0; i < catalogue->count; i++) {
        const double ns = cell_median(catalogue->found[i * catalogue->result_count + r]);

        if (is_skipped(catalogue, i))
            continue;
        if (isfinite(ns))
            fprintf(stream, ",%.17g", ns);
        else
            fputs(",nan", stream);
    }
    text_csv_end(stream);
}

/* Says which columns have gaps: Otava finds no change point in them. */
static void otava_warn(const struct catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->count; i++) {
        char name[CELL_IDENTITY_BYTES];
        size_t gaps = 0;

        for (size_t r = 0; r < catalogue->result_count; r++)
            gaps += !isfinite(cell_median(catalogue->found[i * catalogue->result_count + r]));
        if (gaps == 0 || is_skipped(catalogue, i))
            continue;
        cell_identity(catalogue->cells[i], name);
        log_warning("%s has no time in %zu of %zu results, and nan there; leave it out of Otava's metrics", name, gaps,
                    catalogue->result_count);
    }
}

static enum status write_otava(FILE *stream, const struct result *const *results, size_t count)
{
    struct catalogue catalogue;
    struct dated *dates = calloc(count + 1, sizeof(*dates));
    enum status status = catalogue_open(results, count, &catalogue);

    if (status == STATUS_OK && !dates)
        status = log_error(STATUS_ENVIRONMENT, "out of memory for %zu results", count);
    if (status == STATUS_OK) {
        for (size_t r = 0; r < count; r++)
            dates[r] = (struct dated){.started_utc = results[r]->started_utc, .index = r};
        qsort(dates, count, sizeof(*dates), compare_dates);
        otava_header(stream, &catalogue);
        for (size_t r = 0; r < count; r++)
            otava_row(stream, &catalogue, dates[r].index);
        otava_warn(&catalogue);
    }
    catalogue_close(&catalogue);
    free(dates);
    return status;
}

const struct export_format export_formats[] = {
    {"csv", "tidy CSV: one row a sample, for pandas", write_csv},
    {"gbench", "Google Benchmark's JSON: one repetition a sample, for its compare.py", write_gbench},
    {"bmf", "Bencher Metric Format: time and counters of each cell", write_bmf},
    {"otava", "CSV for Apache Otava: one row a result, one column a cell", write_otava},
};

const size_t export_format_count = COUNT(export_formats);
