/* SPDX-License-Identifier: MIT
 * Measures the lookups that advice is about: a run whose result is not kept. */
#include "advise_measure.h"

#include "ranking.h"

/* A run, and whom its result is for. */
struct measuring {
    struct run_options run; /* the first member: take_result is given it */
    struct advice *advice;
};

static enum status take_result(const struct result *result, const struct run_options *options)
{
    const struct measuring *measuring = (const struct measuring *)options;
    struct ranking ranking;
    enum status status = ranking_open(result, ADVISE_EQUAL, &ranking);

    if (status == STATUS_OK)
        status = advise_take(measuring->advice, &ranking);
    ranking_close(&ranking);
    return status;
}

enum status advise_measure(const struct measure_options *measure,
                           const struct plan_options *lookups, const struct invocation *invocation,
                           struct advice *advice)
{
    const struct measuring measuring =
        {.run = {.plan = *lookups, .measure = *measure, .json_path = RUN_NO_FILE, .quiet = true},
         .advice = advice};

    return run_plan(&measuring.run, invocation, take_result);
}
