/* SPDX-License-Identifier: MIT
 * Errors of CUDA and CUPTI that a machine's set-up causes: what each means, and its remedy.
 * Includes no vendor header. */
#pragma once

#include "counter.h"
#include "engine.h"

enum environment_api { ENVIRONMENT_CUDA, ENVIRONMENT_CUPTI };

/* Writes "FUNCTION: error CODE, MEANING; REMEDY". A code without a row has the vendor's message
 * (NULL: none) and no remedy. Returns the status that the error gives every counter. */
enum counter_status environment_error(enum environment_api api, int code, const char *function,
                                      const char *message, char reason[ENGINE_REASON_BYTES]);
