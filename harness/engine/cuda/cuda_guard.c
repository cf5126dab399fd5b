/* SPDX-License-Identifier: MIT
 * What a launch must leave alone: the zones around its buffers, its inputs and its tables.
 *
 *     | zone | buffer ......................... | zone |
 *       0xC5   bytes of the launch                0xC5      each zone has guard_bytes */
#include <inttypes.h>
#include <string.h>

#include "cuda_check.h"

/* Checks bytes of a guard zone, which are those from `zone` on. `behind`: the zone is behind the
 * buffer. */
static bool check_zone(struct cuda_device *device, struct check *check, uint32_t number,
                       const void *zone, bool behind)
{
    const struct launchable_buffer *buffer = &check->launchable->buffers[number];
    const size_t bytes = buffer->memory->guard_bytes;
    size_t first = bytes, last = 0, changed = 0;

    if (!cuda_device_read(device, check->scratch, zone, bytes) || !cuda_device_wait(device))
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (check->scratch[i] != CUDA_GUARD_BYTE) {
            first = i < first ? i : first;
            last = i;
            changed++;
        }
    if (changed == 0)
        return true;
    check->findings |= FINDING_GUARD_ZONE;
    check_fails(check,
                "writes outside buffer %" PRIu32
                " of %zu elements: %zu bytes %s it, the nearest %zu bytes away",
                number + 1, buffer->bytes / buffer->element_bytes, changed,
                behind ? "behind" : "before", behind ? first : bytes - 1 - last);
    return true;
}

/* Reads bytes that a launch must not change. False if a call failed; *changed: they are others. */
static bool compare_with(struct cuda_device *device, struct check *check, void *address,
                         const void *expected, size_t bytes, bool *changed)
{
    if (!cuda_device_read(device, check->scratch, address, bytes) || !cuda_device_wait(device))
        return false;
    *changed = memcmp(check->scratch, expected, bytes) != 0;
    if (!*changed)
        return true;
    check->findings |= FINDING_INPUT_CHANGED;
    return cuda_device_write(device, address, expected, bytes);
}

static bool check_buffer(struct cuda_device *device, struct check *check, uint32_t number,
                         struct cuda_turn turn, bool contents)
{
    const struct launchable_buffer *buffer = &check->launchable->buffers[number];
    unsigned char *const first = launchable_buffer_at(check->launchable, number, turn);
    bool changed = false;

    if (!check_zone(device, check, number, first - buffer->memory->guard_bytes, false) ||
        !check_zone(device, check, number, first + buffer->bytes, true) ||
        !cuda_buffer_guard(device, buffer->memory, turn.buffer_set))
        return false;
    if (!contents || buffer->role != CBANK_ROLE_INPUT)
        return true;
    if (!compare_with(device, check, first, check->contents[number], buffer->bytes, &changed))
        return false;
    if (changed)
        check_fails(check, "changes buffer %" PRIu32 ", which is an input; make it an inout",
                    number + 1);
    return true;
}

static bool check_table(struct cuda_device *device, struct check *check, uint32_t number,
                        struct cuda_turn turn)
{
    const struct launchable_table *table = launchable_table_of(check->launchable, number, turn);
    bool changed = false;

    if (!compare_with(device, check,
                      cuda_table_at(table->table, turn.buffer_set, turn.table_offset),
                      table->table->values, table->bytes, &changed))
        return false;
    if (changed)
        check_fails(check, "changes the entries of table %.60s", table->name);
    return true;
}

bool check_guarded(struct cuda_device *device, struct check *check, struct cuda_turn turn,
                   bool contents)
{
    const struct launchable *launchable = check->launchable;

    for (uint32_t i = 0; i < launchable->buffer_count; i++)
        if (!check_buffer(device, check, i, turn, contents))
            return false;
    for (uint32_t k = 0; contents && k < launchable->table_count; k++)
        if (!check_table(device, check, k, turn))
            return false;
    return cuda_device_wait(device);
}
