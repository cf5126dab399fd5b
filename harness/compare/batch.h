/* SPDX-License-Identifier: MIT
 * cbank compare --batch: many comparisons of times, one after the other, for programs. */
#pragma once

#include <stdio.h>

#include "status.h"

/* Reads questions, a JSON object a line, and writes an answer a line in their order, each at once.
 * A line that is no question gets an answer with `error`, and the next is read. STATUS_OK when all
 * were answered, whatever the verdicts are; STATUS_USAGE when one was not; STATUS_ENVIRONMENT,
 * logged, when out of memory. docs/comparing.md describes both. */
enum status batch_answer(FILE *questions, FILE *answers);
