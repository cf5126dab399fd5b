/* SPDX-License-Identifier: MIT
 * The phase `verify` of the CUDA engine: every output element of every cell against a reference.
 * Cells that launch the same share a check. */
#include <math.h>

#include "cuda_check.h"
#include "engine_cuda.h"

enum { FAULT_BITS = 0x20 }; /* of the highest byte of an element: they also matter in floats */

const unsigned char check_poisons[CHECK_LAUNCHES] = {[CHECK_FIRST] = 0xA5, [CHECK_RESTORED] = 0x5A};

/* What a planted fault changes: one element of each output of the first launch. */
static void plant_fault(const struct check *check)
{
    for (uint32_t i = 0; i < check->launchable->buffer_count; i++) {
        const struct launchable_buffer *buffer = &check->launchable->buffers[i];
        const size_t elements = buffer->bytes / buffer->element_bytes;
        unsigned char *seen = check->seen[CHECK_FIRST][i];

        if (seen && elements > 0)
            seen[(elements / 2 + 1) * buffer->element_bytes - 1] ^= FAULT_BITS;
    }
}

/* Gives the cells of a launchable their verdict. */
static void give_verdict(struct engine_session *session, struct result *result,
                         const struct check *check)
{
    struct cell_result *cell;

    while ((cell = launchable_cell(session, result, check->launchable))) {
        cell->of_case.findings = check->findings;
        cell->of_case.reference = check->how;
        if (check->reason[0])
            engine_end_cell(cell, CELL_FAILED, "%s", check->reason);
        else if (check->last)
            cell->verified = true;
        else
            return; /* other modules follow */
    }
}

/* Compares what the launches of a check wrote, unless its cells have failed. */
static enum status settle(struct engine_session *session, struct result *result,
                          struct check *check)
{
    const struct launchable_reference *reference;
    const struct fault *fault = session->options->fault;

    if (!check->launchable || !launchable_cell(session, result, check->launchable))
        return STATUS_OK;
    reference = check->launchable->reference;
    if (fault && fault->output)
        plant_fault(check);
    watch_begin(session->options->watchdog, "comparing with the CPU", INFINITY);
    reference->compare(session, check);
    watch_end(session->options->watchdog);
    give_verdict(session, result, check);
    return !check->reason[0] && reference->keep ? reference->keep(session, check) : STATUS_OK;
}

/* Gives the buffers of a launch the contents that it begins with. */
static bool restore_buffers(struct cuda_device *device, const struct check *check, uint32_t launch)
{
    const struct launchable *launchable = check->launchable;

    for (uint32_t i = 0; i < launchable->buffer_count; i++) {
        const struct launchable_buffer *buffer = &launchable->buffers[i];
        void *const first = launchable_buffer_at(launchable, i, check->turns[launch]);
        const int poison = buffer->role == CBANK_ROLE_OUTPUT ? check_poisons[launch] : 0;

        if (buffer->role == CBANK_ROLE_INPUT)
            continue;
        if (!(buffer->role == CBANK_ROLE_INOUT
                  ? cuda_device_write(device, first, check->contents[i], buffer->bytes)
                  : cuda_device_set(device, first, poison, buffer->bytes)))
            return false;
    }
    return true;
}

/* Enqueues a launch of a check, and the copy of what it writes. */
static bool enqueue(struct cuda_device *device, const struct check *check, uint32_t launch)
{
    const struct launchable *launchable = check->launchable;
    const struct cuda_turn turn = check->turns[launch];

    if (!launchable_clear_table(device, launchable, turn) ||
        (launch != CHECK_AGAIN && !restore_buffers(device, check, launch)) ||
        !(launchable->action ? launchable->action->check : launchable_launch)(device, launchable,
                                                                              turn))
        return false;
    for (uint32_t i = 0; i < launchable->buffer_count; i++)
        if (check->seen[launch][i] && !cuda_device_read(device, check->seen[launch][i],
                                                        launchable_buffer_at(launchable, i, turn),
                                                        launchable->buffers[i].bytes))
            return false;
    return true;
}

/* Launches a check. While the first launch runs, *before is settled: the previous check, possibly
 * of another cell. False if a call failed. */
static bool launch_check(struct engine_session *session, struct result *result, struct check *check,
                         struct cell_result *cell, struct check *before, enum status *status)
{
    struct cuda_device *device = &session->device;
    const struct launchable *launchable = check->launchable;

    for (uint32_t k = 0; k < launchable->check_launches; k++) {
        bool enqueued;

        cuda_expect_cell(device, cell, launchable_seconds(launchable, 1));
        enqueued = enqueue(device, check, k);
        /* Even after a failure: other cells read the table, too. */
        enqueued = launchable_restore_table(device, launchable, check->turns[k]) && enqueued;
        *status = status_worse(*status, settle(session, result, before));
        before->launchable = NULL;
        if (!enqueued || !cuda_device_wait(device))
            return false;
    }
    return !launchable->guarded || (check_guarded(device, check, check->turns[CHECK_FIRST], true) &&
                                    check_guarded(device, check, check->turns[CHECK_RESTORED],
                                                  check->findings & FINDING_INPUT_CHANGED));
}

/* Ends a cell that cannot be launched, and the others of its launchable. */
static enum status fail_all(struct engine_session *session, struct result *result,
                            struct launchable *launchable, struct cell_result *first)
{
    const enum status status = cuda_fail(&session->device, first, "launch failed");
    struct cell_result *cell;

    while (status == STATUS_OK && (cell = launchable_cell(session, result, launchable)))
        engine_end_cell(cell, CELL_FAILED, "%s", first->reason);
    return status;
}

/* Checks a launchable in each of its modules, on buffer sets and table offsets from its number on,
 * so that the cells of a plan use all of them. */
static enum status verify(struct engine_session *session, struct result *result,
                          struct launchable *launchable, struct check *before)
{
    const uint32_t sets = launchable_buffer_sets(launchable);
    struct cell_result *cell;
    enum status status = STATUS_OK;

    for (uint32_t k = 0; status == STATUS_OK && k < launchable->modules &&
                         (cell = launchable_cell(session, result, launchable));
         k++) {
        const uint32_t place = (uint32_t)(launchable->number + k);
        const struct cuda_turn turn = {k, place % sets, place},
                               next = {k, (place + 1) % sets, place + 1};
        struct check check = {.launchable = launchable,
                              .turns = {turn, turn, next},
                              .last = k + 1 == launchable->modules};

        if (!launchable->reference->open(session, result, &check, &status))
            return status == STATUS_OK
                       ? cuda_fail(&session->device, cell, "cannot compute what to expect")
                       : status;
        if (!launch_check(session, result, &check, cell, before, &status))
            return status_worse(status, fail_all(session, result, launchable, cell));
        *before = check;
        /* What a guarded launch wrote is compared at once: its memory is the next one's. */
        if (launchable->guarded)
            status = status_worse(status, settle(session, result, before));
        if (launchable->guarded)
            before->launchable = NULL;
    }
    return status;
}

enum status cuda_verify(struct engine_session *session, struct result *result,
                        const struct progress *progress)
{
    struct check before = {.launchable = NULL};
    enum status status = STATUS_OK;

    for (struct launchable *launchable = session->launchables; status == STATUS_OK && launchable;
         launchable = launchable->next) {
        if (progress->step(progress->context, "verifying", launchable->number, result->cell_count))
            break;
        status = verify(session, result, launchable, &before);
    }
    status = status_worse(status, settle(session, result, &before));
    for (struct launchable *launchable = session->launchables; launchable;
         launchable = launchable->next)
        if (launchable->reference->close)
            launchable->reference->close(session);
    return status;
}
