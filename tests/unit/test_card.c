/* SPDX-License-Identifier: MIT
 * Cards: the built-in one, and what is wrong with others. Runs in the repository's root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "capture.h"
#include "card.h"
#include "json.h"

static const char default_path[] = "results/cards/h200.json";

static void built_in_card_is_the_file(void **state)
{
    struct card built_in, file;

    (void)state;
    assert_int_equal(card_read(NULL, &built_in), STATUS_OK);
    assert_int_equal(card_read(default_path, &file), STATUS_OK);
    assert_memory_equal(&built_in, &file, sizeof(file));
}

static void cards_have_names(void **state)
{
    char lacks[CARD_LACKS_BYTES];
    struct card card;

    (void)state;
    for (size_t i = 0; i < card_text_count; i++) {
        struct card file;

        assert_int_equal(card_read(card_texts[i].name, &card), STATUS_OK);
        assert_int_equal(card_read(card_texts[i].file, &file), STATUS_OK);
        assert_string_equal(card.name, file.name);
        assert_true(card_lacks(&card, lacks) == (i > 1)); /* the H200 and the H100 were measured */
    }
    assert_int_equal(card_read("V100", &card), STATUS_OK);
    assert_string_equal(card.name, "V100");
    assert_int_equal(card.sm_count, 80);
    assert_int_equal(card.levels[0].capacity_bytes, 2112);
    assert_int_equal(card.levels[0].ways, 0);
    assert_true(card.levels[0].kept_unknown);
    assert_true(card.levels[0].latency_cycles == 40);
    assert_int_equal(card.parameter_lines, CARD_UNKNOWN);
    assert_true(card_lacks(&card, lacks));
    assert_string_equal(lacks, "l2_kept_bytes, l2_dirty_bytes, dram_bytes_per_ns and 31 more");
}

static void built_in_card_is_an_h200(void **state)
{
    struct card card;

    (void)state;
    assert_int_equal(card_read(NULL, &card), STATUS_OK);
    assert_string_equal(card.name, "H200");
    assert_string_equal(card.chip, "GH100");
    assert_int_equal(card.cc_major, 9);
    assert_int_equal(card.cc_minor, 0);
    assert_int_equal(card.sm_count, 132);
    assert_int_equal(card.warps_per_sm, 64);
    assert_int_equal(card.blocks_per_sm, 32);
    assert_int_equal(card.shared_bytes_per_sm, 228 * 1024);
    assert_int_equal(card.l2_bytes, 62914560);
    assert_true(card.l2_kept_bytes <= card.l2_bytes && card.l2_dirty_bytes <= card.l2_bytes);
    assert_int_equal(card.parameter_lines, 2);
    assert_false(card.levels[0].kept_between_launches);
    assert_int_equal(card.level_count, 2);
    assert_int_equal(card.levels[0].sms, 1);
    assert_int_equal(card.levels[0].line_bytes, 64);
    assert_int_equal(card_level_index(&card, "idc"), 0);
    assert_int_equal(card_level_index(&card, "gcc"), 1);
    assert_int_equal(card_level_index(&card, "IDC"), 2);
    assert_int_equal(card_level_index(&card, ""), 2);
}

/* -- cards with something wrong ----------------------------------------------------------------------- */

/* The default card with one thing changed. `level`: in levels[level], or -1 for the card itself. `json` is
 * the new value; NULL removes the key. */
struct change {
    int level;
    const char *key;
    const char *json;
    const char *message; /* what the error says; NULL: the card is taken */
};

static enum status read_changed(const struct change *change, struct card *card, const char **message)
{
    static struct capture capture;
    char path[] = "/tmp/cbank-card-XXXXXX";
    const int file = mkstemp(path);
    cJSON *json = NULL;
    enum status status;

    assert_true(file >= 0);
    close(file);
    assert_int_equal(json_read_file(default_path, &json), STATUS_OK);
    cJSON *object = json;

    if (change->level >= 0)
        object = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "levels"), change->level);
    cJSON_DeleteItemFromObjectCaseSensitive(object, change->key);
    if (change->json)
        cJSON_AddItemToObject(object, change->key, cJSON_CreateRaw(change->json));
    assert_int_equal(json_write(path, json), STATUS_OK);
    cJSON_Delete(json);

    capture_begin(&capture, stderr);
    status = card_read(path, card);
    *message = capture_end(&capture);
    unlink(path);
    return status;
}

static void check_change(const struct change *change)
{
    struct card card, untouched;
    const char *message;
    enum status status;

    memset(&card, 0x5a, sizeof(card));
    untouched = card;
    status = read_changed(change, &card, &message);
    if (change->message == NULL) {
        assert_string_equal(message, "");
        assert_int_equal(status, STATUS_OK);
        return;
    }
    if (strstr(message, change->message) == NULL)
        fail_msg("'%s' is not in: %s", change->message, message);
    assert_int_equal(status, STATUS_USAGE);
    assert_memory_equal(&card, &untouched, sizeof(card));
    assert_ptr_equal(strchr(message, '\n'), message + strlen(message) - 1); /* said once */
}

#define LONG_NAME "\"0123456789012345678901234567890123456789012345678901234567890123\""
#define ONE_LEVEL                                                                        \
    "{\"name\":\"idc\",\"capacity_bytes\":2048,\"line_bytes\":64,\"ways\":32,\"sms\":1," \
    "\"kept_between_launches\":true,\"request_cycles\":1,\"miss_cycles\":2,\"miss_latency_cycles\":3}"

static void wrong_keys_are_named(void **state)
{
    static const struct change changes[] = {
        {-1, "name", NULL, ": name: expected a string of 1 to 63 bytes"},
        {-1, "name", "\"\"", ": name: expected a string"},
        {-1, "name", "7", ": name: expected a string"},
        {-1, "name", LONG_NAME, ": name: expected a string of 1 to 63 bytes"},
        {-1, "cc_major", "0", ": cc_major: expected an integer from 1 to 99"},
        {-1, "cc_major", "9.5", ": cc_major: expected an integer"},
        {-1, "cc_minor", "-1", ": cc_minor: expected an integer"},
        {-1, "sm_count", "0", ": sm_count: expected an integer from 1 to 4096"},
        {-1, "sm_count", "4294967297", ": sm_count: expected "},
        {-1, "sm_count", "\"many\"", ": sm_count: expected "},
        {-1, "warps_per_sm", "31", ": warps_per_sm: expected "},
        {-1, "sm_clock_mhz", "0", ": sm_clock_mhz: expected a number from 1e-09 to 1000000000"},
        {-1, "sm_clock_mhz", "true", ": sm_clock_mhz: expected "},
        {-1, "l2_bytes", "null", NULL},
        {-1, "l2_bytes", NULL, ": l2_bytes: expected "},
        {-1, "sm_count", "null", ": sm_count: expected "},
        {-1, "parameter_lines", "null", NULL},
        {-1, "parameter_lines", NULL, ": parameter_lines: expected "},
        {0, "ways", "null", NULL},
        {0, "kept_between_launches", "null", NULL},
        {0, "kept_between_launches", NULL, ".kept_between_launches: expected true, false or null"},
        {0, "latency_cycles", "-1", ".latency_cycles: expected "},
        {-1, "dram_bytes_per_ns", "0", ": dram_bytes_per_ns: expected "},
        {-1, "blocks_per_sm", "0", ": blocks_per_sm: expected an integer from 1 to 1024"},
        {-1, "l2_dirty_bytes", "0", ": l2_dirty_bytes: expected "},
        {-1, "wave_ns", NULL, ": wave_ns: expected "},
        {-1, "block_dram_ns", "-0.5", ": block_dram_ns: expected "},
        {-1, "parameter_lines", "1.5", ": parameter_lines: expected an integer from 0 to 1048576"},
        {-1, "launch_ns", "-1", ": launch_ns: expected "},
        {-1, "l1_sectors_per_cycle", "1e10", ": l1_sectors_per_cycle: expected "},
        {-1, "shared_bytes_per_sm", "1000", ": shared_bytes_per_sm: expected an integer from 1024 to 16777216"},
        {-1, "shared_bytes_reserved", "-1", ": shared_bytes_reserved: expected "},
        {-1, "l2_slices", "0", ": l2_slices: expected an integer from 1 to 4096"},
        {-1, "l2_request_ns", NULL, ": l2_request_ns: expected "},
        {-1, "texture_requests_per_cycle", "0", ": texture_requests_per_cycle: expected a number from 1e-09"},
        {-1, "shared_wavefronts_per_cycle", "0", ": shared_wavefronts_per_cycle: expected "},
        {-1, "copy_bytes_per_ns", "0", ": copy_bytes_per_ns: expected "},
        {-1, "alternate_ns", "-1", ": alternate_ns: expected "},
        {-1, "levels", NULL, ": levels: expected an array, it is missing"},
        {-1, "levels", "[]", ": levels: expected 1 to 4 elements, there are 0"},
        {-1, "levels", "{}", ": levels: expected an array, it is an object"},
        {-1, "levels", "[1]", ": levels[0]: expected an object, it is this number"},
        {-1, "chip", "7", ": chip: expected a string of 1 to 63 bytes"},
        {-1, "chip", "\"\"", ": chip: expected a string"},
        {-1, "schema", NULL, ": schema: expected an object, it is missing"},
        {-1, "schema", "7", ": schema: expected an object, it is this number"},
        {-1, "schema", "{\"name\":\"cbank-result\",\"version\":\"1.0\"}",
         ": schema.name: 'cbank-result' is no card of cbank; results/cards/ has examples"},
        {-1, "schema", "{\"name\":\"cbank-card\",\"version\":\"2.0\"}", ": schema.version: 2.0, this build reads 1.x"},
        {-1, "schema", "{\"name\":\"cbank-card\",\"version\":\"11.0\"}",
         ": schema.version: 11.0, this build reads 1.x"},
        {-1, "schema", "{\"name\":\"cbank-card\"}", ": schema.version: expected a string, it is missing"},
        {0, "name", NULL, ": levels[0].name: expected "},
        {1, "line_bytes", "96", ": levels[1].line_bytes: expected a power of two"},
        {1, "line_bytes", "2", ": levels[1].line_bytes: expected "},
        {0, "ways", "3", ": levels[0].ways: expected a power of two for a tree"},
        {0, "capacity_bytes", "2112", ": levels[0].capacity_bytes: expected a whole number of sets"},
        {0, "ways", "4194304", ": levels[0].capacity_bytes: expected a whole number of sets"},
        {1, "sms", "0", ": levels[1].sms: expected "},
        {0, "replacement", "1",
         ": levels[0].replacement: expected \"LRU\", \"FIFO\", \"tree pseudo-LRU\", \"bit pseudo-LRU\", \"NRU\", \"Clock\", \"Clock of hits\", \"SRRIP\", \"SRRIP of frequency\" or \"random\""},
        {1, "replacement", "\"lru\"",
         ": levels[1].replacement: expected \"LRU\", \"FIFO\", \"tree pseudo-LRU\", \"bit pseudo-LRU\", \"NRU\", \"Clock\", \"Clock of hits\", \"SRRIP\", \"SRRIP of frequency\" or \"random\""},
        {0, "kept_between_launches", NULL, ": levels[0].kept_between_launches: expected true, false or null"},
        {1, "kept_between_launches", "1", ": levels[1].kept_between_launches: expected true, false or null"},
        {1, "miss_latency_cycles", "\"long\"", ": levels[1].miss_latency_cycles: expected "},
        {1, "miss_cycles", NULL, ": levels[1].miss_cycles: expected "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        check_change(&changes[i]);
}

static void other_cards_are_taken(void **state)
{
    static const struct change changes[] = {
        {-1, "schema", "{\"name\":\"cbank-card\",\"version\":\"1.7\"}", NULL},
        {-1, "schema", "{\"name\":\"cbank-card\",\"version\":\"1.0\"}", NULL},
        {-1, "unknown_key", "[1, 2]", NULL},
        {-1, "source", NULL, NULL},
        {-1, "origins", "7", NULL},
        {-1, "chip", NULL, NULL},
        {-1, "chip", "null", NULL},
        {-1, "launch_ns", "0", NULL},
        {-1, "levels", "[" ONE_LEVEL "]", NULL},
        {-1, "levels", "[" ONE_LEVEL "," ONE_LEVEL "," ONE_LEVEL "," ONE_LEVEL "]", NULL},
        {0, "capacity_bytes", "2304", NULL},
        {0, "ways", "32", NULL},
    };
    static const struct change too_many = {-1, "levels",
                                           "[" ONE_LEVEL "," ONE_LEVEL "," ONE_LEVEL "," ONE_LEVEL "," ONE_LEVEL "]",
                                           "levels: expected 1 to 4 elements, there are 5"};

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        check_change(&changes[i]);
    check_change(&too_many);
}

static void missing_file_is_an_error(void **state)
{
    struct capture capture;
    struct card card;
    enum status status;

    (void)state;
    capture_begin(&capture, stderr);
    status = card_read("/nonexistent/card.json", &card);
    assert_non_null(strstr(capture_end(&capture), "/nonexistent/card.json"));
    assert_int_equal(status, STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_card_is_the_file), cmocka_unit_test(built_in_card_is_an_h200),
        cmocka_unit_test(cards_have_names),          cmocka_unit_test(wrong_keys_are_named),
        cmocka_unit_test(other_cards_are_taken),     cmocka_unit_test(missing_file_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
