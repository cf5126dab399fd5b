/* SPDX-License-Identifier: MIT
 * The memory of users' kernels: buffers between guard zones, tables, and their contents. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_user.h"
#include "kernel_file.h"
#include "log.h"
#include "npy.h"
#include "text.h"

/* -- calls of the case ------------------------------------------------------------------------- */

struct cbank_request cuda_case_request(const struct cuda_case *of, uint32_t buffer_set,
                                       enum cbank_call call, uint32_t number)
{
    struct cbank_request request = {.call = call, .number = number, .size = of->size};

    for (uint32_t i = 0; i < of->report.buffer_count; i++)
        request.buffers[i] = cuda_buffer_at(&of->buffers[i], buffer_set);
    for (uint32_t k = 0; k < of->report.table_count; k++)
        request.tables[k] = cuda_table_at(&of->tables[k], 0, 0);
    return request;
}

bool cuda_case_call(struct cuda_device *device, const struct cuda_user *user,
                    struct cbank_request request, uint64_t elements)
{
    enum { THREADS = 128, BLOCKS_PER_SM = 16 };
    const uint64_t most = (uint64_t)BLOCKS_PER_SM * device->info->sm_count;
    const uint64_t blocks = (elements + THREADS - 1) / THREADS;
    void *report = NULL;
    void *parameters[] = {&request, &report};

    return elements == 0 ||
           cuda_device_launch(device, user->call, (uint32_t)(blocks < most ? blocks : most),
                              THREADS, 0, parameters);
}

bool cuda_case_describe(struct cuda_device *device, struct cuda_user *user,
                        struct cbank_request request)
{
    struct cuda_memory *memory = device->memory;
    void *parameters[] = {&request, &memory->report};

    request.call = CBANK_CALL_DESCRIBE;
    return (memory->report ||
            CUDA(device, cudaMalloc, (void **)&memory->report, sizeof(user->report))) &&
           cuda_device_set(device, memory->report, 0, sizeof(user->report)) &&
           cuda_device_launch(device, user->call, 1, 1, 0, parameters) &&
           cuda_device_read(device, &user->report, memory->report, sizeof(user->report)) &&
           cuda_device_wait(device);
}

/* -- files ------------------------------------------------------------------------------------- */

enum status cuda_case_file(const struct cuda_user *user, const char *name,
                           const struct cbank_buffer_report *elements, void *out)
{
    static const char *const types[] = {[CBANK_TYPE_BYTES] = "values",
                                        [CBANK_TYPE_UNSIGNED] = "unsigned integers",
                                        [CBANK_TYPE_SIGNED] = "signed integers",
                                        [CBANK_TYPE_FLOAT] = "floats"};
    const char *of = user->build->file->path;
    const int folder = name[0] == '/' ? 0 : (int)(text_file_name(of) - of);
    enum cbank_type type = CBANK_TYPE_UNSIGNED;
    struct npy_file file;
    enum status status;
    char path[1024];
    bool fits;

    snprintf(path, sizeof(path), "%.*s%s", folder, of, name);
    status = npy_open(path, true, &file);
    if (status != STATUS_OK)
        return status;
    if (!kernel_data_read(user->build->file, name, file.mapping, file.bytes)) {
        npy_close(&file);
        return log_error(STATUS_USAGE,
                         "%s: the hash of %s does not cover it; write its name as one literal that "
                         "ends with .npy, and run again if the file changes",
                         path, of);
    }
    if (file.array.is_float || file.array.is_signed)
        type = file.array.is_float ? CBANK_TYPE_FLOAT : CBANK_TYPE_SIGNED;
    /* A struct is saved as an array of its members. */
    fits = file.array.count * file.array.bytes == elements->elements * elements->element_bytes &&
           (elements->type == CBANK_TYPE_BYTES ||
            (elements->type == type && file.array.bytes == elements->element_bytes));
    if (fits)
        memcpy(out, file.array.values, elements->elements * elements->element_bytes);
    else
        status = log_error(STATUS_USAGE,
                           "%s: it has %" PRIu64 " %s of %" PRIu32
                           " bytes; the case of %s takes %" PRIu64 " %s of %" PRIu32 " bytes",
                           path, file.array.count, types[type], file.array.bytes, of,
                           elements->elements, types[elements->type], elements->element_bytes);
    npy_close(&file);
    return status;
}

/* -- buffers ----------------------------------------------------------------------------------- */

/* Gives elements their contents, of a file or by the request: those of a buffer, or of a table,
 * which also has them on the host. *status as in cuda_case_fill. */
static bool fill(struct cuda_device *device, const struct cuda_case *of, const struct cuda_user *by,
                 struct cbank_request request, const struct cbank_buffer_report *elements,
                 enum status *status)
{
    const size_t bytes = elements->elements * elements->element_bytes;
    void *const table =
        request.call == CBANK_CALL_ENTRIES ? of->tables[request.number].values : NULL;
    void *const at =
        table ? (void *)(uintptr_t)request.tables[request.number] : request.buffers[request.number];
    void *read = NULL;
    bool filled;

    if (!elements->file[0]) {
        filled = cuda_case_call(device, by, request, elements->elements) &&
                 (!table || cuda_device_read(device, table, at, bytes));
    } else {
        read = table ? table : malloc(bytes + 1);
        *status = read ? cuda_case_file(by, elements->file, elements, read)
                       : log_memory("%s", elements->file);
        filled = *status == STATUS_OK && cuda_device_write(device, at, read, bytes);
    }
    filled = filled && cuda_device_wait(device);
    if (read != table)
        free(read);
    return filled;
}

bool cuda_case_fill(struct cuda_device *device, struct cuda_case *of, const struct cuda_user *by,
                    enum status *status, char reason[CELL_REASON_BYTES])
{
    const struct cbank_case_report *report = &of->report;
    uint32_t failed = 0;
    bool filled = true;

    for (uint32_t i = 0; i < report->buffer_count; i++) {
        of->buffers[i] =
            (struct cuda_buffer){.bytes =
                                     report->buffers[i].elements * report->buffers[i].element_bytes,
                                 .guard_bytes = CUDA_GUARD_BYTES,
                                 .output = report->buffers[i].role == CBANK_ROLE_OUTPUT};
        of->bytes += of->buffers[i].bytes;
    }
    if (!cuda_buffers_extend(device, of->buffers, report->buffer_count, &failed))
        return !cell_refuse(reason,
                            "out of memory for buffer %" PRIu32
                            " of %zu bytes; ask for a smaller --size",
                            failed + 1, of->buffers[failed].bytes);
    snprintf(reason, CELL_REASON_BYTES, "cannot fill tables and buffers");
    for (uint32_t k = 0; filled && k < report->table_count; k++)
        /* Table offsets and buffer sets are copied with all of their 64 KB. */
        filled = cuda_table_open(device, &of->tables[k],
                                 report->tables[k].entries * report->tables[k].entry_bytes) &&
                 cuda_device_set(device, of->tables[k].memory.allocated[0], 0,
                                 of->tables[k].memory.bytes);
    for (uint32_t k = 0; filled && k < report->table_count; k++) {
        struct cbank_buffer_report entries = {.elements = report->tables[k].entries,
                                              .element_bytes =
                                                  (uint32_t)report->tables[k].entry_bytes};

        memcpy(entries.file, report->tables[k].file, sizeof(entries.file));
        filled =
            fill(device, of, by, cuda_case_request(of, 0, CBANK_CALL_ENTRIES, k), &entries, status);
    }
    /* In their order: the contents of one buffer may be a function of another's. */
    for (uint32_t i = 0; filled && i < report->buffer_count; i++)
        filled = fill(device, of, by, cuda_case_request(of, 0, CBANK_CALL_FILL, i),
                      &report->buffers[i], status);
    return filled;
}

/* -- buffer sets ------------------------------------------------------------------------------- */

bool cuda_case_multiply(struct cuda_device *device, struct cuda_case *of)
{
    size_t largest = 0;
    bool multiplied;

    for (uint32_t i = 0; i < of->report.buffer_count; i++)
        largest = of->buffers[i].bytes > largest ? of->buffers[i].bytes : largest;
    /* The limits hold for the largest buffer. */
    multiplied = cuda_buffers_multiply(device, of->buffers, of->report.buffer_count, largest);
    for (uint32_t k = 0; multiplied && k < of->report.table_count; k++)
        multiplied = cuda_table_multiply(device, &of->tables[k]);
    return multiplied;
}

/* -- release ----------------------------------------------------------------------------------- */

void cuda_user_close(struct cuda_device *device, struct cuda_user *user)
{
    for (uint32_t copy = CUDA_MODULE_COPIES; copy-- > 0;)
        cuda_module_unload(device, &user->modules[copy]);
    free(user->arguments);
    free(user);
}

void cuda_case_close(struct cuda_device *device, struct cuda_case *of)
{
    for (uint32_t i = 0; i < CBANK_BUFFERS_MAX; i++) {
        cuda_buffer_close(device, &of->buffers[i]);
        free(of->kept[i]);
    }
    for (uint32_t k = 0; k < CBANK_TABLES_MAX; k++)
        cuda_table_close(device, &of->tables[k]);
    for (struct cuda_user *user = of->users, *next; user; user = next) {
        next = user->next;
        cuda_user_close(device, user);
    }
    free(of);
}

void cuda_users_close(struct cuda_device *device)
{
    for (struct cuda_case *of; (of = device->memory->cases);) {
        device->memory->cases = of->next;
        cuda_case_close(device, of);
    }
    CUDA_TRY(device, cudaFree, device->memory->report);
    device->memory->report = NULL;
}
