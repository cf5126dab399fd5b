/* SPDX-License-Identifier: MIT */
#include "parameter.h"

const struct parameter parameters[PARAMETER_COUNT] = {
#define PARAMETER(name, option, summary, unit, min, max, multiple, plan_values, default_value) \
    {#name, option, summary, unit, min, max, multiple, plan_values, default_value},
#include "parameters.def"
};

const size_t parameter_count = PARAMETER_COUNT;

int parameter_allows(const struct parameter *parameter, uint64_t value)
{
    if (value < parameter->min || value > parameter->max)
        return 0;
    return parameter->multiple ? value % parameter->multiple == 0
                               : (value & (value - 1)) == 0 || value == 12 || value == 24;
}

uint32_t parameter_kept(const struct parameter *parameter, uint32_t value)
{
    return value == parameter->default_value ? 0 : value;
}

uint32_t parameter_value(const uint32_t values[PARAMETER_COUNT], enum parameter_index i)
{
    return values[i] || parameters[i].default_value == PARAMETER_NAMED ? values[i] : parameters[i].default_value;
}
