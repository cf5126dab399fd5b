/* SPDX-License-Identifier: MIT
 * A device as the driver describes it, or unknown; and its board: the part number, and the sizes of
 * the groups of SMs that share an L1.5 constant cache, the largest first. */
#include "device.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

const struct device_info device_unknown = {.sm_clock_max_mhz = NAN,
                                           .memory_clock_max_mhz = NAN,
                                           .launch_ns = NAN};

/* -- the board --------------------------------------------------------------------------------- */

static const char several[] = "there are several boards";

static int larger_first(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a < b) - (a > b);
}

void board_set_groups(struct board *board, const uint32_t *group, uint32_t sm_count,
                      uint32_t group_count)
{
    uint32_t *sizes = board->constant_cache_groups;

    memset(sizes, 0, sizeof(board->constant_cache_groups));
    board->group_count = 0;
    if (group_count > BOARD_GROUPS_MAX) {
        snprintf(board->groups_reason, sizeof(board->groups_reason),
                 "there are more than %d groups of SMs", BOARD_GROUPS_MAX);
        return;
    }
    for (uint32_t sm = 0; sm < sm_count; sm++)
        sizes[group[sm]]++;
    qsort(sizes, group_count, sizeof(*sizes), larger_first);
    board->group_count = group_count;
    board->groups_reason[0] = '\0';
}

static void merge_part_number(struct board *board, const struct board *from)
{
    if (strcmp(board->part_number_reason, several) == 0 || !from->part_number[0])
        return;
    if (board->part_number[0] && strcmp(board->part_number, from->part_number) != 0) {
        board->part_number[0] = '\0';
        memcpy(board->part_number_reason, several, sizeof(several));
        return;
    }
    memcpy(board->part_number, from->part_number, sizeof(board->part_number));
    board->part_number_reason[0] = '\0';
}

static bool same_groups(const struct board *first, const struct board *second)
{
    return first->group_count == second->group_count &&
           memcmp(first->constant_cache_groups, second->constant_cache_groups,
                  first->group_count * sizeof(first->constant_cache_groups[0])) == 0;
}

static void merge_groups(struct board *board, const struct board *from)
{
    if (strcmp(board->groups_reason, several) == 0 || from->group_count == 0)
        return;
    if (board->group_count > 0 && !same_groups(board, from)) {
        board->group_count = 0;
        memcpy(board->groups_reason, several, sizeof(several));
        return;
    }
    board->group_count = from->group_count;
    memcpy(board->constant_cache_groups, from->constant_cache_groups,
           sizeof(board->constant_cache_groups));
    board->groups_reason[0] = '\0';
}

void board_merge(struct board *board, const struct board *from)
{
    if (!from->given)
        return;
    if (!board->given) {
        *board = *from;
        return;
    }
    merge_part_number(board, from);
    merge_groups(board, from);
}

char *board_sizes(const struct board *board, char out[BOARD_SIZES_BYTES])
{
    const uint32_t *sizes = board->constant_cache_groups;

    out[0] = '\0';
    for (size_t i = 0, next; i < board->group_count; i = next) {
        for (next = i + 1; next < board->group_count && sizes[next] == sizes[i];)
            next++;
        text_join(out, BOARD_SIZES_BYTES, " + ", "%zu x %" PRIu32, next - i, sizes[i]);
    }
    return out;
}

static bool board_known(const struct board *board)
{
    return board->part_number[0] && board->group_count > 0;
}

enum board_kinds board_kinds(const struct board *first, const struct board *second)
{
    if (!board_known(first) || !board_known(second))
        return KINDS_UNKNOWN;
    return strcmp(first->part_number, second->part_number) == 0 && same_groups(first, second)
               ? KINDS_ONE
               : KINDS_TWO;
}

char *board_kind(const struct board *board, char out[BOARD_TEXT_BYTES])
{
    char sizes[BOARD_SIZES_BYTES];

    out[0] = '\0';
    if (!board->part_number[0])
        text_join(out, BOARD_TEXT_BYTES, ", ", "no part number");
    else
        text_join(out, BOARD_TEXT_BYTES, ", ", "%s", board->part_number);
    if (board->group_count == 0)
        text_join(out, BOARD_TEXT_BYTES, ", ", "no groups of SMs");
    else
        text_join(out, BOARD_TEXT_BYTES, ", ", "groups of %s SMs", board_sizes(board, sizes));
    return out;
}

static size_t groups_of(const struct board *board, uint32_t sms)
{
    size_t count = 0;

    for (size_t i = 0; i < board->group_count; i++)
        count += board->constant_cache_groups[i] == sms;
    return count;
}

/* Adds each size of `from` whose number differs in `to`; with `new_sizes`, those alone that `to`
 * has not. */
static void join_sizes(const struct board *from, const struct board *to, bool new_sizes, char *out)
{
    for (size_t i = 0; i < from->group_count; i++) {
        const uint32_t sms = from->constant_cache_groups[i];
        const size_t its = groups_of(from, sms), others = groups_of(to, sms);
        const bool first = i == 0 || from->constant_cache_groups[i - 1] != sms;

        if (first && its != others && (!new_sizes || others == 0))
            text_join(out, BOARD_TEXT_BYTES, ", ", "%zu and not %zu groups of %" PRIu32 " SMs",
                      new_sizes ? others : its, new_sizes ? its : others, sms);
    }
}

char *board_difference(const struct board *from, const struct board *to, char out[BOARD_TEXT_BYTES])
{
    out[0] = '\0';
    if (strcmp(from->part_number, to->part_number) != 0)
        text_join(out, BOARD_TEXT_BYTES, ", ", "part number %s and not %s", to->part_number,
                  from->part_number);
    if (!same_groups(from, to)) {
        join_sizes(to, from, false, out);
        join_sizes(from, to, true, out);
    }
    return out;
}

char *board_text(const struct board *board, char out[BOARD_TEXT_BYTES])
{
    char sizes[BOARD_SIZES_BYTES];

    out[0] = '\0';
    if (board->part_number[0])
        text_join(out, BOARD_TEXT_BYTES, "; ", "part number %s", board->part_number);
    else
        text_join(out, BOARD_TEXT_BYTES, "; ", "part number not known: %s",
                  board->part_number_reason);
    if (board->group_count > 0)
        text_join(out, BOARD_TEXT_BYTES, "; ", "L1.5 constant caches of %s SMs",
                  board_sizes(board, sizes));
    else
        text_join(out, BOARD_TEXT_BYTES, "; ", "SMs of each L1.5 constant cache not known: %s",
                  board->groups_reason);
    return out;
}
