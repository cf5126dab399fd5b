/* SPDX-License-Identifier: MIT
 * Which instruction a payload load is, and how many a load takes: see payload.h. */
#include "payload.h"

#include <string.h>

#include "user_cell.h"

#define NAMES(base, rest) \
    {base ".U8" rest, base ".U16" rest, base rest, base ".64" rest, base ".128" rest}

const char *const sass_names[SASS_CLASS_COUNT][SASS_WIDTH_COUNT] = {
    [SASS_LDC] = NAMES("LDC", ""),
    [SASS_LDC_PARAMETER] = NAMES("LDC", ".PARAMETER"),
    [SASS_ULDC] = NAMES("ULDC", ""),
    [SASS_OPERAND] = NAMES("OPERAND", ""),
    [SASS_LDG] = NAMES("LDG", ""),
    [SASS_LDG_CONSTANT] = NAMES("LDG", ".CONSTANT"),
    [SASS_LDG_STRONG] = NAMES("LDG", ".STRONG"),
    [SASS_TLD] = NAMES("TLD", ""),
    [SASS_LDS] = NAMES("LDS", ""),
    [SASS_SHFL] = NAMES("SHFL", ""),
    [SASS_SEL] = NAMES("SEL", ""),
    [SASS_PRMT] = NAMES("PRMT", ""),
};

/* Derived from the code that the compilers of CUDA 11.8 and 13.0 make for every architecture. */
static const uint32_t class_widest[SASS_CLASS_COUNT] = {
    [SASS_LDC] = 8,  [SASS_LDC_PARAMETER] = 8, [SASS_ULDC] = 8, [SASS_OPERAND] = 4,
    [SASS_LDG] = 16, [SASS_LDG_CONSTANT] = 16, [SASS_TLD] = 16, [SASS_LDG_STRONG] = 16,
    [SASS_LDS] = 16, [SASS_SHFL] = 4,          [SASS_SEL] = 4,  [SASS_PRMT] = 4,
};

enum sass_class payload_class(const struct path *path)
{
    enum sass_class class = 0;

    while (class < SASS_CLASS_COUNT - 1 && strcmp(sass_names[class][SASS_WORD], path->sass) != 0)
        class ++;
    return class;
}

uint32_t payload_widest(const struct path *path)
{
    return class_widest[payload_class(path)];
}

/* The width of one instruction of a payload load: the power of two that divides that of an element,
 * up to the widest load. Textures, operands, shuffles and selections return at least 32 bits. */
uint32_t payload_bytes(const struct cell *cell)
{
    const enum sass_class class = payload_class(cell->path);
    const bool whole_words = class == SASS_TLD || class == SASS_OPERAND || class >= SASS_SHFL;
    const uint32_t width = cell->path->loads ? table_width(cell->parameters) : sizeof(uint32_t);
    const uint32_t even = width & -width, widest = class_widest[class],
                   piece = even < widest ? even : widest;

    return whole_words && piece < sizeof(uint32_t) ? sizeof(uint32_t) : piece;
}

/* SEL instructions that choose one of `count` words, a power of two. Compilers make two SEL for a
 * choice of four, the second under a predicate. */
static uint32_t selections(uint32_t count)
{
    return count < 4 ? count / 2 : count / 4 * 2 + selections(count / 4);
}

uint32_t payload_pieces(const struct cell *cell)
{
    const uint32_t width = cell->path->loads ? table_width(cell->parameters) : sizeof(uint32_t);
    const uint32_t words = width > payload_bytes(cell) ? width / payload_bytes(cell) : 1;

    if (payload_class(cell->path) == SASS_PRMT)
        return path_held(cell->path) / 2;
    return cell->path->unit == UNIT_SELECT ? words * selections(path_held(cell->path) / words)
                                           : words;
}

const char *payload_instruction(const struct cell *cell)
{
    if (cell_table_width(cell) == 0)
        return NULL;
    return sass_names[payload_class(cell->path)][__builtin_ctz(payload_bytes(cell))];
}
