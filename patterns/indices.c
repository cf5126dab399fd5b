/* SPDX-License-Identifier: MIT
 * Reading indices of 1, 2, 4 or 8 bytes, with a sign or without, as the file has them. They are
 * extended when they are read, and nothing is converted beforehand. */
#include "indices.h"

#include <string.h>

/* The index at a position, extended to 64 bits by its sign: a negative value is beyond every
 * length. */
static uint64_t value_at(const struct indices *indices, uint64_t position)
{
    const char *place = (const char *)indices->values + position * indices->bytes;
    const uint32_t unused = 64 - 8 * indices->bytes;
    uint64_t value = 0;

    switch (indices->bytes) { /* copies of a known size are one instruction */
    case 1:
        memcpy(&value, place, 1);
        break;
    case 2:
        memcpy(&value, place, 2);
        break;
    case 4:
        memcpy(&value, place, 4);
        break;
    default:
        memcpy(&value, place, 8);
    }
    return indices->is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

void indices_read(const struct indices *indices, uint64_t first, uint32_t count, uint32_t *index)
{
    for (uint32_t i = 0; i < count; i++)
        index[i] = (uint32_t)value_at(indices, first + i);
}

uint64_t indices_highest(const struct indices *indices)
{
    uint64_t highest = 0;

    for (uint64_t i = 0; i < indices->count; i++) {
        const uint64_t value = value_at(indices, i);

        highest = value > highest ? value : highest;
    }
    return highest;
}

uint64_t indices_first_beyond(const struct indices *indices, uint64_t length)
{
    uint64_t position = 0;

    while (position < indices->count && value_at(indices, position) < length)
        position++;
    return position;
}

int64_t indices_at(const struct indices *indices, uint64_t position)
{
    return (int64_t)value_at(indices, position);
}
