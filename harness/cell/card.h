/* SPDX-License-Identifier: MIT
 * Chip cards: the parameters of one chip, from which the model engine predicts. JSON, schema
 * results/card.schema.json, keys as the fields below; the default card is built into the program. */
#ifndef CBANK_CARD_H
#define CBANK_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"
#include "json.h"
#include "status.h"

enum { CARD_NAME_BYTES = 64, CARD_LEVELS_MAX = 4 };

/* One level of the constant path. Everything in bytes and SM cycles. What model.c makes of the costs: a
 * level is busy for requests x request_cycles + misses x miss_cycles, and a block whose load misses waits
 * miss_latency_cycles. */
struct card_level {
    char name[CARD_NAME_BYTES]; /* "idc", "gcc" */
    uint32_t capacity_bytes;    /* a whole number of sets of ways x line_bytes */
    uint32_t line_bytes;        /* a power of two */
    uint32_t ways;              /* ways x line_bytes == capacity_bytes means fully associative */
    uint32_t sms;               /* SMs that share one instance, at most: 1 for the first level */
    enum cache_replacement replacement; /* CACHE_LRU where the card says nothing */
    bool kept_between_launches; /* false: every launch finds it without the lines of the table */
    double request_cycles;      /* occupancy per request: on the first level one per distinct address */
    double miss_cycles;         /* what a miss adds to that */
    double miss_latency_cycles; /* what a block that misses waits longer */
};

struct card {
    char name[CARD_NAME_BYTES]; /* "H200" */
    char chip[CARD_NAME_BYTES]; /* CUPTI's chip name, "GH100"; "" when not known */
    uint32_t cc_major, cc_minor;
    uint32_t sm_count;
    uint32_t warps_per_sm;       /* that can be resident at a time */
    uint32_t blocks_per_sm;      /* the same of blocks */
    uint32_t shared_bytes_per_sm;   /* shared memory of an SM, for the blocks that are resident */
    uint32_t shared_bytes_reserved; /* what the system takes of it for every block */
    double sm_clock_mhz;
    uint64_t l2_bytes;
    uint64_t l2_kept_bytes;      /* of a launch's input and output: what L2 holds for the next launch */
    uint64_t l2_dirty_bytes;     /* output that L2 holds before it writes to DRAM */
    double dram_bytes_per_ns;    /* achieved streaming bandwidth, reads and writes together */
    double l2_bytes_per_ns;      /* the same of data that stays in L2 */
    double launch_ns;            /* what one more launch of an empty kernel in a graph costs */
    double wave_ns;              /* from the launch to the end of the first wave of blocks, input from L2 */
    double cold_ns;              /* what the first wave takes longer after a flush */
    double block_launch_ns;      /* from the start of a block to the next one's, on the whole chip */
    double block_l2_ns;          /* life of a block of a later wave, payload aside: its input from L2 */
    double block_dram_ns;        /* the same with the input from DRAM */
    double block_write_back_ns;  /* what that takes longer while L2 writes output to DRAM */
    double issue_per_cycle;      /* warp instructions an SM issues per cycle */
    double l1_sectors_per_cycle; /* sectors an SM's L1 answers per cycle */
    double l1_requests_per_cycle;/* warp loads an SM's L1 takes per cycle */
    double l1_miss_cycles;       /* per sector of the table that the first block of an SM fetches into L1 */
    double l2_request_ns;        /* from one request for a line of the table to the next at one slice of L2 */
    uint32_t l2_slices;          /* that requests for different lines spread over: as good as so many */
    double texture_requests_per_cycle;  /* warp loads an SM's texture units take per cycle */
    double shared_wavefronts_per_cycle; /* turns of an SM's shared memory per cycle */
    double staging_wait_cycles;  /* before a block has copied its first elements into shared memory, and at the
                                    barrier */
    double staging_round_cycles; /* for each element that a thread copies: a load, which L1 need not have, and a
                                    store, one round after the other */
    double uniform_request_cycles;   /* occupancy of the uniform datapath's constant cache per warp load */
    double immediate_request_cycles; /* the same of the immediate constant cache per constant operand */
    double copy_ns;              /* what a copy to the table before a launch costs, beside its bytes */
    double copy_bytes_per_ns;    /* rate of such a copy */
    double alternate_ns;         /* what one more launch costs when it is another module's than the one before */
    uint32_t parameter_lines;    /* lines of kernel parameters that each SM with a block fetches into the
                                    first level */
    uint32_t immediate_lines;    /* lines that its immediate constant caches ask the second level for, where each of
                                    its four partitions has a warp */
    size_t level_count;
    struct card_level levels[CARD_LEVELS_MAX]; /* nearest the SM first */
};

/* Reads and checks a card file; path NULL gives the built-in default card. STATUS_USAGE with the key that
 * is wrong, *out is then unchanged. Where the numbers come from (origins, numbers) is not looked at. */
enum status card_read(const char *path, struct card *out);

/* The same, and the file as it is: *json is then the caller's, to cJSON_Delete. */
enum status card_read_json(const char *path, struct card *out, cJSON **json);

/* Checks a card in memory; `name` is what messages call it. STATUS_USAGE with the key that is wrong. */
enum status card_check(const char *name, const cJSON *json);

/* The keys of a card, and of one of its levels, in the order of the schema; NULL from the last one on. Not among them:
 * schema, levels, and what says where the numbers come from. */
const char *card_key(size_t index);
const char *card_level_key(size_t index);

/* The levels' index of that name; card->level_count when there is none. */
uint32_t card_level_index(const struct card *card, const char *name);

#endif
