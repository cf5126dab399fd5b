/* SPDX-License-Identifier: MIT
 * `cbank doctor`: a list of findings, to which each engine adds what it can use on this machine,
 * and what it lacks with the remedy. One problem makes the exit code 3. */
#include "doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device_json.h"
#include "engine.h"
#include "field.h"
#include "grid.h"
#include "log.h"
#include "memory.h"
#include "text_print.h"
#include "version_json.h"

/* -- findings ---------------------------------------------------------------------------------- */

void diagnosis_add(struct diagnosis *diagnosis, enum finding_grade grade, const char *subject,
                   const char *remedy, const char *format, ...)
{
    struct finding *made;
    static const char *const words[] =
        {[FINDING_OK] = "ok", [FINDING_WARNING] = "warning", [FINDING_PROBLEM] = "problem"};
    va_list arguments;

    if (!memory_grow(&diagnosis->findings, diagnosis->count, sizeof(*made))) {
        log_memory("what the doctor found of %s", subject);
        diagnosis->incomplete = true;
        return;
    }
    diagnosis->problem = diagnosis->problem || grade == FINDING_PROBLEM;
    made = &diagnosis->findings[diagnosis->count++];
    *made = (struct finding){0};
    snprintf(made->finding, sizeof(made->finding), "%s", words[grade]);
    snprintf(made->subject, sizeof(made->subject), "%s", subject);
    snprintf(made->remedy, sizeof(made->remedy), "%s", remedy ? remedy : "");
    va_start(arguments, format);
    vsnprintf(made->detail, sizeof(made->detail), format, arguments);
    va_end(arguments);
}

void diagnosis_add_reason(struct diagnosis *diagnosis, enum finding_grade grade,
                          const char *subject, const char *reason)
{
    const char *remedy = strstr(reason, "; ");

    diagnosis_add(diagnosis, grade, subject, remedy ? remedy + 2 : NULL, "%.*s",
                  (int)(remedy ? (size_t)(remedy - reason) : strlen(reason)), reason);
}

/* -- the grid ---------------------------------------------------------------------------------- */

#define TEXT(name) \
    .key = #name, .heading = #name, .value = grid_array, .member = GRID_MEMBER(struct finding, name)

static const struct grid_column columns[] = {
    {TEXT(finding), .head = true},
    {TEXT(subject), .head = true},
    {TEXT(detail), .below = true},
    {TEXT(remedy), .below = true},
};

/* -- the command ------------------------------------------------------------------------------- */

struct doctor_options {
    bool json;
    struct output_options look;
};

static const struct option_row rows[] = {
    {.name = "json",
     .topic = TOPIC_OUTPUT,
     .help = "print JSON, for an issue",
     .kind = &option_flag,
     .offset = offsetof(struct doctor_options, json)},
};

static const struct option_group groups[] = {
    OPTION_GROUP(rows, 0),
    OPTION_GROUP(output_option_rows, offsetof(struct doctor_options, look)),
};

static enum status doctor(const void *parsed, const struct invocation *invocation)
{
    const struct doctor_options *options = parsed;
    const struct print_style look = output_style(&options->look);
    const struct field tool_field = {.key = "tool", .kind = &field_tool};
    struct diagnosis diagnosis = {0};
    cJSON *object, *devices;
    enum status status;

    (void)invocation;
    for (size_t i = 0; i < engine_count; i++)
        if (engine_rows[i].engine->diagnose)
            engine_rows[i].engine->diagnose(&diagnosis);

    const struct grid grid = {GRID_COLUMNS(columns),
                              GRID_ROWS(diagnosis.findings, diagnosis.count)};

    if (diagnosis.incomplete) {
        status = STATUS_ENVIRONMENT;
    } else if (!options->json) {
        status = grid_print(stdout, &grid, &look);
    } else {
        object = cJSON_CreateObject();
        field_tool.write(object, &tool_field, NULL);
        devices = json_add(object, "devices", cJSON_CreateArray());
        for (size_t i = 0; i < engine_count; i++) {
            const struct engine *engine = engine_rows[i].engine;
            const char *reason;
            const uint32_t count = engine->modelled ? 0 : engine->device_count(&reason);
            struct device_info info;

            for (uint32_t device = 0; device < count; device++)
                if (engine->describe(device, NULL, &info) == STATUS_OK) {
                    if (engine->identify_device)
                        engine->identify_device(device, &info);
                    fields_write(json_append(devices, cJSON_CreateObject()), &device_object.fields,
                                 &info);
                }
        }
        json_add(object, "findings", grid_to_json(&grid));
        status = json_put_owned(stdout, object);
    }
    free(diagnosis.findings);
    return diagnosis.problem ? status_worse(status, STATUS_ENVIRONMENT) : status;
}

const struct command doctor_command = {
    .name = "doctor",
    .summary = "Check this machine, and name a remedy for each problem",
    OPTION_GROUPS(groups),
    .options_bytes = sizeof(struct doctor_options),
    .details = "It looks at the program, CUPTI, the GPU, kernels, clocks, other processes, memory "
               "errors, the board and the permission to\n"
               "read counters. The exit code is 3 when something keeps it from measuring on a GPU.",
    .run = doctor,
};
