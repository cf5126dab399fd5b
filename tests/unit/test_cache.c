/* SPDX-License-Identifier: MIT
 * The simulated cache against another simulation, and against sequences by hand. */
#include "cache.h"
#include "simulated_prober.h"
#include "test.h"

/* -- another simulation ------------------------------------------------------------------------ */

TEST(random_lookups_are_those_of_another_simulation)
{
    static const uint32_t sets[] = {1, 2, 3, 8, 33, 64}, ways[] = {1, 2, 4, 8, 32};
    uint64_t random = 1;

    for (enum cache_replacement policy = 0; policy < CACHE_REPLACEMENT_COUNT; policy++)
        for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++)
            for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
                struct sim sim = {1, .levels = {{64, .fetch_bytes = 64, .sets = sets[s],
                                                 .ways = ways[w], .policy = policy}}};
                struct cache cache;

                sim_open(&sim);
                assert_int_equal(cache_open(&cache, 64, sets[s], ways[w], policy), STATUS_OK);
                for (; sim.accesses < 3000; sim.accesses++) {
                    const uint64_t address = random_next(&random) % (64 * sets[s] * (ways[w] + 2));

                    assert_int_equal(cache_lookup(&cache, address),
                                     sim_level_lookup(&sim, &sim.levels[0], address));
                }
                cache_close(&cache);
                sim_close(&sim);
            }
}

/* -- known behaviour --------------------------------------------------------------------------- */

/* Lines by their number, all of one set of four ways; 1: a hit. */
static void check_sequence(enum cache_replacement replacement, const char *lines, const char *hits)
{
    struct cache cache;

    assert_int_equal(cache_open(&cache, 64, 1, 4, replacement), STATUS_OK);
    for (size_t i = 0; lines[i]; i++)
        assert_int_equal(cache_lookup(&cache, (uint64_t)(lines[i] - 'a') * 64), hits[i] == '1');
    cache_close(&cache);
}

/* By hand. a b c d fill; a is used again, then e comes. LRU drops b. FIFO drops a. The tree: after
 * d its root leads left and there to a; after a, right and there to c. */
TEST(policies_drop_what_they_say)
{
    check_sequence(CACHE_LRU, "abcdaeb", "0000100");
    check_sequence(CACHE_LRU, "abcdaea", "0000101");
    check_sequence(CACHE_FIFO, "abcdaea", "0000100");
    check_sequence(CACHE_FIFO, "abcdaeb", "0000101");
    check_sequence(CACHE_TREE, "abcdaec", "0000100");
    check_sequence(CACHE_TREE, "abcdaeb", "0000101");
    /* a b c d, a again, e, over and over. The tree comes to miss every second, as an H200 was seen
     * to; LRU misses four of six, FIFO five. */
    check_sequence(CACHE_TREE, "abcdaeabcdaeabcdaeabcdaeabcdae", "000010110000101010101010101010");
    check_sequence(CACHE_LRU, "abcdaeabcdaeabcdae", "000010100010100010");
    check_sequence(CACHE_FIFO, "abcdaeabcdaeabcdae", "000010000010000010");
    /* Bits: d left its own alone, then a's; b goes. NRU: all are marked, all lose it, a goes. */
    check_sequence(CACHE_BITS, "abcdaeb", "0000100");
    check_sequence(CACHE_BITS, "abcdaec", "0000101");
    check_sequence(CACHE_NRU, "abcdaea", "0000100");
    check_sequence(CACHE_NRU, "abcdaebfghe", "00001010000");
}
