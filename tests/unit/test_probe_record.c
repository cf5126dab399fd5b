/* SPDX-License-Identifier: MIT
 * What probes were asked and answered, through text and back. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture.h"
#include "characterization.h"
#include "probe_record.h"
#include "random.h"
#include "test.h"

static const struct probe_kernel *no_kernel(void *context, enum probe_kind kind, const struct path *path)
{
    static const struct probe_kernel kernel = {.reason = "none"};

    (void)context;
    (void)kind;
    (void)path;
    return &kernel;
}

static enum status one_two_two(void *context, const struct probe_request *request, uint32_t *answer)
{
    (void)context;
    (void)request;
    answer[0] = 1;
    answer[1] = answer[2] = 2;
    return STATUS_OK;
}

TEST(the_text_is_what_the_header_says)
{
    const uint32_t address[] = {0, 64, 128, 192, 8, 4, 65532};
    struct probe_request request = {.path = &paths[0], .address = address, .count = 7, .timed = 1};
    struct probe_record record = {.source = {.ask = one_two_two, .kernel = no_kernel}};
    uint32_t answer[7] = {0};

    assert_int_equal(probe_record_ask(&record, &request, answer), STATUS_OK);
    assert_string_equal(record.exchanges[0].asked,
                        "walk constant warm_up 0 timed 1 before nothing list 0+64*4 8 4 65532");
    assert_string_equal(record.exchanges[0].answer, "1 2*2 0*4");
    probe_record_close(&record);
}
