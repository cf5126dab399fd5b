/* SPDX-License-Identifier: MIT
 * The table of exports: a row for each format of grids. */
#include "export.h"

#define EXPORT_ROW(name, help) &export_##name,

const struct export *const exports[GRID_FORMAT_COUNT] = {GRID_FORMATS(EXPORT_ROW)};
