/* SPDX-License-Identifier: MIT
 * The SMs that share a level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiment.h"
#include "log.h"

enum { GRAIN_BYTES = 256 };

/* Every SM in turn loads the region, and the others time a load of it. Finds the latency of the
 * shared level, and the groups. */
void experiment_sharing(struct experiment_run *run)
{
    static const char method[] = "one SM loads every line; the others time a first load. Shared: "
                                 "nearer to the second level than to the third";
    const struct geometry_level *levels = run->geometry->level;
    const uint32_t sms = run->out->device.sm_count, fits = levels[1].fits_bytes.value;
    const double threshold = geometry_behind(run->geometry, 1);
    const size_t pairs = (size_t)sms * sms;
    struct outcome *outcome = run->outcome;
    struct probe_request request = {.kind = PROBE_SHARING, .blocks = sms, .step = 4};
    uint32_t *cycles, *own, *answer;
    double wrong = 0; /* pairs that disagree with the groups */
    double *shared, timing;
    size_t count = 0, shares = 0;

    request.bytes = GRAIN_BYTES * sms < BANK_BYTES ? GRAIN_BYTES * sms : BANK_BYTES;
    if (fits && fits < request.bytes)
        request.bytes = fits;
    if (sms < 2 || request.bytes / sms < 4) {
        experiment_skip(run, "there is one SM, or the level is smaller than a word for each");
        return;
    }
    request.grain = request.bytes / sms / 4 * 4;
    if (levels[0].fetch_bytes.known)
        request.step = levels[0].fetch_bytes.value;
    cycles = calloc(pairs + 3 * (size_t)sms, sizeof(*cycles)); /* [of][to], 0 if not known */
    own = cycles + pairs; /* loads that the first level of the SM answers */
    answer = own + sms;
    shared = calloc(pairs, sizeof(*shared));
    outcome->group = calloc(sms, sizeof(*outcome->group));
    outcome->sm_count = sms;
    if (!cycles || !shared || !outcome->group)
        run->status = log_memory("pairs of SMs");
    for (; request.first < sms && run->status == STATUS_OK && experiment_ask(run, &request, answer);
         request.first++) {
        own[request.first] = answer[2 * request.first + 1];
        for (uint32_t i = 0; i < sms; i++) {
            const uint32_t of = answer[2 * request.first], to = answer[2 * i];

            if (of < sms && to < sms && i != request.first)
                cycles[of * sms + to] = answer[2 * i + 1];
        }
    }
    if (run->status != STATUS_OK)
        goto out;
    /* An SM is in the group of the first one that hits its data, and whose data it hits. */
    for (uint32_t i = 0, k; i < sms; i++) {
        for (k = 0; k < i; k++)
            if (cycles[i * sms + k] && cycles[i * sms + k] < threshold &&
                cycles[k * sms + i] < threshold)
                break;
        outcome->group[i] = k < i ? outcome->group[k] : outcome->group_count++;
    }
    timing = experiment_timing(run, stats_lower_median(own, sms));
    for (size_t i = 0; i < pairs; i++) {
        count += cycles[i] > 0;
        wrong += cycles[i] &&
                 (cycles[i] < threshold) != (outcome->group[i / sms] == outcome->group[i % sms]);
        if (cycles[i] && cycles[i] < threshold)
            shared[shares++] = cycles[i] - timing;
    }
    if (shares && isfinite(timing))
        stats_spread(shared, shares, &outcome->latency);
    wrong /= (double)count;
    experiment_number(run, (struct number){"groups", "groups", method, outcome->group_count,
                                           outcome->group_count, outcome->group_count, count,
                                           .reason = ""});
    experiment_number(run, (struct number){"pairs_that_disagree", "of the pairs", method, wrong,
                                           wrong, wrong, count, .reason = ""});
out:
    free(shared);
    free(cycles);
}
