/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "sass.h"
#include "text.h"

#define NAMES(base, rest) {base ".U8" rest, base ".U16" rest, base rest, base ".64" rest, base ".128" rest}

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
};

/* Read off what the compilers of CUDA 11.8 and 13.0 make for every architecture. */
static const uint32_t class_widest[SASS_CLASS_COUNT] = {
    [SASS_LDC] = 8,  [SASS_LDC_PARAMETER] = 8, [SASS_ULDC] = 8, [SASS_OPERAND] = 4,
    [SASS_LDG] = 16, [SASS_LDG_CONSTANT] = 16, [SASS_TLD] = 16, [SASS_LDG_STRONG] = 16,
    [SASS_LDS] = 16, [SASS_SHFL] = 4,          [SASS_SEL] = 4,
};

enum sass_class image_class(const struct path *path)
{
    enum sass_class class = 0;

    while (class < SASS_CLASS_COUNT - 1 && strcmp(sass_names[class][SASS_WORD], path->sass) != 0)
        class ++;
    return class;
}

uint32_t image_widest(const struct path *path)
{
    return class_widest[image_class(path)];
}

uint32_t image_class_loads(const struct kernel_sass *sass, enum sass_class class)
{
    uint32_t loads = 0;

    for (uint32_t width = 0; width < SASS_WIDTH_COUNT; width++)
        loads += sass->classes[class][width];
    return loads;
}

/* Of one instruction of a payload load. Textures, operands, shuffles and selections give 32 bits at least. */
static uint32_t payload_width(const struct cell *cell)
{
    const enum sass_class class = image_class(cell->path);
    const bool whole_words = class == SASS_TLD || class == SASS_OPERAND || class >= SASS_SHFL;
    const uint32_t width = cell->path->loads ? table_width(cell->parameters) : sizeof(uint32_t);
    const uint32_t piece = width < class_widest[class] ? width : class_widest[class];

    return whole_words && piece < sizeof(uint32_t) ? sizeof(uint32_t) : piece;
}

/* Of `count` words, a power of two, one: compilers make two SEL of a choice of four, the second under a predicate. */
static uint32_t selections(uint32_t count)
{
    return count < 4 ? count / 2 : count / 4 * 2 + selections(count / 4);
}

uint32_t image_pieces(const struct cell *cell)
{
    const uint32_t width = cell->path->loads ? table_width(cell->parameters) : sizeof(uint32_t);
    const uint32_t words = width > payload_width(cell) ? width / payload_width(cell) : 1;

    return cell->path->unit == UNIT_SELECT ? words * selections(path_held(cell->path) / words) : words;
}

const char *image_instruction(const struct cell *cell)
{
    return sass_names[image_class(cell->path)][__builtin_ctz(payload_width(cell))];
}

/* Where a thread takes an entry of the table into a register, or copies it into shared memory: by words where there is
 * one copy, or all of it in registers. */
static unsigned copied_width(const struct cell *cell)
{
    return path_is_small(cell->path) && cell->path->unit != UNIT_SELECT
               ? (unsigned)__builtin_ctz(table_width(cell->parameters))
               : SASS_WORD;
}

/* The loads of a cell's kernel, without the copies that staging makes. A path that stages and loads nothing has one
 * load that never happens. */
static void classes_wanted(const struct cell *cell, sass_loads classes)
{
    /* Of a loop that is executed for each group of lookups in flight, the instructions are there once. */
    const uint32_t groups = workload_groups(cell->workload, cell->parameters);
    const uint32_t payload = cell->path->loads ? workload_steps(cell->workload, cell->parameters) / groups : 1;

    memset(classes, 0, sizeof(sass_loads));
    classes[image_class(cell->path)][__builtin_ctz(payload_width(cell))] += payload * image_pieces(cell);
    classes[SASS_LDG][SASS_WORD] += workload_input_loads(cell->workload, cell->parameters) / groups;
    classes[SASS_LDS][SASS_WORD] += workload_tile_loads(cell->workload, cell->parameters);
    classes[SASS_LDG][copied_width(cell)] += path_held(cell->path);
}

/* Of the classes before `end`. */
static void classes_append(const struct kernel_sass *sass, enum sass_class end, char text[CELL_REASON_BYTES])
{
    const char *separator = "";

    for (size_t i = 0; i < end; i++)
        for (uint32_t width = 0; width < SASS_WIDTH_COUNT; width++)
            if (sass->classes[i][width]) {
                text_join(text, CELL_REASON_BYTES, separator, "%" PRIu32 " %s", sass->classes[i][width],
                          sass_names[i][width]);
                separator = ", ";
            }
}

void image_classes(const struct kernel_sass *sass, char text[CELL_REASON_BYTES])
{
    text[0] = '\0';
    classes_append(sass, SASS_SEL, text);
}

bool image_kernel_differs(const struct cell *cell, const struct kernel_sass *sass, char text[CELL_REASON_BYTES])
{
    const bool staged = cell->path->unit == UNIT_SHARED;
    const enum sass_class own = image_class(cell->path), end = own == SASS_SEL ? SASS_CLASS_COUNT : SASS_SEL;
    struct kernel_sass wanted;
    bool differs = false;

    if (!sass->known)
        return false;
    classes_wanted(cell, wanted.classes);
    /* Compilers pass values of a warp on by shuffles, too, and select: those are no loads of the table. */
    for (size_t i = SASS_SHFL; i < SASS_CLASS_COUNT; i++)
        if (i != own)
            memcpy(wanted.classes[i], sass->classes[i], sizeof(wanted.classes[i]));
    for (size_t i = 0; i < SASS_CLASS_COUNT; i++)
        for (uint32_t width = 0; width < SASS_WIDTH_COUNT; width++) {
            const uint32_t found = sass->classes[i][width], due = wanted.classes[i][width];

            differs |= staged && i == SASS_LDG && width == copied_width(cell) ? found <= due : found != due;
        }
    if (!differs)
        return false;
    snprintf(text, CELL_REASON_BYTES, "%s wants ", cell->path->name);
    classes_append(&wanted, end, text);
    text_join(text, CELL_REASON_BYTES, "", "%s; the kernel has ", staged ? " and copies" : "");
    classes_append(sass, end, text);
    return true;
}
