/* SPDX-License-Identifier: MIT
 * What a characterization keeps when it is ended. A recorded file answers as a GPU would, and
 * counts what it is asked. */
#include <signal.h>

#include "characterization.h"
#include "child.h"
#include "test.h"

static const char recorded_path[] = "results/characterizations/h200-streams.json";

static struct characterization recorded;

static int open_recorded(void **state)
{
    (void)state;
    return characterization_read(recorded_path, &recorded) == STATUS_OK ? 0 : -1;
}

static int close_recorded(void **state)
{
    (void)state;
    characterization_close(&recorded);
    return 0;
}

AROUND_ALL(open_recorded, close_recorded)

/* A GPU that fails, or whose host gets a signal, at a question, counted from 1; 0: never. */
struct gpu {
    struct probe_source answers;
    size_t asked, fails_at, signal_at;
};

static enum status answer(void *context, const struct probe_request *request, uint32_t *values)
{
    struct gpu *gpu = context;

    gpu->asked++;
    if (gpu->asked == gpu->fails_at)
        return STATUS_ENVIRONMENT;
    if (gpu->asked == gpu->signal_at)
        raise(SIGTERM);
    return gpu->answers.ask(gpu->answers.context, request, values);
}

static const struct probe_kernel *kernel_of(void *context, enum probe_kind kind,
                                            const struct path *path)
{
    const struct probe_source *answers = &((const struct gpu *)context)->answers;

    return answers->kernel(answers->context, kind, path);
}

static struct probe_source gpu_source(struct gpu *gpu, struct probe_replay *replay)
{
    struct probe_source source;

    *replay = recorded.replay;
    gpu->answers = probe_replay_source(replay);
    source = gpu->answers;
    source.context = gpu;
    source.ask = answer;
    source.kernel = kernel_of;
    return source;
}

/* What could be saved last: questions of experiments that had ended. */
struct seen {
    size_t experiments, questions;
    bool after_signal;
};

static enum status see(void *context, const struct characterization *so_far)
{
    struct seen *seen = context;

    *seen = (struct seen){.experiments = so_far->count, .after_signal = interrupted()};
    for (size_t i = 0; i < so_far->count; i++)
        seen->questions += so_far->outcomes[i].evidence_count;
    return STATUS_OK;
}

/* Characterizes until the GPU fails or a signal comes. */
static void characterize_until(struct probe_record *record, struct seen *seen)
{
    const struct characterize_watch watch = {see, seen};
    struct characterization made = {.device = recorded.device};

    assert_int_equal(characterize(record, NULL, true, &watch, &made), STATUS_ENVIRONMENT);
    assert_int_equal(made.count, seen->experiments + 1); /* with the one that was not ended */
    characterization_close(&made);
}

enum { FIRST = 300, KEPT = 200, MORE = 150 };

TEST(what_was_answered_is_not_asked_again)
{
    struct probe_replay replays[2];
    struct gpu first_gpu = {.fails_at = FIRST}, second_gpu = {.fails_at = MORE};
    struct probe_record first = {.source = gpu_source(&first_gpu, &replays[0])};
    struct probe_resume resume = {.live = gpu_source(&second_gpu, &replays[1])};
    struct probe_record second = {.count = 0};
    struct seen seen = {0};

    characterize_until(&first, &seen);
    assert_int_equal(first.count, FIRST - 1);
    resume.exchanges = first.exchanges;
    resume.count = KEPT;
    second.source = probe_resume_source(&resume);
    characterize_until(&second, &seen);
    assert_int_equal(second.count, KEPT + MORE - 1);
    for (size_t i = 0; i < FIRST - 1; i++) {
        assert_string_equal(second.exchanges[i].asked, first.exchanges[i].asked);
        assert_string_equal(second.exchanges[i].answer, first.exchanges[i].answer);
    }
    probe_record_close(&first);
    probe_record_close(&second);
}

/* The last test: the signal stays. */
TEST(a_signal_saves_all_experiments_that_had_ended)
{
    struct probe_replay replay;
    struct gpu gpu = {.signal_at = FIRST};
    struct probe_record record = {.source = gpu_source(&gpu, &replay)};
    struct seen seen = {0};

    interrupt_catch();
    characterize_until(&record, &seen);
    assert_true(seen.after_signal);
    assert_true(seen.experiments > 5);
    assert_int_equal(record.count, FIRST); /* no question comes after it */
    assert_true(seen.questions > 0 && seen.questions <= record.count);
    probe_record_close(&record);
}
