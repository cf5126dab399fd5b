/* SPDX-License-Identifier: MIT
 * Errors and temperature of the device in documents. */
#ifndef CBANK_HEALTH_JSON_H
#define CBANK_HEALTH_JSON_H

#include "field.h"
#include "health.h"

/* Texts by keys. A field of this kind has a struct texts as `of`, and is an object. */
struct texts {
    const char *const *keys;
    const char *const *texts; /* the same for all documents; NULL: the member is the array, NULL for keys without */
    size_t count;
};

extern const struct field_kind kind_texts;

/* Fields of a struct health. */
enum { HEALTH_FIELDS = 5 };

extern const struct field health_fields[HEALTH_FIELDS];

/* Those of a struct temperature. */
enum { TEMPERATURE_FIELDS = 2 };

extern const struct field temperature_fields[TEMPERATURE_FIELDS];

#endif
