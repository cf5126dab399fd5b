/* SPDX-License-Identifier: MIT */
#include "probe_record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* -- text ---------------------------------------------------------------------------------------------- */

struct text {
    char *bytes; /* owned; NULL when empty, and when out of memory */
    size_t used, room;
    bool failed;
};

static void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    char piece[160];
    int bytes;

    va_start(arguments, format);
    bytes = vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    if (text->used + (size_t)bytes + 1 > text->room) {
        char *grown = realloc(text->bytes, 2 * text->room + sizeof(piece));

        if (!grown) {
            text->failed = true;
            return;
        }
        text->bytes = grown;
        text->room = 2 * text->room + sizeof(piece);
    }
    memcpy(text->bytes + text->used, piece, (size_t)bytes + 1);
    text->used += (size_t)bytes;
}

static void add_list(struct text *text, const uint32_t *address, size_t count)
{
    for (size_t i = 0; i < count;) {
        const int64_t step = i + 1 < count ? (int64_t)address[i + 1] - address[i] : 0;
        size_t run = i + 1 < count ? 2 : 1;

        while (i + run < count && (int64_t)address[i + run] - address[i + run - 1] == step)
            run++;
        if (run < 3)
            text_add(text, " %" PRIu32, address[i]);
        else
            text_add(text, " %" PRIu32 "%+" PRId64 "*%zu", address[i], step, run);
        i += run < 3 ? 1 : run;
    }
}

static void add_walk(struct text *text, const struct probe_request *request)
{
    text_add(text, " warm_up %" PRIu32 " timed %" PRIu32 " before %s list", request->warm_up, request->timed,
             probe_before_names[request->before]);
    add_list(text, request->address, request->count);
}

static void add_warps(struct text *text, const struct probe_request *request)
{
    text_add(text, " distinct %" PRIu32 " stride %" PRIu32 " warps %" PRIu32 " iterations %" PRIu32 " repeats %" PRIu32,
             request->distinct, request->stride, request->warps, request->iterations, request->repeats);
}

static void add_question(struct text *text, enum probe_kind kind, const struct probe_request *request)
{
    switch (kind) {
    case PROBE_CODE:
        text_add(text, " chunks %" PRIu32, request->chunks);
        add_walk(text, request);
        break;
    case PROBE_WALK:
    case PROBE_RELAY:
        add_walk(text, request);
        break;
    case PROBE_SHARING:
        text_add(text, " first %" PRIu32 " blocks %" PRIu32 " bytes %" PRIu32 " step %" PRIu32 " grain %" PRIu32,
                 request->first, request->blocks, request->bytes, request->step, request->grain);
        break;
    case PROBE_COUNT:
        text_add(text, " of %s", probe_kind_names[request->counted]);
        add_question(text, request->counted, request);
        break;
    default:
        add_warps(text, request);
    }
}

static char *asked_text(const struct probe_request *request)
{
    struct text text = {0};

    text_add(&text, "%s %s", probe_kind_names[request->kind], request->path->name);
    add_question(&text, request->kind, request);
    if (text.failed) {
        free(text.bytes);
        return NULL;
    }
    return text.bytes;
}

static char *answer_text(const uint32_t *answer, size_t count)
{
    struct text text = {0};

    for (size_t i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && answer[i + run] == answer[i]; run++)
            ;
        text_add(&text, run > 1 ? "%s%" PRIu32 "*%zu" : "%s%" PRIu32, i ? " " : "", answer[i], run);
    }
    if (text.failed) {
        free(text.bytes);
        return NULL;
    }
    return text.bytes;
}

/* The other way; false where it is not `count` numbers. */
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

/* -- asking -------------------------------------------------------------------------------------------- */

/* Takes both texts. */
static enum status add_exchange(struct probe_record *record, char *asked, char *answer)
{
    if (asked && answer && record->count == record->room) {
        struct probe_exchange *grown = realloc(record->exchanges, (2 * record->room + 64) * sizeof(*grown));

        if (grown) {
            record->exchanges = grown;
            record->room = 2 * record->room + 64;
        }
    }
    if (!asked || !answer || record->count == record->room) {
        free(asked);
        free(answer);
        return log_error(STATUS_ENVIRONMENT, "out of memory for what the probes answered; free some memory");
    }
    record->exchanges[record->count++] = (struct probe_exchange){asked, answer};
    return STATUS_OK;
}

/* Questions come in the order of the record, as long as the program that asks is the one that recorded. */
static const char *replay(struct probe_record *record, const char *asked)
{
    const struct probe_record *replayed = record->replayed;

    for (size_t i = 0; i < replayed->count; i++) {
        const size_t at = (record->next + i) % replayed->count;

        if (strcmp(replayed->exchanges[at].asked, asked) == 0) {
            record->next = at + 1;
            return replayed->exchanges[at].answer;
        }
    }
    return NULL;
}

enum status probe_record_ask(struct probe_record *record, const struct probe_request *request, uint32_t *answer)
{
    const size_t count = probe_answer_count(request);
    char *const asked = asked_text(request);
    enum status status = STATUS_OK;

    if (!asked)
        return log_error(STATUS_ENVIRONMENT, "out of memory for a list of %zu addresses", request->count);
    if (record->replayed) {
        const char *text = replay(record, asked);

        if (!text || !parse_answer(text, answer, count))
            status = log_error(STATUS_USAGE, "%s has no answer to '%.100s'; record it again with this version",
                               record->replayed->path ? record->replayed->path : "the record", asked);
    } else {
        status = record->source.ask(record->source.context, request, answer);
    }
    if (status != STATUS_OK) {
        free(asked);
        return status;
    }
    return add_exchange(record, asked, answer_text(answer, count));
}

const struct probe_kernel *probe_record_kernel(const struct probe_record *record, enum probe_kind kind,
                                               const struct path *path)
{
    if (record->replayed)
        return &record->replayed->kernels[kind * path_count + (probe_is_single(kind) ? 0 : (size_t)(path - paths))];
    return record->source.kernel(record->source.context, kind, path);
}

/* -- JSON ---------------------------------------------------------------------------------------------- */

void probe_record_write(const struct probe_record *record, size_t first, size_t count, cJSON *array)
{
    for (size_t i = first; i < first + count; i++) {
        cJSON *exchange = json_append(array, cJSON_CreateObject());

        json_add_text(exchange, "asked", record->exchanges[i].asked);
        json_add_text(exchange, "answer", record->exchanges[i].answer);
    }
}

void probe_record_write_kernels(const struct probe_record *record, cJSON *array)
{
    for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++)
        for (size_t row = 0; row < path_count; row++) {
            const struct probe_kernel *kernel = probe_record_kernel(record, (enum probe_kind)kind, &paths[row]);
            cJSON *object;

            if (!paths[row].loads || (probe_is_single((enum probe_kind)kind) && row > 0))
                continue;
            object = json_append(array, cJSON_CreateObject());
            json_add_text(object, "probe", probe_kind_names[kind]);
            json_add_text(object, "path", paths[row].name);
            json_add(object, "usable", cJSON_CreateBool(kernel->usable));
            json_add_text(object, "reason", kernel->usable ? NULL : kernel->reason);
            json_add_text(object, "name", kernel->name[0] ? kernel->name : NULL);
            json_add_text(object, "sass_sha256", kernel->sha256[0] ? kernel->sha256 : NULL);
            json_add_text(object, "loads", kernel->loads[0] ? kernel->loads : NULL);
        }
}

enum status probe_record_read(const char *path, const cJSON *exchanges, struct probe_record *record)
{
    const cJSON *exchange;

    cJSON_ArrayForEach (exchange, exchanges) {
        const char *asked, *answer;
        enum status status;

        if (!json_get_text(exchange, "asked", &asked) || !json_get_text(exchange, "answer", &answer))
            return log_error(STATUS_USAGE, "%s: an exchange has no 'asked' or no 'answer'", path);
        status = add_exchange(record, strdup(asked), strdup(answer));
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static void read_text(const cJSON *object, const char *key, char *out, size_t room)
{
    const char *text;

    if (json_get_text(object, key, &text))
        snprintf(out, room, "%s", text);
}

enum status probe_record_read_kernels(const char *path, const cJSON *kernels, struct probe_record *record)
{
    const cJSON *object;

    record->kernels = calloc(PROBE_KIND_COUNT * path_count, sizeof(*record->kernels));
    if (!record->kernels)
        return log_error(STATUS_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < PROBE_KIND_COUNT * path_count; i++)
        snprintf(record->kernels[i].reason, sizeof(record->kernels[i].reason), "the record has no such probe");
    cJSON_ArrayForEach (object, kernels) {
        const char *kind_name, *path_name;
        struct probe_kernel *kernel = NULL;

        if (!json_get_text(object, "probe", &kind_name) || !json_get_text(object, "path", &path_name))
            return log_error(STATUS_USAGE, "%s: a kernel has no 'probe' or no 'path'", path);
        for (size_t kind = 0; kind < PROBE_KIND_COUNT; kind++)
            for (size_t row = 0; row < path_count; row++)
                if (strcmp(kind_name, probe_kind_names[kind]) == 0 && strcmp(path_name, paths[row].name) == 0)
                    kernel = &record->kernels[kind * path_count + row];
        if (!kernel)
            continue; /* of another version */
        json_get_bool(object, "usable", &kernel->usable);
        read_text(object, "reason", kernel->reason, sizeof(kernel->reason));
        read_text(object, "name", kernel->name, sizeof(kernel->name));
        read_text(object, "sass_sha256", kernel->sha256, sizeof(kernel->sha256));
        read_text(object, "loads", kernel->loads, sizeof(kernel->loads));
    }
    return STATUS_OK;
}

void probe_record_close(struct probe_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        free(record->exchanges[i].asked);
        free(record->exchanges[i].answer);
    }
    free(record->exchanges);
    free(record->kernels);
    *record = (struct probe_record){0};
}
