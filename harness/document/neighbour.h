/* SPDX-License-Identifier: MIT
 * Files of other programs about GPUs, known by their looks: what is read in the place of a document
 * is named in the error. */
#pragma once

#include <stddef.h>

#include "json.h"

/* What a file is, and what to do instead: "JSON of NVBench; cbank convert ...". NULL: nothing that
 * is known. */
const char *neighbour_of_json(const cJSON *tree);
const char *neighbour_of_text(const char *text, size_t bytes);
