/* SPDX-License-Identifier: MIT
 * The SMs that share a level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiment.h"
#include "log.h"

enum { GRAIN_BYTES = 256 };

static const char cycles_unit[] = "cycles, the clock's own included";

/* Adds a number, or says why it has no value. */
static void add(struct experiment_run *run, struct number number)
{
    experiment_number(run, isnan(number.value) ? experiment_unknown(number, "no pair of SMs") : number);
}

/* Every SM in turn loads the region, and the others time a load of it. Adds the times of pairs, and the groups. */
void experiment_sharing(struct experiment_run *run)
{
    static const char method[] =
        "one SM loads every line; the others time a first load. Shared: nearer to the second level than to the third";
    static const char *const names[2] = {"cycles_not_shared", "cycles_shared"};
    const struct geometry_level *levels = run->geometry->level;
    const uint32_t sms = run->out->device.sm_count, fits = levels[1].fits_bytes.value;
    const double threshold = geometry_behind(run->geometry, 1);
    const size_t pairs = (size_t)sms * sms;
    struct outcome *outcome = run->outcome;
    struct probe_request request = {.kind = PROBE_SHARING, .blocks = sms, .step = 4};
    uint32_t *cycles, *room, *answer;
    size_t count = 0;
    double wrong = 0; /* pairs that disagree with the groups */

    request.bytes = GRAIN_BYTES * sms < BANK_BYTES ? GRAIN_BYTES * sms : BANK_BYTES;
    if (fits && fits < request.bytes)
        request.bytes = fits;
    if (request.bytes / sms < 4) {
        experiment_skip(run, "the level is smaller than a word for each SM");
        return;
    }
    request.grain = request.bytes / sms / 4 * 4;
    if (levels[0].fetch_bytes.known)
        request.step = levels[0].fetch_bytes.value;
    cycles = calloc(2 * pairs + 2 * sms, sizeof(*cycles)); /* [of][to], 0 if not known */
    room = cycles + pairs;
    answer = room + pairs;
    outcome->group = calloc(sms, sizeof(*outcome->group));
    outcome->sm_count = sms;
    if (!cycles || !outcome->group)
        run->status = log_memory("pairs of SMs");
    for (; request.first < sms && run->status == STATUS_OK && experiment_ask(run, &request, answer); request.first++)
        for (uint32_t i = 0; i < sms; i++) {
            const uint32_t of = answer[2 * request.first], to = answer[2 * i];

            if (of < sms && to < sms && i != request.first)
                cycles[of * sms + to] = answer[2 * i + 1];
        }
    if (run->status != STATUS_OK) {
        free(cycles);
        return;
    }
    /* An SM is in the group of the first one that hits its data, and whose data it hits. */
    for (uint32_t i = 0, k; i < sms; i++) {
        for (k = 0; k < i; k++)
            if (cycles[i * sms + k] && cycles[i * sms + k] < threshold && cycles[k * sms + i] < threshold)
                break;
        outcome->group[i] = k < i ? outcome->group[k] : outcome->group_count++;
    }
    for (size_t i = 0; i < pairs; i++)
        wrong += cycles[i] && (cycles[i] < threshold) != (outcome->group[i / sms] == outcome->group[i % sms]);
    for (int shared = 1; shared >= 0; shared--) {
        size_t n = 0, rank;

        for (size_t i = 0; i < pairs; i++)
            if (cycles[i] && (cycles[i] < threshold) == shared)
                room[n++] = cycles[i];
        stats_sort_uint32(room, n);
        rank = stats_median_rank(n, STATS_CONFIDENCE);
        add(run,
            (struct number){names[shared], cycles_unit, method, n ? room[(n - 1) / 2] : (double)NAN,
                            rank ? room[rank - 1] : (double)NAN, rank ? room[n - rank] : (double)NAN, n, .reason = ""});
        count += n;
    }
    wrong /= (double)count;
    add(run, (struct number){"groups", "groups", method, outcome->group_count, outcome->group_count,
                             outcome->group_count, count, .reason = ""});
    add(run, (struct number){"pairs_that_disagree", "of the pairs", method, wrong, wrong, wrong, count, .reason = ""});
    free(cycles);
}
