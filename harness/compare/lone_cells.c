/* SPDX-License-Identifier: MIT
 * Why a cell is on one side alone: a kernel file that changed, or another compiler. */
#include "lone_cells.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

#define note(cell, ...) text_join((cell)->note, sizeof((cell)->note), "; ", __VA_ARGS__)

/* Says of a user's cell that only one side has that the other has its kernel with other code. */
static void note_changed_kernel(struct comparison *comparison, const struct sides sides[SIDES])
{
    for (size_t i = 0; i < comparison->cell_count; i++) {
        struct comparison_cell *cell = &comparison->cells[i];
        const struct side_kernel *base = sides_kernel(&sides[BASE], cell->cell.kernel.name);
        const struct side_kernel *new_kernel = sides_kernel(&sides[NEW], cell->cell.kernel.name);

        if (!cell->gpu->alone && !(cell->sides[BASE] && cell->sides[NEW]) && base && new_kernel &&
            strcmp(base->sha256, new_kernel->sha256) != 0)
            note(cell, "the kernel file of %s changed: %.8s -> %.8s", base->name, base->sha256,
                 new_kernel->sha256);
    }
}

/* Says of a cell that only one side has that the other has it of another compiler. */
static void note_other_compiler(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->cell_count; i++) {
        struct comparison_cell *const cell = &comparison->cells[i];
        const size_t has = cell->sides[BASE] ? BASE : NEW;
        struct cell like = cell->cell;

        if (cell->gpu->alone || (cell->sides[BASE] && cell->sides[NEW]))
            continue;
        like.jit = !like.jit;
        if (side_find(cell->gpu->sides[!has], &like))
            note(cell, "the driver compiled %s, and the toolkit %s: --jit pairs the two",
                 side_names[cell->cell.jit ? has : !has], side_names[cell->cell.jit ? !has : has]);
    }
}

void lone_cells_note(struct comparison *comparison, const struct sides sides[SIDES])
{
    note_changed_kernel(comparison, sides);
    note_other_compiler(comparison);
}
