/* SPDX-License-Identifier: MIT
 * The manifest of a chip's folder, which cbank contribute writes: results/manifest.schema.json. */
#pragma once

#include "json.h"
#include "status.h"

struct document;

extern const struct document manifest_document;

/* Reads all of a manifest. STATUS_USAGE, logged with the file and the key, if it is none. */
enum status manifest_check(const char *file, const cJSON *tree);
