/* SPDX-License-Identifier: MIT
 * The data of a user's case: buffers between guard zones, tables, and their contents, which the
 * case computes on the GPU or a .npy file holds. */
#include "case_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* -- calls of the case ------------------------------------------------------------------------- */

struct cbank_request case_request(const struct case_data *data, uint32_t buffer_set,
                                  enum cbank_call call, uint32_t number)
{
    struct cbank_request request = {.call = call, .number = number, .size = data->data.elements};

    for (uint32_t i = 0; i < data->data.buffer_count; i++)
        request.buffers[i] = cuda_buffer_at(&data->data.buffers[i], buffer_set);
    for (uint32_t k = 0; k < data->data.table_count; k++)
        request.tables[k] = cuda_table_at(&data->data.tables[k], 0, 0);
    return request;
}

bool case_call(struct cuda_device *device, const struct case_build *by,
               struct cbank_request request, uint64_t elements)
{
    enum { THREADS = 128, BLOCKS_PER_SM = 16 };
    const uint64_t most = (uint64_t)BLOCKS_PER_SM * device->info->sm_count;
    const uint64_t blocks = (elements + THREADS - 1) / THREADS;
    void *report = NULL;
    void *parameters[] = {&request, &report};

    return elements == 0 ||
           cuda_device_launch(device, by->call, (uint32_t)(blocks < most ? blocks : most), THREADS,
                              0, parameters);
}

bool case_describe(struct cuda_device *device, struct case_build *by, struct cbank_request request)
{
    struct cuda_memory *memory = device->memory;
    void *parameters[] = {&request, &memory->report};

    request.call = CBANK_CALL_DESCRIBE;
    return (memory->report ||
            CUDA(device, cudaMalloc, (void **)&memory->report, sizeof(by->report))) &&
           cuda_device_set(device, memory->report, 0, sizeof(by->report)) &&
           cuda_device_launch(device, by->call, 1, 1, 0, parameters) &&
           cuda_device_read(device, &by->report, memory->report, sizeof(by->report)) &&
           cuda_device_wait(device);
}

/* -- contents ---------------------------------------------------------------------------------- */

/* Gives elements their contents, of a file or by the request: those of a buffer, or of a table,
 * which also has them on the host. *status as in struct cuda_data_kind. */
static bool fill(struct cuda_device *device, const struct case_data *data,
                 const struct case_build *by, struct cbank_request request,
                 const struct cbank_buffer_report *elements, enum status *status)
{
    const size_t bytes = elements->elements * elements->element_bytes;
    void *const table =
        request.call == CBANK_CALL_ENTRIES ? data->data.tables[request.number].values : NULL;
    void *const home =
        table ? (void *)(uintptr_t)request.tables[request.number] : request.buffers[request.number];
    void *read = NULL;
    bool filled;

    if (!elements->file[0])
        return case_call(device, by, request, elements->elements) &&
               (!table || cuda_device_read(device, table, home, bytes)) && cuda_device_wait(device);
    read = table ? table : malloc(bytes + 1);
    *status = read ? kernel_case_file(by->build->file, elements->file, elements, read)
                   : log_memory("%s", elements->file);
    filled = *status == STATUS_OK && cuda_device_write(device, home, read, bytes) &&
             cuda_device_wait(device);
    if (read != table)
        free(read);
    return filled;
}

static bool fill_table(struct cuda_device *device, const struct case_data *data,
                       const struct case_build *by, uint32_t k, enum status *status)
{
    const struct cbank_table_report *report = &data->report.tables[k];
    struct cbank_buffer_report entries = {.elements = report->entries,
                                          .element_bytes = (uint32_t)report->entry_bytes};

    memcpy(entries.file, report->file, sizeof(entries.file));
    return fill(device, data, by, case_request(data, 0, CBANK_CALL_ENTRIES, k), &entries, status);
}

static bool open_case(struct cuda_device *device, struct cuda_data *data,
                      const struct launchable *launchable, enum status *status,
                      char reason[CELL_REASON_BYTES])
{
    const struct case_data *of_case = (const struct case_data *)data;
    const struct cbank_case_report *report = &of_case->report;
    const struct case_build *by = case_build_of(launchable);
    uint32_t failed = 0;

    if (!cuda_buffers_extend(device, data->buffers, data->buffer_count, &failed))
        return !cell_refuse(reason,
                            "out of memory for buffer %" PRIu32
                            " of %zu bytes; ask for a smaller --size",
                            failed + 1, data->buffers[failed].bytes);
    snprintf(reason, CELL_REASON_BYTES, "cannot fill tables and buffers");
    for (uint32_t k = 0; k < data->table_count; k++)
        /* Table offsets and buffer sets are copied with all of their 64 KB. */
        if (!cuda_table_open(device, &data->tables[k],
                             report->tables[k].entries * report->tables[k].entry_bytes) ||
            !cuda_device_set(device, data->tables[k].memory.allocated[0], 0,
                             data->tables[k].memory.bytes))
            return false;
    for (uint32_t k = 0; k < data->table_count; k++)
        if (!fill_table(device, of_case, by, k, status))
            return false;
    /* In their order: the contents of one buffer may be a function of another's. */
    for (uint32_t i = 0; i < data->buffer_count; i++)
        if (!fill(device, of_case, by, case_request(of_case, 0, CBANK_CALL_FILL, i),
                  &report->buffers[i], status))
            return false;
    return true;
}

static void close_case(struct cuda_data *data)
{
    for (uint32_t i = 0; i < CBANK_BUFFERS_MAX; i++)
        free(((struct case_data *)data)->kept[i]);
    free(data);
}

const struct cuda_data_kind case_kind = {
    .what = "buffers; ask for a smaller --size",
    .open = open_case,
    .close = close_case,
};

/* -- declaring --------------------------------------------------------------------------------- */

static bool has_same(const struct cbank_case_report *a, const struct cbank_case_report *b)
{
    if (a->buffer_count != b->buffer_count || a->table_count != b->table_count ||
        memcmp((const void *)a->buffers, (const void *)b->buffers, sizeof(a->buffers)) != 0)
        return false;
    for (uint32_t k = 0; k < a->table_count; k++)
        if (a->tables[k].entries != b->tables[k].entries ||
            a->tables[k].entry_bytes != b->tables[k].entry_bytes ||
            strcmp(a->tables[k].file, b->tables[k].file) != 0)
            return false;
    return true;
}

struct case_data *case_data_find(struct cuda_device *device, const struct case_build *by,
                                 uint64_t size)
{
    const struct cbank_case_report *report = &by->report;
    struct case_data *made;
    struct cuda_data *data;
    struct cuda_table *tables;

    for (data = device->memory->data; data; data = data->next)
        if (data->kind == &case_kind && data->elements == size &&
            ((struct case_data *)data)->hash == by->build->kernel.hash &&
            has_same(&((struct case_data *)data)->report, report))
            return (struct case_data *)data;
    made = calloc(1, sizeof(*made));
    tables = calloc(report->table_count + 1, sizeof(*tables));
    if (!made || !tables) {
        free(made);
        free(tables);
        return NULL;
    }
    made->hash = by->build->kernel.hash;
    made->against = by->build->file->against;
    made->report = *report;
    data = &made->data;
    data->kind = &case_kind;
    data->elements = size;
    data->buffer_count = report->buffer_count;
    data->tables = tables;
    data->table_count = report->table_count;
    for (uint32_t i = 0; i < report->buffer_count; i++) {
        const size_t bytes = report->buffers[i].elements * report->buffers[i].element_bytes;

        data->buffers[i] =
            (struct cuda_buffer){.bytes = bytes,
                                 .guard_bytes = CASE_GUARD_BYTES,
                                 .output = report->buffers[i].role == CBANK_ROLE_OUTPUT};
        /* The limits hold for the largest buffer. */
        if (bytes > data->limited_bytes)
            data->limited_bytes = bytes;
    }
    cuda_data_add(device, data);
    return made;
}
