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

enum { QUESTIONS = 200, LIST_MAX = 300, ANSWER_MAX = 4 * LIST_MAX };

static uint64_t sequence;
static uint32_t given[QUESTIONS][ANSWER_MAX];
static size_t asked;

/* Answers with runs, as caches give them. */
static enum status answer_at_random(void *context, const struct probe_request *request, uint32_t *answer)
{
    const size_t count = probe_answer_count(request);

    (void)context;
    for (size_t i = 0; i < count; i++)
        answer[i] = i && random_next(&sequence) % 4 ? answer[i - 1]
                                                    : (uint32_t)(random_next(&sequence) >> random_next(&sequence) % 60);
    memcpy(given[asked++], answer, count * sizeof(*answer));
    return STATUS_OK;
}

static const struct probe_kernel *no_kernel(void *context, enum probe_kind kind, const struct path *path)
{
    static const struct probe_kernel kernel = {.reason = "none"};

    (void)context;
    (void)kind;
    (void)path;
    return &kernel;
}

/* The i-th question: a walk over some runs, up and down, or another. */
static struct probe_request question(uint64_t *random, size_t i, uint32_t address[LIST_MAX])
{
    struct probe_request request = {.kind = (enum probe_kind)(i % PROBE_KIND_COUNT),
                                    .path = &paths[i % path_count],
                                    .address = address,
                                    .warm_up = (uint32_t)i,
                                    .timed = 1 + (uint32_t)(i % 3),
                                    .before = (enum probe_before)(i % PROBE_BEFORE_COUNT),
                                    .distinct = (uint32_t)i,
                                    .stride = 4,
                                    .warps = 1,
                                    .iterations = 5,
                                    .repeats = 21,
                                    .blocks = 132,
                                    .first = (uint32_t)i,
                                    .bytes = 65536,
                                    .step = 64,
                                    .grain = 256};

    request.count = 1 + random_next(random) % LIST_MAX;
    for (size_t k = 0; k < request.count; k++)
        address[k] = k && random_next(random) % 8 ? address[k - 1] + 4 * (uint32_t)(i % 5) - 8
                                                  : (uint32_t)(random_next(random) % 65536);
    return request;
}

/* Asks all, in order or in another; what comes is what was given. */
static void ask_all(struct probe_record *record, size_t step)
{
    static uint32_t address[LIST_MAX], answer[ANSWER_MAX];

    for (size_t k = 0; k < QUESTIONS; k++) {
        const size_t i = k * step % QUESTIONS;
        uint64_t random = 1000 + i;
        const struct probe_request request = question(&random, i, address);

        assert_int_equal(probe_record_ask(record, &request, answer), STATUS_OK);
        assert_memory_equal(answer, given[i], probe_answer_count(&request) * sizeof(*answer));
    }
}

TEST(what_was_asked_is_answered_again)
{
    const uint64_t banks[PROBE_MEMBERS] = {0x7f0000010000, 0x7f0000020000};
    char name[] = "/tmp/cbank_record_XXXXXX";
    const int descriptor = mkstemp(name);
    struct probe_record first = {
        .source = {.samples_max = 4096, .bank_address = banks, .ask = answer_at_random, .kernel = no_kernel}};
    struct outcome outcome = {.experiment = {.name = "one", .what = "of a test", .path = "constant"}};
    struct characterization made = {.device = {.sm_count = 1}, .outcomes = &outcome, .count = 1}, read = {.count = 0};
    struct probe_record again = {.count = 0};
    static uint32_t address[LIST_MAX], answer[ANSWER_MAX];
    uint64_t random = 5;
    struct probe_request unknown = question(&random, 0, address);
    struct probe_replay replay;
    struct capture capture;

    ask_all(&first, 1);
    assert_int_equal(asked, QUESTIONS);
    outcome.evidence = first.exchanges;
    outcome.evidence_count = first.count;
    assert_true(descriptor >= 0);
    assert_int_equal(probes_describe(&first.source, &made.probes), STATUS_OK);
    assert_int_equal(document_write(&characterization_document, &made, name), STATUS_OK);
    assert_int_equal(characterization_read(name, &read), STATUS_OK);
    free(made.probes.kernels);
    close(descriptor);
    unlink(name);
    replay = (struct probe_replay){.file = "file",
                                   .probes = &read.probes,
                                   .exchanges = read.exchanges,
                                   .count = read.exchange_count};
    again.source = probe_replay_source(&replay);
    assert_int_equal(again.source.samples_max, 4096);
    assert_memory_equal(again.source.bank_address, banks, sizeof(banks));
    ask_all(&again, 1);
    ask_all(&again, 7);
    assert_int_equal(again.count, 2 * QUESTIONS);
    for (size_t i = 0; i < QUESTIONS; i++) {
        assert_string_equal(again.exchanges[i].asked, first.exchanges[i].asked);
        assert_string_equal(again.exchanges[i].answer, first.exchanges[i].answer);
    }
    assert_string_equal(again.source.kernel(&replay, PROBE_WALK, &paths[0])->reason, "none");
    unknown.warm_up = 12345;
    capture_begin(&capture, stderr);
    assert_int_equal(probe_record_ask(&again, &unknown, answer), STATUS_USAGE);
    assert_non_null(strstr(capture_end(&capture), "file has no answer to 'walk constant warm_up 12345 "));
    probe_record_close(&again);
    probe_record_close(&first);
    characterization_close(&read);
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
