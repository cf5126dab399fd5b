/* SPDX-License-Identifier: MIT */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

char *texts_add(struct texts *texts, const char *text)
{
    char *copy = strdup(text);

    if (!copy || !memory_grow(&texts->items, texts->count, sizeof(*texts->items))) {
        free(copy);
        return NULL;
    }
    return texts->items[texts->count++] = copy;
}

const char *texts_share(struct texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0)
            return texts->items[i];
    return texts_add(texts, text);
}

void texts_close(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
    *texts = (struct texts){0};
}
