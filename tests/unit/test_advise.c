/* SPDX-License-Identifier: MIT
 * Ranking of memory spaces by times that are written by hand, and a card of what a characterization
 * found. */
#include <math.h>

#include "advise.h"
#include "cells.h"
#include "test.h"

static struct advised_space space_of(const char *path, double value, double low, double high)
{
    return (struct advised_space){.path = path_named(path),
                                  .estimate = {.time_ns = {value, low, high}}};
}

TEST(a_space_is_slower_where_the_intervals_lie_apart)
{
    struct advised_space spaces[] = {
        space_of("shared", 100, 90, 110),      space_of("global", 104, 95, 115),
        space_of("texture", 50, 40, 60),       space_of("constant", NAN, 5, INFINITY),
        space_of("param", 58, 48, 70),         space_of("readonly", 50.4, 40, 61),
        space_of("shuffle", NAN, 4, INFINITY),
    };
    static const struct {
        const char *path;
        enum advise_standing standing;
    } ranking[] = {{"texture", ADVISE_FIRST},   {"readonly", ADVISE_ALIKE_FIRST},
                   {"param", ADVISE_TOO_CLOSE}, {"shared", ADVISE_SLOWER},
                   {"global", ADVISE_SLOWER},   {"shuffle", ADVISE_UNKNOWN},
                   {"constant", ADVISE_UNKNOWN}};
    struct advice advice = {.spaces = spaces, .count = 7};

    advise_rank(&advice);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(spaces[i].path->name, ranking[i].path);
        assert_int_equal(spaces[i].standing, ranking[i].standing);
    }
    assert_true(spaces[3].relative == 2 && isnan(spaces[5].relative) && isnan(spaces[6].relative));
}
