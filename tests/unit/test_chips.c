/* SPDX-License-Identifier: MIT
 * Every row of the counter table against every chip that the installed CUPTI knows. Needs no
 * GPU. */

#include "counter.h"
#include "engine.h"
#include "test.h"

/* A counter that chips of some kind are known to lack, by the beginning of their names. */
struct known_lack {
    const char *chips;
    const char *counter;
};

/* From NVIDIA's own list of metrics (CUPTI 13.0): no immediate constant cache is counted on
 * Blackwell, and chips with memory shared with the CPU have no DRAM counters. */
static const struct known_lack known_lacks[] = {
    {"GB", "imc_requests"},        {"GA10B", "dram_read_bytes"},  {"GA10B", "dram_write_bytes"},
    {"GB10B", "dram_read_bytes"},  {"GB10B", "dram_write_bytes"}, {"GB20B", "dram_read_bytes"},
    {"GB20B", "dram_write_bytes"},
};

static bool is_known(const char *chip, const char *counter)
{
    for (size_t i = 0; i < sizeof(known_lacks) / sizeof(known_lacks[0]); i++)
        if (strncmp(chip, known_lacks[i].chips, strlen(known_lacks[i].chips)) == 0 &&
            strcmp(counter, known_lacks[i].counter) == 0)
            return true;
    return false;
}

struct census {
    size_t chips, unknown;
    bool hopper;
};

static void check_chip(void *context, const struct chip_counters *chip)
{
    struct census *census = context;

    census->chips++;
    if (chip->reason) {
        census->unknown++;
        return;
    }
    census->hopper = census->hopper || strcmp(chip->chip, "GH100") == 0;
    for (size_t i = 0; i < counter_count; i++)
        if (chip->has[i] == is_known(chip->chip, counters[i].name))
            fail_msg("%s: counter %s is %s", chip->chip, counters[i].name,
                     chip->has[i] ? "there, and listed as lacking" : "lacking");
}

TEST(every_chip_has_every_counter)
{
    struct census census = {0};
    const struct chip_visitor visitor = {.visit = check_chip, .context = &census};
    char reason[ENGINE_REASON_BYTES] = "";

#ifdef CBANK_SANITIZED
    skip(); /* CUPTI opens its libraries with RTLD_DEEPBIND, which the address sanitizer refuses */
#endif
    if (!engine_cuda.chips(&visitor, reason)) {
        print_message("skipped: %s\n", reason);
        skip();
    }
    assert_true(census.chips >= 20);
    assert_true(census.unknown <= 1); /* GV11B, which the Range Profiler does not serve */
    assert_true(census.hopper);
}
