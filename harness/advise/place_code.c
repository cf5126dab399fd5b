/* SPDX-License-Identifier: MIT */
#include "advise.h"
#include "sass.h"
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

void advise_instruction(const struct cell *cell, char text[ADVISE_INSTRUCTION_BYTES])
{
    _Static_assert(ADVISE_INSTRUCTION_BYTES >= SASS_NAME_BYTES, "room for the name of an instruction");
    image_instruction(cell, text);
}
