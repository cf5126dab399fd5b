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

static void merge_groups(struct board *board, const struct board *from)
{
    if (strcmp(board->groups_reason, several) == 0 || from->group_count == 0)
        return;
    if (board->group_count > 0 &&
        (board->group_count != from->group_count ||
         memcmp(board->constant_cache_groups, from->constant_cache_groups,
                from->group_count * sizeof(from->constant_cache_groups[0])) != 0)) {
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
