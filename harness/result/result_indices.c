/* SPDX-License-Identifier: MIT
 * Gives the cells of a result the arrays of indices that they read, so that counts can be made
 * again. An index file that changed since is refused by its hash. */
#include "result_indices.h"
#include "parameter_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

enum status result_give_cell(struct result *result, size_t index, struct index_list *list,
                             const char *file, const struct index_array **out)
{
    struct cell_result *cell = &result->cells[index];
    const uint32_t length = cell_length(&cell->cell), *values = cell->cell.parameters;
    const char *path = cell->indices.file ? cell->indices.file : file;
    const struct index_array *array = NULL;
    char identity[CELL_IDENTITY_BYTES];
    enum status status = STATUS_OK;

    *out = NULL;
    if (cell->status == CELL_SKIPPED || cell->cell.workload->index != INDEX_LOADED)
        return STATUS_OK;
    if (cell_reads_file(&cell->cell))
        status = index_list_map(list, path, &array);
    if (status != STATUS_OK)
        return status;
    if (array && array->index_file_hash != cell->cell.index_file_hash)
        return log_error(STATUS_ENVIRONMENT,
                         "%s has changed since cells were measured with it; put the file back of "
                         "SHA-256 %s",
                         path, cell->indices.sha256);
    /* Without a given size, a table fills the room of the path. A path with less room than others
     * may be too small for a file. */
    if (array && array->highest >= length && !values[PARAMETER_table_bytes] &&
        array->highest < CBANK_TABLE_BYTES / table_width(values)) {
        cell->status = CELL_SKIPPED;
        snprintf(cell->reason, sizeof(cell->reason),
                 "%s holds %" PRIu32 " entries; the indices go to %" PRIu64, cell->cell.path->name,
                 length, array->highest);
        return STATUS_OK;
    }
    status = index_list_give(list, &cell->cell, &array);
    if (status != STATUS_OK)
        return status;
    cell_identity(&cell->cell, identity);
    if (cell->indices.given && strcmp(cell->indices.sha256, array->sha256) != 0)
        return log_error(STATUS_ENVIRONMENT,
                         "%s was measured with other indices than this program makes; use the "
                         "cbank that began the run",
                         identity);
    cell->indices = (struct cell_indices){.given = true,
                                          .source = cell->cell.pattern->name,
                                          .file = array->path};
    memcpy(cell->indices.sha256, array->sha256, sizeof(cell->indices.sha256));
    *out = array;
    return STATUS_OK;
}

enum status result_give_indices(struct result *result, struct index_list *list, const char *file)
{
    const struct index_array *array;
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        if (result->cells[i].status != CELL_SKIPPED)
            status = index_list_want(list, &result->cells[i].cell);
    if (status == STATUS_OK)
        status = index_list_make(list);
    for (size_t i = 0; status == STATUS_OK && i < result->cell_count; i++)
        status = result_give_cell(result, i, list, file, &array);
    return status;
}
