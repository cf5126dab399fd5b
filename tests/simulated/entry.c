/* SPDX-License-Identifier: MIT
 * The gate of the simulated libraries. Each call takes the lock, is numbered and logged, and fails
 * if the script names it, if its context has ended, or if a capturing stream forbids it. Objects
 * that are still open at exit are reported: the program must release everything. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti_result.h>

#include "simulated.h"

/* -- errors ------------------------------------------------------------------------------------ */

static const struct error_row {
    const char *name;
    int code[API_COUNT];
    const char *text;
} error_rows[] = {
#define FAULT(name, runtime, cupti, nvml, text) {#name, {runtime, runtime, cupti, nvml}, text},
#include "errors.def"
};

enum { ERROR_ROWS = sizeof(error_rows) / sizeof(error_rows[0]), CODE_UNKNOWN = 999 };

int error_code(enum api api, const char *name)
{
    char *end;
    const long number = strtol(name, &end, 10);

    for (size_t i = 0; i < ERROR_ROWS; i++)
        if (strcmp(error_rows[i].name, name) == 0)
            return error_rows[i].code[api];
    if (end > name && !*end)
        return (int)number;
    fprintf(stderr, "CBANK_SIMULATED: no error %s\n", name);
    _exit(99);
}

const char *error_text(enum api api, int code)
{
    for (size_t i = 0; i < ERROR_ROWS; i++)
        if (error_rows[i].code[api] == code)
            return error_rows[i].text;
    return code ? "an error that the simulation has no text for" : "no error";
}

static __thread int last_error;

int runtime_error(int code)
{
    if (code != cudaSuccess && code != cudaErrorNotReady)
        last_error = code;
    return code;
}

int runtime_last_error(void)
{
    const int code = last_error;

    last_error = device_current()->sticky;
    return code;
}

/* -- the lock ---------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int captures;

void entry_lock(void)
{
    pthread_mutex_lock(&lock);
}

void entry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void entry_leave(const int *entered)
{
    entry_unlock();
}

void entry_capturing(int difference)
{
    captures += difference;
}

/* -- calls ------------------------------------------------------------------------------------- */

static const struct entry_row {
    enum api api;
    const char *name;
    int flags;
} rows[ENTRY_COUNT] = {
#define ENTRY(api, name, flags) {API_##api, #name, flags},
#include "entries.def"
};

static uint64_t calls[ENTRY_COUNT], all_calls, failing_calls;
static int stuck[ENTRY_COUNT]; /* the code that every later call answers with */
static FILE *log_file;

static void log_call(enum entry entry)
{
    if (settings.log[0] && !log_file) {
        log_file = fopen(settings.log, "ae");
        if (log_file)
            setvbuf(log_file, NULL, _IOLBF, 0);
    }
    if (log_file)
        fprintf(log_file, "%llu %s %llu\n", (unsigned long long)all_calls, rows[entry].name,
                (unsigned long long)calls[entry]);
}

/* Whether this call is the one that a fault names. Calls that return no error are none of `*`. */
static bool is_planted(const struct planted *planted, enum entry entry)
{
    if (strcmp(planted->name, "*") == 0)
        return !(rows[entry].flags & TEXT) && failing_calls == planted->nth;
    return strcmp(planted->name, rows[entry].name) == 0 && calls[entry] == planted->nth;
}

/* The script's outcome for this call. */
static int scripted(enum entry entry)
{
    const enum api api = rows[entry].api;
    int code = stuck[entry];

    for (size_t i = 0; i < settings.hang.count; i++)
        if (is_planted(&settings.hang.faults[i], entry)) {
            entry_unlock();
            for (;;)
                pause();
        }
    for (size_t i = 0; i < settings.fail.count; i++) {
        const struct planted *planted = &settings.fail.faults[i];

        if (!is_planted(planted, entry))
            continue;
        code = error_code(api, planted->error);
        if (planted->sticky && rows[entry].flags & CONTEXT && api != API_CUPTI)
            device_break(device_current(), code);
        else if (planted->sticky)
            stuck[entry] = code;
    }
    return code;
}

/* The outcome by the state of context and thread. */
static int refused(const struct entry_row *row)
{
    const int sticky = device_current()->sticky;

    if (sticky && row->flags & CONTEXT)
        return row->api == API_CUPTI ? CODE_UNKNOWN : sticky;
    return captures > 0 && row->flags & UNSAFE ? error_code(row->api, "capturing") : 0;
}

int entry_fails(enum entry entry, int code)
{
    return rows[entry].api == API_RUNTIME ? runtime_error(code) : code;
}

int entry_enter(enum entry entry)
{
    const struct entry_row *row = &rows[entry];
    int code = 0;

    entry_lock();
    settings_read();
    all_calls++;
    failing_calls += !(row->flags & TEXT);
    calls[entry]++;
    log_call(entry);
    if (row->flags & TEXT)
        return 0;
    code = scripted(entry);
    if (!code)
        code = refused(row);
    return entry_fails(entry, code);
}

/* -- what is left at exit ---------------------------------------------------------------------- */

static const char *const object_names[OBJECT_COUNT] = {
    [OBJECT_STREAM] = "stream",
    [OBJECT_GRAPH] = "graph",
    [OBJECT_EXEC] = "graph exec",
    [OBJECT_TEXTURE] = "texture",
    [OBJECT_MODULE] = "module",
    [OBJECT_LINK] = "link",
    [OBJECT_HOST] = "profiler host object",
};

struct object {
    _Alignas(16) enum object_kind kind;
    bool closed;
    struct object *before, *next;
};

static struct object *objects;

void *object_open(enum object_kind kind, size_t bytes)
{
    struct object *const object = calloc(1, sizeof(*object) + bytes);

    if (!object)
        return NULL;
    object->kind = kind;
    object->next = objects;
    if (objects)
        objects->before = object;
    objects = object;
    return object + 1;
}

void object_close(void *opened, bool now)
{
    struct object *const object = (struct object *)opened - 1;

    object->closed = true;
    if (!now)
        return;
    if (object->next)
        object->next->before = object->before;
    *(object->before ? &object->before->next : &objects) = object->next;
    free(object);
}

__attribute__((destructor)) static void tell_leaks(void)
{
    FILE *file =
        settings.leaks[0] && !device_current()->sticky ? fopen(settings.leaks, "ae") : NULL;

    if (!file)
        return;
    for (const struct object *object = objects; object; object = object->next)
        if (!object->closed)
            fprintf(file, "%s\n", object_names[object->kind]);
    memory_leaks(file);
    fclose(file);
}
