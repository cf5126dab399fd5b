/* SPDX-License-Identifier: MIT
 * The names of parameters in code. Who asks for parameters by number alone needs parameter.h. */
#pragma once

#include "parameter.h"

/* Index of each row of parameters.def, and their number. */
enum parameter_index {
#define PARAMETER(name, option, summary, unit, min, max, multiple, plan_values, default_value, \
                  readers)                                                                     \
    PARAMETER_##name,
#include "parameters.def"
    PARAMETER_COUNT
};

/* The bit of a parameter in a set of parameters. */
#define PARAMETER_BIT(name) (1u << PARAMETER_##name)
