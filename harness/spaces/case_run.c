/* SPDX-License-Identifier: MIT
 * Runs a kernel file's case on the processor: it describes the launch for each size. For the
 * smallest one it fills tables and buffers in their order, as on a GPU, and says what outputs
 * should hold. */
#include "case_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "kernel_reference.h"
#include "log.h"
#include "text.h"
#include "text_print.h"

enum { BYTES_MAX = 1 << 30 }; /* of all buffers of a case that is run */

/* A case that runs; `worst` as in case_run.h. */
struct running {
    const struct kernel_file *file;
    const struct cbank_case_report *report;
    struct cbank_request request; /* its buffers and tables are owned */
    enum status *worst;
};

static void find(const struct running *running, const char *what, uint64_t size, const char *why)
{
    *running->worst =
        log_message("finding: ", STATUS_FINDING, "%s:%" PRIu32 ": %s size %" PRIu64 ": %s",
                    running->file->path, running->file->info.line, what, size, why);
}

bool case_described(const struct kernel_file *file, struct cbank_case_report *out)
{
    char reason[KERNEL_REASON_BYTES];

    return file->reference && kernel_reference_describe(file, file->info.sizes[0], out, reason);
}

static bool is_compared(const struct cbank_buffer_report *buffer)
{
    return buffer->role == CBANK_ROLE_OUTPUT || buffer->role == CBANK_ROLE_INOUT;
}

static uint64_t bytes_of(const struct cbank_buffer_report *buffer)
{
    return buffer->elements * buffer->element_bytes;
}

/* -- what it launches -------------------------------------------------------------------------- */

/* "4096", "64 x 2", "8 x 8 x 8" */
static const char *extent(const uint32_t numbers[3], char out[48])
{
    snprintf(out, 48, "%" PRIu32, numbers[0]);
    for (int i = 1; i < 3; i++)
        if (numbers[2] > 1 || (i == 1 && numbers[1] > 1))
            text_join(out, 48, " x ", "%" PRIu32, numbers[i]);
    return out;
}

static void print_launch(uint64_t size, const struct cbank_case_report *report)
{
    char grid[48], block[48], sized[32] = "";
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < report->buffer_count; i++)
        bytes += bytes_of(&report->buffers[i]);
    if (report->shared_bytes)
        snprintf(sized, sizeof(sized), ", %" PRIu64 " B shared", report->shared_bytes);
    text_line(stdout, "size %" PRIu64 ": grid %s, block %s%s; buffers of %s bytes", size,
              extent(report->grid, grid), extent(report->block, block), sized,
              text_of(text_count, (double)bytes).text);
}

/* Describes the case for a size, and prints it. False: it cannot be launched, which is told. */
static bool describe(const struct running *running, uint64_t size, struct cbank_case_report *out)
{
    char reason[KERNEL_REASON_BYTES];

    if (!kernel_reference_describe(running->file, size, out, reason)) {
        find(running, "the case fails on the processor for", size, reason);
        return false;
    }
    if (out->error[0] || kernel_case_obstacle(out, reason)) {
        find(running, "it cannot be launched for", size, out->error[0] ? out->error : reason);
        return false;
    }
    print_launch(size, out);
    return true;
}

/* -- contents ---------------------------------------------------------------------------------- */

/* Gives elements their contents, from a file or from the case. False, told, if the case fails. */
static bool fill(const struct running *running, enum cbank_call call, uint32_t number,
                 const struct cbank_buffer_report *elements, void *out, enum status *status)
{
    struct cbank_request request = running->request;
    char reason[KERNEL_REASON_BYTES];

    if (elements->file[0]) {
        *status = kernel_case_file(running->file, elements->file, elements, out);
        return *status == STATUS_OK;
    }
    request.call = call;
    request.number = number;
    if (kernel_reference_run(running->file, &request, elements->elements, out, bytes_of(elements),
                             reason))
        return true;
    find(running,
         call == CBANK_CALL_EXPECT ? "the check fails on the processor for"
                                   : "contents fail on the processor for",
         request.size, reason);
    return false;
}

/* Allocates and fills all tables, then all buffers: contents may be a function of those before. */
static bool fill_all(struct running *running, enum status *status)
{
    const struct cbank_case_report *const report = running->report;

    for (uint32_t i = 0; i < report->table_count + report->buffer_count; i++) {
        const bool of_table = i < report->table_count;
        const uint32_t number = of_table ? i : i - report->table_count;
        struct cbank_buffer_report elements;
        void *memory;

        if (of_table) {
            elements =
                (struct cbank_buffer_report){.elements = report->tables[number].entries,
                                             .element_bytes =
                                                 (uint32_t)report->tables[number].entry_bytes};
            memcpy(elements.file, report->tables[number].file, sizeof(elements.file));
        } else {
            elements = report->buffers[number];
        }
        memory = calloc(1, bytes_of(&elements) + 1);
        if (!memory) {
            *status = log_memory("the buffers of a case");
            return false;
        }
        if (of_table)
            running->request.tables[number] = memory;
        else
            running->request.buffers[number] = memory;
        if (!fill(running, of_table ? CBANK_CALL_ENTRIES : CBANK_CALL_FILL, number, &elements,
                  memory, status))
            return false;
    }
    return true;
}

/* -- the check --------------------------------------------------------------------------------- */

/* Computes what a buffer should hold. Whether that is what it held before is added to *kept. */
static bool expect(const struct running *running, uint32_t number, uint32_t *kept,
                   enum status *status)
{
    struct cbank_buffer_report elements = running->report->buffers[number];
    unsigned char *const expected = malloc(bytes_of(&elements) + 1);
    char text[ELEMENT_TEXT_BYTES];
    bool made;

    if (!expected) {
        *status = log_memory("what a buffer should hold");
        return false;
    }
    memcpy(elements.file, elements.expected_file, sizeof(elements.file));
    made = fill(running, CBANK_CALL_EXPECT, number, &elements, expected, status);
    if (made) {
        *kept += elements.role == CBANK_ROLE_INOUT &&
                 memcmp(expected, running->request.buffers[number], bytes_of(&elements)) == 0;
        if (elements.elements > 0)
            text_line(stdout, "check: buffer %" PRIu32 " should begin with %s", number + 1,
                      element_text(&elements, expected, 0, text));
    }
    free(expected);
    return made;
}

/* Runs the check for a size whose case is described. */
static enum status check(struct running *running)
{
    const struct cbank_case_report *const report = running->report;
    uint32_t checked = 0, compared = 0, kept = 0;
    enum status status = STATUS_OK;
    bool runs = fill_all(running, &status);

    for (uint32_t i = 0; runs && i < report->buffer_count; i++) {
        const struct cbank_buffer_report *const buffer = &report->buffers[i];
        const bool expects = buffer->expects || buffer->expected_file[0];

        compared += is_compared(buffer);
        checked += is_compared(buffer) && expects;
        if (is_compared(buffer) && expects)
            runs = expect(running, i, &kept, &status);
    }
    if (!runs)
        return status;
    if (checked == 0)
        log_note(false,
                 "%s:%" PRIu32
                 ": the case checks nothing: memory spaces are only held against each "
                 "other; say by check(buffer, expected) what the kernel must write",
                 running->file->path, running->file->info.line);
    if (compared > 0 && kept == compared)
        find(running, "a kernel that writes nothing would pass the check for",
             running->request.size,
             "it expects what buffers hold before; give the inout other contents, or make it an "
             "output");
    return STATUS_OK;
}

static void close_running(struct running *running)
{
    for (uint32_t i = 0; i < CBANK_BUFFERS_MAX; i++)
        free(running->request.buffers[i]);
    for (uint32_t k = 0; k < CBANK_TABLES_MAX; k++)
        free((void *)running->request.tables[k]);
}

enum status case_run(const struct kernel_file *file, const struct integers *sizes,
                     enum status *worst)
{
    struct running running = {.file = file, .worst = worst};
    const uint64_t *const values = sizes->count ? sizes->values : file->info.sizes;
    const size_t count = sizes->count ? sizes->count : file->info.size_count;
    struct cbank_case_report report, least;
    uint64_t smallest = UINT64_MAX, bytes = 0;
    enum status status = STATUS_OK;

    if (!file->reference) {
        log_note(false, "%s: its case is not compiled for the processor, so only a GPU can run it",
                 file->path);
        return STATUS_OK;
    }
    for (size_t i = 0; i < count; i++)
        if (describe(&running, values[i], &report) && values[i] < smallest) {
            smallest = values[i];
            least = report;
        }
    if (smallest == UINT64_MAX)
        return STATUS_OK;
    for (uint32_t i = 0; i < least.buffer_count; i++)
        bytes += bytes_of(&least.buffers[i]);
    if (bytes > BYTES_MAX) {
        log_note(false,
                 "%s: the check does not run: its buffers have more than 1 GiB; --size asks "
                 "for a smaller case",
                 file->path);
        return STATUS_OK;
    }
    running.report = &least;
    running.request = (struct cbank_request){.size = smallest};
    status = check(&running);
    close_running(&running);
    return status;
}
