/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "engine.h"

/* What the printing of findings needs to know, and the gravest so far. */
struct doctor {
    bool color;
    enum finding worst;
};

struct finding_style {
    const char *word;
    const char *color;
};

static const struct finding_style finding_styles[] = {
    [FINDING_OK] = {"ok", "\033[32m"},
    [FINDING_WARNING] = {"warning", "\033[33m"},
    [FINDING_PROBLEM] = {"problem", "\033[31m"},
};

static void print_finding(void *context, enum finding finding, const char *subject, const char *detail,
                          const char *remedy)
{
    struct doctor *doctor = context;
    const struct finding_style *style = &finding_styles[finding];

    printf("%s%-8s%s %-22s %s\n", doctor->color ? style->color : "", style->word, doctor->color ? "\033[0m" : "",
           subject, detail);
    if (remedy)
        printf("%-8s %-22s remedy: %s\n", "", "", remedy);
    if (finding > doctor->worst)
        doctor->worst = finding;
}

struct doctor_options {
    struct look_options look;
};

static const struct option_group groups[] = {
    OPTION_GROUP(look_option_rows, offsetof(struct doctor_options, look)),
};

static enum status doctor(const void *parsed, const struct invocation *invocation)
{
    const struct doctor_options *options = parsed;
    struct doctor findings = {.color = look_color(&options->look, STDOUT_FILENO), .worst = FINDING_OK};
    const struct diagnosis diagnosis = {.report = print_finding, .context = &findings};

    (void)invocation;
    for (size_t i = 0; i < engine_count; i++)
        if (engine_rows[i].engine->diagnose)
            engine_rows[i].engine->diagnose(&diagnosis);
    return findings.worst == FINDING_PROBLEM ? STATUS_ENVIRONMENT : STATUS_OK;
}

const struct command doctor_command = {
    .name = "doctor",
    .summary = "Say what this machine can do, and how to mend what it cannot",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .options_bytes = sizeof(struct doctor_options),
    .details =
        "It looks at the program, CUPTI, the GPU, kernels, clocks, other processes and the permission to read counters. The exit\n"
        "code is 3 when something keeps it from measuring on a GPU.",
    .run = doctor,
};
