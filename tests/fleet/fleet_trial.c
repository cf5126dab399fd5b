/* SPDX-License-Identifier: MIT
 * Tries the statistics of `cbank fleet` on fleets that are made up: how often they call out without cause, and how often
 * they find what was planted. scripts/fleet_simulation.py says what the noise is, and collects.
 *
 * usage: fleet_trial PLANT GPUS NIGHTS TRIALS SEED < NOISE
 *
 * PLANT is none, step, drift or driver. NOISE has a line "DEVIATION PATH" for each cell, an empty line, and lines with a
 * value each of deviation 1 that noise is drawn from; without such lines it is Student's t of three degrees of freedom.
 * Half of a cell's variance is shared by all cells of a process, half of what boards differ by (1 %) by all cells of a
 * board. A node has 8 GPUs.
 *
 * Prints for `none` the verdicts (one a night, from the second night on, over the last 60) and their findings; for the
 * others what was planted, what was found at all and with the right date, and findings beside them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet_finding.h"
#include "random.h"

enum { CELLS_MOST = 1000, TAILS_MOST = 10000, WINDOW = 60, NODE = 8, PLANTED = 20 };

static const double pi = 3.14159265358979323846, board = 0.01, step_size = 0.015, drift_size = 0.03, driver_size = 0.01;

struct trial {
    uint64_t state;
    size_t cells, gpus, nights;
    double deviation[CELLS_MOST];
    size_t path[CELLS_MOST];
    double tails[TAILS_MOST];
    size_t tail_count;
    double *log_ns; /* [cell][gpu][night] */
};

/* What a trial came to. */
struct outcome {
    size_t verdicts, planted, found, dated, others;
};

static double uniform(struct trial *trial)
{
    return ((double)(random_next(&trial->state) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct trial *trial)
{
    const double radius = sqrt(-2 * log(uniform(trial)));

    return radius * cos(2 * pi * uniform(trial));
}

static double noise(struct trial *trial)
{
    double squares = 0;

    if (trial->tail_count)
        return trial->tails[(size_t)(uniform(trial) * (double)trial->tail_count)];
    for (int i = 0; i < 3; i++)
        squares += pow(normal(trial), 2);
    return normal(trial) / sqrt(squares / 3) / sqrt(3);
}

static double *times_of(const struct trial *trial, size_t cell, size_t gpu)
{
    return trial->log_ns + (cell * trial->gpus + gpu) * trial->nights;
}

static void make_fleet(struct trial *trial)
{
    for (size_t gpu = 0; gpu < trial->gpus; gpu++) {
        const double all = normal(trial);
        double levels[CELLS_MOST];

        for (size_t cell = 0; cell < trial->cells; cell++)
            levels[cell] = board * (all + normal(trial)) / sqrt(2);
        for (size_t night = 0; night < trial->nights; night++) {
            const double shared = noise(trial);

            for (size_t cell = 0; cell < trial->cells; cell++)
                times_of(trial, cell, gpu)[night] =
                    levels[cell] + trial->deviation[cell] * (shared + noise(trial)) / sqrt(2);
        }
    }
}

/* Adds `size` to the GPU's times of a path from a night on, at once or in a line up to the last night. */
static void plant(struct trial *trial, size_t gpu, size_t path, size_t since, double size, bool slowly)
{
    const double span = (double)(trial->nights - since);

    for (size_t cell = 0; cell < trial->cells; cell++)
        for (size_t night = since; trial->path[cell] == path && night < trial->nights; night++)
            times_of(trial, cell, gpu)[night] += slowly ? size * (double)(night - since + 1) / span : size;
}

/* The verdict after `nights` of the nights. */
static void judge(struct trial *trial, size_t nights, struct fleet_changes *changes, struct fleet_findings *findings)
{
    const struct fleet_limits limits = FLEET_LIMITS_DEFAULT;
    const size_t rounds = nights < WINDOW ? nights : WINDOW;
    double *log_ns = calloc(trial->cells * trial->gpus * rounds, sizeof(*log_ns));
    struct deviation *process = calloc(trial->cells, sizeof(*process));
    size_t *one = calloc(trial->gpus, sizeof(*one)), *node = calloc(trial->gpus, sizeof(*node));
    const struct fleet_times times = {.cells = trial->cells,
                                      .gpus = trial->gpus,
                                      .rounds = rounds,
                                      .log_ns = log_ns,
                                      .process = process,
                                      .groups = {NULL, one, one, node},
                                      .group_counts = {1, 1, 1, (trial->gpus + NODE - 1) / NODE}};

    if (!log_ns || !process || !one || !node)
        exit(STATUS_ENVIRONMENT);
    for (size_t gpu = 0; gpu < trial->gpus; gpu++)
        node[gpu] = gpu / NODE;
    for (size_t cell = 0; cell < trial->cells; cell++) {
        process[cell] = (struct deviation){trial->deviation[cell], 16, DEVIATION_DEFAULT};
        for (size_t gpu = 0; gpu < trial->gpus; gpu++)
            memcpy(log_ns + (cell * trial->gpus + gpu) * rounds, times_of(trial, cell, gpu) + nights - rounds,
                   rounds * sizeof(*log_ns));
    }
    if (fleet_judge(&times, &limits, changes) != STATUS_OK || fleet_find(&times, changes, findings) != STATUS_OK)
        exit(STATUS_ENVIRONMENT);
    free(log_ns);
    free(process);
    free(one);
    free(node);
}

static void quiet(struct trial *trial, struct outcome *out)
{
    make_fleet(trial);
    for (size_t nights = 2; nights <= trial->nights; nights++) {
        struct fleet_changes changes = {0};
        struct fleet_findings findings = {0};

        judge(trial, nights, &changes, &findings);
        out->verdicts++;
        out->others += findings.count;
        fleet_findings_close(&findings);
        fleet_changes_close(&changes);
    }
}

/* Whether what is planted in a GPU is what the finding says; counts the date, where that can be asked. */
static bool is_planted(const struct fleet_finding *finding, size_t gpu, size_t since, struct outcome *out)
{
    const size_t said = finding->surest->since;

    if (finding->level != FLEET_GPU || finding->group != gpu || !finding->slower)
        return false;
    out->found++;
    out->dated += said + 1 >= since && said <= since + 1;
    return true;
}

/* As many GPUs with a change each, in one path: a step on the night before the last, or a drift over 30 nights. */
static void changed(struct trial *trial, bool slowly, struct outcome *out)
{
    const size_t since = trial->nights - (slowly ? 30 : 2), stride = trial->gpus / PLANTED;
    struct fleet_changes changes = {0};
    struct fleet_findings findings = {0};

    make_fleet(trial);
    for (size_t i = 0; i < PLANTED; i++)
        plant(trial, i * stride, (size_t)(uniform(trial) * 3), since, slowly ? drift_size : step_size, slowly);
    judge(trial, trial->nights, &changes, &findings);
    out->verdicts++;
    out->planted += PLANTED;
    for (size_t i = 0; i < findings.count; i++)
        out->others += findings.items[i].group % stride != 0 ||
                       !is_planted(&findings.items[i], findings.items[i].group, since, out);
    fleet_findings_close(&findings);
    fleet_changes_close(&changes);
}

/* All GPUs, all cells, on the night before the last. */
static void driver(struct trial *trial, struct outcome *out)
{
    struct fleet_changes changes = {0};
    struct fleet_findings findings = {0};
    const size_t since = trial->nights - 2;

    make_fleet(trial);
    for (size_t gpu = 0; gpu < trial->gpus; gpu++)
        for (size_t path = 0; path < 3; path++)
            plant(trial, gpu, path, since, driver_size, false);
    judge(trial, trial->nights, &changes, &findings);
    out->verdicts++;
    out->planted++;
    for (size_t i = 0; i < findings.count; i++) {
        const bool all = findings.items[i].level == FLEET_MODEL && findings.items[i].slower;

        out->found += all;
        out->dated += all && findings.items[i].surest->since == since;
        out->others += !all;
    }
    fleet_findings_close(&findings);
    fleet_changes_close(&changes);
}

static void read_noise(struct trial *trial)
{
    char line[128];

    while (trial->cells < CELLS_MOST && fgets(line, sizeof(line), stdin) &&
           sscanf(line, "%lf %zu", &trial->deviation[trial->cells], &trial->path[trial->cells]) == 2)
        trial->cells++;
    while (trial->tail_count < TAILS_MOST && scanf("%lf", &trial->tails[trial->tail_count]) == 1)
        trial->tail_count++;
}

int main(int argc, char **argv)
{
    static struct trial trial;
    struct outcome out = {0};

    if (argc != 6) {
        fprintf(stderr, "usage: fleet_trial PLANT GPUS NIGHTS TRIALS SEED < NOISE\n");
        return STATUS_USAGE;
    }
    read_noise(&trial);
    trial.gpus = strtoul(argv[2], NULL, 10);
    trial.nights = strtoul(argv[3], NULL, 10);
    trial.state = strtoul(argv[5], NULL, 10);
    trial.log_ns = calloc(trial.cells * trial.gpus * trial.nights, sizeof(*trial.log_ns));
    if (!trial.log_ns || trial.cells == 0)
        return STATUS_ENVIRONMENT;
    for (size_t i = 0; i < strtoul(argv[4], NULL, 10); i++) {
        if (strcmp(argv[1], "none") == 0)
            quiet(&trial, &out);
        else if (strcmp(argv[1], "driver") == 0)
            driver(&trial, &out);
        else
            changed(&trial, strcmp(argv[1], "drift") == 0, &out);
    }
    free(trial.log_ns);
    printf("{\"verdicts\": %zu, \"planted\": %zu, \"found\": %zu, \"dated\": %zu, \"others\": %zu}\n", out.verdicts,
           out.planted, out.found, out.dated, out.others);
    return STATUS_OK;
}
