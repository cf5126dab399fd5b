/* SPDX-License-Identifier: MIT
 * The columns of CSV that say which cell: workload, path, pattern, elements, block_size, regime, and one for each row
 * of parameters.def by its name, empty where the cell does not take that parameter. */
#ifndef CBANK_IDENTITY_CSV_H
#define CBANK_IDENTITY_CSV_H

#include <stdio.h>

#include "cell.h"

/* The columns' names, and a cell's fields of them, with a comma after each. */
void identity_csv_names(FILE *stream);
void identity_csv_fields(FILE *stream, const struct cell *cell);

#endif
