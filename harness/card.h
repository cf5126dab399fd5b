/* SPDX-License-Identifier: MIT
 * Chip cards: the parameters of one chip, from which the model engine predicts. JSON, schema
 * results/card.schema.json, keys as the fields below; the default card is built into the program. */
#ifndef CBANK_CARD_H
#define CBANK_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

enum { CARD_NAME_BYTES = 64, CARD_LEVELS_MAX = 4 };

/* One level of the constant path. Everything in bytes and SM cycles. What model.c makes of the costs: a
 * level is busy for requests x request_cycles + misses x miss_cycles. */
struct card_level {
    char name[CARD_NAME_BYTES]; /* "idc", "gcc" */
    uint32_t capacity_bytes;    /* a whole number of sets of ways x line_bytes */
    uint32_t line_bytes;        /* a power of two */
    uint32_t ways;              /* ways x line_bytes == capacity_bytes means fully associative */
    uint32_t sms;               /* SMs that share one instance: 1 for the first level */
    double request_cycles;      /* occupancy per request: on the first level one per distinct address */
    double miss_cycles;         /* what a miss adds to that */
};

struct card {
    char name[CARD_NAME_BYTES]; /* "H200" */
    char chip[CARD_NAME_BYTES]; /* CUPTI's chip name, "GH100" */
    uint32_t cc_major, cc_minor;
    uint32_t sm_count;
    uint32_t warps_per_sm;       /* that can be resident at a time */
    double sm_clock_mhz;
    uint64_t l2_bytes;
    double dram_bytes_per_ns;    /* achieved streaming bandwidth, reads and writes together */
    double l2_bytes_per_ns;      /* the same of data that stays in L2 */
    double launch_ns;            /* what one more launch of an empty kernel in a graph costs */
    double ramp_ns;              /* latency of one wave of a streaming kernel that is not hidden */
    double issue_per_cycle;      /* warp instructions an SM issues per cycle */
    double l1_sectors_per_cycle; /* sectors an SM's L1 answers per cycle */
    double l1_requests_per_cycle;/* warp loads an SM's L1 takes per cycle */
    uint32_t level_count;
    struct card_level levels[CARD_LEVELS_MAX]; /* nearest the SM first */
    char source[1024];           /* where the numbers come from, for people */
};

/* Reads and checks a card file; path NULL gives the built-in default card. STATUS_USAGE with the key that
 * is wrong, *out is then unchanged. */
enum status card_read(const char *path, struct card *out);

/* The levels' index of that name; card->level_count when there is none. */
uint32_t card_level_index(const struct card *card, const char *name);

#endif
