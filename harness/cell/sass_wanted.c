/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "sass.h"
#include "text.h"

const char *const sass_class_names[SASS_CLASS_COUNT] = {
    [SASS_LDC] = "LDC",
    [SASS_LDC_PARAMETER] = "LDC.PARAMETER",
    [SASS_ULDC] = "ULDC",
    [SASS_OPERAND] = "OPERAND",
    [SASS_LDG] = "LDG",
    [SASS_LDG_CONSTANT] = "LDG.CONSTANT",
    [SASS_LDG_STRONG] = "LDG.STRONG",
    [SASS_TLD] = "TLD",
    [SASS_LDS] = "LDS",
};

/* The loads of a cell's kernel, without the copies that staging makes. A path that stages and loads nothing has one
 * load that never happens. */
static void classes_wanted(const struct cell *cell, uint32_t classes[SASS_CLASS_COUNT])
{
    /* Of a loop that is executed for each group of lookups in flight, the instructions are there once. */
    const uint32_t groups = workload_groups(cell->workload, cell->parameters);
    const uint32_t payload = cell->path->loads ? workload_steps(cell->workload, cell->parameters) / groups : 1;

    memset(classes, 0, SASS_CLASS_COUNT * sizeof(classes[0]));
    for (size_t i = 0; i < SASS_CLASS_COUNT; i++)
        if (strcmp(sass_class_names[i], cell->path->sass) == 0)
            classes[i] += payload;
    classes[SASS_LDG] += workload_input_loads(cell->workload, cell->parameters) / groups;
    classes[SASS_LDS] += workload_tile_loads(cell->workload, cell->parameters);
}

static void classes_append(const uint32_t classes[SASS_CLASS_COUNT], char text[CELL_REASON_BYTES])
{
    const char *separator = "";

    for (size_t i = 0; i < SASS_CLASS_COUNT; i++)
        if (classes[i]) {
            text_join(text, CELL_REASON_BYTES, separator, "%" PRIu32 " %s", classes[i], sass_class_names[i]);
            separator = ", ";
        }
}

void image_classes(const struct kernel_sass *sass, char text[CELL_REASON_BYTES])
{
    text[0] = '\0';
    classes_append(sass->classes, text);
}

bool image_kernel_differs(const struct cell *cell, const struct kernel_sass *sass, char text[CELL_REASON_BYTES])
{
    const bool staged = cell->path->unit == UNIT_SHARED;
    uint32_t wanted[SASS_CLASS_COUNT];
    bool differs = false;

    if (!sass->known)
        return false;
    classes_wanted(cell, wanted);
    for (size_t i = 0; i < SASS_CLASS_COUNT; i++)
        differs |= staged && i == SASS_LDG ? sass->classes[i] <= wanted[i] : sass->classes[i] != wanted[i];
    if (!differs)
        return false;
    snprintf(text, CELL_REASON_BYTES, "%s wants ", cell->path->name);
    classes_append(wanted, text);
    text_join(text, CELL_REASON_BYTES, "", "%s; the kernel has ", staged ? " and copies" : "");
    classes_append(sass->classes, text);
    return true;
}
