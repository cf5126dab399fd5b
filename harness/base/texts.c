/* SPDX-License-Identifier: MIT */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

const char *texts_share(struct texts *texts, const char *text)
{
    char *copy;

    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0)
            return texts->items[i];
    copy = strdup(text);
    if (!copy || !memory_grow(&texts->items, texts->count, sizeof(*texts->items))) {
        free(copy);
        return NULL;
    }
    return texts->items[texts->count++] = copy;
}

void texts_close(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct texts){0};
}
