/* SPDX-License-Identifier: MIT
 * The part of a configuration of Accel-Sim and GPGPU-Sim that is about constants. Their tuner takes every line that begins
 * with '-' and puts it in the place of that key of a template; "Device Name =" names the folder.
 *   -gpgpu_const_cache:l1 N:SETS:LINE:WAYS,REPLACEMENT:...  replacement L (least recently used) or F (first in); what
 *       follows is the template's: read only, on miss, hashed by none; the MSHRs and the miss queue
 *   -gpgpu_perfect_inst_const_cache 0                       else every constant hits, and -gpgpu_cache:il1 is ignored
 *   -trace_opcode_latency_initiation_spec_op_4 L,I          of trace.config: the uniform datapath
 * A value that the card does not know is no line, but a comment that says so. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "card.h"
#include "export.h"
#include "version.h"

/* As the template has them: nothing is known of them. */
static const char cache_rest[] = "R:f:N:L,S:2:64,4", instructions[] = "N:64:128:16,L:R:f:N:L,S:2:48,4";

struct writing {
    FILE *stream;
    struct card card;
    cJSON *json; /* of the card */
};

/* Says where a value of the card is from. */
static void say_origin(const struct writing *writing, const char *what, const char *path)
{
    const cJSON *origin = json_get(json_get(writing->json, "origins"), path);
    const char *from = "not known where from", *experiment = "", *method = "", *reason = "";

    json_get_text(origin, "from", &from);
    json_get_text(origin, "experiment", &experiment);
    json_get_text(origin, "method", &method);
    json_get_text(origin, "reason", &reason);
    fprintf(writing->stream, "#   %s: %s%s%s%s%s%s%s\n", what, from, *experiment ? ", " : "", experiment,
            *method ? ", " : "", method, *reason ? "; " : "", reason);
}

static void write_constant_cache(const struct writing *writing)
{
    const uint32_t first = card_level_index(&writing->card, "idc");
    const struct card_level *level = &writing->card.levels[first];
    const bool fifo = level->replacement == CACHE_FIFO;
    FILE *stream = writing->stream;

    fputs("\n# The first level of constants.\n", stream);
    if (first == writing->card.level_count || !level->capacity_bytes || !level->line_bytes || !level->ways) {
        fputs("# No line for -gpgpu_const_cache:l1: the card does not know capacity, line and ways.\n", stream);
        return;
    }
    say_origin(writing, "capacity", "levels.idc.capacity_bytes");
    say_origin(writing, "line", "levels.idc.line_bytes");
    say_origin(writing, "ways", "levels.idc.ways");
    say_origin(writing, "replacement", "levels.idc.replacement");
    if (level->replacement != CACHE_LRU && !fifo)
        fprintf(stream, "#   The card says %s, which cannot be said there: L is the nearest.\n",
                cache_replacement_names[level->replacement]);
    fputs("#   The fields after the replacement are those of the template: nothing is known of them.\n", stream);
    fprintf(stream, "-gpgpu_const_cache:l1 N:%" PRIu32 ":%" PRIu32 ":%" PRIu32 ",%c:%s\n",
            level->capacity_bytes / (level->line_bytes * level->ways), level->line_bytes, level->ways, fifo ? 'F' : 'L',
            cache_rest);
}

/* The latency of a load that the card quotes of a path; NaN where it has none. */
static double quoted_latency(const struct writing *writing, const char *wanted)
{
    const cJSON *number;
    double value = NAN;

    cJSON_ArrayForEach (number, json_get(writing->json, "numbers")) {
        const char *experiment = "", *name = "";

        json_get_text(number, "experiment", &experiment);
        json_get_text(number, "name", &name);
        if (strcmp(experiment, wanted) == 0 && strcmp(name, "latency") == 0)
            json_get_double(number, "value", &value);
    }
    return value;
}

/* Whole cycles, one at least. */
static void write_uniform(const struct writing *writing)
{
    const double latency = quoted_latency(writing, "latency_constant_uniform");
    const double cycles = writing->card.uniform_request_cycles;
    FILE *stream = writing->stream;

    fputs("\n# Loads of constants by the uniform datapath; this line goes into trace.config.\n", stream);
    if (isnan(latency) || isnan(cycles)) {
        fputs("# No line for -trace_opcode_latency_initiation_spec_op_4: the card does not know latency and rate.\n",
              stream);
        return;
    }
    fprintf(stream, "#   latency: characterized, latency_constant_uniform: %g cycles\n", latency);
    say_origin(writing, "initiation", "uniform_request_cycles");
    fprintf(stream, "#   %g cycles a load; there it is whole cycles, one at least.\n", cycles);
    fprintf(stream, "-trace_opcode_latency_initiation_spec_op_4 %.0f,%.0f\n", fmax(round(latency), 1),
            fmax(round(cycles), 1));
}

/* A number of a level; unknown is 0. */
static void say_count(const struct writing *writing, const char *before, uint32_t count, const char *unit)
{
    if (count)
        fprintf(writing->stream, "%s%" PRIu32 "%s", before, count, unit);
    else
        fprintf(writing->stream, "%snot known%s", before, unit);
}

static void write_limits(const struct writing *writing)
{
    fputs("\n# What cannot be said there:\n", writing->stream);
    for (uint32_t i = 1; i < writing->card.level_count; i++) {
        const struct card_level *level = &writing->card.levels[i];

        fprintf(writing->stream, "#   a second level of constants, %s:", level->name);
        say_count(writing, " size ", level->capacity_bytes, " bytes");
        say_count(writing, ", line ", level->line_bytes, " bytes");
        say_count(writing, ", shared by ", level->sms, " SMs\n");
    }
    fputs("#   tree pseudo-LRU; sets that a kernel swaps; a latency of constant loads of its own\n", writing->stream);
}

enum status export_accelsim(FILE *stream, const char *card)
{
    struct writing writing = {.stream = stream};
    const enum status status = card_read_json(card, &writing.card, &writing.json);

    if (status != STATUS_OK)
        return status;
    fprintf(stream, "# Constants of %s for Accel-Sim and GPGPU-Sim, by %s %s from a card.\n", writing.card.name,
            tool.name, tool.version);
    fprintf(stream, "Device Name = NVIDIA %s\n", writing.card.name);
    write_constant_cache(&writing);
    fputs("\n# Constants are not all hits. That is of instructions, too, whose cache is the template's.\n"
          "-gpgpu_perfect_inst_const_cache 0\n",
          stream);
    fprintf(stream, "-gpgpu_cache:il1 %s\n", instructions);
    write_uniform(&writing);
    write_limits(&writing);
    cJSON_Delete(writing.json);
    return STATUS_OK;
}
