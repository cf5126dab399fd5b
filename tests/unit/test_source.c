/* SPDX-License-Identifier: MIT
 * Index sources: each makes what its row says. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "parameter_index.h"
#include "source.h"
#include "test.h"

enum { ELEMENTS = 10007, STEPS = 3, COUNT = ELEMENTS * STEPS };

static uint32_t parameters_of_test[PARAMETERS_MAX] = {[PARAMETER_skew_percent] = 100,
                                                      [PARAMETER_distinct] = 7,
                                                      [PARAMETER_run_threads] = 8,
                                                      [PARAMETER_window_entries] = 8,
                                                      [PARAMETER_window_threads] = 256};

/* ELEMENTS x STEPS indices, to free. */
static uint32_t *make(enum source_index source, uint32_t length, uint64_t seed)
{
    const struct source_numbers numbers = {ELEMENTS, STEPS, length, seed, parameters_of_test};
    uint32_t *index = malloc(COUNT * sizeof(*index));

    assert_non_null(index);
    assert_int_equal(source_make(&sources[source], &numbers, index), 1);
    return index;
}

TEST(indices_are_below_the_length_and_follow_from_the_seed)
{
    static const uint32_t lengths[] = {8, 50, 1000, 16384, 65537};

    for (size_t s = 0; s < source_made_count; s++)
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            uint32_t *index = make((enum source_index)s, lengths[l], 5),
                     *again = make((enum source_index)s, lengths[l], 5);
            uint32_t *reseeded = make((enum source_index)s, lengths[l], 6);

            for (size_t i = 0; i < COUNT; i++)
                assert_true(index[i] < lengths[l]);
            assert_memory_equal(index, again, COUNT * sizeof(*index));
            assert_int_equal(memcmp(index, reseeded, COUNT * sizeof(*index)) != 0,
                             s != SOURCE_lockstep);
            free(index);
            free(again);
            free(reseeded);
        }
}

/* Chi squared of how often entries come, against what is expected; of 49 degrees of freedom, 99.99
 * % are below 93. */
static double chi_squared(const uint32_t *index, size_t count, const double *share, uint32_t length)
{
    double *found = calloc(length, sizeof(*found)), sum = 0;

    for (size_t i = 0; i < count; i++)
        found[index[i]]++;
    for (uint32_t k = 0; k < length; k++)
        sum += pow(found[k] - share[k] * (double)count, 2) / (share[k] * (double)count);
    free(found);
    return sum;
}

TEST(uniform_and_zipf_are_distributed_as_they_say)
{
    enum { LENGTH = 50 };
    uint32_t *uniform = make(SOURCE_random, LENGTH, 1), *zipf = make(SOURCE_zipf, LENGTH, 1);
    double even[LENGTH], skewed[LENGTH], total = 0;

    for (uint32_t k = 0; k < LENGTH; k++)
        total += 1.0 / (k + 1);
    for (uint32_t k = 0; k < LENGTH; k++) {
        even[k] = 1.0 / LENGTH;
        skewed[k] = 1.0 / (k + 1) / total;
    }
    assert_true(chi_squared(uniform, COUNT, even, LENGTH) < 93);
    assert_true(chi_squared(zipf, COUNT, skewed, LENGTH) < 93);
    assert_true(chi_squared(zipf, COUNT, even, LENGTH) > 1000); /* it can fail */
    free(uniform);
    free(zipf);
}

/* How many different entries the threads of a warp read, and the most threads that read one. */
static uint32_t distinct_of(const uint32_t *index, uint32_t threads, uint32_t *most)
{
    uint32_t distinct = 0;

    *most = 0;
    for (uint32_t i = 0; i < threads; i++) {
        uint32_t before = 0, same = 0;

        for (uint32_t j = 0; j < threads; j++) {
            before += j < i && index[j] == index[i];
            same += index[j] == index[i];
        }
        distinct += before == 0;
        *most = same > *most ? same : *most;
    }
    return distinct;
}

/* The last warp of a step has 23 threads. */
TEST(a_warp_reads_as_many_entries_as_distinct_says)
{
    for (uint32_t distinct = 1; distinct <= 32; distinct++) {
        uint32_t *equal, *unequal;

        parameters_of_test[PARAMETER_distinct] = distinct;
        equal = make(SOURCE_distinct, 100, 1);
        unequal = make(SOURCE_unequal, 100, 1);
        for (uint32_t step = 0; step < STEPS; step++)
            for (uint32_t first = 0; first < ELEMENTS; first += 32) {
                const uint32_t threads = ELEMENTS - first < 32 ? ELEMENTS - first : 32;
                const uint32_t wanted = distinct < threads ? distinct : threads;
                uint32_t most;

                assert_int_equal(distinct_of(equal + step * ELEMENTS + first, threads, &most),
                                 wanted);
                assert_int_equal(most, (threads + distinct - 1) / distinct);
                assert_int_equal(distinct_of(unequal + step * ELEMENTS + first, threads, &most),
                                 wanted);
                assert_int_equal(most, threads - wanted + 1);
            }
        free(equal);
        free(unequal);
    }
    parameters_of_test[PARAMETER_distinct] = 7;
}

TEST(sorted_goes_up_over_all_of_the_table)
{
    uint32_t *index = make(SOURCE_sorted, 1000, 1);
    double sum = 0;

    for (size_t i = 0; i < COUNT; i++) {
        assert_true(i % ELEMENTS == 0 || index[i] >= index[i - 1]);
        sum += index[i];
    }
    assert_int_equal(index[0], 0);
    assert_int_equal(index[ELEMENTS - 1], 999);
    assert_true(fabs(sum / COUNT - 499.5) < 5);
    free(index);
}

/* With runs of 8, 3753 of 30021 threads begin one, give or take 57; one in 1000 reads the same
 * entry as before. */
TEST(runs_are_as_long_as_they_say)
{
    uint32_t *index = make(SOURCE_runs, 1000, 1), changes = 0;

    for (size_t i = 1; i < COUNT; i++)
        changes += index[i] != index[i - 1];
    assert_true(changes > 3753 - 4 * 57 - 10 && changes < 3753 + 4 * 57);
    free(index);
}

/* Windows of 8 in a table of 30 entries: three whole ones. Threads 256 k to 256 k + 255 read all
 * entries of window k % 3. */
TEST(blocks_have_windows_of_their_own)
{
    uint32_t *index = make(SOURCE_window, 30, 1);

    for (uint32_t step = 0; step < STEPS; step++)
        for (uint32_t first = 0; first + 256 <= ELEMENTS; first += 256) {
            uint32_t seen = 0;

            for (uint32_t i = first; i < first + 256; i++)
                seen |= 1u << index[step * ELEMENTS + i];
            assert_int_equal(seen, 255u << 8 * (first / 256 % 3));
        }
    free(index);
}

TEST(lockstep_walks)
{
    uint32_t *index = make(SOURCE_lockstep, 2, 1);

    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(index[i], i / ELEMENTS % 2);
    free(index);
}
