/* SPDX-License-Identifier: MIT
 * The groups of SMs that share a level of cache. Each SM in turn loads a region into it; then all
 * others time one load of it, each of a word of its own. sm_sharing.h has the matrix and the
 * grouping:
 *
 *   loads \ times   SM 0   SM 1   SM 2
 *   SM 0              -     near   far       SM 0 and SM 1 share, SM 2 does not */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiment.h"
#include "log.h"
#include "sm_sharing.h"

static enum status ask(void *context, const struct probe_request *request, uint32_t *answer)
{
    struct experiment_run *run = context;
    struct probe_request asked = *request;

    experiment_ask(run, &asked, answer);
    return run->status;
}

/* The request for this chip, whose first two levels are known. */
static struct probe_request request_of(const struct experiment_run *run)
{
    const struct geometry_level *levels = run->geometry->level;
    const uint32_t sms = run->out->device.sm_count, fits = levels[1].fits_bytes.value;
    struct probe_request request = sm_sharing_request(sms);

    if (fits && fits < request.bytes)
        request.bytes = fits;
    request.grain = request.bytes / sms / 4 * 4;
    request.step = levels[0].fetch_bytes.known ? levels[0].fetch_bytes.value : 4;
    return request;
}

/* Sets the latency of the shared level. */
static void find_latency(struct experiment_run *run, const struct sm_sharing *sharing,
                         double threshold)
{
    const size_t sms = sharing->sm_count;
    const double timing = experiment_timing(run, stats_lower_median(sharing->own, sms));
    double *shared = calloc(sms * sms, sizeof(*shared));
    size_t count = 0;

    if (!shared)
        run->status = log_memory("pairs of SMs");
    for (size_t i = 0; shared && i < sms * sms; i++)
        if (sm_sharing_known(sharing, i) && sharing->cycles[i] < threshold)
            shared[count++] = sharing->cycles[i] - timing;
    if (count && isfinite(timing))
        stats_spread(shared, count, &run->outcome->latency);
    free(shared);
}

/* Every SM in turn loads the region, and the others time a load of it. Finds the latency of the
 * shared level, and the groups. */
void experiment_sharing(struct experiment_run *run)
{
    static const char method[] = "one SM loads every line; the others time a first load. Shared: "
                                 "nearer to the second level than to the third";
    const uint32_t sms = run->out->device.sm_count;
    const double threshold = geometry_behind(run->geometry, 1);
    struct outcome *outcome = run->outcome;
    struct sm_sharing sharing = {0};
    struct probe_request request;
    double groups, wrong;
    size_t count = 0;

    if (sms >= 2)
        request = request_of(run);
    if (sms < 2 || request.bytes / sms < 4) {
        experiment_skip(run, "there is one SM, or the level is smaller than a word for each");
        return;
    }
    outcome->group = calloc(sms, sizeof(*outcome->group));
    outcome->sm_count = sms;
    run->status = outcome->group ? sm_sharing_measure(&sharing, request, ask, run)
                                 : log_memory("the groups of SMs");
    if (run->status != STATUS_OK)
        goto out;
    if (!sharing.at_once) {
        experiment_skip(run, "the SMs did not all run at the same time; let nothing else use the "
                             "GPU");
        goto out;
    }
    groups = outcome->group_count = sm_sharing_groups(&sharing, threshold, outcome->group);
    wrong = sm_sharing_disagreement(&sharing, threshold, outcome->group);
    for (size_t i = 0; i < (size_t)sms * sms; i++)
        count += sm_sharing_known(&sharing, i);
    find_latency(run, &sharing, threshold);
    experiment_number(run, (struct number){"groups", "groups", method, groups, groups, groups,
                                           count, .reason = ""});
    experiment_number(run, (struct number){"pairs_that_disagree", "of the pairs", method, wrong,
                                           wrong, wrong, count, .reason = ""});
out:
    sm_sharing_close(&sharing);
}
