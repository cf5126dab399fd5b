/* SPDX-License-Identifier: MIT
 * Errors and temperature of the device in documents. */
#ifndef CBANK_HEALTH_JSON_H
#define CBANK_HEALTH_JSON_H

#include "field.h"
#include "health.h"

/* Fields of a struct health. */
enum { HEALTH_FIELDS = 5 };

extern const struct field health_fields[HEALTH_FIELDS];

/* Those of a struct temperature. */
enum { TEMPERATURE_FIELDS = 2 };

extern const struct field temperature_fields[TEMPERATURE_FIELDS];

#endif
