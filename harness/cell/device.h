/* SPDX-License-Identifier: MIT
 * A device: the driver's description of a GPU, or a card of a chip. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optional.h"

enum {
    DEVICE_TEXT_BYTES = 96,
    BOARD_GROUPS_MAX = 256,
    BOARD_REASON_BYTES = 192,
    BOARD_SIZES_BYTES = 256
};

/* Facts that tell boards of one model apart. No serial number is read. */
struct board {
    bool given; /* it is a GPU, and somebody looked */
    char part_number[DEVICE_TEXT_BYTES]; /* NVML's; "" when not known */
    char part_number_reason[BOARD_REASON_BYTES]; /* why it is not known; else "" */
    /* numbers of SMs that share an L1.5 constant cache, from the largest on */
    uint32_t constant_cache_groups[BOARD_GROUPS_MAX];
    size_t group_count; /* 0 when not known */
    char groups_reason[BOARD_REASON_BYTES]; /* why they are not known; else "" */
};

/* The device of a cuda run, or the card of a model run (fields that a card lacks are empty or
 * 0). */
struct device_info {
    char name[DEVICE_TEXT_BYTES];
    char chip[DEVICE_TEXT_BYTES]; /* CUPTI's name; "" when not known */
    char uuid[DEVICE_TEXT_BYTES];
    char driver[DEVICE_TEXT_BYTES];
    char vbios[DEVICE_TEXT_BYTES];
    char ecc[DEVICE_TEXT_BYTES]; /* "on", "off", "" unknown */
    char mig[DEVICE_TEXT_BYTES]; /* as ecc */
    char pci_bus_id[DEVICE_TEXT_BYTES];
    uint32_t cuda_driver_api; /* 13000 is 13.0 */
    uint32_t cc_major, cc_minor;
    uint32_t sm_count;
    uint32_t warps_per_sm, blocks_per_sm; /* that can be resident at a time; 0 when not known */
    uint32_t shared_bytes_per_sm;         /* of an SM; 0 when not known */
    struct optional shared_bytes_reserved; /* in each block; 0: it reserves none */
    uint64_t l2_bytes;
    uint64_t memory_bytes;
    double sm_clock_max_mhz, memory_clock_max_mhz; /* NaN when not known */
    uint64_t throttle_before, throttle_after;      /* NVML's bits */
    bool throttle_known;
    /* measured: the time that one more launch of an empty kernel adds; NaN when not known */
    double launch_ns;
    struct board board;
};

/* A device without any known fact: numbers are NaN. */
extern const struct device_info device_unknown;

/* Sets the sizes of the groups from the number of each SM's group, which is below group_count. */
void board_set_groups(struct board *board, const uint32_t *group, uint32_t sm_count,
                      uint32_t group_count);

/* Boards of one model are of one kind where part number and groups are equal. Both are what a
 * result records, and never follow from a time. */
enum board_kinds { KINDS_UNKNOWN, KINDS_ONE, KINDS_TWO };
enum board_kinds board_kinds(const struct board *first, const struct board *second);

/* Adds the facts of another result. Those that differ are not known. */
void board_merge(struct board *board, const struct board *from);

/* The sizes, as "2 x 18 + 6 x 16"; "" when not known. Returns out. */
char *board_sizes(const struct board *board, char out[BOARD_SIZES_BYTES]);

enum { BOARD_TEXT_BYTES = 768 };

/* The kind: part number and sizes of groups, or which of these is not known. Returns out. */
char *board_kind(const struct board *board, char out[BOARD_TEXT_BYTES]);

/* What the kinds of two boards differ by, as "4 and not 2 groups of 18 SMs"; "" for one kind.
 * Returns out. */
char *board_difference(const struct board *from, const struct board *to,
                       char out[BOARD_TEXT_BYTES]);

/* The board in words, with the reasons. Returns out. */
char *board_text(const struct board *board, char out[BOARD_TEXT_BYTES]);
