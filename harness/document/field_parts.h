/* SPDX-License-Identifier: MIT
 * What the kinds of field.c and field_objects.c share.
 *
 * An empty member is written as null, unless its field is OMITTED. While reading, null stands for
 * an empty member in every field that is not REQUIRED; absent keys do in LATER and OMITTED ones. */
#pragma once

#include "field.h"

/* The member of the struct at `base`, to read and to set. */
const void *field_member_of(const struct field *field, const void *base);
void *field_member_to_set(const struct field *field, void *base);

void field_write_empty(cJSON *object, const struct field *field);

/* Whether `item`, the value of the field's key or NULL, stands for an empty member. */
bool field_is_empty(const struct field *field, const cJSON *item);

/* Zeroed memory for `count` elements; NULL, logged, if there is none. */
void *field_allocate(const struct node *node, size_t count, size_t bytes);
