/* SPDX-License-Identifier: MIT
 * The groups of SMs that share a constant cache: from answers that GPUs gave, and from made-up
 * times. The committed answers come with groups, by the known latencies of the caches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cell.h"
#include "characterization.h"
#include "device.h"
#include "sm_sharing.h"
#include "table.h"
#include "test.h"

enum { SMS = 12, HIT = 110, MISS = 300 };

/* -- answers of GPUs --------------------------------------------------------------------------- */

static enum status recorded(void *context, const struct probe_request *request, uint32_t *answer)
{
    const struct probe_source *source = context;
    struct probe_request asked = *request;

    asked.path = table_find(&table_of_paths, "constant");
    return source->ask(source->context, &asked, answer);
}

/* How many groups of the file's experiment have that many SMs. */
static size_t groups_of_size(const struct characterization *file, uint32_t sms)
{
    const cJSON *experiment, *group;
    size_t count = 0;

    cJSON_ArrayForEach (experiment, cJSON_GetObjectItem(file->tree, "experiments"))
        cJSON_ArrayForEach (group, cJSON_GetObjectItem(experiment, "groups"))
            count += (uint32_t)cJSON_GetArraySize(group) == sms;
    return count;
}

TEST(times_alone_tell_the_groups_of_every_recorded_gpu)
{
    static const char *const files[] = {
        "results/characterizations/h100.json",      "results/characterizations/h100-second.json",
        "results/characterizations/h200.json",      "results/characterizations/h200-second.json",
        "results/chips/h100/characterization.json", "results/chips/h200/characterization.json",
    };

    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        struct characterization file = {0};
        struct sm_sharing sharing;
        struct board board = {0};
        uint32_t group[256], count, sms, seen = 0;
        struct probe_source source;
        double threshold;

        assert_int_equal(characterization_read(files[f], &file), STATUS_OK);
        sms = file.device.sm_count;
        source = probe_replay_source(&file.replay);
        assert_int_equal(sm_sharing_measure(&sharing, sm_sharing_request(sms), recorded, &source),
                         STATUS_OK);
        threshold = sm_sharing_threshold(&sharing);
        count = sm_sharing_groups(&sharing, threshold, group);
        assert_true(sm_sharing_disagreement(&sharing, threshold, group) == 0);
        board_set_groups(&board, group, sms, count);
        assert_int_equal(board.group_count, 8);
        for (size_t i = 0; i < board.group_count; i++) {
            size_t alike = 0;

            for (size_t k = 0; k < board.group_count; k++)
                alike += board.constant_cache_groups[k] == board.constant_cache_groups[i];
            assert_int_equal(alike, groups_of_size(&file, board.constant_cache_groups[i]));
            assert_true(i == 0 ||
                        board.constant_cache_groups[i - 1] >= board.constant_cache_groups[i]);
            seen += board.constant_cache_groups[i];
        }
        assert_int_equal(seen, sms);
        sm_sharing_close(&sharing);
        characterization_close(&file);
    }
}

/* -- made-up times ----------------------------------------------------------------------------- */

/* SMs whose numbers are equal modulo `groups` share a cache. */
struct made_up {
    uint32_t groups, hit, miss;
    uint32_t apart; /* the block with this number has no turn in the launch of that block; SMS: none
                     */
    uint32_t missing; /* this SM has a number beyond those of the device; SMS: none */
};

static enum status made_up(void *context, const struct probe_request *request, uint32_t *answer)
{
    const struct made_up *made = context;
    const uint32_t first = request->first;

    for (uint32_t i = 0; i < SMS; i++) {
        answer[2 * i] = i == made->missing ? SMS + i : i;
        answer[2 * i + 1] = i == first ? 37
                            : i % made->groups == first % made->groups
                                ? made->hit + (i + first) % 7
                                : made->miss + (i * 31 + first) % 90;
    }
    if (first == made->apart)
        memset(answer, UINT8_MAX, 2 * SMS * sizeof(*answer));
    return STATUS_OK;
}

static struct sm_sharing measured(struct made_up made)
{
    struct sm_sharing sharing;

    assert_int_equal(sm_sharing_measure(&sharing, sm_sharing_request(SMS), made_up, &made),
                     STATUS_OK);
    return sharing;
}

TEST(groups_are_those_that_the_times_were_made_of)
{
    struct sm_sharing sharing = measured((struct made_up){3, HIT, MISS, SMS, SMS});
    const double threshold = sm_sharing_threshold(&sharing);
    uint32_t group[SMS];

    assert_true(threshold > HIT + 6 && threshold < MISS);
    assert_int_equal(sm_sharing_groups(&sharing, threshold, group), 3);
    for (uint32_t i = 0; i < SMS; i++)
        assert_int_equal(group[i], i % 3);
    assert_true(sm_sharing_disagreement(&sharing, threshold, group) == 0);

    /* SMs 0 and 3 no longer hit each other's data: two of the SMS x (SMS - 1) pairs. */
    sharing.cycles[3] = sharing.cycles[3 * SMS] = MISS;
    assert_int_equal(sm_sharing_groups(&sharing, threshold, group), 4);
    assert_true(sm_sharing_disagreement(&sharing, threshold, group) > 0);
    sm_sharing_close(&sharing);
}

TEST(times_of_one_kind_tell_nothing)
{
    struct sm_sharing all = measured((struct made_up){1, HIT, MISS, SMS, SMS});
    struct sm_sharing none = measured((struct made_up){SMS, HIT, MISS, SMS, SMS});
    struct sm_sharing near = measured((struct made_up){3, HIT, HIT + 30, SMS, SMS});

    assert_true(isnan(sm_sharing_threshold(&all)));
    assert_true(isnan(sm_sharing_threshold(&none)));
    assert_true(isnan(sm_sharing_threshold(&near)));
    sm_sharing_close(&all);
    sm_sharing_close(&none);
    sm_sharing_close(&near);
}

TEST(a_launch_without_a_turn_ends_the_probe)
{
    struct sm_sharing sharing = measured((struct made_up){3, HIT, MISS, 4, SMS});

    assert_false(sharing.at_once);
    assert_true(isnan(sm_sharing_threshold(&sharing)));
    sm_sharing_close(&sharing);
}

TEST(sms_with_other_numbers_are_not_complete)
{
    struct sm_sharing sharing = measured((struct made_up){3, HIT, MISS, SMS, 5});

    assert_true(sharing.at_once && !sharing.complete);
    assert_true(isnan(sm_sharing_threshold(&sharing)));
    sm_sharing_close(&sharing);
}

TEST(every_word_that_others_load_was_loaded_before)
{
    for (uint32_t sms = 1; sms <= 1024; sms++) {
        const struct probe_request request = sm_sharing_request(sms);

        assert_int_equal(request.grain % request.step, 0);
        assert_true(request.grain > 0 && request.bytes <= CBANK_TABLE_BYTES);
        assert_true((sms - 1) * request.grain < request.bytes);
    }
}

/* -- boards ------------------------------------------------------------------------------------ */

static struct board board(const char *part_number, uint32_t sms)
{
    struct board made = {.given = true, .constant_cache_groups = {sms, 16}, .group_count = 2};

    snprintf(made.part_number, sizeof(made.part_number), "%s", part_number);
    return made;
}

TEST(what_differs_between_boards_is_not_known_of_all)
{
    const struct board a = board("A", 18), b = board("B", 18), c = board("A", 14);
    const struct board unknown = {.given = true,
                                  .part_number_reason = "no NVML",
                                  .groups_reason = "it failed"};
    struct board merged = {0};
    char text[BOARD_TEXT_BYTES];

    board_merge(&merged, &unknown);
    assert_string_equal(merged.part_number_reason, "no NVML");
    board_merge(&merged, &a);
    assert_string_equal(board_text(&merged, text),
                        "part number A; L1.5 constant caches of 1 x 18 + 1 x 16 SMs");
    board_merge(&merged, &unknown);
    assert_string_equal(board_text(&merged, text),
                        "part number A; L1.5 constant caches of 1 x 18 + 1 x 16 SMs");
    board_merge(&merged, &b);
    assert_string_equal(board_text(&merged, text),
                        "part number not known: there are several boards; L1.5 constant caches of "
                        "1 x 18 + 1 x 16 SMs");
    board_merge(&merged, &c);
    board_merge(&merged, &a);
    assert_string_equal(merged.part_number, "");
    assert_int_equal(merged.group_count, 0);
}

TEST(boards_are_of_one_kind_by_what_is_recorded)
{
    const struct board a = board("A", 18), b = board("B", 18), c = board("A", 14);
    const struct board no_part = board("", 18);
    struct board no_groups = board("A", 18);
    char text[BOARD_TEXT_BYTES];

    no_groups.group_count = 0;
    assert_int_equal(board_kinds(&a, &a), KINDS_ONE);
    assert_int_equal(board_kinds(&a, &b), KINDS_TWO);
    assert_int_equal(board_kinds(&a, &c), KINDS_TWO);
    assert_int_equal(board_kinds(&no_part, &no_part), KINDS_UNKNOWN);
    assert_int_equal(board_kinds(&no_groups, &a), KINDS_UNKNOWN);
    assert_string_equal(board_kind(&a, text), "A, groups of 1 x 18 + 1 x 16 SMs");
    assert_string_equal(board_kind(&no_groups, text), "A, no groups of SMs");
    assert_string_equal(board_difference(&a, &a, text), "");
    assert_string_equal(board_difference(&a, &b, text), "part number B and not A");
    assert_string_equal(board_difference(&a, &c, text),
                        "1 and not 0 groups of 14 SMs, 0 and not 1 groups of 18 SMs");
}

TEST(more_groups_than_there_is_room_for_are_not_known)
{
    struct board made = {.given = true};
    uint32_t group[BOARD_GROUPS_MAX + 1];

    for (uint32_t i = 0; i <= BOARD_GROUPS_MAX; i++)
        group[i] = i;
    board_set_groups(&made, group, BOARD_GROUPS_MAX + 1, BOARD_GROUPS_MAX + 1);
    assert_int_equal(made.group_count, 0);
    assert_true(made.groups_reason[0]);
    board_set_groups(&made, group, BOARD_GROUPS_MAX, BOARD_GROUPS_MAX);
    assert_int_equal(made.group_count, BOARD_GROUPS_MAX);
    assert_string_equal(made.groups_reason, "");
}
