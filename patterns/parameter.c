/* SPDX-License-Identifier: MIT */
#include "parameter.h"

const struct parameter parameters[PARAMETER_COUNT] = {
#define PARAMETER(name, option, summary, unit, min, max, multiple, fallback) \
    {#name, option, summary, unit, min, max, multiple, fallback},
#include "parameters.def"
};

const size_t parameter_count = PARAMETER_COUNT;

int parameter_allows(const struct parameter *parameter, uint64_t value)
{
    if (value < parameter->min || value > parameter->max)
        return 0;
    return parameter->multiple ? value % parameter->multiple == 0 : (value & (value - 1)) == 0;
}
