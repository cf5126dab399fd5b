/* SPDX-License-Identifier: MIT
 * How often the interval of ticks_mean holds the truth: durations of simulated launches, by a timer
 * of coarse ticks. A line of JSON for each case. usage: coverage SEED TRIALS */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "ticks.h"

enum { SETS = 24, LAUNCHES_MAX = 72, PHASES = 16 };

struct simulated {
    double tick, noise;
    bool anywhere; /* a launch starts anywhere within a tick; else always at the same place */
    bool heavy;    /* noise is Student's t of three degrees of freedom, of the same deviation */
    size_t launches, sets;
};

struct told {
    double covered, least, widest; /* the least of a phase; the largest half width, in ns */
};

static double uniform(uint64_t *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

static double gauss(uint64_t *random)
{
    return sqrt(-2 * log(1 - uniform(random))) * cos(2 * 3.14159265358979323846 * uniform(random));
}

static double noise_of(const struct simulated *simulated, uint64_t *random)
{
    double squares = 0;

    for (size_t i = 0; simulated->heavy && i < 3; i++)
        squares += pow(gauss(random), 2);
    return simulated->noise * (simulated->heavy ? gauss(random) / sqrt(squares) : gauss(random));
}

/* One cell: its buffer sets differ by up to 100 ns. Whether the interval holds the mean. */
static bool holds(const struct simulated *simulated, double truth, double place, uint64_t *random,
                  double *half)
{
    double samples[LAUNCHES_MAX], scratch[LAUNCHES_MAX], sets[SETS], mean = 0;
    struct ticks_mean found;

    for (size_t i = 0; i < simulated->sets; i++) {
        sets[i] = truth + (simulated->sets > 1 ? 100 * uniform(random) : 0);
        mean += sets[i] / (double)simulated->sets;
    }
    for (size_t i = 0; i < simulated->launches; i++) {
        const double start =
                         simulated->tick * (1e4 + (simulated->anywhere ? uniform(random) : place)),
                     end = start + sets[i % simulated->sets] + noise_of(simulated, random);

        samples[i] =
            simulated->tick * (floor(end / simulated->tick) - floor(start / simulated->tick));
    }
    found = ticks_mean(samples, simulated->launches, simulated->sets, simulated->tick, scratch);
    *half = found.half;
    return fabs(found.value - mean) <= found.half;
}

static struct told told_of(const struct simulated *simulated, size_t trials, uint64_t *random)
{
    struct told told = {.least = 1};

    for (size_t phase = 0; phase < PHASES; phase++) {
        size_t held = 0;

        for (size_t i = 0; i < trials; i++) {
            /* of the duration; the place of a start is another one */
            const double truth = simulated->tick * (100 + ((double)phase + 0.5) / PHASES);
            double half;

            held += holds(simulated, truth, uniform(random), random, &half);
            told.widest = fmax(told.widest, half);
        }
        told.covered += (double)held / (double)(trials * PHASES);
        told.least = fmin(told.least, (double)held / (double)trials);
    }
    return told;
}

int main(int argc, char **argv)
{
    static const double ticks[] = {1, 32, 64}, noises[] = {0, 4, 10, 20, 40, 60};
    static const size_t launches[] = {12, 72};
    uint64_t random;

    if (argc != 3)
        return 2;
    random = strtoull(argv[1], NULL, 10);
    for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
        for (size_t j = 0; j < sizeof(noises) / sizeof(noises[0]); j++)
            for (size_t k = 0; k < 8; k++) {
                const struct simulated simulated = {.tick = ticks[i],
                                                    .noise = noises[j],
                                                    .anywhere = k & 1,
                                                    .heavy = k & 2,
                                                    .launches = launches[k >> 2],
                                                    .sets = k & 4 ? SETS : 1};
                const struct told told = told_of(&simulated, strtoull(argv[2], NULL, 10), &random);

                printf("{\"tick_ns\": %g, \"noise_ns\": %g, \"launches\": %zu, \"sets\": %zu, "
                       "\"start\": \"%s\", \"tails\": \"%s\", \"covered\": %.4f, \"least\": %.4f, "
                       "\"widest_ns\": %.1f}\n",
                       simulated.tick, simulated.noise, simulated.launches, simulated.sets,
                       simulated.anywhere ? "anywhere" : "fixed",
                       simulated.heavy ? "heavy" : "normal", told.covered, told.least, told.widest);
            }
    return 0;
}
