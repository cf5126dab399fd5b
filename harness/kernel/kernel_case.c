/* SPDX-License-Identifier: MIT
 * Finds mistakes of a kernel file's case without a GPU. These are errors that its body reports,
 * launches beyond the limits of CUDA, wrong files of data, and a case that is named for another
 * kernel than it launches. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "kernel_parts.h"
#include "kernel_reference.h"
#include "log.h"
#include "npy.h"
#include "text.h"

/* Limits of CUDA, the same on all GPUs. */
static const uint32_t grid_most[] = {INT32_MAX, 65535, 65535}, block_most[] = {1024, 1024, 64};
enum { THREADS_MAX = 1024 };

/* -- names ------------------------------------------------------------------------------------- */

const char *kernel_last_name(const char *symbol, size_t *length)
{
    const char *last = symbol;
    bool nested, more = strncmp(symbol, "_Z", 2) == 0;

    *length = strlen(symbol);
    symbol += more ? 2 : 0;
    nested = *symbol == 'N'; /* else one name, and what begins with N is a type of a parameter */
    symbol += nested;
    while (more) {
        unsigned long bytes;
        char *end;

        symbol += strspn(symbol, "KL"); /* const, of this file alone */
        bytes = strtoul(symbol, &end, 10);
        if (end == symbol || bytes > strlen(end))
            return last;
        last = end;
        *length = bytes;
        symbol = end + bytes;
        more = nested;
    }
    return last;
}

bool kernel_is_named(const char *symbol, const char *name)
{
    size_t length;
    const char *const last = kernel_last_name(symbol, &length);

    return length == strlen(name) && strncmp(last, name, length) == 0;
}

/* -- the case ---------------------------------------------------------------------------------- */

/* Whether some GPU may have memory for so many elements. */
static bool is_possible(uint64_t elements, uint64_t bytes)
{
    return bytes > 0 && elements <= (UINT64_C(1) << 42) / bytes;
}

bool kernel_case_obstacle(const struct cbank_case_report *report, char reason[KERNEL_REASON_BYTES])
{
    const uint64_t threads = (uint64_t)report->block[0] * report->block[1] * report->block[2];

    for (uint32_t i = 0; i < 3; i++)
        if (report->grid[i] < 1 || report->grid[i] > grid_most[i] || report->block[i] < 1 ||
            report->block[i] > block_most[i] || (i == 2 && threads > THREADS_MAX))
            return cell_refuse(reason,
                               "the case asks for a grid of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                               " and blocks of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                               ", which CUDA does not have: a block has %d threads at most",
                               report->grid[0], report->grid[1], report->grid[2], report->block[0],
                               report->block[1], report->block[2], THREADS_MAX);
    for (uint32_t i = 0; i < report->buffer_count; i++)
        if (!is_possible(report->buffers[i].elements, report->buffers[i].element_bytes))
            return cell_refuse(reason,
                               "buffer %" PRIu32 " has %" PRIu64
                               " elements: more than memory has; ask for a smaller --size",
                               i + 1, report->buffers[i].elements);
    for (uint32_t k = 0; k < report->table_count; k++)
        if (!is_possible(report->tables[k].entries, report->tables[k].entry_bytes))
            return cell_refuse(reason, "table %.60s is larger than memory", report->tables[k].name);
    return false;
}

enum status kernel_case_check(const struct kernel_file *file)
{
    struct cbank_case_report report;
    char reason[KERNEL_REASON_BYTES];
    const char *symbol, *name;
    size_t length;

    if (!file->reference || !kernel_reference_describe(file, file->info.sizes[0], &report, reason))
        return STATUS_OK; /* a GPU tells */
    if (report.error[0])
        return log_error(STATUS_USAGE, "%s:%" PRIu32 ": %.*s", file->path, report.error_line,
                         CBANK_ERROR_BYTES, report.error);
    symbol = kernel_reference_symbol(file, &report);
    if (!symbol || kernel_is_named(symbol, file->info.name))
        return STATUS_OK;
    name = kernel_last_name(symbol, &length);
    return log_error(STATUS_USAGE,
                     "%s:%" PRIu32 ": the case is called %s and launches %.*s; write CBANK_CASE("
                     "%.*s, ...), or launch the other",
                     file->path, file->info.line, file->info.name, (int)length, name, (int)length,
                     name);
}

/* -- files of data ----------------------------------------------------------------------------- */

enum status kernel_case_file(const struct kernel_file *file, const char *name,
                             const struct cbank_buffer_report *elements, void *out)
{
    static const char *const types[] = {[CBANK_TYPE_BYTES] = "values",
                                        [CBANK_TYPE_UNSIGNED] = "unsigned integers",
                                        [CBANK_TYPE_SIGNED] = "signed integers",
                                        [CBANK_TYPE_FLOAT] = "floats"};
    const char *kernel = file->path;
    const int folder = name[0] == '/' ? 0 : (int)(text_file_name(kernel) - kernel);
    enum cbank_type type = CBANK_TYPE_UNSIGNED;
    struct npy_file data;
    enum status status;
    char path[1024];
    bool fits;

    snprintf(path, sizeof(path), "%.*s%s", folder, kernel, name);
    status = npy_open(path, true, &data);
    if (status != STATUS_OK)
        return status;
    if (!kernel_data_read(file, name, data.mapping, data.bytes)) {
        npy_close(&data);
        return log_error(STATUS_USAGE,
                         "%s: the hash of %s does not cover it; write its name as one literal that "
                         "ends with .npy, and run again if the file changes",
                         path, kernel);
    }
    if (data.array.is_float || data.array.is_signed)
        type = data.array.is_float ? CBANK_TYPE_FLOAT : CBANK_TYPE_SIGNED;
    /* A struct is saved as an array of its members. */
    fits = data.array.count * data.array.bytes == elements->elements * elements->element_bytes &&
           (elements->type == CBANK_TYPE_BYTES ||
            (elements->type == type && data.array.bytes == elements->element_bytes));
    if (fits)
        memcpy(out, data.array.values, elements->elements * elements->element_bytes);
    else
        status = log_error(STATUS_USAGE,
                           "%s: it has %" PRIu64 " %s of %" PRIu32
                           " bytes; the case of %s takes %" PRIu64 " %s of %" PRIu32 " bytes",
                           path, data.array.count, types[type], data.array.bytes, kernel,
                           elements->elements, types[elements->type], elements->element_bytes);
    npy_close(&data);
    return status;
}
