/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "commands.h"
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

enum status command_doctor(const struct options *options, int argc, char **argv)
{
    struct doctor doctor = {.color = options_color(options, STDOUT_FILENO), .worst = FINDING_OK};
    const struct diagnosis diagnosis = {.report = print_finding, .context = &doctor};

    (void)argc;
    (void)argv;
    for (size_t i = 0; i < engine_count; i++)
        if (engine_rows[i].engine->diagnose)
            engine_rows[i].engine->diagnose(&diagnosis);
    return doctor.worst == FINDING_PROBLEM ? STATUS_ENVIRONMENT : STATUS_OK;
}
