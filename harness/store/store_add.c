/* SPDX-License-Identifier: MIT
 * Adds a result to a store. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell_json.h"
#include "clock.h"
#include "log.h"
#include "store_parts.h"

/* -- members as values of statements ------------------------------------------------------------------- */

enum member_kind { MEMBER_ARRAY /* "" is NULL */, MEMBER_POINTER, MEMBER_UINT32, MEMBER_BOOL, MEMBER_DOUBLE };

/* A member that is the value of a column. */
struct member {
    enum member_kind kind;
    size_t offset;
};

/* Sets values from `index` on to those of the struct at base. */
static void set_members(struct sql_statement *statement, int index, const struct member *members, size_t count,
                        const void *base)
{
    for (const struct member *member = members; member < members + count; member++, index++) {
        const char *at = (const char *)base + member->offset;

        switch (member->kind) {
        case MEMBER_ARRAY:
            sql_set_text(statement, index, *at ? at : NULL);
            break;
        case MEMBER_POINTER:
            sql_set_text(statement, index, *(const char *const *)at);
            break;
        case MEMBER_UINT32:
            sql_set_integer(statement, index, *(const uint32_t *)at);
            break;
        case MEMBER_BOOL:
            sql_set_integer(statement, index, *(const bool *)at);
            break;
        case MEMBER_DOUBLE:
            sql_set_number(statement, index, *(const double *)at);
            break;
        }
    }
}

#define COUNT(array)       (sizeof(array) / sizeof((array)[0]))
#define RUN(kind, member)  {MEMBER_##kind, offsetof(struct result, member)}
#define TIME(kind, member) {MEMBER_##kind, offsetof(struct cell_result, member)}

/* In the order of STORE_ADD_RUN from its ninth column on, and of STORE_ADD_TIME from its fifth. */
static const struct member run_members[] = {
    RUN(ARRAY, host.name),
    RUN(ARRAY, host.slot),
    RUN(ARRAY, host.job),
    RUN(POINTER, engine),
    RUN(BOOL, modelled_time),
    RUN(ARRAY, device.driver),
    RUN(ARRAY, device.vbios),
    RUN(ARRAY, device.ecc),
    RUN(ARRAY, device.mig),
    RUN(ARRAY, device.pci_bus_id),
    RUN(UINT32, device.cuda_driver_api),
    RUN(DOUBLE, device.sm_clock_max_mhz),
    RUN(DOUBLE, device.memory_clock_max_mhz),
    RUN(DOUBLE, device.launch_ns),
    RUN(POINTER, tool.version),
    RUN(POINTER, tool.git_commit),
    RUN(POINTER, tool.cuda_toolkit),
};
static const struct member time_members[] = {
    TIME(DOUBLE, time.summary.value),   TIME(DOUBLE, time.summary.ci_low),
    TIME(DOUBLE, time.summary.ci_high), TIME(UINT32, flags),
    TIME(DOUBLE, time.sm_clock_mhz),
};

/* -- what rows share ----------------------------------------------------------------------------------- */

/* Whether there is a row that `find` finds by the values that were set; its key. */
static bool has_key(struct store *store, enum store_statement find, int64_t *key)
{
    struct sql_statement *found = store->statements[find];
    const bool has = sql_row(found);

    if (has) {
        *key = sql_integer(found, 0);
        sql_reset(found);
    }
    return has;
}

/* The key of the row that `find` finds; else of the one that `add` adds. Both take the values that were set. */
static int64_t find_or_add(struct store *store, enum store_statement find, enum store_statement add)
{
    int64_t id;

    if (has_key(store, find, &id))
        return id;
    sql_change(store->statements[add]);
    return sql_added(store->sql);
}

/* Sets a text of both statements. */
static void set_texts(struct store *store, enum store_statement find, enum store_statement add, int index,
                      const char *text)
{
    sql_set_text(store->statements[find], index, text);
    sql_set_text(store->statements[add], index, text);
}

static int64_t gpu_of(struct store *store, const struct device_info *device)
{
    set_texts(store, STORE_FIND_GPU, STORE_ADD_GPU, 1, device->uuid);
    set_texts(store, STORE_FIND_GPU, STORE_ADD_GPU, 2, device->name);
    return find_or_add(store, STORE_FIND_GPU, STORE_ADD_GPU);
}

static int64_t geometry_of(struct store *store, const struct device_info *device)
{
    static const enum store_statement both[] = {STORE_FIND_GEOMETRY, STORE_ADD_GEOMETRY};
    const uint64_t numbers[] = {
        device->sm_count,
        device->warps_per_sm,
        device->blocks_per_sm,
        device->shared_bytes_per_sm,
        device->shared_bytes_reserved,
        device->l2_bytes,
        device->memory_bytes,
    };
    char capability[32];

    snprintf(capability, sizeof(capability), "%" PRIu32 ".%" PRIu32, device->cc_major, device->cc_minor);
    set_texts(store, both[0], both[1], 1, device->name);
    set_texts(store, both[0], both[1], 2, device->chip);
    set_texts(store, both[0], both[1], 3, capability);
    for (size_t i = 0; i < 2 * COUNT(numbers); i++)
        sql_set_integer(store->statements[both[i % 2]], 4 + (int)i / 2, (int64_t)numbers[i / 2]);
    return find_or_add(store, both[0], both[1]);
}

int64_t store_identity(struct store *store, const struct cell *cell)
{
    char identity[CELL_IDENTITY_BYTES];
    cJSON *object;
    char *text;
    int64_t id;

    cell_identity(cell, identity);
    set_texts(store, STORE_FIND_IDENTITY, STORE_ADD_IDENTITY, 1, identity);
    if (has_key(store, STORE_FIND_IDENTITY, &id))
        return id;
    object = cJSON_CreateObject();
    field_cell.write(object, &(const struct field){.kind = &field_cell}, cell);
    text = json_whole(object) ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (!text)
        sql_no_memory(store->sql);
    sql_set_text(store->statements[STORE_ADD_IDENTITY], 2, text);
    sql_change(store->statements[STORE_ADD_IDENTITY]);
    cJSON_free(text);
    return sql_added(store->sql);
}

static int64_t kernel_of(struct store *store, const struct cell_kernel *kernel)
{
    set_texts(store, STORE_FIND_KERNEL, STORE_ADD_KERNEL, 1, kernel->sha256);
    sql_set_text(store->statements[STORE_ADD_KERNEL], 2, kernel->code);
    return find_or_add(store, STORE_FIND_KERNEL, STORE_ADD_KERNEL);
}

/* A counter's name, which is most often the one at `hint` of those that are known. */
static int64_t counter_of(struct store *store, const struct counter_value *value, size_t hint)
{
    int64_t id;

    for (size_t i = 0; i < store->counter_count; i++) {
        const struct store_counter *known = &store->counters[(hint + i) % store->counter_count];

        if (known->kind == value->kind && strcmp(known->name, value->name) == 0)
            return known->id;
    }
    set_texts(store, STORE_FIND_COUNTER, STORE_ADD_COUNTER, 1, value->name);
    set_texts(store, STORE_FIND_COUNTER, STORE_ADD_COUNTER, 2, counter_kind_names[value->kind]);
    set_texts(store, STORE_FIND_COUNTER, STORE_ADD_COUNTER, 3, value->unit);
    id = find_or_add(store, STORE_FIND_COUNTER, STORE_ADD_COUNTER);
    store_know_counter(store, &(const struct counter_value){.name = value->name, .unit = "", .kind = value->kind}, id);
    return id;
}

/* -- counters ------------------------------------------------------------------------------------------ */

static bool in_set(const struct counter_value *value)
{
    return value->kind == COUNTER_EXACT || value->status != COUNTER_OK;
}

static void add_set(struct store *store, int64_t id, const struct cell_result *cell)
{
    struct sql_statement *add = store->statements[STORE_ADD_SET_COUNTER];

    for (size_t i = 0; i < cell->counter_count; i++) {
        const struct counter_value *value = &cell->counters[i];

        if (!in_set(value))
            continue;
        sql_set_integer(add, 1, id);
        sql_set_integer(add, 2, counter_of(store, value, i));
        sql_set_text(add, 3, counter_status_names[value->status]);
        sql_set_number(add, 4, value->value);
        sql_set_number(add, 5, value->expected);
        sql_change(add);
    }
}

/* Sets are found by the hash of their rows, NaN being one value. */
struct set_row {
    int64_t counter, status;
    double value, expected;
};

static int64_t set_of(struct store *store, const struct cell_result *cell)
{
    struct set_row *rows = calloc(cell->counter_count + 1, sizeof(*rows));
    char hash[SHA256_HEX_BYTES];
    size_t count = 0;
    int64_t id = 0;

    if (!rows) {
        sql_no_memory(store->sql);
        return 0;
    }
    for (size_t i = 0; i < cell->counter_count; i++) {
        const struct counter_value *value = &cell->counters[i];

        if (in_set(value))
            rows[count++] =
                (struct set_row){counter_of(store, value, i), value->status, isnan(value->value) ? -1 : value->value,
                                 isnan(value->expected) ? -1 : value->expected};
    }
    sha256_hex(rows, count * sizeof(*rows), hash);
    free(rows);
    set_texts(store, STORE_FIND_SET, STORE_ADD_SET, 1, hash);
    if (has_key(store, STORE_FIND_SET, &id))
        return id;
    sql_change(store->statements[STORE_ADD_SET]);
    id = sql_added(store->sql);
    add_set(store, id, cell);
    return id;
}

static void add_measured(struct store *store, int64_t run_id, int64_t identity_id, const struct cell_result *cell)
{
    struct sql_statement *add = store->statements[STORE_ADD_MEASURED];

    sql_set_integer(add, 1, run_id);
    sql_set_integer(add, 2, identity_id);
    for (size_t i = 0; i < cell->counter_count; i++) {
        if (in_set(&cell->counters[i]))
            continue;
        sql_set_integer(add, 3, counter_of(store, &cell->counters[i], i));
        sql_set_number(add, 4, cell->counters[i].value);
        sql_change(add);
    }
}

/* -- runs ---------------------------------------------------------------------------------------------- */

/* A result on its way in. */
struct addition {
    struct store *store;
    const struct result *result;
    const char *hash, *file;
    int64_t started, finished, gpu_id;
    int64_t *identities; /* owned: of its cells */
};

__attribute__((format(printf, 2, 3))) static enum store_answer refuse(const struct addition *of, const char *format,
                                                                      ...)
{
    char why[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    log_error(STATUS_USAGE, "%s: %s", of->file, why);
    return STORE_REFUSED;
}

static int by_id(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Finds the keys of the cells. False where one is twice in the result. */
static bool know_cells(struct addition *of)
{
    const size_t count = of->result->cell_count;
    int64_t *sorted = malloc((count + 1) * sizeof(*sorted));
    bool once = true;

    of->identities = malloc((count + 1) * sizeof(*of->identities));
    if (!sorted || !of->identities) {
        sql_fail(of->store->sql, log_memory("%s", of->file));
        free(sorted);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = of->identities[i] = store_identity(of->store, &of->result->cells[i].cell);
    qsort(sorted, count, sizeof(*sorted), by_id);
    for (size_t i = 1; i < count && sql_status(of->store->sql) == STATUS_OK; i++)
        once = once && sorted[i - 1] != sorted[i];
    free(sorted);
    return once;
}

/* Whether a run has a cell of the result. */
static bool shares_cell(const struct addition *of, int64_t run_id)
{
    struct sql_statement *find = of->store->statements[STORE_FIND_TIME];
    bool shares = false;

    for (size_t i = 0; i < of->result->cell_count && !shares; i++) {
        sql_set_integer(find, 1, of->identities[i]);
        sql_set_integer(find, 2, run_id);
        shares = sql_row(find);
    }
    sql_reset(find);
    return shares;
}

/* A GPU measures a cell once in a second. An interrupted run gives way to what was written of it later, and adds nothing
 * to the finished one. */
static enum store_answer check_second(const struct addition *of)
{
    struct sql_statement *find = of->store->statements[STORE_FIND_SAME_SECOND];
    enum store_answer answer = STORE_NEW;
    int64_t replaced = 0;

    sql_set_integer(find, 1, of->gpu_id);
    sql_set_integer(find, 2, of->started);
    sql_set_text(find, 3, of->result->engine);
    while (answer == STORE_NEW && sql_row(find)) {
        const bool finished = sql_integer(find, 2);

        if (!shares_cell(of, sql_integer(find, 0)))
            continue;
        if (!finished)
            replaced = sql_integer(find, 0);
        else if (!of->result->complete)
            answer = STORE_KNOWN;
        else
            answer = refuse(of, "the same GPU and second as another run, %s, which is in; cbank forget takes that out",
                            sql_text(find, 1));
    }
    sql_reset(find);
    if (answer == STORE_NEW && replaced)
        store_remove(of->store, replaced);
    return answer;
}

static int64_t add_run(const struct addition *of)
{
    const struct result *result = of->result;
    const struct device_info *device = &result->device;
    struct sql_statement *add = of->store->statements[STORE_ADD_RUN];
    const int after = 9 + (int)COUNT(run_members);
    char health[512];

    sql_set_text(add, 1, of->hash);
    sql_set_text(add, 2, of->file);
    sql_set_integer(add, 3, of->started);
    sql_set_number(add, 4, result->finished_utc[0] ? (double)of->finished : NAN);
    sql_set_integer(add, 5, of->gpu_id);
    sql_set_integer(add, 6, geometry_of(of->store, device));
    sql_set_number(add, 7, device->throttle_known ? (double)(device->throttle_before | device->throttle_after) : NAN);
    health_text(&result->health, health, sizeof(health));
    sql_set_text(add, 8, result->health.grew ? health : NULL);
    set_members(add, 9, run_members, COUNT(run_members), result);
    sql_set_text(add, after, result->argv);
    sql_set_integer(add, after + 1, result->complete);
    sql_set_text(add, after + 2, result->end.given ? result->end.reason : NULL);
    sql_change(add);
    return sql_added(of->store->sql);
}

static void add_cell(const struct addition *of, int64_t run_id, size_t index)
{
    const struct cell_result *cell = &of->result->cells[index];
    const struct summary *summary = &cell->time.summary;
    struct sql_statement *add = of->store->statements[STORE_ADD_TIME];
    const int after = 5 + (int)COUNT(time_members);
    const bool hashed = cell->kernel.sha256[0];

    sql_set_integer(add, 1, of->identities[index]);
    sql_set_integer(add, 2, run_id);
    sql_set_number(add, 3, hashed ? (double)kernel_of(of->store, &cell->kernel) : NAN);
    sql_set_integer(add, 4, set_of(of->store, cell));
    set_members(add, 5, time_members, COUNT(time_members), cell);
    sql_set_text(add, after, cell_status_names[cell->status]);
    sql_set_text(add, after + 1, cell->reason[0] ? cell->reason : NULL);
    sql_set_integer(add, after + 2, cell->verified);
    sql_set_number(add, after + 3, summary->min);
    sql_set_number(add, after + 4, summary->mad);
    sql_set_integer(add, after + 5, (int64_t)summary->count);
    sql_set_number(add, after + 6, cell->time.series.effective);
    sql_set_text(add, after + 7, stop_reason_names[cell->time.stop_reason]);
    sql_set_number(add, after + 8, cell->time.cycles);
    sql_change(add);
    add_measured(of->store, run_id, of->identities[index], cell);
}

/* Adds what a store does not know. */
static enum store_answer add(struct addition *of)
{
    const struct result *result = of->result;
    enum store_answer answer;
    int64_t run_id;

    if (!clock_read_utc(result->started_utc, &of->started))
        return refuse(of, "started_utc is no time as 2026-01-31T12:00:00Z");
    if (result->finished_utc[0] && !clock_read_utc(result->finished_utc, &of->finished))
        return refuse(of, "finished_utc is no time as 2026-01-31T12:00:00Z");
    if (result->finished_utc[0] && of->finished < of->started)
        return refuse(of, "it finished before it began: the host's clock was set back; measure again");
    of->gpu_id = gpu_of(of->store, &result->device);
    if (!know_cells(of))
        return refuse(of, "a cell is twice in the result; remove one of the two");
    answer = check_second(of);
    if (answer != STORE_NEW)
        return answer;
    run_id = add_run(of);
    for (size_t i = 0; i < result->cell_count && sql_status(of->store->sql) == STATUS_OK; i++)
        add_cell(of, run_id, i);
    return STORE_NEW;
}

enum store_answer store_add(struct store *store, const struct result *result, const char hash[SHA256_HEX_BYTES],
                            const char *file)
{
    struct addition of = {.store = store, .result = result, .hash = hash, .file = file};
    enum store_answer answer = store_ask(store, hash);

    if (answer != STORE_NEW)
        return answer;
    sql_run(store->sql, "SAVEPOINT result");
    answer = add(&of);
    /* Of what is not new nothing stays, nor are its rows known any more. */
    if (answer != STORE_NEW) {
        sql_run(store->sql, "ROLLBACK TO result");
        store_forget_counters(store);
    }
    sql_run(store->sql, "RELEASE result");
    free(of.identities);
    return answer;
}
