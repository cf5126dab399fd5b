/* SPDX-License-Identifier: MIT
 * Mutations of JSON that leave it JSON, so that they get past the parser: a value becomes another
 * one, an element is there twice, a member goes. Every second mutation; the others are libFuzzer's,
 * of bytes. */
#include "mutate.h"

#include <string.h>

#include <cjson/cJSON.h>

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);

/* Replacements of values, one a line. */
static const char values[] =
    "null\ntrue\nfalse\n0\n1\n-1\n2\n0.5\n1e308\n-1e308\n5e-324\n1e999\n4294967295\n4294967296\n"
    "9007199254740992\n9007199254740993\n18446744073709551615\n\"18446744073709551615\"\n"
    "\"18446744073709551616\"\n\"\"\n\"\\u0000\"\n\"\\u001b[31m\"\n\"\\ud800\"\n\"%s%n\"\n"
    "\"a,b\"\n\"=1+1\"\n[]\n{}\n[[]]\n[null]\n[1,2,3,4,5,6,7]\n";

static uint64_t random_state;

static size_t draw(size_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(random_state >> 33) % below;
}

/* A member or element of the tree, and what it is in. */
struct member {
    cJSON *in, *item;
};

/* Chooses each of them with the same probability. */
static void choose(cJSON *in, size_t *seen, struct member *chosen)
{
    cJSON *item;

    cJSON_ArrayForEach (item, in) {
        if (draw(++*seen) == 0)
            *chosen = (struct member){in, item};
        choose(item, seen, chosen);
    }
}

/* A text that stands for one of the values. */
static cJSON *other_value(void)
{
    char value[64];
    const char *text = values;

    for (size_t skipped = draw(31); skipped > 0; skipped--)
        text = strchr(text, '\n') + 1;
    memcpy(value, text, strcspn(text, "\n"));
    value[strcspn(text, "\n")] = '\0';
    return cJSON_CreateRaw(value);
}

size_t mutate_json(uint8_t *data, size_t bytes, size_t most, unsigned seed)
{
    const char *rest = NULL; /* another text may follow */
    cJSON *tree =
              seed % 2 ? cJSON_ParseWithLengthOpts((const char *)data, bytes, &rest, false) : NULL,
          *with;
    struct member member = {NULL, NULL}, source = {NULL, NULL};
    size_t seen = 0, length, behind;
    char *text;

    random_state = seed;
    choose(tree, &seen, &member);
    if (!member.item) {
        cJSON_Delete(tree);
        return LLVMFuzzerMutate(data, bytes, most);
    }
    seen = 0;
    choose(tree, &seen, &source);
    switch (draw(4)) {
    case 0:
        cJSON_Delete(cJSON_DetachItemViaPointer(member.in, member.item));
        break;
    case 1: /* once more; in an object that is refused */
        cJSON_AddItemToArray(member.in, cJSON_Duplicate(member.item, true));
        break;
    default:
        with = draw(2) ? cJSON_Duplicate(source.item, true) : other_value();
        cJSON_free(with->string);
        with->string = member.item->string ? strdup(member.item->string) : NULL;
        cJSON_ReplaceItemViaPointer(member.in, member.item, with);
    }
    text = cJSON_PrintUnformatted(tree);
    length = text ? strlen(text) : most;
    behind = bytes - (size_t)(rest - (const char *)data);
    if (length + behind <= most) {
        memmove(data + length, rest, behind);
        memcpy(data, text, length);
        bytes = length + behind;
    }
    cJSON_free(text);
    cJSON_Delete(tree);
    return bytes;
}
