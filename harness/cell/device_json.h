/* SPDX-License-Identifier: MIT
 * A device in documents, which all write it in the same way. */
#ifndef CBANK_DEVICE_JSON_H
#define CBANK_DEVICE_JSON_H

#include "device.h"
#include "field.h"

/* For FIELD_OBJECT: a struct device_info, with the keys of device.def. */
extern const struct object device_object;

#endif
