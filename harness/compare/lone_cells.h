/* SPDX-License-Identifier: MIT
 * Cells that one side has alone, and why the other may lack them. */
#pragma once

#include "compare.h"

/* Notes of such cells that the other side has them of another kernel file, or of another
 * compiler. */
void lone_cells_note(struct comparison *comparison, const struct sides sides[SIDES]);
