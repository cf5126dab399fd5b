/* SPDX-License-Identifier: MIT
 * Ranking of memory spaces by times that are written by hand, and a card of what a characterization found. */
#include <math.h>

#include "advise.h"
#include "card_make.h"
#include "cells.h"
#include "test.h"

static struct advised_space space_of(const char *path, double value, double low, double high)
{
    return (struct advised_space){.path = path_named(path), .estimate = {.time_ns = {value, low, high}}};
}

TEST(a_space_is_slower_where_the_intervals_lie_apart)
{
    struct advised_space spaces[] = {
        space_of("shared", 100, 90, 110),       space_of("global", 104, 95, 115), space_of("texture", 50, 40, 60),
        space_of("constant", NAN, 5, INFINITY), space_of("param", 58, 48, 70),    space_of("readonly", 50.4, 40, 61),
    };
    static const struct {
        const char *path;
        enum advise_standing standing;
    } ranking[] = {{"texture", ADVISE_FIRST}, {"readonly", ADVISE_ALIKE_FIRST}, {"param", ADVISE_TOO_CLOSE},
                   {"shared", ADVISE_SLOWER}, {"global", ADVISE_SLOWER},        {"constant", ADVISE_UNKNOWN}};
    struct advice advice = {.spaces = spaces, .count = 6};

    advise_rank(&advice);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(spaces[i].path->name, ranking[i].path);
        assert_int_equal(spaces[i].standing, ranking[i].standing);
    }
    assert_true(spaces[3].relative == 2 && isnan(spaces[5].relative));
}

TEST(without_times_nothing_is_best)
{
    struct advised_space spaces[] = {space_of("shared", NAN, 9, INFINITY), space_of("constant", NAN, 7, INFINITY)};
    struct advice advice = {.spaces = spaces, .count = 2};

    advise_rank(&advice);
    assert_string_equal(spaces[0].path->name, "constant");
    assert_true(spaces[0].standing == ADVISE_UNKNOWN && spaces[1].standing == ADVISE_UNKNOWN);
}

TEST(every_path_that_loads_has_its_code)
{
    for (size_t i = 0; i < path_count; i++)
        assert_true(!paths[i].loads == !space_code_of(&paths[i]));
}

/* -- cards of what was found --------------------------------------------------------------------------- */

static double number_of(const cJSON *card, const char *key, const char *member, const char **from)
{
    const cJSON *entry = json_get(json_get(card, "model"), key);

    *from = cJSON_GetStringValue(json_get(entry, "from"));
    return cJSON_IsObject(entry) ? json_get(entry, member)->valuedouble : NAN;
}

/* Two cycles an address, half a load a cycle, a device of 80 SMs; no base card is of that chip. */
TEST(a_card_says_what_was_found_and_no_more)
{
    static struct number slope[] = {
        {.name = "cycles_per_load_per_extra_address", .value = 9, .low = 9, .high = 9, .stride = 64},
        {.name = "cycles_per_load_per_extra_address", .value = 2, .low = 1.9, .high = 2.1, .stride = 4}};
    static struct number shared[] = {
        {.name = "cycles_per_load_per_extra_address", .value = 0.5, .low = 0.4, .high = 0.8, .stride = 128}};
    static struct number rates[] = {{.name = "loads_per_cycle", .value = 0.25, .low = 0.25, .high = 0.25},
                                    {.name = "loads_per_cycle", .value = 0.5, .low = 0.5, .high = 0.5}};
    struct outcome outcomes[] = {
        {.experiment = {.name = "serialization_constant"},
         .numbers = slope,
         .number_count = 2,
         .verdicts = {{.name = "throughput_falls_per", .value = "address"}},
         .verdict_count = 1},
        {.experiment = {.name = "serialization_shared"}, .numbers = shared, .number_count = 1},
        {.experiment = {.name = "throughput_global"}, .numbers = rates, .number_count = 2},
    };
    const struct characterization found = {
        .outcomes = outcomes,
        .count = 3,
        .device = {.name = "NVIDIA Other", .cc_major = 8, .sm_count = 80, .warps_per_sm = 48, .sm_clock_max_mhz = NAN}};
    const struct card_request request = {.found = &found};
    struct card_tally tally;
    const char *from;
    cJSON *card;

    assert_int_equal(card_make(&request, &card, &tally), STATUS_OK);
    assert_true(tally.characterized == 3 && tally.base == 0);
    assert_true(number_of(card, "constant_address_cycles", "high", &from) == 2.1);
    assert_string_equal(from, "characterized");
    assert_true(number_of(card, "shared_wavefronts_per_cycle", "value", &from) == 2); /* 1 / 0.5 */
    assert_true(number_of(card, "shared_wavefronts_per_cycle", "low", &from) == 1.25 &&
                number_of(card, "shared_wavefronts_per_cycle", "high", &from) == 2.5);
    assert_true(number_of(card, "l1_requests_per_cycle", "value", &from) == 0.5);
    assert_true(number_of(card, "warps_per_sm", "value", &from) == 48);
    assert_string_equal(from, "device");
    assert_true(isnan(number_of(card, "launch_ns", "value", &from))); /* that of the H200 says nothing of this chip */
    json_free(card);

    outcomes[0].verdicts[0].value = "line"; /* the key is of addresses */
    assert_int_equal(card_make(&request, &card, &tally), STATUS_OK);
    assert_true(isnan(number_of(card, "constant_address_cycles", "value", &from)));
    json_free(card);
}

TEST(a_base_card_of_the_same_chip_fills_what_was_not_found)
{
    const struct characterization found = {
        .device = {.name = "NVIDIA H200", .cc_major = 9, .sm_count = 132, .sm_clock_max_mhz = 1755}};
    const struct card_request request = {.found = &found};
    struct card_tally tally;
    const char *from;
    cJSON *card;

    assert_int_equal(card_make(&request, &card, &tally), STATUS_OK);
    assert_true(tally.base > 0);
    assert_true(number_of(card, "launch_ns", "value", &from) > 500);
    assert_string_equal(from, "results");
    assert_true(number_of(card, "sm_clock_mhz", "value", &from) == 1755);
    json_free(card);
}
