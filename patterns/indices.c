/* SPDX-License-Identifier: MIT */
#include "indices.h"

#include <string.h>

/* The types that an array can have. Each has a loop of its own, so that the compiler knows the width that it reads. */
#define EACH_TYPE(DO)  \
    DO(uint8_t, 1, 0)  \
    DO(int8_t, 1, 1)   \
    DO(uint16_t, 2, 0) \
    DO(int16_t, 2, 1)  \
    DO(uint32_t, 4, 0) \
    DO(int32_t, 4, 1)  \
    DO(uint64_t, 8, 0) \
    DO(int64_t, 8, 1)

/* A negative value is beyond every length. */
#define DEFINE(type, width, sign)                                            \
    static void read_##type(const char *at, uint64_t count, uint32_t *index) \
    {                                                                        \
        for (uint64_t i = 0; i < count; i++) {                               \
            type value;                                                      \
                                                                             \
            memcpy(&value, at + i * sizeof(value), sizeof(value));           \
            index[i] = (uint32_t)value;                                      \
        }                                                                    \
    }                                                                        \
    static uint64_t highest_##type(const char *at, uint64_t count)           \
    {                                                                        \
        uint64_t highest = 0;                                                \
                                                                             \
        for (uint64_t i = 0; i < count; i++) {                               \
            type value;                                                      \
                                                                             \
            memcpy(&value, at + i * sizeof(value), sizeof(value));           \
            highest = (uint64_t)value > highest ? (uint64_t)value : highest; \
        }                                                                    \
        return highest;                                                      \
    }
EACH_TYPE(DEFINE)

static const struct type {
    uint32_t bytes;
    int is_signed;
    void (*read)(const char *at, uint64_t count, uint32_t *index);
    uint64_t (*highest)(const char *at, uint64_t count);
} types[] = {
#define ROW(type, width, sign) {width, sign, read_##type, highest_##type},
    EACH_TYPE(ROW)};

static const struct type *type_of(const struct indices *indices)
{
    const struct type *type = types;

    while (type->bytes != indices->bytes || !type->is_signed != !indices->is_signed)
        type++;
    return type;
}

static const char *place_at(const struct indices *indices, uint64_t place)
{
    return (const char *)indices->values + place * indices->bytes;
}

void indices_read(const struct indices *indices, uint64_t first, uint32_t count, uint32_t *index)
{
    type_of(indices)->read(place_at(indices, first), count, index);
}

uint64_t indices_highest(const struct indices *indices)
{
    return type_of(indices)->highest(indices->values, indices->count);
}

uint64_t indices_first_beyond(const struct indices *indices, uint64_t length)
{
    const struct type *type = type_of(indices);
    uint64_t place = 0;

    while (place < indices->count && type->highest(place_at(indices, place), 1) < length)
        place++;
    return place;
}

int64_t indices_at(const struct indices *indices, uint64_t place)
{
    return (int64_t)type_of(indices)->highest(place_at(indices, place), 1);
}
