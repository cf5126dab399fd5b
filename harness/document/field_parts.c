/* SPDX-License-Identifier: MIT
 * What every kind of field needs: the address of its member, and what an empty member is in JSON.
 * The presence of a field decides: null is written, the key is left out, or a file may lack it. */
#include "field_parts.h"

#include <stdlib.h>

#include "log.h"

const void *field_member_of(const struct field *field, const void *base)
{
    return (const char *)base + field->offset;
}

void *field_member_to_set(const struct field *field, void *base)
{
    return (char *)base + field->offset;
}

void field_write_empty(cJSON *object, const struct field *field)
{
    if (field->presence != OMITTED)
        json_add(object, field->key, cJSON_CreateNull());
}

bool field_is_empty(const struct field *field, const cJSON *item)
{
    if (item)
        return field->presence != REQUIRED && cJSON_IsNull(item);
    return field->presence == LATER || field->presence == OMITTED;
}

void *field_allocate(const struct node *node, size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);

    if (!memory)
        node->reader->status = log_memory("%s", node->reader->file);
    return memory;
}
