/* SPDX-License-Identifier: MIT
 * What the judge says of a cell, as JSON. */
#pragma once

#include "field.h"

/* The times, their ratio and what it was held against, of a struct judged_cell: all but the
 * verdict. They are only written. */
extern const struct fields judged_fields;
