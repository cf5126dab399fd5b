/* SPDX-License-Identifier: MIT
 * Energy as parts of a result. */
#pragma once

#include "field.h"

/* Of struct cell_result, and of struct result. */
extern const struct object cell_energy_object, energy_method_object;
