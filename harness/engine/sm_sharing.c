/* SPDX-License-Identifier: MIT
 * The matrix of cycles between SMs, and the groups that it shows. The threshold lies in the first
 * gap of the sorted cycles, at its geometric mean; an SM joins the first group whose leader hits
 * its data, and whose data it hits.
 *
 *   loads \ times   SM 0   SM 1   SM 2   SM 3
 *   SM 0              -    111    327    112       groups: 0 0 1 0 */
#include "sm_sharing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "stats.h"

/* A line of no constant cache is longer, and no miss brings in less than a step. */
enum { GRAIN_BYTES = 256, STEP_BYTES = 64 };

static const double least_gap = 1.5; /* between the two kinds of loads, as a ratio */

struct probe_request sm_sharing_request(uint32_t sm_count)
{
    const uint32_t grain = sm_count * GRAIN_BYTES > CBANK_TABLE_BYTES
                               ? CBANK_TABLE_BYTES / sm_count / STEP_BYTES * STEP_BYTES
                               : GRAIN_BYTES;

    return (struct probe_request){
        .kind = PROBE_SHARING,
        .blocks = sm_count,
        .bytes = grain * sm_count,
        .step = STEP_BYTES,
        .grain = grain,
    };
}

enum status sm_sharing_measure(struct sm_sharing *out, struct probe_request request,
                               sm_sharing_ask *ask, void *context)
{
    const uint32_t sms = request.blocks;
    const size_t pairs = (size_t)sms * sms;
    enum status status = STATUS_OK;
    size_t known = 0;

    *out = (struct sm_sharing){.sm_count = sms, .at_once = true};
    out->cycles = calloc(pairs + 3 * (size_t)sms, sizeof(*out->cycles));
    if (!out->cycles)
        return log_memory("pairs of SMs");
    out->own = out->cycles + pairs;
    out->answer = out->own + sms;
    for (request.first = 0; request.first < sms; request.first++) {
        const uint32_t *answer = out->answer;
        const uint32_t *first = answer + 2 * (size_t)request.first;

        status = ask(context, &request, out->answer);
        if (status != STATUS_OK)
            return status;
        out->at_once = answer[0] != PROBE_NOT_AT_ONCE;
        if (!out->at_once)
            return STATUS_OK;
        out->own[request.first] = first[1];
        for (uint32_t i = 0; i < sms; i++)
            if (first[0] < sms && answer[2 * i] < sms && i != request.first)
                out->cycles[first[0] * sms + answer[2 * i]] = answer[2 * i + 1];
    }
    for (size_t pair = 0; pair < pairs; pair++)
        known += sm_sharing_known(out, pair);
    out->complete = known == pairs - sms;
    return STATUS_OK;
}

void sm_sharing_close(struct sm_sharing *sharing)
{
    free(sharing->cycles);
    *sharing = (struct sm_sharing){0};
}

bool sm_sharing_known(const struct sm_sharing *sharing, size_t pair)
{
    return sharing->cycles[pair] > 0;
}

double sm_sharing_threshold(const struct sm_sharing *sharing)
{
    const size_t sms = sharing->sm_count, pairs = sms * sms;
    uint32_t *sorted = malloc((pairs + 1) * sizeof(*sorted));
    double threshold = NAN;
    size_t count = 0;

    if (!sorted || !sharing->complete)
        goto out;
    for (size_t pair = 0; pair < pairs; pair++)
        if (sm_sharing_known(sharing, pair))
            sorted[count++] = sharing->cycles[pair];
    stats_sort_uint32(sorted, count);
    for (size_t i = 1; i < count && isnan(threshold); i++)
        if (sorted[i] >= least_gap * sorted[i - 1])
            threshold = sqrt((double)sorted[i - 1] * sorted[i]);
out:
    free(sorted);
    return threshold;
}

/* Whether the second SM hit what the first one loaded. */
static bool hit(const struct sm_sharing *sharing, double threshold, uint32_t first, uint32_t second)
{
    const uint32_t cycles = sharing->cycles[(size_t)first * sharing->sm_count + second];

    return cycles && cycles < threshold;
}

/* An SM is in the group of the first one that hits its data, and whose data it hits. */
uint32_t sm_sharing_groups(const struct sm_sharing *sharing, double threshold, uint32_t *group)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < sharing->sm_count; i++) {
        uint32_t k = 0;

        while (k < i && !(hit(sharing, threshold, i, k) && hit(sharing, threshold, k, i)))
            k++;
        group[i] = k < i ? group[k] : count++;
    }
    return count;
}

double sm_sharing_disagreement(const struct sm_sharing *sharing, double threshold,
                               const uint32_t *group)
{
    const size_t sms = sharing->sm_count;
    double wrong = 0, count = 0;

    for (size_t pair = 0; pair < sms * sms; pair++) {
        if (!sm_sharing_known(sharing, pair))
            continue;
        count++;
        wrong += (sharing->cycles[pair] < threshold) != (group[pair / sms] == group[pair % sms]);
    }
    return wrong / count;
}
