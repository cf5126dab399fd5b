/* SPDX-License-Identifier: MIT
 * Index of each row of patterns.def, for code that switches between patterns at run time. */
#pragma once

enum pattern_index {
#define PATTERN(name, index, ...) PATTERN_##name,
#include "patterns.def"
    PATTERN_COUNT
};
