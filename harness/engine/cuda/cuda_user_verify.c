/* SPDX-License-Identifier: MIT
 * The phase `verify` for users' kernels. A build is launched three times: from restored buffers,
 * again without restoring them, and from restored buffers in another buffer set. Outputs are
 * poisoned before. The first output is compared with the reference, the others with the first.
 * Guard zones, inputs and tables must be as before. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "cuda_user.h"
#include "kernel_reference.h"
#include "log.h"

enum { FIRST, AGAIN, RESTORED, LAUNCHES };

/* launches that a reference may last as long as: it is not written to be fast */
enum { REFERENCE_PATIENCE = 8 };

static const unsigned char poisons[LAUNCHES] = {[FIRST] = 0xA5, [RESTORED] = 0x5A};

/* The host's memory for verifying the builds of a case. */
struct checking {
    struct engine_session *session;
    struct result *result;
    struct cuda_case *of;
    const struct cuda_case *rival; /* of the kernel file that the builds are held against, at the
                                      same size; NULL: none */
    /* of inputs and inouts before a launch; owned */
    unsigned char *contents[CBANK_BUFFERS_MAX];
    /* of outputs and inouts; owned; NULL: not compared */
    unsigned char *expected[CBANK_BUFFERS_MAX];
    unsigned char *seen[LAUNCHES][CBANK_BUFFERS_MAX]; /* outputs and inouts after a launch; owned */
    unsigned char *scratch; /* as large as the largest buffer or table, or guard zone; owned */
    enum case_reference reference;
    /* "with constant": the build whose outputs the case keeps */
    char like[USER_KERNEL_SPACES_BYTES + 8];
    /* why the build that is verified fails; "": it has not failed */
    char reason[CELL_REASON_BYTES];
    uint32_t findings; /* of that build */
};

static bool is_compared(const struct cuda_case *of, uint32_t number)
{
    const uint32_t role = of->report.buffers[number].role;

    return role == CBANK_ROLE_OUTPUT || role == CBANK_ROLE_INOUT;
}

/* The first failure is the reason. */
#define FAILS(checking, ...) \
    ((void)((checking)->reason[0] || cell_refuse((checking)->reason, __VA_ARGS__)))

/* -- references -------------------------------------------------------------------------------- */

/* Computes the expected elements of a buffer on the processors. False, with a warning, if that
 * cannot be. */
static bool expect_on_cpu(const struct checking *checking, const struct cuda_user *by,
                          uint32_t number)
{
    const struct cuda_case *of = checking->of;
    struct cbank_request request = cuda_case_request(of, 0, CBANK_CALL_EXPECT, number);
    char reason[KERNEL_REASON_BYTES] = "out of memory";
    void *tables[CBANK_TABLES_MAX] = {0};
    bool made = by->build->file->reference != NULL;

    memcpy(request.buffers, checking->contents, sizeof(request.buffers));
    for (uint32_t k = 0; made && k < of->report.table_count; k++) {
        made = (tables[k] = malloc(of->tables[k].bytes)) != NULL;
        if (made) /* those are pinned: a child may not have them */
            request.tables[k] = memcpy(tables[k], of->tables[k].values, of->tables[k].bytes);
    }
    made =
        made && kernel_reference_run(by->build->file, &request, of->report.buffers[number].elements,
                                     checking->expected[number], of->buffers[number].bytes, reason);
    for (uint32_t k = 0; k < of->report.table_count; k++)
        free(tables[k]);
    if (!made && by->build->file->reference && !interrupted())
        log_warning("%s: the check fails on the processor, and runs on the GPU: %s",
                    by->build->file->path, reason);
    return made;
}

/* Allocates the memory and reads contents and expected elements, before anything was launched.
 * False if that failed; *status as in cuda_case_fill. */
static bool open_checking(struct checking *checking, const struct cuda_user *by,
                          enum status *status)
{
    struct cuda_device *device = &checking->session->device;
    struct cuda_case *of = checking->of;
    size_t largest = CUDA_GUARD_BYTES;
    bool opened = true, on_cpu;

    for (uint32_t i = 0; opened && i < of->report.buffer_count; i++) {
        const struct cuda_buffer *buffer = &of->buffers[i];
        const uint32_t role = of->report.buffers[i].role;

        largest = buffer->bytes > largest ? buffer->bytes : largest;
        for (uint32_t k = 0; is_compared(of, i) && opened && k < LAUNCHES; k++)
            opened = (checking->seen[k][i] = malloc(buffer->bytes + 1)) != NULL;
        if (role == CBANK_ROLE_INPUT || role == CBANK_ROLE_INOUT)
            opened = opened && (checking->contents[i] = malloc(buffer->bytes + 1)) &&
                     cuda_device_read(device, checking->contents[i], cuda_buffer_at(buffer, 0),
                                      buffer->bytes) &&
                     cuda_device_wait(device);
    }
    for (uint32_t i = 0; opened && i < of->report.buffer_count; i++) {
        const struct cbank_buffer_report *report = &of->report.buffers[i];
        const struct cuda_buffer *buffer = &of->buffers[i];
        const bool file = report->expected_file[0];

        if (!is_compared(of, i) || !(file || report->expects))
            continue;
        checking->expected[i] = malloc(buffer->bytes + 1);
        opened = checking->expected[i] != NULL;
        if (opened && file)
            *status = cuda_case_file(by, report->expected_file, report, checking->expected[i]);
        on_cpu = opened && !file && expect_on_cpu(checking, by, i);
        opened = opened && *status == STATUS_OK;
        if (opened && !file && !on_cpu) { /* on the device, one thread for each */
            struct cbank_request request = cuda_case_request(of, 0, CBANK_CALL_EXPECT, i);

            opened =
                CUDA(device, cudaMalloc, &request.expected, buffer->bytes + 1) &&
                cuda_case_call(device, by, request, report->elements) &&
                cuda_device_read(device, checking->expected[i], request.expected, buffer->bytes) &&
                cuda_device_wait(device);
            CUDA_TRY(device, cudaFree, request.expected);
        }
        checking->reference = file ? REFERENCE_FILE : on_cpu ? REFERENCE_CPU : REFERENCE_GPU;
    }
    for (uint32_t k = 0; k < of->report.table_count; k++)
        largest = of->tables[k].bytes > largest ? of->tables[k].bytes : largest;
    return opened && CUDA(device, cudaMallocHost, (void **)&checking->scratch, largest);
}

static void close_checking(struct checking *checking)
{
    for (uint32_t i = 0; i < CBANK_BUFFERS_MAX; i++) {
        free(checking->contents[i]);
        free(checking->expected[i]);
        for (uint32_t k = 0; k < LAUNCHES; k++)
            free(checking->seen[k][i]);
    }
    CUDA_TRY(&checking->session->device, cudaFreeHost, checking->scratch);
}

/* -- what a launch must leave alone ------------------------------------------------------------ */

/* Checks bytes of a guard zone, which are those from `at` on. `behind`: the zone is behind the
 * buffer. */
static bool check_zone(struct checking *checking, uint32_t number, const void *at, bool behind)
{
    struct cuda_device *device = &checking->session->device;
    const unsigned char *zone = checking->scratch;
    size_t first = CUDA_GUARD_BYTES, last = 0, changed = 0;

    if (!cuda_device_read(device, checking->scratch, at, CUDA_GUARD_BYTES) ||
        !cuda_device_wait(device))
        return false;
    for (size_t i = 0; i < CUDA_GUARD_BYTES; i++)
        if (zone[i] != CUDA_GUARD_BYTE) {
            first = i < first ? i : first;
            last = i;
            changed++;
        }
    if (changed == 0)
        return true;
    checking->findings |= FINDING_GUARD_ZONE;
    FAILS(checking,
          "writes outside buffer %" PRIu32 " of %" PRIu64
          " elements: %zu bytes %s it, the nearest %zu bytes away",
          number + 1, checking->of->report.buffers[number].elements, changed,
          behind ? "behind" : "before", behind ? first : CUDA_GUARD_BYTES - 1 - last);
    return true;
}

/* Checks guard zones, and with `contents` inputs and tables, of a turn, and repairs what is wrong.
 * False if a call failed. */
static bool check_rest(struct checking *checking, const struct cuda_user *user,
                       struct cuda_turn turn, bool contents)
{
    struct cuda_device *device = &checking->session->device;
    const struct cuda_case *of = checking->of;
    bool called = true;

    for (uint32_t i = 0; called && i < of->report.buffer_count; i++) {
        const struct cuda_buffer *buffer = &of->buffers[i];
        unsigned char *const at = cuda_buffer_at(buffer, turn.buffer_set);

        called = check_zone(checking, i, at - CUDA_GUARD_BYTES, false) &&
                 check_zone(checking, i, at + buffer->bytes, true) &&
                 cuda_buffer_guard(device, buffer, turn.buffer_set);
        if (!called || !contents || of->report.buffers[i].role != CBANK_ROLE_INPUT)
            continue;
        called = cuda_device_read(device, checking->scratch, at, buffer->bytes) &&
                 cuda_device_wait(device);
        if (!called || memcmp(checking->scratch, checking->contents[i], buffer->bytes) == 0)
            continue;
        checking->findings |= FINDING_INPUT_CHANGED;
        FAILS(checking, "changes buffer %" PRIu32 ", which is an input; make it an inout", i + 1);
        called = cuda_device_write(device, at, checking->contents[i], buffer->bytes);
    }
    for (uint32_t k = 0; called && contents && k < of->report.table_count; k++) {
        const struct cuda_table *table = &of->tables[k];
        uint32_t *const at = cuda_table_at(table, turn.buffer_set, turn.table_offset);
        const size_t bytes = user->report.tables[k].entries * user->report.tables[k].entry_bytes;

        called = cuda_device_read(device, checking->scratch, at, bytes) && cuda_device_wait(device);
        if (!called || memcmp(checking->scratch, table->values, bytes) == 0)
            continue;
        checking->findings |= FINDING_INPUT_CHANGED;
        FAILS(checking, "changes the entries of table %.60s", user->report.tables[k].name);
        called = cuda_device_write(device, at, table->values, bytes);
    }
    return called && cuda_device_wait(device);
}

/* -- outputs ----------------------------------------------------------------------------------- */

/* Compares the output of a launch with another. False, with the reason, if an element differs:
 * "WHAT: element 5 of buffer 1 is 3, AS 4". */
static bool agrees(struct checking *checking, uint32_t number, const void *found,
                   const void *expected, const char *what, const char *as)
{
    const struct cbank_buffer_report *elements = &checking->of->report.buffers[number];
    const uint64_t at = elements_differ(elements, found, expected);
    char text[ELEMENT_TEXT_BYTES], other[ELEMENT_TEXT_BYTES];

    if (at == elements->elements)
        return true;
    FAILS(checking, "%s: element %" PRIu64 " of buffer %" PRIu32 " is %s, %.60s %s", what, at,
          number + 1, element_text(elements, found, at, text), as,
          element_text(elements, expected, at, other));
    return false;
}

/* Checks the outputs of all launches in a buffer. */
static void check_output(struct checking *checking, uint32_t number)
{
    static const char *const differs[] =
        {"differs from launch to launch",
         "differs from launch to launch (accept() takes a tolerance)"};
    const struct cbank_buffer_report *elements = &checking->of->report.buffers[number];
    const size_t bytes = checking->of->buffers[number].bytes;
    const struct cuda_case *rival = checking->rival;
    const unsigned char *first = checking->seen[FIRST][number],
                        *restored = checking->seen[RESTORED][number];
    const unsigned char *expected = checking->expected[number];
    const unsigned char *kept = expected ? NULL : checking->of->kept[number];

    /* Where a reference has NaN or infinity, the output may. */
    if (elements_not_finite(elements, first, expected) < elements->elements &&
        !(expected && elements_not_finite(elements, expected, true) < elements->elements))
        checking->findings |= FINDING_NOT_A_NUMBER;
    if (elements->role == CBANK_ROLE_OUTPUT) {
        const uint64_t at =
            elements_untouched(elements, first, poisons[FIRST], restored, poisons[RESTORED]);

        if (at < elements->elements) {
            FAILS(checking,
                  "does not write element %" PRIu64 " of buffer %" PRIu32
                  "; make it an inout if that is meant",
                  at, number + 1);
            return;
        }
    }
    if (expected)
        agrees(checking, number, first, expected, "wrong output", "not");
    if (memcmp(first, restored, bytes) != 0) {
        checking->findings |= FINDING_NOT_DETERMINISTIC;
        if (!agrees(checking, number, restored, first, differs[elements->type == CBANK_TYPE_FLOAT],
                    "before"))
            return;
    }
    if (kept)
        agrees(checking, number, first, kept, "differs between memory spaces", checking->like);
    /* Both kernel files must have such a buffer with elements of one type. */
    if (rival && rival->kept[number] && rival->buffers[number].bytes == bytes &&
        rival->report.buffers[number].type == elements->type &&
        rival->report.buffers[number].element_bytes == elements->element_bytes &&
        rival->report.buffers[number].role == elements->role)
        agrees(checking, number, first, rival->kept[number], "differs between the kernel files",
               "with the first");
    if (elements_differ(elements, checking->seen[AGAIN][number], first) < elements->elements)
        checking->findings |= FINDING_EARLIER_LAUNCH;
}

/* -- builds ------------------------------------------------------------------------------------ */

/* Launches a build three times, restores buffers before, and keeps what it wrote. False if a call
 * failed. */
static bool launch_all(const struct checking *checking, const struct cuda_user *user,
                       const struct cuda_turn turns[LAUNCHES], struct cell_result *cell)
{
    struct cuda_device *device = &checking->session->device;
    const struct cuda_case *of = checking->of;

    for (uint32_t k = 0; k < LAUNCHES; k++) {
        const uint32_t set = turns[k].buffer_set;
        bool called = true;

        cuda_expect_cell(device, cell, 1);
        for (uint32_t i = 0; called && k != AGAIN && i < of->report.buffer_count; i++) {
            const uint32_t role = of->report.buffers[i].role;
            const unsigned char poison = role == CBANK_ROLE_OUTPUT ? poisons[k] : 0;
            void *const at = cuda_buffer_at(&of->buffers[i], set);

            if (role == CBANK_ROLE_INOUT)
                called = cuda_device_write(device, at, checking->contents[i], of->buffers[i].bytes);
            else if (role != CBANK_ROLE_INPUT)
                called = cuda_device_set(device, at, poison, of->buffers[i].bytes);
        }
        called = called && cuda_user_launch(device, user, turns[k]);
        for (uint32_t i = 0; called && i < of->report.buffer_count; i++)
            if (is_compared(of, i))
                called =
                    cuda_device_read(device, checking->seen[k][i],
                                     cuda_buffer_at(&of->buffers[i], set), of->buffers[i].bytes);
        if (!called || !cuda_device_wait(device))
            return false;
    }
    return true;
}

/* Verifies a build, on buffer sets and table offsets from `number` on. Its cells that cannot go on
 * fail. STATUS_ENVIRONMENT, logged, when out of memory. */
static enum status verify_user(struct checking *checking, const struct cuda_user *user,
                               uint32_t number)
{
    const bool rivals = checking->result->kernel_count == 2 && checking->result->kernels[1].against;
    struct cuda_device *device = &checking->session->device;
    struct cuda_case *of = checking->of;
    struct cell_result *cell = cuda_user_cell(user, checking->result, false);
    const uint32_t sets = user->buffer_sets;
    const struct cuda_turn one = {0, number % sets, number},
                           other = {0, (number + 1) % sets, number + 1};
    const struct cuda_turn turns[LAUNCHES] = {one, one, other};
    const struct fault *fault = checking->session->options->fault;
    enum status status = STATUS_OK;

    if (!checking->scratch) {
        cuda_expect_cell(device, cell, REFERENCE_PATIENCE);
        if (!open_checking(checking, user, &status)) {
            close_checking(checking);
            *checking = (struct checking){.session = checking->session,
                                          .result = checking->result,
                                          .of = of};
            return status == STATUS_OK ? cuda_fail(device, cell, "cannot compute what to expect")
                                       : status;
        }
    }
    checking->reason[0] = '\0';
    checking->findings = 0;
    if (!launch_all(checking, user, turns, cell) || !check_rest(checking, user, one, true) ||
        !check_rest(checking, user, other, checking->findings & FINDING_INPUT_CHANGED)) {
        const struct cell_result *const failed = cell;

        status = cuda_fail(device, cell, "launch failed");
        while (status == STATUS_OK && (cell = cuda_user_cell(user, checking->result, false)))
            engine_end_cell(cell, CELL_FAILED, "%s", failed->reason);
        return status;
    }
    for (uint32_t i = 0; i < of->report.buffer_count; i++) {
        const struct cbank_buffer_report *elements = &of->report.buffers[i];

        if (!is_compared(of, i))
            continue;
        /* The highest byte of an element, with the sign and most of the exponent. */
        if (fault && fault->output && elements->elements > 0)
            checking->seen[FIRST][i][(elements->elements / 2 + 1) * elements->element_bytes - 1] ^=
                0x40;
        check_output(checking, i);
    }
    while ((cell = cuda_user_cell(user, checking->result, false))) {
        cell->of_case.findings = checking->findings;
        cell->of_case.reference = checking->reference;
        if (checking->reason[0])
            engine_end_cell(cell, CELL_FAILED, "%s", checking->reason);
        cell->verified = !checking->reason[0];
    }
    /* The outputs of the first right build are kept: where there is no reference, others must agree
     * with it, and where there is another kernel file, that one's. */
    for (uint32_t i = 0; !checking->reason[0] && i < of->report.buffer_count; i++) {
        if (!is_compared(of, i) || of->kept[i] || (checking->expected[i] && !rivals))
            continue;
        of->kept[i] = malloc(of->buffers[i].bytes + 1);
        if (!of->kept[i])
            return log_memory("an output");
        memcpy(of->kept[i], checking->seen[FIRST][i], of->buffers[i].bytes);
        snprintf(checking->like, sizeof(checking->like), "with %s", user->build->kernel.spaces);
    }
    return STATUS_OK;
}

enum status cuda_users_verify(struct engine_session *session, struct result *result,
                              const struct progress *progress)
{
    enum status status = STATUS_OK;
    uint32_t number = 0;

    for (struct cuda_case *of = session->device.memory->cases; status == STATUS_OK && of;
         of = of->next) {
        struct checking checking = {.session = session, .result = result, .of = of};

        if (of->users && of->users->build->file->against) {
            checking.rival = session->device.memory->cases;
            while (checking.rival && (checking.rival->size != of->size || !checking.rival->users ||
                                      checking.rival->users->build->file->against))
                checking.rival = checking.rival->next;
        }
        /* Without a reference, others must agree with the build as the file has it. */
        for (int as_written = 1; as_written >= 0; as_written--)
            for (struct cuda_user *user = of->users; status == STATUS_OK && user; user = user->next)
                if (user->build->as_written == as_written && cuda_user_cell(user, result, false)) {
                    if (progress->step(progress->context, "verifying", number,
                                       result->cell_count)) {
                        close_checking(&checking);
                        return STATUS_OK;
                    }
                    status = verify_user(&checking, user, number++);
                }
        close_checking(&checking);
    }
    return status;
}
