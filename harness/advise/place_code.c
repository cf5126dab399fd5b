/* SPDX-License-Identifier: MIT */
#include "advise.h"
#include "table.h"

static const struct place_code codes[] = {
#define PLACE(path, declaration, load) {#path, declaration, load},
#include "places.def"
};

const struct place_code *place_code_of(const struct path *path)
{
    static const size_t count = sizeof(codes) / sizeof(codes[0]);
    static const struct table table = TABLE("place", codes, count);

    return table_find(&table, path->name);
}
