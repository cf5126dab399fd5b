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

/* -- calls of the case --------------------------------------------------------------------------------- */

struct cbank_request cuda_case_request(const struct cuda_case *of, uint32_t buffer_set, enum cbank_call call,
                                       uint32_t number)
{
    struct cbank_request request = {.call = call, .number = number, .size = of->size};

    for (uint32_t i = 0; i < of->report.buffer_count; i++)
        request.buffers[i] = cuda_buffer_at(&of->buffers[i], buffer_set);
    for (uint32_t k = 0; k < of->report.table_count; k++)
        request.tables[k] = of->tables[k].on_device[0];
    return request;
}

bool cuda_case_call(struct cuda_device *device, const struct cuda_user *user, struct cbank_request request,
                    uint64_t elements)
{
    enum { THREADS = 128, BLOCKS_PER_SM = 16 };
    const uint64_t most = (uint64_t)BLOCKS_PER_SM * device->info->sm_count;
    const uint64_t blocks = (elements + THREADS - 1) / THREADS;
    void *report = NULL;
    void *parameters[] = {&request, &report};

    return elements == 0 ||
           cuda_device_launch(device, user->call, (uint32_t)(blocks < most ? blocks : most), THREADS, 0, parameters);
}

bool cuda_case_describe(struct cuda_device *device, const struct cuda_user *user, struct cbank_request request,
                        struct cbank_case_report *out)
{
    struct cuda_memory *memory = device->memory;
    void *parameters[] = {&request, &memory->report};

    request.call = CBANK_CALL_DESCRIBE;
    return (memory->report || CUDA(device, cudaMalloc, (void **)&memory->report, sizeof(*out))) &&
           cuda_device_set(device, memory->report, 0, sizeof(*out)) &&
           cuda_device_launch(device, user->call, 1, 1, 0, parameters) &&
           cuda_device_read(device, out, memory->report, sizeof(*out)) && cuda_device_wait(device);
}

/* -- files --------------------------------------------------------------------------------------------- */

enum status cuda_case_file(const struct cuda_user *user, const char *name, const struct elements *elements, void *out)
{
    static const char *const types[] = {[CBANK_TYPE_BYTES] = "values",
                                        [CBANK_TYPE_UNSIGNED] = "unsigned integers",
                                        [CBANK_TYPE_SIGNED] = "signed integers",
                                        [CBANK_TYPE_FLOAT] = "floats"};
    const char *of = user->build->path;
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
    if (file.array.is_float || file.array.is_signed)
        type = file.array.is_float ? CBANK_TYPE_FLOAT : CBANK_TYPE_SIGNED;
    /* A struct is saved as an array of its members. */
    fits = file.array.count * file.array.bytes == elements->count * elements->bytes &&
           (elements->type == CBANK_TYPE_BYTES || (elements->type == type && file.array.bytes == elements->bytes));
    if (fits)
        memcpy(out, file.array.values, elements->count * elements->bytes);
    else
        status = log_error(STATUS_USAGE,
                           "%s: it has %" PRIu64 " %s of %" PRIu32 " bytes; the case of %s takes %" PRIu64
                           " %s of %" PRIu32 " bytes",
                           path, file.array.count, types[type], file.array.bytes, of, elements->count,
                           types[elements->type], elements->bytes);
    npy_close(&file);
    return status;
}

/* -- buffers ------------------------------------------------------------------------------------------- */

void *cuda_buffer_at(const struct cuda_user_buffer *buffer, uint32_t buffer_set)
{
    return buffer->allocated[buffer_set] ? buffer->allocated[buffer_set] + CUDA_GUARD_BYTES : NULL;
}

bool cuda_buffer_guard(struct cuda_device *device, const struct cuda_user_buffer *buffer, uint32_t buffer_set)
{
    unsigned char *first = buffer->allocated[buffer_set];

    return cuda_device_set(device, first, CUDA_GUARD_BYTE, CUDA_GUARD_BYTES) &&
           cuda_device_set(device, first + CUDA_GUARD_BYTES + buffer->bytes, CUDA_GUARD_BYTE, CUDA_GUARD_BYTES);
}

static void release_set(struct cuda_device *device, struct cuda_case *of, uint32_t buffer_set)
{
    for (uint32_t i = 0; i < of->report.buffer_count; i++) {
        CUDA_TRY(device, cudaFree, of->buffers[i].allocated[buffer_set]);
        of->buffers[i].allocated[buffer_set] = NULL;
    }
}

/* Allocates a buffer set. If a call fails, nothing of it stays; then *failed is the buffer's number. */
static bool allocate_set(struct cuda_device *device, struct cuda_case *of, uint32_t buffer_set, uint32_t *failed)
{
    for (uint32_t i = 0; i < of->report.buffer_count; i++) {
        struct cuda_user_buffer *buffer = &of->buffers[i];

        if (CUDA(device, cudaMalloc, (void **)&buffer->allocated[buffer_set], buffer->bytes + 2 * CUDA_GUARD_BYTES) &&
            cuda_buffer_guard(device, buffer, buffer_set))
            continue;
        *failed = i;
        release_set(device, of, buffer_set);
        return false;
    }
    return true;
}

bool cuda_case_fill(struct cuda_device *device, struct cuda_case *of, const struct cuda_user *by, enum status *status,
                    char reason[CELL_REASON_BYTES])
{
    uint32_t failed = 0;
    bool filled = true;

    for (uint32_t i = 0; i < of->report.buffer_count; i++) {
        const struct cbank_buffer_report *report = &of->report.buffers[i];

        of->buffers[i] = (struct cuda_user_buffer){
            .elements = {report->elements, report->element_bytes, report->type, report->tolerance_relative,
                         report->tolerance_absolute},
            .report = *report,
            .bytes = report->elements * report->element_bytes,
        };
        of->bytes += of->buffers[i].bytes;
    }
    if (!allocate_set(device, of, 0, &failed))
        return !cell_refuse(reason, "out of memory for buffer %" PRIu32 " of %zu bytes; ask for a smaller --size",
                            failed + 1, of->buffers[failed].bytes);
    of->sets = 1;
    snprintf(reason, CELL_REASON_BYTES, "cannot fill tables and buffers");
    for (uint32_t k = 0; filled && k < of->report.table_count; k++) {
        const struct cbank_table_report *report = &of->report.tables[k];
        const struct elements entries = {report->entries, (uint32_t)report->entry_bytes, CBANK_TYPE_BYTES, 0, 0};
        const size_t bytes = report->entries * report->entry_bytes;
        struct cuda_table *table = &of->tables[k];

        filled = cuda_table_open(device, table, bytes);
        if (filled && report->file[0]) {
            *status = cuda_case_file(by, report->file, &entries, table->values);
            filled = *status == STATUS_OK && cuda_device_write(device, table->on_device[0], table->values, bytes);
        } else if (filled) {
            filled = cuda_case_call(device, by, cuda_case_request(of, 0, CBANK_CALL_ENTRIES, k), report->entries) &&
                     cuda_device_read(device, table->values, table->on_device[0], bytes);
        }
        filled = filled && cuda_device_wait(device);
    }
    /* In their order: the contents of one buffer may be a function of another's. */
    for (uint32_t i = 0; filled && i < of->report.buffer_count; i++) {
        const struct cuda_user_buffer *buffer = &of->buffers[i];
        void *values = NULL;

        if (buffer->report.file[0]) {
            values = malloc(buffer->bytes + 1);
            *status =
                values ? cuda_case_file(by, buffer->report.file, &buffer->elements, values) : log_memory("a file");
            filled =
                *status == STATUS_OK && cuda_device_write(device, cuda_buffer_at(buffer, 0), values, buffer->bytes);
        } else {
            filled = cuda_case_call(device, by, cuda_case_request(of, 0, CBANK_CALL_FILL, i), buffer->elements.count);
        }
        filled = filled && cuda_device_wait(device);
        free(values);
    }
    return filled;
}

/* -- buffer sets --------------------------------------------------------------------------------------- */

bool cuda_case_multiply(struct cuda_device *device, struct cuda_case *of)
{
    size_t largest = 0;
    bool multiplied = true;
    uint32_t failed;

    for (uint32_t i = 0; i < of->report.buffer_count; i++)
        largest = of->buffers[i].bytes > largest ? of->buffers[i].bytes : largest;
    /* The limits hold for the largest buffer, and the room is that of all. */
    while (multiplied && cuda_memory_is_room(device, of->sets, largest) && cuda_memory_is_room(device, 0, of->bytes)) {
        multiplied = allocate_set(device, of, of->sets, &failed);
        for (uint32_t i = 0; multiplied && i < of->report.buffer_count; i++)
            multiplied = CUDA(device, cudaMemcpyAsync, cuda_buffer_at(&of->buffers[i], of->sets),
                              cuda_buffer_at(&of->buffers[i], 0), of->buffers[i].bytes, cudaMemcpyDeviceToDevice,
                              device->stream);
        if (multiplied)
            of->sets++;
        else
            release_set(device, of, of->sets);
    }
    for (uint32_t k = 0; multiplied && k < of->report.table_count; k++)
        multiplied = cuda_table_multiply(device, &of->tables[k]);
    return multiplied;
}

/* -- release ------------------------------------------------------------------------------------------- */

void cuda_user_close(struct cuda_device *device, struct cuda_user *user)
{
    for (uint32_t copy = CUDA_MODULE_COPIES; copy-- > 0;)
        cuda_module_unload(device, &user->modules[copy]);
    free(user->arguments);
    free(user);
}

void cuda_case_close(struct cuda_device *device, struct cuda_case *of)
{
    for (uint32_t i = 0; i < CUDA_BUFFER_SETS_MAX; i++)
        release_set(device, of, i);
    for (uint32_t k = 0; k < CBANK_TABLES_MAX; k++)
        cuda_table_close(device, &of->tables[k]);
    for (struct cuda_user *user = of->users, *next; user; user = next) {
        next = user->next;
        cuda_user_close(device, user);
    }
    for (uint32_t i = 0; i < CBANK_BUFFERS_MAX; i++)
        free(of->kept[i]);
    free(of);
}

void cuda_users_close(struct cuda_device *device)
{
    for (struct cuda_case *of = device->memory->cases, *next; of; of = next) {
        next = of->next;
        cuda_case_close(device, of);
    }
    device->memory->cases = NULL;
    CUDA_TRY(device, cudaFree, device->memory->report);
    device->memory->report = NULL;
}
