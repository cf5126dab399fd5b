/* SPDX-License-Identifier: MIT
 * The one configuration that advice is about: what options name, and defaults. */
#include "configuration.h"

#include <stdlib.h>

#include "log.h"
#include "parameter_index.h"
#include "source.h"

void configuration_give(struct plan_options *options, enum parameter_index key, uint64_t *value)
{
    if (!options->named[key])
        options->parameters[key] = (struct integers){.values = value, .count = 1};
    options->named[key] = true;
}

void configuration_close(struct configuration *configuration)
{
    selection_close(&configuration->loading);
}

/* All paths but those that prepare everything and load nothing. */
static enum status select_loading(struct selection *out)
{
    const enum status status = table_select(&table_of_paths, "all", out);
    size_t count = 0;

    for (size_t i = 0; i < out->count; i++)
        if (((const struct path *)out->rows[i])->loads)
            out->rows[count++] = out->rows[i];
    out->count = count;
    return status;
}

enum status configure(const struct plan_options *given, const struct user_access *largest,
                      struct configuration *out)
{
    const struct workload *workload =
        table_find(&table_of_workloads, given->patterns.count ? "add" : "lookup");
    struct plan_options *const options = &out->options;

    /* Code may read several entries at once: then a table may have bytes behind the last whole
     * ones. */
    *out = (struct configuration){.options = *given,
                                  .elements = strtoull(workload->elements, NULL, 10),
                                  .width = largest ? largest->width_bytes : 0,
                                  .workload_rows = {workload},
                                  .source_rows = {&sources[SOURCE_random]}};
    out->bytes = largest ? largest->table_bytes.value / out->width * out->width : 0;
    if (largest && !options->named[PARAMETER_table_bytes]) {
        configuration_give(options, PARAMETER_table_bytes, &out->bytes);
        configuration_give(options, PARAMETER_width_bytes, &out->width);
    }
    if (!options->named[PARAMETER_table_bytes])
        return log_error(STATUS_USAGE, "name the size of the table: --table-bytes BYTES, and "
                                       "--width-bytes BYTES of an entry");
    options->workloads = (struct selection){out->workload_rows, 1};
    if (!options->patterns.count && !options->sources.count && !options->indices_path)
        options->sources = (struct selection){out->source_rows, 1};
    if (!options->elements.count && !options->indices_path)
        options->elements = (struct integers){.values = &out->elements, .count = 1};
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        if (!options->named[i])
            options->parameters[i].count = 1;
    return select_loading(&out->loading);
}

enum status plan_configuration(struct configuration *configuration, struct index_list *indices,
                               struct plan *out)
{
    enum status status;

    configuration->options.paths = configuration->loading;
    status = plan_open(&configuration->options, indices, out);
    if (status == STATUS_OK && out->count != configuration->loading.count)
        status = log_error(STATUS_USAGE, "advice is of one configuration; name one value of each "
                                         "option, and only one of "
                                         "--source, --pattern and --indices");
    return status;
}
