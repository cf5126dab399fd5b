/* SPDX-License-Identifier: MIT
 * The table of errors that a driver counts, and readings of them in words. */
#include "health.h"

#include <inttypes.h>

#include "text.h"

const char *const health_keys[HEALTH_QUANTITIES] = {
    [HEALTH_ECC_CORRECTED] = "ecc_corrected",
    [HEALTH_ECC_UNCORRECTED] = "ecc_uncorrected",
    [HEALTH_RETIRED_PAGES_SINGLE_BIT] = "retired_pages_single_bit",
    [HEALTH_RETIRED_PAGES_DOUBLE_BIT] = "retired_pages_double_bit",
    [HEALTH_RETIREMENT_PENDING] = "retirement_pending",
    [HEALTH_REMAPPED_ROWS_CORRECTABLE] = "remapped_rows_correctable",
    [HEALTH_REMAPPED_ROWS_UNCORRECTABLE] = "remapped_rows_uncorrectable",
    [HEALTH_REMAP_PENDING] = "remap_pending",
    [HEALTH_REMAP_FAILED] = "remap_failed",
    [HEALTH_XIDS] = "xids",
};

const struct health_row health_rows[HEALTH_QUANTITIES] = {
    [HEALTH_ECC_CORRECTED] = {.words = "corrected ECC errors"},
    [HEALTH_ECC_UNCORRECTED] = {"uncorrected ECC errors",
                                "reset the GPU, and measure on another one if they come back",
                                .grave = true},
    [HEALTH_RETIRED_PAGES_SINGLE_BIT] = {.words = "pages retired for single-bit errors"},
    [HEALTH_RETIRED_PAGES_DOUBLE_BIT] = {"pages retired for double-bit errors", .grave = true},
    [HEALTH_RETIREMENT_PENDING] = {"pages wait to be retired",
                                   "reset the GPU or restart the host, which retires them",
                                   .state = true},
    [HEALTH_REMAPPED_ROWS_CORRECTABLE] = {.words = "rows remapped for correctable errors"},
    [HEALTH_REMAPPED_ROWS_UNCORRECTABLE] = {"rows remapped for uncorrectable errors",
                                            .grave = true},
    [HEALTH_REMAP_PENDING] = {"rows wait to be remapped",
                              "reset the GPU or restart the host, which remaps them",
                              .state = true},
    [HEALTH_REMAP_FAILED] = {"rows could not be remapped",
                             "have the GPU looked at: it has no spare rows left", .state = true,
                             .grave = true},
    [HEALTH_XIDS] = {.words = "errors that the driver reported (Xid)"},
};

/* By how much the quantity grew; 0 where one of both is not known. */
static uint64_t growth(const struct health *health, size_t quantity)
{
    const struct optional before = health->before.values[quantity],
                          after = health->after.values[quantity];

    return before.known && after.value > before.value ? after.value - before.value : 0;
}

uint32_t health_settle(struct health *health)
{
    uint32_t grew = 0;

    for (size_t i = 0; i < HEALTH_QUANTITIES; i++)
        if (growth(health, i) > 0)
            grew |= 1u << i;
    health->grew |= grew;
    return grew;
}

const char *health_text(const struct health *health, char *out, size_t bytes)
{
    out[0] = '\0';
    for (size_t i = 0; i < HEALTH_QUANTITIES; i++) {
        const uint64_t more = growth(health, i);

        if (!(health->grew >> i & 1))
            continue;
        if (health_rows[i].state || more == 0) /* it grew before the run was resumed */
            text_join(out, bytes, ", ", "%s", health_rows[i].words);
        else
            text_join(out, bytes, ", ", "%" PRIu64 " more %s", more, health_rows[i].words);
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
        const uint64_t value = reading->values[i].value;

        known = known || reading->values[i].known;
        if (value > 0 && health_rows[i].state)
            text_join(out, bytes, ", ", "%s", health_rows[i].words);
        else if (value > 0)
            text_join(out, bytes, ", ", "%" PRIu64 " %s", value, health_rows[i].words);
    }
    if (!out[0])
        text_join(out, bytes, "", known ? "none" : "not known");
    return out;
}
