/* SPDX-License-Identifier: MIT
 *
 * What was followed:
 *   csv     RFC 4180, one header line. A cell without samples has one row, with sample and time_ns empty. A parameter
 *           is a column of its own, so that what it varies can be grouped by; empty where the cell does not take it.
 *   bmf     Bencher Metric Format v0, which Bencher's `json` adapter reads. One result: lower_value and
 *           upper_value are the interval of the time. Several: value is the median over the results, the bounds
 *           the least and greatest of them. Cells that every result skipped are left out, here and in otava. Names of
 *           measures have at most 64 characters; longer ones are left out, with a warning.
 *   kernel_tuner
 *           Kernel Tuner's T4 results, schema 1.0.0 (its kernel_tuner/schema/T4): a result for each cell that a result
 *           has, times in ms. A configuration has the keys of the cell, all of them text or numbers. metadata.timeunit is
 *           what Kernel Tuner itself adds.
 *   otava_config
 *           The YAML that Otava reads beside its CSV, which it expects in cbank.csv: metrics by column, less is better.
 *   otava   What CsvImporter of Apache Otava (formerly Hunter) reads: delimiter ',', quote_char '"',
 *           time_column `time` (ISO 8601, UTC), `attributes` engine, device, uuid, driver, vbios and complete,
 *           `metrics` by column. Rows are in the order of time: Otava does not sort. It takes no empty number:
 *           a result that lacks a cell has nan there. */
#include "export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "cell_row.h"
#include "log.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { BMF_MEASURE_CHARACTERS_MAX = 64 };

static double cell_time_ns(const struct cell_result *cell)
{
    return cell ? cell->time.summary.value : NAN;
}

/* -- csv ---------------------------------------------------------------------------------------------- */

/* The rows of a cell: one a sample, or one where there is none. rows: room for them. */
static size_t sample_rows(const struct result *result, size_t index, const struct cell_result *cell,
                          struct cell_row *rows)
{
    const double *samples;
    const size_t count = cell_samples(cell, &samples);

    for (size_t i = 0; i < count || i < 1; i++)
        rows[i] = (struct cell_row){.cell = &cell->cell,
                                    .found = cell,
                                    .result = result,
                                    .index = (double)index,
                                    .sample = count ? (double)i : NAN,
                                    .sample_ns = count ? samples[i] : NAN};
    return count ? count : 1;
}

/* Cell by cell: the rows of all samples of some hundred results would take gigabytes. */
static enum status write_csv(FILE *stream, const struct catalogue *catalogue)
{
    struct grid_column columns[CELL_ROW_COLUMNS_MAX];
    struct cell_row *rows = calloc(catalogue->samples_most + 1, sizeof(*rows));
    struct grid grid = cell_row_grid(rows, 0, VIEW_SAMPLES, columns);

    grid.raw = catalogue->raw;
    if (!rows)
        return log_memory("the samples of a cell");
    grid_print_csv(stream, &grid);
    grid.continued = true;
    for (size_t r = 0; r < catalogue->result_count; r++)
        for (size_t i = 0; i < catalogue->results[r]->cell_count; i++) {
            grid.row_count = sample_rows(catalogue->results[r], r, &catalogue->results[r]->cells[i], rows);
            grid_print_csv(stream, &grid);
        }
    free(rows);
    return STATUS_OK;
}

/* -- bmf ---------------------------------------------------------------------------------------------- */

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
    stats_sort(values, kept);
    if (kept > 0)
        bmf_add(benchmark, name, stats_median(values, kept), kept > 1 ? values[0] : NAN,
                kept > 1 ? values[kept - 1] : NAN);
}

/* The time over the results, with one result with the interval of its samples; then every counter that a result read,
 * each once. values: room for one a result. */
static void bmf_entry(const struct cell_result *const *found, size_t count, cJSON *benchmark, double *values)
{
    for (size_t r = 0; r < count; r++)
        values[r] = cell_time_ns(found[r]);
    if (count == 1)
        bmf_add(benchmark, "time_ns", values[0], found[0]->time.summary.ci_low, found[0]->time.summary.ci_high);
    else
        bmf_add_values(benchmark, "time_ns", values, count);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; found[r] && i < found[r]->counter_count; i++) {
            const char *name = found[r]->counters[i].name;

            if (json_get(benchmark, name))
                continue;
            for (size_t k = 0; k < count; k++)
                values[k] = found[k] ? counter_counted(found[k]->counters, found[k]->counter_count, name) : NAN;
            bmf_add_values(benchmark, name, values, count);
        }
}

static enum status write_bmf(FILE *stream, const struct catalogue *catalogue)
{
    double *values = calloc(catalogue->result_count + 1, sizeof(*values));
    cJSON *root = cJSON_CreateObject();
    enum status status;

    for (size_t i = 0; values && i < catalogue->count; i++) {
        const struct entry *entry = &catalogue->entries[i];

        if (!entry->skipped)
            bmf_entry(entry->found, catalogue->result_count, json_add(root, entry->name, cJSON_CreateObject()), values);
    }
    status = values ? json_put(stream, root) : log_memory("%zu results", catalogue->result_count);
    cJSON_Delete(root);
    free(values);
    return status;
}

/* -- otava -------------------------------------------------------------------------------------------- */

/* A result, and where it stands among those that were given. */
struct dated {
    const struct result *result;
    size_t index;
};

/* Results of one time stay as they were given. */
static int compare_dates(const void *left, const void *right)
{
    const struct dated *a = left, *b = right;
    const int order = strcmp(a->result->started_utc, b->result->started_utc);

    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* The time of an entry in a result. Otava takes no empty number. */
static void value_series(const struct grid_column *column, const void *row, struct grid_value *out)
{
    const double ns = cell_time_ns(((const struct entry *)column->of)->found[((const struct dated *)row)->index]);

    snprintf(out->room, sizeof(out->room), "%.17g", ns);
    out->text = isfinite(ns) ? out->room : "nan";
}

/* clang-format off */
#define ATTRIBUTE(key_, value_, member) \
    {.key = key_, .value = value_, .of = GRID_BEHIND(struct dated, result, struct result, member)}

static const struct grid_column otava_attributes[] = {
    ATTRIBUTE("time", grid_array, started_utc), ATTRIBUTE("engine", grid_text, engine),
    ATTRIBUTE("device", grid_array, device.name), ATTRIBUTE("uuid", grid_array, device.uuid),
    ATTRIBUTE("driver", grid_array, device.driver), ATTRIBUTE("vbios", grid_array, device.vbios),
    ATTRIBUTE("complete", grid_bool, complete),
};
/* clang-format on */

/* The attributes, then a column for each entry. Says which have gaps: Otava finds no change point in them. */
static size_t otava_columns(const struct catalogue *catalogue, struct grid_column *columns)
{
    size_t count = COUNT(otava_attributes);

    memcpy(columns, otava_attributes, sizeof(otava_attributes));
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct entry *entry = &catalogue->entries[i];
        size_t gaps = 0;

        if (entry->skipped)
            continue;
        columns[count++] = (struct grid_column){.key = entry->name, .value = value_series, .of = entry};
        for (size_t r = 0; r < catalogue->result_count; r++)
            gaps += !isfinite(cell_time_ns(entry->found[r]));
        if (gaps > 0)
            log_warning("%s has no time in %zu of %zu results, and nan there; leave it out of Otava's metrics",
                        entry->name, gaps, catalogue->result_count);
    }
    return count;
}

static enum status write_otava(FILE *stream, const struct catalogue *catalogue)
{
    const size_t count = catalogue->result_count;
    struct dated *dates = calloc(count + 1, sizeof(*dates));
    struct grid_column *columns = calloc(COUNT(otava_attributes) + catalogue->count, sizeof(*columns));
    enum status status = STATUS_OK;

    if (dates && columns) {
        for (size_t r = 0; r < count; r++)
            dates[r] = (struct dated){.result = catalogue->results[r], .index = r};
        qsort(dates, count, sizeof(*dates), compare_dates);
        grid_print_csv(stream, &(struct grid){.columns = columns,
                                              .column_count = otava_columns(catalogue, columns),
                                              .rows = dates,
                                              .row_count = count,
                                              .row_bytes = sizeof(*dates),
                                              .raw = catalogue->raw});
    } else {
        status = log_memory("%zu results", count);
    }
    free(dates);
    free(columns);
    return status;
}

/* One test, with the metrics that its CSV has. */
static enum status write_otava_config(FILE *stream, const struct catalogue *catalogue)
{
    fputs("tests:\n  cbank:\n    type: csv\n    file: cbank.csv\n    time_column: time\n    attributes: [", stream);
    for (size_t i = 1; i < COUNT(otava_attributes); i++)
        fprintf(stream, "%s%s", i > 1 ? ", " : "", otava_attributes[i].key);
    fputs("]\n    csv_options:\n      delimiter: \",\"\n      quote_char: '\"'\n    metrics:\n", stream);
    for (size_t i = 0; i < catalogue->count; i++)
        if (!catalogue->entries[i].skipped)
            fprintf(stream, "      \"%s\": {direction: -1, scale: 1}\n", catalogue->entries[i].name);
    return STATUS_OK;
}

/* -- kernel_tuner -------------------------------------------------------------------------------------- */

#define NS_PER_MS 1e6

/* Why a configuration has no time, in the words of the schema. */
static const char *const invalidities[] = {
    [CELL_PENDING] = "timeout", [CELL_OK] = "correct", [CELL_SKIPPED] = "constraints", [CELL_FAILED] = "runtime"};

/* What a cell has as 0 is what the parameter leaves out, or the word for no number. */
static void tuner_parameter(cJSON *configuration, const struct parameter *parameter, uint32_t value)
{
    const uint32_t said = value ? value : parameter->left_out;

    if (said)
        json_add_integer(configuration, parameter->name, said);
    else
        json_add_text(configuration, parameter->name, parameter->fallback);
}

static cJSON *tuner_configuration(const struct cell *cell)
{
    const uint32_t takes = cell_takes(cell->workload, cell->pattern);
    cJSON *configuration = cJSON_CreateObject();

    json_add_text(configuration, "workload", cell->workload->name);
    json_add_text(configuration, "path", cell->path->name);
    json_add_text(configuration, "pattern", cell->pattern->name);
    json_add_integer(configuration, "elements", cell->elements);
    json_add_integer(configuration, "block_size", cell->block_size);
    json_add_text(configuration, "regime", cell->regime->name);
    for (size_t i = 0; i < parameter_count; i++)
        if (takes >> i & 1)
            tuner_parameter(configuration, &parameters[i], cell->parameters[i]);
    return configuration;
}

static void tuner_measurement(cJSON *measurements, const char *name, double value, const char *unit)
{
    cJSON *measurement = isfinite(value) ? json_append(measurements, cJSON_CreateObject()) : NULL;

    if (!measurement)
        return;
    json_add_text(measurement, "name", name);
    json_add_double(measurement, "value", value);
    json_add_text(measurement, "unit", unit ? unit : "");
}

static cJSON *tuner_result(const struct result *result, const struct cell_result *cell)
{
    cJSON *object = cJSON_CreateObject(), *times, *runtimes, *measurements;
    const double *samples;
    const size_t count = cell_samples(cell, &samples);

    json_add_text(object, "timestamp", result->started_utc);
    json_add(object, "configuration", tuner_configuration(&cell->cell));
    json_append(json_add(object, "objectives", cJSON_CreateArray()), cJSON_CreateString("time"));
    times = json_add(object, "times", cJSON_CreateObject());
    runtimes = json_add(times, "runtimes", cJSON_CreateArray());
    for (size_t i = 0; i < count; i++)
        json_append(runtimes, json_double(samples[i] / NS_PER_MS));
    json_add_text(object, "invalidity", invalidities[cell->status]);
    json_add_integer(object, "correctness", cell->verified);
    measurements = json_add(object, "measurements", cJSON_CreateArray());
    tuner_measurement(measurements, "time", cell->time.summary.value / NS_PER_MS, "ms");
    for (size_t i = 0; i < cell->counter_count; i++)
        tuner_measurement(measurements, cell->counters[i].name, cell->counters[i].value, cell->counters[i].unit);
    return object;
}

static enum status write_kernel_tuner(FILE *stream, const struct catalogue *catalogue)
{
    const char *separator = "";
    enum status status = STATUS_OK;

    fputs("{\n\"schema_version\": \"1.0.0\",\n\"metadata\": {\"timeunit\": \"milliseconds\"},\n\"results\": [\n",
          stream);
    for (size_t r = 0; r < catalogue->result_count; r++)
        for (size_t i = 0; status == STATUS_OK && i < catalogue->results[r]->cell_count; i++) {
            fputs(separator, stream);
            status = json_put_owned(stream, tuner_result(catalogue->results[r], &catalogue->results[r]->cells[i]));
            separator = ",";
        }
    if (status == STATUS_OK)
        fputs("]\n}\n", stream);
    return status;
}

/* -- formats ------------------------------------------------------------------------------------------- */

const struct export_format export_formats[] = {
    {"csv", "tidy CSV: one row a sample, for pandas", write_csv, NULL},
    {"gbench", "Google Benchmark's JSON: one repetition a sample, and aggregates, for its compare.py", export_gbench,
     NULL},
    {"bmf", "Bencher Metric Format: time and counters of each cell", write_bmf, NULL},
    {"otava", "CSV for Apache Otava: one row a result, one column a cell", write_otava, NULL},
    {"otava_config", "the YAML that Otava reads beside it", write_otava_config, NULL},
    {"kernel_tuner", "Kernel Tuner's T4 results: one configuration a cell", write_kernel_tuner, NULL},
    {"accelsim", "of a card: options of Accel-Sim and GPGPU-Sim, for their tuner", NULL, export_accelsim},
};

const size_t export_format_count = COUNT(export_formats);

enum status export_write(const struct export_format *format, FILE *stream, const struct result *const *results,
                         size_t count, bool raw)
{
    struct catalogue catalogue;
    enum status status = catalogue_open(results, count, &catalogue);

    catalogue.raw = raw;
    if (status == STATUS_OK)
        status = format->write(stream, &catalogue);
    catalogue_close(&catalogue);
    return status;
}
