/* SPDX-License-Identifier: MIT
 * The table of parameters, expanded from parameters.def: limits, words for special values, and the
 * value that a cell which names none has. */
#include "parameter_index.h"

#include <inttypes.h>
#include <stdio.h>

const struct parameter parameters[PARAMETER_COUNT] = {
#define PARAMETER(name, option, summary, unit, min, max, multiple, plan_values, default_value, \
                  readers)                                                                     \
    {#name, option, summary, unit, min, max, multiple, plan_values, default_value, readers},
#include "parameters.def"
};

/* A parameter that nothing reads would be an axis without an effect. */
#define PARAMETER(name, option, summary, unit, min, max, multiple, plan_values, default_value, \
                  readers)                                                                     \
    _Static_assert((readers) != 0, "parameters.def: " #name " has no reader: name a READER_");
#include "parameters.def"

const size_t parameter_count = PARAMETER_COUNT;

_Static_assert(PARAMETER_COUNT - PARAMETERS_MAX <= 0,
               "parameters.def has more rows than a set has bits");

int parameter_allows(const struct parameter *parameter, uint64_t value)
{
    const uint32_t multiple = parameter->multiple;

    if (value < parameter->min || value > parameter->max)
        return 0;
    if (multiple != PARAMETER_POWERS && multiple != PARAMETER_WIDTHS)
        return value % multiple == 0;
    return (value & (value - 1)) == 0 ||
           (multiple == PARAMETER_WIDTHS && (value == 12 || value == 24));
}

const char *parameter_values_text(const struct parameter *parameter,
                                  char out[PARAMETER_VALUES_BYTES])
{
    char step[32];

    snprintf(step, sizeof(step),
             parameter->multiple == PARAMETER_POWERS   ? "a power of two"
             : parameter->multiple == PARAMETER_WIDTHS ? "a power of two, 12 or 24,"
                                                       : "a multiple of %" PRIu32,
             parameter->multiple);
    snprintf(out, PARAMETER_VALUES_BYTES, "%s from %" PRIu32 " to %" PRIu32, step, parameter->min,
             parameter->max);
    return out;
}

uint32_t parameter_kept(const struct parameter *parameter, uint32_t value)
{
    return value == parameter->default_value ? 0 : value;
}

uint32_t parameter_value(const uint32_t values[PARAMETERS_MAX], size_t i)
{
    return values[i] || parameters[i].default_value == PARAMETER_NAMED
               ? values[i]
               : parameters[i].default_value;
}
