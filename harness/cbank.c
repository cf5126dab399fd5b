/* SPDX-License-Identifier: MIT */
#include "cbank.h"

#include <stdlib.h>

#include "command.h"
#include "compare.h"
#include "log.h"
#include "parse.h"
#include "plan.h"
#include "run.h"
#include "version.h"

extern const struct command run_command;

_Static_assert(CBANK_IDENTITY_BYTES - CELL_IDENTITY_BYTES == 0, "as long as an identity");

const char *cbank_version(void)
{
    return tool.version;
}

/* Runs a command with words before the caller's options; NULL words are left out. */
static enum status command_with(const struct command *command, size_t count,
                                const char *const *options, const char *const first[3])
{
    char **words = calloc(count + 6, sizeof(*words)), name[] = "cbank", run[] = "run";
    enum status status;
    int used = 2;

    if (!words)
        return log_memory("a command line");
    words[0] = name;
    words[1] = run;
    for (size_t i = 0; i < count + 3; i++)
        if (i >= 3 || first[i])
            /* whose order alone is changed */
            words[used++] = (char *)(i < 3 ? first[i] : options[i - 3]);
    status = command_run(command, used, words);
    free(words);
    return status;
}

/* -- plan -------------------------------------------------------------------------------------- */

struct cbank_plan {
    struct plan plan;
    struct index_list indices;
};

static struct cbank_plan *planned; /* where the command below leaves its plan */

static enum status plan_alone(const void *parsed, const struct invocation *invocation)
{
    (void)invocation;
    return plan_open(&((const struct run_options *)parsed)->plan, &planned->indices,
                     &planned->plan);
}

enum cbank_status cbank_plan(size_t count, const char *const *options, struct cbank_plan **out)
{
    struct command command = run_command;
    enum status status;

    command.run = plan_alone;
    *out = planned = calloc(1, sizeof(*planned));
    status = planned ? command_with(&command, count, options, (const char *const[3]){NULL})
                     : log_memory("a plan");
    if (status != STATUS_OK) {
        cbank_plan_close(planned);
        *out = NULL;
    }
    return (enum cbank_status)status;
}

size_t cbank_plan_cells(const struct cbank_plan *plan)
{
    return plan->plan.count;
}

void cbank_plan_cell(const struct cbank_plan *plan, size_t index,
                     char identity[CBANK_IDENTITY_BYTES])
{
    cell_identity(&plan->plan.cells[index], identity);
}

void cbank_plan_close(struct cbank_plan *plan)
{
    if (plan) {
        plan_close(&plan->plan);
        index_list_close(&plan->indices);
    }
    free(plan);
}

/* -- results ----------------------------------------------------------------------------------- */

struct cbank_result {
    struct result result;
};

enum cbank_status cbank_read(const char *path, struct cbank_result **out)
{
    struct cbank_result *read = calloc(1, sizeof(*read));
    enum status status = read ? result_read(path, &read->result) : log_memory("%s", path);

    if (status != STATUS_OK) {
        cbank_result_close(read);
        read = NULL;
    }
    *out = read;
    return (enum cbank_status)status;
}

enum cbank_status cbank_run(size_t count, const char *const *options, const char *path,
                            struct cbank_result **out)
{
    const enum status status = command_with(&run_command, count, options,
                                            (const char *const[3]){"--quiet", "--json", path});
    enum cbank_status read;

    *out = NULL;
    if (status == STATUS_USAGE || status == STATUS_ENVIRONMENT)
        return (enum cbank_status)status;
    read = cbank_read(path, out);
    return read == CBANK_OK ? (enum cbank_status)status : read;
}

void cbank_result_close(struct cbank_result *result)
{
    if (result)
        result_close(&result->result);
    free(result);
}

size_t cbank_result_cells(const struct cbank_result *result)
{
    return result->result.cell_count;
}

struct cbank_cell cbank_result_cell(const struct cbank_result *result, size_t index)
{
    const struct cell_result *cell = &result->result.cells[index];
    const struct summary *time = &cell->time.summary;

    struct cbank_cell out = {.status = cell_status_names[cell->status],
                             .reason = cell->reason,
                             .modelled = result->result.modelled_time,
                             .time_ns = time->value,
                             .ci_low_ns = time->ci_low,
                             .ci_high_ns = time->ci_high};

    cell_identity(&cell->cell, out.identity);
    return out;
}

double cbank_result_counter(const struct cbank_result *result, size_t index, const char *name)
{
    const struct cell_result *cell = &result->result.cells[index];

    return counter_counted(cell->counters, cell->counter_count, name);
}

/* -- comparison -------------------------------------------------------------------------------- */

struct cbank_comparison {
    struct sides sides[SIDES];
    struct comparison comparison;
};

enum cbank_status cbank_compare(size_t base_count, const struct cbank_result *const *base,
                                size_t new_count, const struct cbank_result *const *new_results,
                                double threshold, struct cbank_comparison **out)
{
    const struct compare_options options = {.judge.threshold = threshold};
    struct cbank_comparison *made = calloc(1, sizeof(*made));
    enum status status = made ? STATUS_OK : log_memory("a comparison");

    for (size_t i = 0; status == STATUS_OK && i < base_count + new_count; i++) {
        const bool is_new = i >= base_count;

        status = sides_take(&made->sides[is_new ? NEW : BASE],
                            is_new ? "a result of NEW" : "a result of BASE",
                            &(is_new ? new_results[i - base_count] : base[i])->result);
    }
    if (status == STATUS_OK)
        status = compare_sides(made->sides, &options, &made->comparison);
    if (status != STATUS_OK) {
        cbank_comparison_close(made);
        made = NULL;
    }
    *out = made;
    return (enum cbank_status)status;
}

enum cbank_status cbank_comparison_status(const struct cbank_comparison *comparison)
{
    return (enum cbank_status)comparison_status(&comparison->comparison, true);
}

size_t cbank_comparison_cells(const struct cbank_comparison *comparison)
{
    return comparison->comparison.cell_count;
}

struct cbank_verdict cbank_comparison_cell(const struct cbank_comparison *comparison, size_t index)
{
    const struct comparison_cell *cell = &comparison->comparison.cells[index];

    struct cbank_verdict out = {.verdict = verdict_rows[cell->verdict].name,
                                .ratio = cell->judged.ratio.value,
                                .ci_low = cell->judged.ratio.ci_low,
                                .ci_high = cell->judged.ratio.ci_high,
                                .p = cell->judged.adjusted_p};

    cell_identity(&cell->cell, out.identity);
    return out;
}

void cbank_comparison_close(struct cbank_comparison *comparison)
{
    if (comparison) {
        comparison_close(&comparison->comparison);
        for (size_t i = 0; i < SIDES; i++)
            sides_close(&comparison->sides[i]);
    }
    free(comparison);
}
