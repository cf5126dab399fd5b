/* SPDX-License-Identifier: MIT
 * Cards of what was found: hand-written characterizations. Runs in the repository's root. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "cache.h"
#include "capture.h"
#include "card.h"
#include "card_make.h"
#include "geometry.h"

static const char base_path[] = "results/base_cards/h200.json";
static const struct device_info same_device = {.name = "NVIDIA H200",
                                               .cc_major = 9,
                                               .cc_minor = 0,
                                               .sm_count = 132,
                                               .l2_bytes = 62914560,
                                               .sm_clock_max_mhz = 1755,
                                               .warps_per_sm = 48};
static const struct device_info other_device = {
    .name = "Tesla V100", .cc_major = 7, .sm_count = 80, .l2_bytes = 6291456, .sm_clock_max_mhz = NAN};

/* -- a characterization ------------------------------------------------------------------------------- */

/* Rows of this table are pointed to by index. */
enum { GEOMETRY, MODULES, SERIALIZATION, SHARED, GLOBAL, UNIFORM, INVALIDATION, SHARING, EXPERIMENTS };

static const struct experiment made[EXPERIMENTS] = {
    [GEOMETRY] = {.name = "geometry_constant", .path = "constant"},
    [MODULES] = {.name = "geometry_constant_modules", .path = "constant"},
    [SERIALIZATION] = {.name = "serialization_constant", .path = "constant"},
    [SHARED] = {.name = "serialization_shared", .path = "shared"},
    [GLOBAL] = {.name = "throughput_global", .path = "global"},
    [UNIFORM] = {.name = "throughput_constant_uniform", .path = "constant_uniform"},
    [INVALIDATION] = {.name = "invalidation_constant", .path = "constant"},
    [SHARING] = {.name = "sharing_constant", .path = "constant"},
};

static const char slope[] = "a slope", walk[] = "a walk";

/* All that the tests change. */
struct chip {
    struct outcome outcomes[EXPERIMENTS];
    struct geometry geometry[2];
    struct number serialization[2], shared[1], global[3], uniform[2], invalidation[1], sharing[1];
    uint32_t group[5];
    struct characterization all;
};

static struct geometry_number known(uint32_t value)
{
    return (struct geometry_number){.known = true, .value = value, .samples = 10, .method = walk};
}

static struct geometry_number unknown(const char *reason)
{
    struct geometry_number number = {.method = walk};

    snprintf(number.reason, sizeof(number.reason), "%s", reason);
    return number;
}

static struct geometry_level cache(uint32_t line, uint32_t ways, uint32_t capacity)
{
    return (struct geometry_level){.latency = {.value = 30, .ci_low = 29, .ci_high = 31, .count = 100},
                                   .fetch_bytes = known(line),
                                   .line_bytes = known(line),
                                   .fits_bytes = known(capacity),
                                   .capacity_bytes = known(capacity),
                                   .ways = known(ways),
                                   .sets = known(capacity / line / ways)};
}

static struct number number_of(const char *name, double value, uint32_t stride, uint32_t warps)
{
    return (struct number){.name = name,
                           .unit = "cycles",
                           .method = slope,
                           .value = value,
                           .low = value - 0.125,
                           .high = value + 0.125,
                           .samples = 21,
                           .stride = stride,
                           .warps = warps};
}

static struct verdict verdict_of(const char *name, const char *value, uint32_t level, const char *before)
{
    struct verdict verdict = {.name = name, .value = value, .level = level, .before = before};

    snprintf(verdict.reason, sizeof(verdict.reason), "as made up");
    return verdict;
}

#define NUMBERS(experiment, array)                \
    chip->outcomes[experiment].numbers = (array); \
    chip->outcomes[experiment].number_count = sizeof(array) / sizeof((array)[0])

/* 1 KB of 32-byte lines in two ways, 8 KB of 128-byte lines in four, and what is behind. */
static void make_chip(struct chip *chip)
{
    *chip = (struct chip){.geometry = {{.level_count = 3}, {.level_count = 3}}};
    for (size_t i = 0; i < EXPERIMENTS; i++)
        chip->outcomes[i] = (struct outcome){.experiment = made[i]};
    chip->geometry[0].level[0] = cache(32, 2, 1024);
    chip->geometry[0].level[1] = cache(128, 4, 8192);
    chip->outcomes[GEOMETRY].geometry = &chip->geometry[0];
    chip->geometry[1] = chip->geometry[0];
    chip->outcomes[MODULES].geometry = &chip->geometry[1];
    chip->serialization[0] = number_of("cycles_per_load_per_extra_address", 3, 64, 0);
    chip->serialization[1] = number_of("cycles_per_load_per_extra_address", 4, 4, 0);
    NUMBERS(SERIALIZATION, chip->serialization);
    chip->outcomes[SERIALIZATION].verdicts[0] = verdict_of("throughput_falls_per", "address", 0, NULL);
    chip->outcomes[SERIALIZATION].verdict_count = 1;
    chip->shared[0] = number_of("cycles_per_load_per_extra_address", 0.5, 128, 0);
    NUMBERS(SHARED, chip->shared);
    chip->global[0] = number_of("loads_per_cycle", 0.25, 0, 1);
    chip->global[1] = number_of("loads_per_cycle", 0.75, 0, 16);
    chip->global[2] = number_of("loads_per_cycle", 0.5, 0, 64);
    NUMBERS(GLOBAL, chip->global);
    chip->uniform[0] = number_of("cycles_per_load", 5, 0, 1);
    chip->uniform[1] = number_of("cycles_per_load", 1.5, 0, 8);
    NUMBERS(UNIFORM, chip->uniform);
    chip->invalidation[0] = number_of("share_answered_by_level_1", 1, 64, 0);
    chip->invalidation[0].level = 1;
    chip->invalidation[0].before = "launch";
    NUMBERS(INVALIDATION, chip->invalidation);
    chip->outcomes[INVALIDATION].verdicts[0] = verdict_of("what_it_held_is", "lost", 1, "copy");
    chip->outcomes[INVALIDATION].verdicts[1] = verdict_of("what_it_held_is", "kept", 1, "launch");
    chip->outcomes[INVALIDATION].verdicts[2] = verdict_of("what_it_held_is", "partly kept", 2, "launch");
    chip->outcomes[INVALIDATION].verdict_count = 3;
    memcpy(chip->group, (uint32_t[]){0, 1, 0, UINT32_MAX, 0}, sizeof(chip->group));
    chip->sharing[0] = number_of("groups", 2, 0, 0);
    NUMBERS(SHARING, chip->sharing);
    chip->outcomes[SHARING].group = chip->group;
    chip->outcomes[SHARING].group_count = 2;
    chip->outcomes[SHARING].sm_count = 5;
    chip->all = (struct characterization){.outcomes = chip->outcomes, .count = EXPERIMENTS};
}

static void leave_out(struct chip *chip, size_t experiment, const char *reason)
{
    chip->outcomes[experiment].status = OUTCOME_SKIPPED;
    chip->outcomes[experiment].number_count = 0;
    snprintf(chip->outcomes[experiment].reason, sizeof(chip->outcomes[experiment].reason), "%s", reason);
}

/* -- its card ----------------------------------------------------------------------------------------- */

static cJSON *make(struct chip *chip, const struct device_info *device)
{
    const struct card_request request = {.found = &chip->all, .base_path = base_path};
    struct card_tally tally;
    cJSON *card = NULL;

    chip->all.device = *device;
    assert_int_equal(card_make(&request, &card, &tally), STATUS_OK);
    assert_int_equal(tally.characterized + tally.device + tally.base, cJSON_GetArraySize(json_get(card, "origins")));
    assert_string_equal(tally.base_name, "H200");
    return card;
}

static const cJSON *find(const cJSON *card, const char *path)
{
    const cJSON *level;
    const char *name;

    cJSON_ArrayForEach (level, json_get(card, "levels")) {
        char prefix[80];

        assert_true(json_get_text(level, "name", &name));
        snprintf(prefix, sizeof(prefix), "levels.%s.", name);
        if (strncmp(path, prefix, strlen(prefix)) == 0)
            return json_get(level, path + strlen(prefix));
    }
    return json_get(card, path);
}

/* What a card is to say of a key: value, NAN for that of the base card; low, high and samples, NAN for none; origin,
 * and the beginning of the reason, NULL for none. */
struct expected {
    const char *path;
    double value, low, high, samples;
    const char *from, *reason;
};

static double number_in(const cJSON *object, const char *key)
{
    double value = NAN;

    json_get_double(object, key, &value);
    return value;
}

static void assert_same(const char *path, const char *key, double value, double expected)
{
    if (isnan(value) != isnan(expected) || (!isnan(value) && fabs(value - expected) > 1e-5 * fabs(expected)))
        fail_msg("%s: %s is %g, not %g", path, key, value, expected);
}

static double value_in(const cJSON *card, const char *path)
{
    const cJSON *item = find(card, path);

    assert_non_null(item);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble;
}

static void check(const cJSON *card, const struct expected *expected, size_t count)
{
    struct card parsed;
    cJSON *base;

    assert_int_equal(card_check("made", card), STATUS_OK);
    assert_int_equal(card_read_json(base_path, &parsed, &base), STATUS_OK);
    for (const struct expected *one = expected; one < expected + count; one++) {
        const cJSON *origin = json_get(json_get(card, "origins"), one->path);
        const char *from = "none", *reason = NULL;

        assert_same(one->path, "value", value_in(card, one->path),
                    isnan(one->value) ? value_in(base, one->path) : one->value);
        assert_same(one->path, "low", number_in(origin, "low"), one->low);
        assert_same(one->path, "high", number_in(origin, "high"), one->high);
        assert_same(one->path, "samples", number_in(origin, "samples"), one->samples);
        json_get_text(origin, "from", &from);
        assert_string_equal(from, one->from);
        json_get_text(origin, "reason", &reason);
        if (!one->reason != !reason || (reason && strncmp(reason, one->reason, strlen(one->reason)) != 0))
            fail_msg("%s: reason %s", one->path, reason ? reason : "none");
    }
    cJSON_Delete(base);
}

#define CHECK(card, ...)                                   \
    do {                                                   \
        const struct expected rows[] = {__VA_ARGS__};      \
        check(card, rows, sizeof(rows) / sizeof(rows[0])); \
    } while (0)

#define BASE(path, from, reason) {path, NAN, NAN, NAN, NAN, from, reason}

static void what_was_found_stands(void **state)
{
    struct chip chip;
    cJSON *card;

    (void)state;
    make_chip(&chip);
    card = make(&chip, &same_device);
    CHECK(card, {"levels.idc.capacity_bytes", 1024, 1024, 1024, 10, "characterized", NULL},
          {"levels.idc.line_bytes", 32, 32, 32, 10, "characterized", NULL},
          {"levels.idc.ways", 2, 2, 2, 10, "characterized", NULL},
          {"levels.gcc.capacity_bytes", 8192, 8192, 8192, 10, "characterized", NULL},
          {"levels.gcc.line_bytes", 128, 128, 128, 10, "characterized", NULL},
          {"levels.gcc.sms", 3, 3, 3, 21, "characterized", NULL},
          {"levels.idc.kept_between_launches", 1, 1, 1, 21, "characterized", NULL},
          {"levels.idc.request_cycles", 4, 3.875, 4.125, 21, "characterized", NULL},
          {"shared_wavefronts_per_cycle", 2, 1.6, 1 / 0.375, 21, "characterized", NULL},
          {"l1_requests_per_cycle", 0.75, 0.625, 0.875, 21, "characterized", NULL},
          {"uniform_request_cycles", 1.5, 1.375, 1.625, 21, "characterized", NULL},
          {"sm_clock_mhz", 1755, NAN, NAN, NAN, "device", NULL}, {"warps_per_sm", 48, NAN, NAN, NAN, "device", NULL},
          {"sm_count", 132, NAN, NAN, NAN, "device", NULL});
    assert_int_equal(number_in(json_get(json_get(card, "origins"), "l1_requests_per_cycle"), "warps"), 16);
    cJSON_Delete(card);
}

static void what_was_not_found_is_the_base_cards(void **state)
{
    struct chip chip;
    cJSON *card;

    (void)state;
    make_chip(&chip);
    card = make(&chip, &same_device);
    /* A verdict that is neither of both; experiments that were not made; keys that none is about. */
    CHECK(card, BASE("levels.gcc.kept_between_launches", "assumed", "as made up"),
          BASE("texture_requests_per_cycle", "assumed", "there is no such experiment"),
          BASE("immediate_request_cycles", "assumed", "there is no such experiment"), BASE("wave_ns", "assumed", NULL),
          BASE("issue_per_cycle", "published", NULL), BASE("levels.gcc.miss_cycles", "assumed", NULL));
    cJSON_Delete(card);
    leave_out(&chip, UNIFORM, "the compiler made none");
    chip.global[0].value = chip.global[1].value = chip.global[2].value = NAN;
    card = make(&chip, &same_device);
    CHECK(card, BASE("uniform_request_cycles", "assumed", "the compiler made none"),
          BASE("l1_requests_per_cycle", "assumed", "no such number was found"));
    assert_int_equal(cJSON_GetArraySize(json_get(card, "skipped")), 1);
    cJSON_Delete(card);
}

/* Without a cost by address the key, which is of addresses, has no value. */
static void a_chip_that_serializes_by_line(void **state)
{
    struct chip chip;
    cJSON *card;

    (void)state;
    make_chip(&chip);
    chip.outcomes[SERIALIZATION].verdicts[0].value = "line";
    card = make(&chip, &same_device);
    CHECK(card, BASE("levels.idc.request_cycles", "assumed", "throughput_falls_per is line"));
    cJSON_Delete(card);
}

static void contradictions_are_not_used(void **state)
{
    struct chip chip;
    cJSON *card;

    (void)state;
    make_chip(&chip);
    snprintf(chip.geometry[0].level[0].contradiction, sizeof(chip.geometry[0].level[0].contradiction), "9 ways");
    card = make(&chip, &same_device);
    CHECK(card, BASE("levels.idc.capacity_bytes", "published", "9 ways"),
          BASE("levels.idc.line_bytes", "published", "9 ways"), BASE("levels.idc.ways", "assumed", "9 ways"),
          {"levels.gcc.ways", 4, 4, 4, 10, "characterized", NULL});
    cJSON_Delete(card);
}

static const char *replacement_in(const cJSON *card, size_t level)
{
    const char *name = "";

    json_get_text(cJSON_GetArrayItem(json_get(card, "levels"), (int)level), "replacement", &name);
    return name;
}

static void replacement_is_a_name(void **state)
{
    struct chip chip;
    cJSON *card;

    (void)state;
    make_chip(&chip);
    chip.geometry[0].level[0].replacement = known(1u << CACHE_FIFO);
    chip.geometry[0].level[1].replacement = known(1u << CACHE_TREE);
    card = make(&chip, &same_device);
    assert_string_equal(replacement_in(card, 0), "FIFO");
    assert_string_equal(replacement_in(card, 1), "tree pseudo-LRU");
    CHECK(card, {"levels.gcc.replacement", NAN, NAN, NAN, 10, "characterized", NULL});
    cJSON_Delete(card);
    chip.geometry[0].level[0].replacement = known(1u << CACHE_LRU | 1u << CACHE_FIFO);
    replacement_text(1u << CACHE_LRU | 1u << CACHE_FIFO, chip.geometry[0].level[0].replacement_name);
    card = make(&chip, &same_device);
    assert_string_equal(replacement_in(card, 0), "LRU");
    CHECK(card, BASE("levels.idc.replacement", "assumed", "it is one of LRU, FIFO"));
    cJSON_Delete(card);
}

/* 96 bytes are no line: then neither its ways nor its size are used. */
static void what_makes_no_cache_is_not_used(void **state)
{
    struct chip chip;
    cJSON *card;

    (void)state;
    make_chip(&chip);
    chip.geometry[0].level[0].line_bytes = known(96);
    card = make(&chip, &same_device);
    CHECK(card, BASE("levels.idc.capacity_bytes", "published", "size, line and ways"),
          BASE("levels.idc.line_bytes", "published", "size, line and ways"),
          BASE("levels.idc.ways", "assumed", "size, line and ways"));
    cJSON_Delete(card);
}

/* In the order of the table: a line of one bank, of several, and what one miss brings. */
static void the_first_that_is_known_counts(void **state)
{
    struct chip chip;
    cJSON *card;

    (void)state;
    make_chip(&chip);
    chip.geometry[0].level[1].line_bytes = chip.geometry[0].level[1].ways = unknown("all fits");
    chip.geometry[0].level[1].capacity_bytes = unknown("all fits");
    chip.geometry[1].level[1] = cache(512, 8, 65536);
    card = make(&chip, &same_device);
    CHECK(card, {"levels.gcc.capacity_bytes", 65536, 65536, 65536, 10, "characterized", NULL},
          {"levels.gcc.line_bytes", 512, 512, 512, 10, "characterized", NULL},
          {"levels.gcc.ways", 8, 8, 8, 10, "characterized", NULL});
    cJSON_Delete(card);
    leave_out(&chip, MODULES, "modules share a bank");
    card = make(&chip, &same_device);
    CHECK(card, BASE("levels.gcc.capacity_bytes", "assumed", "all fits"),
          BASE("levels.gcc.ways", "assumed", "all fits"),
          {"levels.gcc.line_bytes", 128, 128, 128, 10, "characterized", NULL});
    cJSON_Delete(card);
}

static void values_of_another_chip_are_assumed(void **state)
{
    struct chip chip;
    const cJSON *origins;
    const char *text = "";
    cJSON *card;

    (void)state;
    make_chip(&chip);
    card = make(&chip, &other_device);
    CHECK(card, {"sm_count", 80, NAN, NAN, NAN, "device", NULL}, BASE("sm_clock_mhz", "assumed", NULL),
          BASE("issue_per_cycle", "assumed", NULL), {"levels.idc.ways", 2, 2, 2, 10, "characterized", NULL});
    origins = json_get(card, "origins");
    assert_true(json_get_text(json_get(origins, "issue_per_cycle"), "card", &text));
    assert_string_equal(text, "H200");
    assert_true(json_get_text(json_get(origins, "issue_per_cycle"), "there", &text));
    assert_string_equal(text, "published");
    assert_true(json_get_text(card, "name", &text));
    assert_string_equal(text, "Tesla V100");
    assert_null(json_get(card, "chip"));
    assert_null(json_get(origins, "chip"));
    cJSON_Delete(card);
}

/* What characterize finds of nothing at all: the base card, labelled. */
static void nothing_was_found(void **state)
{
    struct chip chip;
    struct card base;
    cJSON *card, *json;

    (void)state;
    make_chip(&chip);
    chip.all.count = 0;
    card = make(&chip,
                &(struct device_info){.name = "NVIDIA H200", .cc_major = 9, .sm_count = 132, .sm_clock_max_mhz = NAN});
    assert_int_equal(card_read_json(base_path, &base, &json), STATUS_OK);
    assert_int_equal(cJSON_GetArraySize(json_get(card, "origins")), cJSON_GetArraySize(json_get(json, "origins")));
    cJSON_Delete(json);
    assert_int_equal(cJSON_GetArraySize(json_get(card, "numbers")), 0);
    cJSON_Delete(card);
}

/* Of what the driver says five keys; the rest is the base card's, which is of the same chip. */
static void what_the_driver_says_is_counted(void **state)
{
    struct chip chip;
    struct card_tally tally;
    const struct card_request request = {.found = &chip.all, .base_path = base_path};
    cJSON *card = NULL;

    (void)state;
    make_chip(&chip);
    chip.all.device = same_device;
    chip.all.device.l2_bytes = chip.all.device.warps_per_sm = 0;
    assert_int_equal(card_make(&request, &card, &tally), STATUS_OK);
    assert_int_equal(tally.device, 5);
    CHECK(card, {"sm_clock_mhz", 1755, NAN, NAN, NAN, "device", NULL}, BASE("issue_per_cycle", "published", NULL));
    cJSON_Delete(card);
}

/* Every key of a card has an origin, no other has, and values are quoted of each level. */
static void origins_are_of_all_keys(void **state)
{
    struct chip chip;
    const cJSON *number, *level;
    size_t keys = 0, levels = 0, quoted = 0;
    cJSON *card;

    (void)state;
    make_chip(&chip);
    card = make(&chip, &same_device);
    while (card_key(keys))
        keys++;
    while (card_level_key(levels))
        levels++;
    /* Of a level not its name, and not its latency, which no measured card has. */
    assert_int_equal(cJSON_GetArraySize(json_get(card, "origins")), keys + 2 * (levels - 2));
    cJSON_ArrayForEach (number, json_get(card, "numbers"))
        quoted += (level = json_get(number, "level")) && level->valuedouble == 2;
    assert_int_equal(quoted, 2 * 7); /* latency and six numbers, of two experiments */
    cJSON_Delete(card);
}

static void bad_base_cards_and_files_are_refused(void **state)
{
    struct chip chip;
    struct capture capture;
    struct card_tally tally;
    cJSON *card = NULL;
    struct card_request request = {.found = &chip.all, .base_path = "missing.json"};
    enum status status;

    (void)state;
    make_chip(&chip);
    chip.all.device = same_device;
    capture_begin(&capture, stderr);
    status = card_make(&request, &card, &tally);
    assert_non_null(strstr(capture_end(&capture), "missing.json"));
    assert_int_equal(status, STATUS_USAGE);
    request.base_path = base_path;
    request.file = "no such file";
    capture_begin(&capture, stderr);
    status = card_make(&request, &card, &tally);
    assert_non_null(strstr(capture_end(&capture), "no such file"));
    assert_int_equal(status, STATUS_USAGE);
    assert_null(card);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_found_stands),
        cmocka_unit_test(what_was_not_found_is_the_base_cards),
        cmocka_unit_test(a_chip_that_serializes_by_line),
        cmocka_unit_test(contradictions_are_not_used),
        cmocka_unit_test(replacement_is_a_name),
        cmocka_unit_test(what_makes_no_cache_is_not_used),
        cmocka_unit_test(the_first_that_is_known_counts),
        cmocka_unit_test(values_of_another_chip_are_assumed),
        cmocka_unit_test(nothing_was_found),
        cmocka_unit_test(what_the_driver_says_is_counted),
        cmocka_unit_test(origins_are_of_all_keys),
        cmocka_unit_test(bad_base_cards_and_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
