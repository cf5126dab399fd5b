/* SPDX-License-Identifier: MIT */
#include "result_indices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

/* Without a given size, a table fills the room of the path. A path with less room than others may be too small for a
 * file. */
static bool too_small(struct cell_result *cell, const struct index_array *array)
{
    const uint32_t length = cell_length(&cell->cell), *values = cell->cell.parameters;

    if (!array || array->highest < length || values[PARAMETER_table_bytes] ||
        array->highest >= CBANK_TABLE_BYTES / table_width(values))
        return false;
    cell->status = CELL_SKIPPED;
    snprintf(cell->reason, sizeof(cell->reason), "%s holds %" PRIu32 " entries; the indices go to %" PRIu64,
             cell->cell.path->name, length, array->highest);
    return true;
}

static enum status give_indices(struct cell_result *cell, struct index_list *list, const char *file)
{
    const char *path = cell->indices.file ? cell->indices.file : file;
    const struct index_array *array = NULL;
    char identity[CELL_IDENTITY_BYTES];
    enum status status = STATUS_OK;

    if (cell_reads_file(&cell->cell))
        status = index_list_map(list, path, &array);
    if (status == STATUS_OK && array && array->index_file_hash != cell->cell.index_file_hash)
        return log_error(STATUS_ENVIRONMENT,
                         "%s has changed since cells were measured with it; put the file back of SHA-256 %s", path,
                         cell->indices.sha256);
    if (status != STATUS_OK || too_small(cell, array))
        return status;
    status = index_list_give(list, &cell->cell, &array);
    if (status != STATUS_OK)
        return status;
    if (cell->indices.given && strcmp(cell->indices.sha256, array->sha256) != 0) {
        cell_identity(&cell->cell, identity);
        return log_error(STATUS_ENVIRONMENT,
                         "%s was measured with other indices than this program makes; use the cbank that "
                         "began the run",
                         identity);
    }
    cell->indices = (struct cell_indices){.given = true, .source = cell->cell.pattern->name, .file = array->path};
    memcpy(cell->indices.sha256, array->sha256, sizeof(cell->indices.sha256));
    return STATUS_OK;
}

enum status result_give_indices(struct result *result, struct index_list *list, const char *file)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (result->cells[i].status != CELL_SKIPPED)
            status = index_list_want(list, &result->cells[i].cell);
    if (status == STATUS_OK)
        status = index_list_make(list);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (result->cells[i].status != CELL_SKIPPED && result->cells[i].cell.workload->index == INDEX_LOADED)
            status = give_indices(&result->cells[i], list, file);
    return status;
}
