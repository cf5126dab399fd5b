/* SPDX-License-Identifier: MIT
 * The cells of a result in its document, for result_json.c. */
#pragma once

#include "field.h"

/* An object whose keys are members of the struct around it. */
#define WITHIN(key_, kind_) .key = (key_), .kind = &(kind_)

/* the kernel of a struct cell_result */
extern const struct object result_kernel_object;
extern const struct objects result_cells;            /* of a struct result */
/* of all cells of a result */
extern const struct field_kind kind_result_exact_counters;
