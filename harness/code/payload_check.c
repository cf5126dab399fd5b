/* SPDX-License-Identifier: MIT
 * Whether the loads of a kernel are those that its cell names. */
#include <inttypes.h>
#include <string.h>

#include "sass.h"
#include "text.h"

uint32_t sass_class_loads(const struct kernel_sass *sass, enum sass_class class)
{
    uint32_t loads = 0;

    for (uint32_t width = 0; width < SASS_WIDTH_COUNT; width++)
        loads += sass->classes[class][width];
    return loads;
}

/* The width of the loads that copy the table into registers or shared memory. They load words where
 * there is one copy or where registers hold the whole table, else entries. */
static unsigned copied_width(const struct cell *cell)
{
    return path_is_small(cell->path) && cell->path->unit != UNIT_SELECT
               ? (unsigned)__builtin_ctz(table_width(cell->parameters))
               : SASS_WORD;
}

/* Appends the classes before `end`. */
static void classes_append(const struct kernel_sass *sass, enum sass_class end,
                           char text[CELL_REASON_BYTES])
{
    const char *separator = "";

    for (size_t i = 0; i < end; i++)
        for (uint32_t width = 0; width < SASS_WIDTH_COUNT; width++)
            if (sass->classes[i][width]) {
                text_join(text, CELL_REASON_BYTES, separator, "%" PRIu32 " %s",
                          sass->classes[i][width], sass_names[i][width]);
                separator = ", ";
            }
}

void sass_classes_text(const struct kernel_sass *sass, char text[CELL_REASON_BYTES])
{
    static const char *const copies[SASS_COPY_COUNT] =
        {[SASS_LDGSTS] = "LDGSTS", [SASS_UBLKCP] = "UBLKCP"};

    text[0] = '\0';
    classes_append(sass, SASS_SEL, text);
    for (size_t i = 0; i < SASS_COPY_COUNT; i++)
        if (sass->copies[i])
            text_join(text, CELL_REASON_BYTES, ", ", "%" PRIu32 " %s", sass->copies[i], copies[i]);
}

bool sass_differs(const struct cell *cell, const struct kernel_sass *sass,
                  char text[CELL_REASON_BYTES])
{
    const struct workload *workload = cell->workload;
    const bool staged = cell->path->unit == UNIT_SHARED;
    const enum sass_class own = payload_class(cell->path),
                          end = own >= SASS_SEL ? SASS_CLASS_COUNT : SASS_SEL;
    /* A loop over groups of lookups in flight holds the instructions once. */
    const uint32_t groups = workload_groups(workload, cell->parameters);
    /* A path that copies the table and loads nothing has one load that never happens. */
    const uint32_t payload =
        cell->path->loads ? workload_steps(workload, cell->parameters) / groups : 1;
    struct kernel_sass wanted = {0};
    bool differs = sass->modified > 0;

    if (!sass->known)
        return false;
    wanted.classes[own][__builtin_ctz(payload_bytes(cell))] += payload * payload_pieces(cell);
    wanted.classes[SASS_LDG][SASS_WORD] +=
        workload_input_loads(workload, cell->parameters) / groups;
    wanted.classes[SASS_LDS][SASS_WORD] += workload_tile_loads(workload, cell->parameters);
    wanted.classes[SASS_LDG][copied_width(cell)] += path_held(cell->path);
    /* Compilers also use shuffles and selections for other values; those are not loads of the
     * table. */
    for (size_t i = SASS_SHFL; i < SASS_CLASS_COUNT; i++)
        if (i != own)
            memcpy(wanted.classes[i], sass->classes[i], sizeof(wanted.classes[i]));
    for (size_t i = 0; i < SASS_CLASS_COUNT; i++)
        for (uint32_t width = 0; width < SASS_WIDTH_COUNT; width++) {
            const uint32_t found = sass->classes[i][width], due = wanted.classes[i][width];

            differs |= staged && i == SASS_LDG && width == copied_width(cell) ? found <= due
                                                                              : found != due;
        }
    if (!differs)
        return false;
    snprintf(text, CELL_REASON_BYTES, "%s wants ", cell->path->name);
    classes_append(&wanted, end, text);
    text_join(text, CELL_REASON_BYTES, "", "%s; the kernel has ", staged ? " and copies" : "");
    classes_append(sass, end, text);
    if (sass->modified)
        text_join(text, CELL_REASON_BYTES, "", "; %" PRIu32 " with other modifiers",
                  sass->modified);
    return true;
}
