/* SPDX-License-Identifier: MIT */
#include "health.h"

#include <math.h>
#include <stdio.h>

#include "text.h"

enum { HEALTH_IS_count = false, HEALTH_IS_state = true };

const struct health_row health_rows[HEALTH_QUANTITIES] = {
#define HEALTH(key, kind, grave, words, remedy) {HEALTH_IS_##kind, grave, words, remedy},
#include "health.def"
};

uint32_t health_settle(struct health *health)
{
    uint32_t grew = 0;

    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        if (health->after.values[i] > health->before.values[i])
            grew |= 1u << i;
    health->grew |= grew;
    return grew;
}

const char *health_text(const struct health *health, char *out, size_t bytes)
{
    out[0] = '\0';
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++) {
        const double more = health->after.values[i] - health->before.values[i];

        if (!(health->grew >> i & 1))
            continue;
        if (health_rows[i].state || !(more > 0)) /* it grew before the run was resumed */
            text_join(out, bytes, ", ", "%s", health_rows[i].words);
        else
            text_join(out, bytes, ", ", "%.15g more %s", more, health_rows[i].words);
    }
    for (size_t i = 0; i < health->xid_count; i++)
        text_join(out, bytes, ", ", "Xid %u", (unsigned)health->xids[i].number);
    return out;
}

const char *health_reading_text(const struct health_reading *reading, char *out, size_t bytes)
{
    bool known = false;

    out[0] = '\0';
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++) {
        known = known || !isnan(reading->values[i]);
        if (reading->values[i] > 0 && health_rows[i].state)
            text_join(out, bytes, ", ", "%s", health_rows[i].words);
        else if (reading->values[i] > 0)
            text_join(out, bytes, ", ", "%.15g %s", reading->values[i], health_rows[i].words);
    }
    if (!out[0])
        text_join(out, bytes, "", known ? "none" : "not known");
    return out;
}
