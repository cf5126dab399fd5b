/* SPDX-License-Identifier: MIT
 * Questions and answers as text, and a record as a source of answers. A question is found by its
 * text: in the order in which they were asked first, so that a repeated question gets its next
 * answer. */
#include "probe_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "child.h"
#include "log.h"
#include "memory.h"

/* -- text -------------------------------------------------------------------------------------- */

/* The question as text, then a NUL and the answer, or "" if that is NULL. The caller frees it;
 * NULL, logged, when out of memory. */
static char *exchange_text(const struct probe_request *request, const uint32_t *answer)
{
    const size_t answers = answer ? probe_answer_count(request) : 0;
    const uint32_t *const address = request->address;
    const enum probe_kind kind = request->kind;
    char identity[CELL_IDENTITY_BYTES];
    struct memory memory;
    FILE *text = memory_open(&memory);

    if (text) {
        fprintf(text, "%s %s", probe_kind_names[kind], request->path->name);
        if (kind == PROBE_CELL)
            fprintf(text, " %s", (cell_identity(request->cell, identity), identity));
        else if (kind == PROBE_SHARING)
            fprintf(text, " first %u blocks %u bytes %u step %u grain %u", request->first,
                    request->blocks, request->bytes, request->step, request->grain);
        else if (kind == PROBE_TRANSFER)
            fprintf(text, " %s bytes %u width %u iterations %u repeats %u",
                    request->writes ? "copy" : "read", request->bytes, request->width,
                    request->iterations, request->repeats);
        else if (kind == PROBE_CHAIN || kind == PROBE_STREAM)
            fprintf(text, " distinct %u stride %u warps %u iterations %u repeats %u",
                    request->distinct, request->stride, request->warps, request->iterations,
                    request->repeats);
        else
            fprintf(text, " warm_up %u timed %u before %s", request->warm_up, request->timed,
                    probe_before_names[request->before]);
        if (request->sm)
            fprintf(text, " sm %u", request->sm);
        fputs(request->count ? " list" : "", text);
        for (size_t i = 0, run; i < request->count; i += run < 3 ? 1 : run) {
            const int64_t step = i + 1 < request->count ? (int64_t)address[i + 1] - address[i] : 0;

            for (run = 1; i + run < request->count &&
                          (int64_t)address[i + run] - address[i + run - 1] == step;
                 run++)
                ;
            fprintf(text, run < 3 ? " %u" : " %u%+" PRId64 "*%zu", address[i], step, run);
        }
        fputc('\0', text);
        for (size_t i = 0, run; i < answers; i += run) {
            for (run = 1; i + run < answers && answer[i + run] == answer[i]; run++)
                ;
            fprintf(text, run > 1 ? "%s%u*%zu" : "%s%u", i ? " " : "", answer[i], run);
        }
    }
    if (memory_close(&memory, text))
        return memory.text;
    log_memory("what is asked of the probes");
    return NULL;
}

/* -- recording --------------------------------------------------------------------------------- */

enum status probe_record_ask(struct probe_record *record, const struct probe_request *request,
                             uint32_t *answer)
{
    enum status status;
    char *text;

    if (interrupted())
        return STATUS_ENVIRONMENT;
    status = record->source.ask(record->source.context, request, answer);
    if (status != STATUS_OK)
        return status;
    if (!memory_grow(&record->exchanges, record->count, sizeof(*record->exchanges)))
        return log_memory("what the probes answered");
    text = exchange_text(request, answer);
    if (!text)
        return STATUS_ENVIRONMENT;
    record->exchanges[record->count++] = (struct probe_exchange){text, text + strlen(text) + 1};
    return STATUS_OK;
}

void probe_record_close(struct probe_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        free((char *)record->exchanges[i].asked);
    free(record->exchanges);
    *record = (struct probe_record){0};
}

enum status probes_describe(const struct probe_source *source, struct probes *out)
{
    *out = (struct probes){.samples_max = source->samples_max};
    memcpy(out->shared_carve_out, source->shared_carve_out, sizeof(out->shared_carve_out));
    out->kernels = calloc(PROBE_KIND_COUNT * path_count, sizeof(*out->kernels));
    if (!out->kernels)
        return log_memory("the kernels of the probes");
    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++)
        for (size_t row = 0;
             row < path_count && (row == 0 || !probe_is_single((enum probe_kind)kind)); row++)
            if (paths[row].loads && !paths[row].lookups) /* paths without probes */
                out->kernels[out->kernel_count++] =
                    (struct probe_kernel_row){probe_kind_names[kind], paths[row].name,
                                              *source->kernel(source->context,
                                                              (enum probe_kind)kind, &paths[row])};
    return STATUS_OK;
}

/* -- replaying --------------------------------------------------------------------------------- */

/* Reads an answer of so many numbers. */
static bool read_answer(const char *text, uint32_t *answer, size_t count)
{
    size_t have = 0;
    char *end;

    while (*text) {
        const unsigned long value = strtoul(text, &end, 10),
                            run = *end == '*' ? strtoul(end + 1, &end, 10) : 1;

        if (end == text || value > UINT32_MAX || run > count - have || (*end && *end != ' '))
            return false;
        for (size_t i = 0; i < run; i++)
            answer[have++] = (uint32_t)value;
        text = end + (*end == ' ');
    }
    return have == count;
}

/* Questions come in the order of the record, as long as the program that asks is the one that
 * recorded. */
static enum status answer_again(void *context, const struct probe_request *request,
                                uint32_t *answer)
{
    struct probe_replay *replay = context;
    const size_t count = probe_answer_count(request);
    char *asked = exchange_text(request, NULL);
    const char *found = NULL;
    bool whole;
    enum status status = STATUS_OK;

    if (!asked)
        return STATUS_ENVIRONMENT;
    for (size_t i = 0; !found && i < replay->count; i++) {
        const size_t place = (replay->next + i) % replay->count;

        if (strcmp(replay->exchanges[place].asked, asked) == 0) {
            found = replay->exchanges[place].answer;
            replay->next = place + 1; /* the next question like it, if there is one */
        }
    }
    whole = found && read_answer(found, answer, count);
    if (!whole)
        status = log_error(STATUS_USAGE,
                           "%s has no answer to '%.100s'; record it again with this version",
                           replay->file, asked);
    free(asked);
    return status;
}

static const struct probe_kernel *kernel_again(void *context, enum probe_kind kind,
                                               const struct path *path)
{
    static const struct probe_kernel none = {.reason = "the record has no such probe"};
    const struct probes *probes = ((const struct probe_replay *)context)->probes;
    const char *name = probe_is_single(kind) ? paths[0].name : path->name;

    for (size_t i = 0; i < probes->kernel_count; i++) {
        const struct probe_kernel_row *row = &probes->kernels[i];

        if (strcmp(row->probe, probe_kind_names[kind]) == 0 && strcmp(row->path, name) == 0)
            return &row->kernel;
    }
    return &none;
}

struct probe_source probe_replay_source(struct probe_replay *replay)
{
    const struct probes *probes = replay->probes;
    struct probe_source source = {replay, probes->samples_max, .ask = answer_again,
                                  .kernel = kernel_again};

    memcpy(source.shared_carve_out, probes->shared_carve_out, sizeof(source.shared_carve_out));
    return source;
}

/* -- going on ---------------------------------------------------------------------------------- */

static enum status answer_or_ask(void *context, const struct probe_request *request,
                                 uint32_t *answer)
{
    struct probe_resume *resume = context;
    char *asked;
    bool known;

    if (resume->next >= resume->count)
        return resume->live.ask(resume->live.context, request, answer);
    asked = exchange_text(request, NULL);
    if (!asked)
        return STATUS_ENVIRONMENT;
    known =
        strcmp(resume->exchanges[resume->next].asked, asked) == 0 &&
        read_answer(resume->exchanges[resume->next].answer, answer, probe_answer_count(request));
    free(asked);
    if (known) {
        resume->next++;
        return STATUS_OK;
    }
    /* Another version asks other questions: from here on the GPU answers. */
    resume->count = resume->next;
    return resume->live.ask(resume->live.context, request, answer);
}

static const struct probe_kernel *live_kernel(void *context, enum probe_kind kind,
                                              const struct path *path)
{
    const struct probe_resume *resume = context;

    return resume->live.kernel(resume->live.context, kind, path);
}

struct probe_source probe_resume_source(struct probe_resume *resume)
{
    struct probe_source source = resume->live;

    source.context = resume;
    source.ask = answer_or_ask;
    source.kernel = live_kernel;
    return source;
}
