/* SPDX-License-Identifier: MIT
 * The verdict on a fleet as text, Markdown, JUnit and JSON. */
#ifndef CBANK_FLEET_REPORT_H
#define CBANK_FLEET_REPORT_H

#include "fleet_verdict.h"
#include "grid.h"

/* Prints who answered, the findings, and what comes of them. */
enum status fleet_print(FILE *stream, const struct fleet_verdict *verdict, const struct grid_look *look);

/* Writers of files.h, of a struct fleet_verdict. JUnit has a test for each GPU that answered or should have, and one for
 * each finding without a GPU. */
enum status fleet_markdown(FILE *stream, const void *verdict);
enum status fleet_junit(FILE *stream, const void *verdict);
enum status fleet_json(FILE *stream, const void *verdict);

#endif
