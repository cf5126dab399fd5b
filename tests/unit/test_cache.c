/* SPDX-License-Identifier: MIT
 * The simulated cache against lists, and against what LRU is known to do. */
#include <stdlib.h>

#include "cache.h"
#include "test.h"

/* -- a cache of lists: each set its lines, last used first -------------------------------------------- */

enum { LIST_SETS_MAX = 64, LIST_WAYS_MAX = 64 };

struct lists {
    uint32_t line_bytes, sets, ways;
    uint32_t count[LIST_SETS_MAX];
    uint64_t lines[LIST_SETS_MAX][LIST_WAYS_MAX + 1];
};

static bool lists_lookup(struct lists *lists, uint64_t address)
{
    const uint64_t line = address / lists->line_bytes;
    const uint32_t set = (uint32_t)(line % lists->sets);
    uint64_t *list = lists->lines[set];
    uint32_t at = 0;
    bool hit;

    while (at < lists->count[set] && list[at] != line)
        at++;
    hit = at < lists->count[set];
    memmove(list + 1, list, at * sizeof(*list));
    list[0] = line;
    if (!hit && lists->count[set] < lists->ways)
        lists->count[set]++;
    return hit;
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void check_random(uint32_t line_bytes, uint32_t sets, uint32_t ways, uint32_t span_bytes)
{
    static struct lists lists;
    struct cache cache;
    uint32_t random = 2463534242u;

    memset(&lists, 0, sizeof(lists));
    lists.line_bytes = line_bytes;
    lists.sets = sets;
    lists.ways = ways;
    assert_int_equal(cache_open(&cache, line_bytes, sets, ways, CACHE_LRU), STATUS_OK);
    for (uint32_t i = 0; i < 20000; i++) {
        const uint64_t address = next_random(&random) % span_bytes;

        assert_int_equal(cache_lookup(&cache, address), lists_lookup(&lists, address));
    }
    cache_close(&cache);
}

TEST(random_lookups_match_lists)
{
    static const uint32_t line_bytes[] = {4, 32, 64, 256};
    static const uint32_t sets[] = {1, 2, 3, 8, 33, 64};
    static const uint32_t ways[] = {1, 2, 4, 7, 33, 64};

    for (size_t l = 0; l < sizeof(line_bytes) / sizeof(line_bytes[0]); l++)
        for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++)
            for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
                const uint32_t capacity = line_bytes[l] * sets[s] * ways[w];

                check_random(line_bytes[l], sets[s], ways[w], capacity / 2 + 1);
                check_random(line_bytes[l], sets[s], ways[w], capacity + capacity / 4 + 8);
                check_random(line_bytes[l], sets[s], ways[w], 4 * capacity);
            }
}

/* -- known behaviour ---------------------------------------------------------------------------------- */

/* Lines by their number, all of one set of four ways; 1: a hit. */
static void check_sequence(enum cache_replacement replacement, const char *lines, const char *hits)
{
    struct cache cache;

    assert_int_equal(cache_open(&cache, 64, 1, 4, replacement), STATUS_OK);
    for (size_t i = 0; lines[i]; i++)
        assert_int_equal(cache_lookup(&cache, (uint64_t)(lines[i] - 'a') * 64), hits[i] == '1');
    cache_close(&cache);
}

/* By hand. a b c d fill; a is used again, then e comes. LRU drops b. FIFO drops a. The tree: after d its root leads left
 * and there to a; after a, right and there to c. */
TEST(policies_drop_what_they_say)
{
    check_sequence(CACHE_LRU, "abcdaeb", "0000100");
    check_sequence(CACHE_LRU, "abcdaea", "0000101");
    check_sequence(CACHE_FIFO, "abcdaea", "0000100");
    check_sequence(CACHE_FIFO, "abcdaeb", "0000101");
    check_sequence(CACHE_TREE, "abcdaec", "0000100");
    check_sequence(CACHE_TREE, "abcdaeb", "0000101");
    /* a b c d, a again, e, over and over. The tree comes to miss every second, as an H200 was seen to; LRU misses four of
     * six, FIFO five. */
    check_sequence(CACHE_TREE, "abcdaeabcdaeabcdaeabcdaeabcdae", "000010110000101010101010101010");
    check_sequence(CACHE_LRU, "abcdaeabcdaeabcdae", "000010100010100010");
    check_sequence(CACHE_FIFO, "abcdaeabcdaeabcdae", "000010000010000010");
    /* Bits: d left its own alone, then a's; b goes. NRU: all are marked, all lose it, a goes. */
    check_sequence(CACHE_BITS, "abcdaeb", "0000100");
    check_sequence(CACHE_BITS, "abcdaec", "0000101");
    check_sequence(CACHE_NRU, "abcdaea", "0000100");
    check_sequence(CACHE_NRU, "abcdaebfghe", "00001010000");
}

/* One line more than ways, over and over: LRU misses all of it, what is random some of it, and the same again. */
TEST(random_hits_some)
{
    uint64_t hits[2] = {0};

    for (size_t i = 0; i < 2; i++) {
        struct cache cache;

        assert_int_equal(cache_open(&cache, 64, 1, 4, CACHE_RANDOM), STATUS_OK);
        for (uint64_t k = 0; k < 5000; k++)
            hits[i] += cache_lookup(&cache, k % 5 * 64);
        cache_close(&cache);
    }
    assert_in_range(hits[0], 1500, 3500);
    assert_int_equal(hits[0], hits[1]);
}
