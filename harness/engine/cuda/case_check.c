/* SPDX-License-Identifier: MIT
 * What the launches of a user's kernel should write. The first launch is compared with the case's
 * reference (a file, its function on the processors, or on the GPU), the others with the first.
 * Without a reference, builds must agree with each other, and with another kernel file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_data.h"
#include "child.h"
#include "elements.h"
#include "engine_cuda.h"
#include "kernel_reference.h"
#include "log.h"

/* launches that a reference may last as long as: it is not written to be fast */
enum { REFERENCE_PATIENCE = 8 };

/* The host's memory for checking the builds of a case. */
struct case_check {
    struct case_data *data; /* not owned */
    /* of the kernel file that the builds are held against, at the same size; NULL: none */
    const struct case_data *rival;
    bool keeps; /* the outputs of the first right build, although there is a reference */
    /* of inputs and inouts before a launch; owned */
    void *contents[CBANK_BUFFERS_MAX];
    /* of outputs and inouts; owned; NULL: not compared */
    unsigned char *expected[CBANK_BUFFERS_MAX];
    void *seen[CHECK_LAUNCHES][CBANK_BUFFERS_MAX]; /* of these after a launch; owned */
    unsigned char *scratch; /* pinned; owned */
    enum case_reference how;
};

static bool is_compared(const struct case_data *data, uint32_t number)
{
    const uint32_t role = data->report.buffers[number].role;

    return role == CBANK_ROLE_OUTPUT || role == CBANK_ROLE_INOUT;
}

/* -- references -------------------------------------------------------------------------------- */

/* Computes the expected elements of a buffer on the processors. False, with a warning, if that
 * cannot be. */
static bool expect_on_cpu(const struct case_check *state, const struct case_build *by,
                          uint32_t number)
{
    const struct case_data *data = state->data;
    const struct kernel_file *file = by->build->file;
    struct cbank_request request = case_request(data, 0, CBANK_CALL_EXPECT, number);
    char reason[KERNEL_REASON_BYTES] = "out of memory";
    void *tables[CBANK_TABLES_MAX] = {0};
    bool made = file->reference != NULL;

    memcpy(request.buffers, state->contents, sizeof(request.buffers));
    for (uint32_t k = 0; made && k < data->data.table_count; k++) {
        const struct cuda_table *table = &data->data.tables[k];

        made = (tables[k] = malloc(table->bytes)) != NULL;
        if (made) /* those are pinned: a child may not have them */
            request.tables[k] = memcpy(tables[k], table->values, table->bytes);
    }
    made = made &&
           kernel_reference_run(file, &request, data->report.buffers[number].elements,
                                state->expected[number], data->data.buffers[number].bytes, reason);
    for (uint32_t k = 0; k < data->data.table_count; k++)
        free(tables[k]);
    if (!made && file->reference && !interrupted())
        log_warning("%s: the check fails on the processor, and runs on the GPU: %s", file->path,
                    reason);
    return made;
}

/* The same on the device, one thread for each element. False if a call fails. */
static bool expect_on_gpu(struct cuda_device *device, const struct case_check *state,
                          const struct case_build *by, uint32_t number)
{
    struct cbank_request request = case_request(state->data, 0, CBANK_CALL_EXPECT, number);
    const size_t bytes = state->data->data.buffers[number].bytes;
    const bool computed =
        CUDA(device, cudaMalloc, &request.expected, bytes + 1) &&
        case_call(device, by, request, state->data->report.buffers[number].elements) &&
        cuda_device_read(device, state->expected[number], request.expected, bytes) &&
        cuda_device_wait(device);

    CUDA_TRY(device, cudaFree, request.expected);
    return computed;
}

/* Gives a buffer its expected elements, if the case says them. *status as in struct
 * launchable_reference. */
static bool expect(struct cuda_device *device, struct case_check *state,
                   const struct case_build *by, uint32_t number, enum status *status)
{
    const struct cbank_buffer_report *report = &state->data->report.buffers[number];
    const bool file = report->expected_file[0];

    if (!is_compared(state->data, number) || !(file || report->expects))
        return true;
    state->expected[number] = malloc(state->data->data.buffers[number].bytes + 1);
    if (!state->expected[number])
        return false;
    if (file) {
        state->how = REFERENCE_FILE;
        *status = kernel_case_file(by->build->file, report->expected_file, report,
                                   state->expected[number]);
        return *status == STATUS_OK;
    }
    state->how = REFERENCE_CPU;
    if (expect_on_cpu(state, by, number))
        return true;
    state->how = REFERENCE_GPU;
    return expect_on_gpu(device, state, by, number);
}

/* Reads what a buffer holds before a launch, and makes room for what launches write. */
static bool open_buffer(struct cuda_device *device, struct case_check *state, uint32_t number)
{
    const struct cuda_buffer *buffer = &state->data->data.buffers[number];
    const uint32_t role = state->data->report.buffers[number].role;

    for (uint32_t k = 0; is_compared(state->data, number) && k < CHECK_LAUNCHES; k++)
        if (!(state->seen[k][number] = malloc(buffer->bytes + 1)))
            return false;
    if (role != CBANK_ROLE_INPUT && role != CBANK_ROLE_INOUT)
        return true;
    state->contents[number] = malloc(buffer->bytes + 1);
    return state->contents[number] &&
           cuda_device_read(device, state->contents[number], cuda_buffer_at(buffer, 0),
                            buffer->bytes) &&
           cuda_device_wait(device);
}

static bool open_state(struct cuda_device *device, struct case_check *state,
                       const struct case_build *by, enum status *status)
{
    const struct cuda_data *data = &state->data->data;
    size_t largest = CASE_GUARD_BYTES;

    for (uint32_t i = 0; i < data->buffer_count; i++) {
        if (!open_buffer(device, state, i))
            return false;
        largest = data->buffers[i].bytes > largest ? data->buffers[i].bytes : largest;
    }
    for (uint32_t i = 0; i < data->buffer_count; i++)
        if (!expect(device, state, by, i, status))
            return false;
    for (uint32_t k = 0; k < data->table_count; k++)
        largest = data->tables[k].bytes > largest ? data->tables[k].bytes : largest;
    return CUDA(device, cudaMallocHost, (void **)&state->scratch, largest);
}

static void close_state(struct engine_session *session)
{
    struct case_check *state = session->case_check;

    if (!state)
        return;
    for (uint32_t i = 0; i < CBANK_BUFFERS_MAX; i++) {
        free(state->contents[i]);
        free(state->expected[i]);
        for (uint32_t k = 0; k < CHECK_LAUNCHES; k++)
            free(state->seen[k][i]);
    }
    CUDA_TRY(&session->device, cudaFreeHost, state->scratch);
    free(state);
    session->case_check = NULL;
}

/* The case of the other kernel file at a size. */
static const struct case_data *rival_of(const struct cuda_device *device,
                                        const struct case_data *data)
{
    const struct cuda_data *rival = data->against ? device->memory->data : NULL;

    while (rival && (rival->kind != &case_kind || rival->elements != data->data.elements ||
                     ((const struct case_data *)rival)->against))
        rival = rival->next;
    return (const struct case_data *)rival;
}

/* The builds of a case follow each other, and share its expected elements. */
static bool open_check(struct engine_session *session, struct result *result, struct check *check,
                       enum status *status)
{
    struct cuda_device *device = &session->device;
    struct case_data *data = case_data_of(check->launchable);
    struct case_check *state = session->case_check;

    if (!state || state->data != data) {
        close_state(session);
        state = session->case_check = calloc(1, sizeof(*state));
        if (!state)
            return false;
        *state =
            (struct case_check){.data = data,
                                .rival = rival_of(device, data),
                                .keeps = result->kernel_count == 2 && result->kernels[1].against};
        cuda_expect_cell(device, launchable_cell(session, result, check->launchable),
                         launchable_seconds(check->launchable, REFERENCE_PATIENCE));
        if (!open_state(device, state, case_build_of(check->launchable), status)) {
            close_state(session);
            return false;
        }
    }
    memcpy(check->seen, state->seen, sizeof(check->seen));
    memcpy(check->contents, state->contents, sizeof(check->contents));
    check->scratch = state->scratch;
    check->how = state->how;
    return true;
}

/* -- outputs ----------------------------------------------------------------------------------- */

/* An output, and what it is compared with: "WHAT: element 5 of buffer 1 is 3, AS 4". */
struct pair {
    const void *found, *expected;
    const char *what, *as;
};

/* Compares a pair. False, with the reason, if an element differs. */
static bool agrees(struct check *check, const struct cbank_buffer_report *elements, uint32_t number,
                   struct pair pair)
{
    const uint64_t first = elements_differ(elements, pair.found, pair.expected);
    char text[ELEMENT_TEXT_BYTES], wanted[ELEMENT_TEXT_BYTES];

    if (first == elements->elements)
        return true;
    check_fails(check, "%s: element %" PRIu64 " of buffer %" PRIu32 " is %s, %.60s %s", pair.what,
                first, number + 1, element_text(elements, pair.found, first, text), pair.as,
                element_text(elements, pair.expected, first, wanted));
    return false;
}

/* Whether a buffer of both kernel files has elements of one type. */
static bool is_comparable(const struct case_data *a, const struct case_data *b, uint32_t number)
{
    const struct cbank_buffer_report *left = &a->report.buffers[number],
                                     *right = &b->report.buffers[number];

    return a->data.buffers[number].bytes == b->data.buffers[number].bytes &&
           left->type == right->type && left->element_bytes == right->element_bytes &&
           left->role == right->role;
}

/* Compares a buffer with what other builds wrote. */
static void compare_builds(const struct case_check *state, struct check *check, uint32_t number)
{
    const struct cbank_buffer_report *elements = &state->data->report.buffers[number];
    const void *first = check->seen[CHECK_FIRST][number];
    const unsigned char *kept = state->expected[number] ? NULL : state->data->kept[number];
    const struct case_data *rival = state->rival;

    if (kept)
        agrees(check, elements, number,
               (struct pair){first, kept, "differs between memory spaces", state->data->like});
    if (rival && rival->kept[number] && is_comparable(rival, state->data, number))
        agrees(check, elements, number,
               (struct pair){first, rival->kept[number], "differs between the kernel files",
                             "with the first"});
}

/* Checks the outputs of all launches in a buffer. */
static void compare_buffer(const struct case_check *state, struct check *check, uint32_t number)
{
    static const char *const differs[] =
        {"differs from launch to launch",
         "differs from launch to launch (accept() takes a tolerance)"};
    const struct cbank_buffer_report *elements = &state->data->report.buffers[number];
    const void *first = check->seen[CHECK_FIRST][number],
               *restored = check->seen[CHECK_RESTORED][number];
    const unsigned char *expected = state->expected[number];

    /* Where a reference has NaN or infinity, the output may. */
    if (elements_not_finite(elements, first, expected) < elements->elements &&
        !(expected && elements_not_finite(elements, expected, true) < elements->elements))
        check->findings |= FINDING_NOT_A_NUMBER;
    if (elements->role == CBANK_ROLE_OUTPUT) {
        const uint64_t untouched = elements_untouched(elements, first, check_poisons[CHECK_FIRST],
                                                      restored, check_poisons[CHECK_RESTORED]);

        if (untouched < elements->elements) {
            check_fails(check,
                        "does not write element %" PRIu64 " of buffer %" PRIu32
                        "; make it an inout if that is meant",
                        untouched, number + 1);
            return;
        }
    }
    if (expected)
        agrees(check, elements, number, (struct pair){first, expected, "wrong output", "not"});
    if (memcmp(first, restored, state->data->data.buffers[number].bytes) != 0) {
        check->findings |= FINDING_NOT_DETERMINISTIC;
        if (!agrees(check, elements, number,
                    (struct pair){restored, first, differs[elements->type == CBANK_TYPE_FLOAT],
                                  "before"}))
            return;
    }
    compare_builds(state, check, number);
    if (elements_differ(elements, check->seen[CHECK_AGAIN][number], first) < elements->elements)
        check->findings |= FINDING_EARLIER_LAUNCH;
}

static void compare(struct engine_session *session, struct check *check)
{
    const struct case_check *state = session->case_check;

    for (uint32_t i = 0; i < state->data->data.buffer_count; i++)
        if (is_compared(state->data, i))
            compare_buffer(state, check, i);
}

/* The outputs of the first right build are kept: where there is no reference, others must agree
 * with it, and where there is another kernel file, that one's. */
static enum status keep(struct engine_session *session, const struct check *check)
{
    const struct case_check *state = session->case_check;
    struct case_data *data = state->data;

    for (uint32_t i = 0; i < data->data.buffer_count; i++) {
        const size_t bytes = data->data.buffers[i].bytes;

        if (!is_compared(data, i) || data->kept[i] || (state->expected[i] && !state->keeps))
            continue;
        data->kept[i] = malloc(bytes + 1);
        if (!data->kept[i])
            return log_memory("an output");
        memcpy(data->kept[i], check->seen[CHECK_FIRST][i], bytes);
        snprintf(data->like, sizeof(data->like), "with %s",
                 case_build_of(check->launchable)->build->kernel.spaces);
    }
    return STATUS_OK;
}

const struct launchable_reference case_reference = {
    .open = open_check,
    .compare = compare,
    .keep = keep,
    .close = close_state,
};
