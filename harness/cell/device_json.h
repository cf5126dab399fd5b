/* SPDX-License-Identifier: MIT
 * A device in documents, which all write it in the same way. */
#pragma once

#include "device.h"
#include "field.h"

/* For FIELD_OBJECT: a struct device_info, with the keys of device_rows. */
extern const struct object device_object;

/* The members of a struct board. */
enum { BOARD_ROWS = 4 };
extern const struct field board_rows[BOARD_ROWS];
