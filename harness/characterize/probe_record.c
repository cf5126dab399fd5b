/* SPDX-License-Identifier: MIT */
#include "probe_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* -- text ---------------------------------------------------------------------------------------------- */

static void add_list(FILE *text, const uint32_t *address, size_t count)
{
    for (size_t i = 0; i < count;) {
        const int64_t step = i + 1 < count ? (int64_t)address[i + 1] - address[i] : 0;
        size_t run = i + 1 < count ? 2 : 1;

        while (i + run < count && (int64_t)address[i + run] - address[i + run - 1] == step)
            run++;
        if (run < 3)
            fprintf(text, " %" PRIu32, address[i]);
        else
            fprintf(text, " %" PRIu32 "%+" PRId64 "*%zu", address[i], step, run);
        i += run < 3 ? 1 : run;
    }
}

static void add_walk(FILE *text, const struct probe_request *request)
{
    fprintf(text, " warm_up %" PRIu32 " timed %" PRIu32 " before %s list", request->warm_up, request->timed,
            probe_before_names[request->before]);
    add_list(text, request->address, request->count);
}

static void add_warps(FILE *text, const struct probe_request *request)
{
    fprintf(text, " distinct %" PRIu32 " stride %" PRIu32 " warps %" PRIu32 " iterations %" PRIu32 " repeats %" PRIu32,
            request->distinct, request->stride, request->warps, request->iterations, request->repeats);
}

static void add_question(FILE *text, enum probe_kind kind, const struct probe_request *request)
{
    switch (kind) {
    case PROBE_CODE:
        fprintf(text, " chunks %" PRIu32, request->chunks);
        add_walk(text, request);
        break;
    case PROBE_WALK:
    case PROBE_RELAY:
        add_walk(text, request);
        break;
    case PROBE_SHARING:
        fprintf(text, " first %" PRIu32 " blocks %" PRIu32 " bytes %" PRIu32 " step %" PRIu32 " grain %" PRIu32,
                request->first, request->blocks, request->bytes, request->step, request->grain);
        break;
    case PROBE_COUNT:
        fprintf(text, " of %s", probe_kind_names[request->counted]);
        add_question(text, request->counted, request);
        break;
    default:
        add_warps(text, request);
    }
}

static void add_asked(FILE *text, const struct probe_request *request)
{
    fprintf(text, "%s %s", probe_kind_names[request->kind], request->path->name);
    add_question(text, request->kind, request);
}

static void add_answer(FILE *text, const uint32_t *answer, size_t count)
{
    for (size_t i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && answer[i + run] == answer[i]; run++)
            ;
        fprintf(text, run > 1 ? "%s%" PRIu32 "*%zu" : "%s%" PRIu32, i ? " " : "", answer[i], run);
    }
}

/* The question as text, and behind its NUL the answer, or "" where that is NULL. *answer_at: where it begins. The
 * caller's; NULL, logged, when out of memory. */
static char *exchange_text(const struct probe_request *request, const uint32_t *answer, size_t *answer_at)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    if (stream) {
        add_asked(stream, request);
        fputc('\0', stream);
        *answer_at = (size_t)ftell(stream);
        add_answer(stream, answer, answer ? probe_answer_count(request) : 0);
        if (fclose(stream) == 0)
            return text;
    }
    free(text);
    log_error(STATUS_ENVIRONMENT, "out of memory for what is asked of the probes; free some memory");
    return NULL;
}

/* Reads an answer; false where it is not `count` numbers. */
static bool parse_answer(const char *text, uint32_t *answer, size_t count)
{
    size_t have = 0;

    while (*text) {
        char *end;
        const unsigned long value = strtoul(text, &end, 10);
        unsigned long run = 1;

        if (end == text || value > UINT32_MAX)
            return false;
        if (*end == '*') {
            text = end + 1;
            run = strtoul(text, &end, 10);
            if (end == text)
                return false;
        }
        if (run > count - have)
            return false;
        for (unsigned long i = 0; i < run; i++)
            answer[have++] = (uint32_t)value;
        text = *end == ' ' ? end + 1 : end;
        if (*end && *end != ' ')
            return false;
    }
    return have == count;
}

/* -- recording ------------------------------------------------------------------------------------------ */

enum status probe_record_ask(struct probe_record *record, const struct probe_request *request, uint32_t *answer)
{
    const enum status status = record->source.ask(record->source.context, request, answer);
    size_t answer_at;
    char *text;

    if (status != STATUS_OK)
        return status;
    if (record->count == record->room) {
        struct probe_exchange *grown = realloc(record->exchanges, (2 * record->room + 64) * sizeof(*grown));

        if (!grown)
            return log_error(STATUS_ENVIRONMENT, "out of memory for what the probes answered; free some memory");
        record->exchanges = grown;
        record->room = 2 * record->room + 64;
    }
    text = exchange_text(request, answer, &answer_at);
    if (!text)
        return STATUS_ENVIRONMENT;
    record->exchanges[record->count++] = (struct probe_exchange){text, text + answer_at, text};
    return STATUS_OK;
}

void probe_record_close(struct probe_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        free(record->exchanges[i].owned);
    free(record->exchanges);
    *record = (struct probe_record){0};
}

enum status probes_describe(const struct probe_source *source, struct probes *out)
{
    *out = (struct probes){.samples_max = source->samples_max, .chunk_bytes = source->chunk_bytes};
    memcpy(out->bank_address, source->bank_address, sizeof(out->bank_address));
    memcpy(out->shared_carve_out, source->shared_carve_out, sizeof(out->shared_carve_out));
    out->kernels = calloc(PROBE_KIND_COUNT * path_count, sizeof(*out->kernels));
    if (!out->kernels)
        return log_error(STATUS_ENVIRONMENT, "out of memory for the kernels of the probes; free some memory");
    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++)
        for (size_t row = 0; row < path_count && (row == 0 || !probe_is_single((enum probe_kind)kind)); row++)
            if (paths[row].loads)
                out->kernels[out->kernel_count++] = (struct probe_kernel_row){
                    .probe = probe_kind_names[kind],
                    .path = paths[row].name,
                    .kernel = *source->kernel(source->context, (enum probe_kind)kind, &paths[row]),
                };
    return STATUS_OK;
}

/* -- replaying ------------------------------------------------------------------------------------------ */

/* Questions come in the order of the record, as long as the program that asks is the one that recorded. */
static const char *find_answer(struct probe_replay *replay, const char *asked)
{
    for (size_t i = 0; i < replay->count; i++) {
        const size_t at = (replay->next + i) % replay->count;

        if (strcmp(replay->exchanges[at].asked, asked) == 0) {
            replay->next = at + 1;
            return replay->exchanges[at].answer;
        }
    }
    return NULL;
}

static enum status answer_again(void *context, const struct probe_request *request, uint32_t *answer)
{
    struct probe_replay *replay = context;
    size_t answer_at;
    char *asked = exchange_text(request, NULL, &answer_at);
    const char *found = asked ? find_answer(replay, asked) : NULL;
    enum status status = asked ? STATUS_OK : STATUS_ENVIRONMENT;

    if (asked && (!found || !parse_answer(found, answer, probe_answer_count(request))))
        status = log_error(STATUS_USAGE, "%s has no answer to '%.100s'; record it again with this version",
                           replay->file, asked);
    free(asked);
    return status;
}

static const struct probe_kernel *kernel_again(void *context, enum probe_kind kind, const struct path *path)
{
    static const struct probe_kernel none = {.reason = "the record has no such probe"};
    const struct probes *probes = ((const struct probe_replay *)context)->probes;
    const char *name = probe_is_single(kind) ? paths[0].name : path->name;

    for (const struct probe_kernel_row *row = probes->kernels; row < probes->kernels + probes->kernel_count; row++)
        if (strcmp(row->probe, probe_kind_names[kind]) == 0 && strcmp(row->path, name) == 0)
            return &row->kernel;
    return &none;
}

struct probe_source probe_replay_source(struct probe_replay *replay)
{
    struct probe_source source = {
        .context = replay,
        .samples_max = replay->probes->samples_max,
        .chunk_bytes = replay->probes->chunk_bytes,
        .bank_address = replay->probes->bank_address,
        .ask = answer_again,
        .kernel = kernel_again,
    };

    memcpy(source.shared_carve_out, replay->probes->shared_carve_out, sizeof(source.shared_carve_out));
    return source;
}
