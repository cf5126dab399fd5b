/* SPDX-License-Identifier: MIT
 * Cards: those in the program, what is wrong with others, and how many blocks an SM holds. Runs in
 * the repository's root. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "capture.h"
#include "card.h"
#include "cells.h"
#include "device.h"
#include "json.h"
#include "test.h"

TEST(each_built_in_card_is_its_file)
{
    for (size_t i = 0; i < card_text_count; i++) {
        struct card built_in, file;

        assert_int_equal(card_read(card_texts[i].name, &built_in), STATUS_OK);
        assert_int_equal(card_read(card_texts[i].file, &file), STATUS_OK);
        assert_memory_equal(&built_in, &file, sizeof(file));
        /* the H200 and the H100 were measured; streams of the H200 alone */
        assert_true((card_unknown(&file) == 0) == (i == 0));
        assert_true((card_unknown_of_model(&file) == 0) == (i < 2));
    }
}

TEST(a_card_of_a_device_knows_what_the_driver_says)
{
    struct device_info device = device_unknown;
    struct card card;

    snprintf(device.name, sizeof(device.name), "NVIDIA Unseen");
    device.cc_major = 8;
    device.cc_minor = 9;
    device.sm_count = 100;
    device.warps_per_sm = 48;
    device.l2_bytes = 1000;
    assert_false(card_known(&device));
    card_of_device(&device, &card);
    assert_string_equal(card.name, "NVIDIA Unseen");
    assert_int_equal(card_architecture(&card), 89);
    assert_true(card.number[CARD_SM_COUNT].value == 100 && card.number[CARD_L2_BYTES].low == 1000);
    assert_true(isnan(card.number[CARD_LAUNCH_NS].value));
    device.cc_major = 9;
    device.cc_minor = 0;
    device.sm_count = 132;
    assert_true(card_known(&device));
}

TEST(the_default_card_is_an_h200)
{
    struct device_info device = {.name = "NVIDIA H200", .cc_major = 9, .sm_count = 132};
    struct card card;

    assert_int_equal(card_read(NULL, &card), STATUS_OK);
    assert_string_equal(card.name, "H200");
    assert_true(card.number[CARD_CONSTANT_L1_BYTES].value == 2048 &&
                card.number[CARD_SM_COUNT].value == 132);
    assert_true(card_is_of(&card, &device));
    strcpy(device.chip, "GB202");
    assert_false(card_is_of(&card, &device));
    device = (struct device_info){.cc_major = 9, .sm_count = 114};
    assert_false(card_is_of(&card, &device));
}

TEST(what_a_card_does_not_know_is_named)
{
    char text[CARD_TEXT_BYTES];
    struct card card;

    assert_int_equal(card_read("v100", &card), STATUS_OK);
    card_keys_text(card_unknown(&card), text);
    assert_non_null(strstr(text, "launch_ns, block_start_ns"));
    assert_null(strstr(text, "sm_count"));
    card_keys_text(0, text);
    assert_string_equal(text, "");
}

/* -- files ------------------------------------------------------------------------------------- */

/* A card with a member of `model`, or of the card itself, replaced or taken out. */
struct change {
    const char *key, *json; /* NULL: taken out */
    const char *said; /* in the message; NULL: the card is read */
};

#define ALL(number) "{\"value\": " number ", \"low\": " number ", \"high\": " number "}"

static const struct change changes[] = {
    {"name", "7", "name: expected a string of 1 to 63 bytes"},
    {"chip", "null", NULL},
    {"cc_major", "0", "cc_major: expected an integer from 1 to 99"},
    {"model", NULL, "model: expected an object, it is missing"},
    {"schema", "{\"name\": \"cbank-result\", \"version\": \"1.0\"}",
     "schema.name: 'cbank-result' is no card"},
    {"schema", "{\"name\": \"cbank-card\", \"version\": \"2.0\"}", "schema.version: 2.0"},
    {"launch_ns", "null", NULL},
    {"launch_ns", NULL, NULL},
    {"launch_ns", ALL("600"), NULL},
    {"launch_ns", "600", "model.launch_ns: expected an object"},
    {"launch_ns", "{\"value\": 600, \"low\": 700, \"high\": 800}",
     "model.launch_ns.value: expected a number from low to high"},
    {"launch_ns", "{\"value\": 600, \"low\": 500}", "model.launch_ns.high: expected a number"},
    {"launch_ns", ALL("-1"), "model.launch_ns.value: expected a number from 0"},
    {"issue_per_cycle", ALL("0"), "model.issue_per_cycle.value: expected a number from 0.001"},
    {"sm_count", NULL, "model.sm_count: expected an object, it is missing"},
    {"sm_count", "null", "model.sm_count: expected an object"},
    {"sm_count", ALL("131.5"), "model.sm_count.value: expected an integer"},
};

TEST(what_is_wrong_with_a_card_is_said)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        static struct capture capture;
        const struct change *change = &changes[i];
        cJSON *read = NULL, *json, *object;
        struct card card;
        enum status status;

        assert_int_equal(card_read_json("h200", &card, &read), STATUS_OK);
        json = cJSON_Duplicate(read, true);
        object = cJSON_GetObjectItemCaseSensitive(json, change->key)
                     ? json
                     : cJSON_GetObjectItemCaseSensitive(json, "model");
        cJSON_DeleteItemFromObjectCaseSensitive(object, change->key);
        if (change->json)
            cJSON_AddItemToObject(object, change->key, cJSON_Parse(change->json));
        capture_begin(&capture, stderr);
        status = card_check("a.json", json, &(struct card){0});
        capture_end(&capture);
        assert_int_equal(status, change->said ? STATUS_USAGE : STATUS_OK);
        if (change->said && !strstr(capture.text, change->said))
            fail_msg("%s: '%s' is not in %s", change->key, change->said, capture.text);
        json_free(read);
        cJSON_Delete(json);
    }
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* An H200: 64 warps, 32 blocks, 65,536 registers, and 233,472 bytes of shared memory; each block
 * takes 1,024 bytes more. */
TEST(an_sm_holds_the_blocks_that_it_has_room_for)
{
    static const struct {
        const char *path;
        uint32_t block_size, registers, room;
    } rows[] = {
        {"constant", 1024, 0, 2},  {"constant", 256, 0, 8},   {"constant", 32, 0, 32},
        {"constant", 96, 0, 21},   {"shared", 256, 0, 3},     {"constant", 1024, 33, 1},
        {"constant", 1024, 32, 2}, {"constant", 256, 255, 1}, {"constant", 1024, 80, 1},
    };
    struct card card;

    assert_int_equal(card_read(NULL, &card), STATUS_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cell cell = cell_of(0, 0);

        cell.path = path_named(rows[i].path);
        cell.block_size = rows[i].block_size;
        assert_int_equal(card_blocks_room(&card, &cell, rows[i].registers), rows[i].room);
        assert_int_equal(card_blocks_resident(&card, &cell, rows[i].registers), rows[i].room);
    }
}
