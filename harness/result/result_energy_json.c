/* SPDX-License-Identifier: MIT
 * Energy of cells, and how it was measured, as tables of fields. */
#include "result_energy_json.h"

#include "cell_row.h"
#include "result.h"
#include "schema.h"

/* Joules of a launch, and of a lookup, that nothing exceeds. */
#define MOST_JOULES 1e9

const char *const energy_limit_names[ENERGY_LIMIT_COUNT] = {
    "gpu_idle", "clocks_setting",   "power_cap",   "hardware_slowdown", "sync_boost",
    "thermal",  "hardware_thermal", "power_brake", "unknown",
};
static const struct names energy_limits =
    NAMES(energy_limit_names, ENERGY_LIMIT_COUNT, "an array of what held clock or power down");

#define JOULES(key_, member_, ...)                                                          \
    {FIELD(field_number, struct cell_energy, key_, member_, NULLABLE), .low = -MOST_JOULES, \
     .high = MOST_JOULES, __VA_ARGS__}

static const struct field energy_rows[] = {
    JOULES("launch_j", launch.value,
           .about =
               "of one launch, with what the GPU takes when it is idle: mean power by launches "
               "a second",
           .column = COLUMN(.heading = "energy a launch", .key = "launch_j", .format = text_energy,
                            .views = VIEW_CELLS | VIEW_TIME, .place = 710)),
    JOULES("launch_low_j", launch.ci_low,
           .about = "95 % interval: batch means of power and of launches a second, and a unit of "
                    "the counter and the time in which its steps lie more",
           .column = COLUMN(.heading = "its low", .key = "launch_low_j", .format = text_energy,
                            .views = VIEW_CELLS | VIEW_TIME, .place = 720)),
    JOULES("launch_high_j", launch.ci_high,
           .column = COLUMN(.heading = "its high", .key = "launch_high_j", .format = text_energy,
                            .views = VIEW_CELLS | VIEW_TIME, .place = 730)),
    JOULES("empty_j", empty.value,
           .about = "of one launch of an empty kernel with the same grid, beyond idle",
           .column = COLUMN(.heading = "energy of an empty launch", .key = "empty_j",
                            .format = text_energy, .views = VIEW_CELLS | VIEW_TIME, .place = 740)),
    JOULES("empty_low_j", empty.ci_low, .about = "95 % interval, as that of a launch"),
    JOULES("empty_high_j", empty.ci_high, .about = "of it"),
    JOULES("lookup_j", lookup.value,
           .about =
               "of one lookup, of a user's kernel of one item: what a launch takes beyond idle "
               "and beyond empty_j, by lookups. Null where its interval holds 0",
           .column = COLUMN(.heading = "energy a lookup", .key = "lookup_j", .format = text_energy,
                            .views = VIEW_CELLS | VIEW_TIME, .place = 750)),
    JOULES("lookup_low_j", lookup.ci_low,
           .about = "95 % interval, which is there if lookup_j is "
                    "null for it",
           .column = COLUMN(.heading = "its low", .key = "lookup_low_j", .format = text_energy,
                            .views = VIEW_CELLS | VIEW_TIME, .place = 760)),
    JOULES("lookup_high_j", lookup.ci_high,
           .column = COLUMN(.heading = "its high", .key = "lookup_high_j", .format = text_energy,
                            .views = VIEW_CELLS | VIEW_TIME, .place = 770)),
    {FIELD(field_uint64, struct cell_energy, "lookups", lookups, NULLABLE),
     .about = "of a launch: payload loads of its threads, or items of a user's kernel"},
    {FIELD(field_number, struct cell_energy, "watts", watts, NULLABLE), .low = 0, .high = 1e6,
     .about = "mean power while the cell's launches followed each other", .rules = AT_LEAST(0),
     .column = COLUMN(.heading = "power, W", .key = "watts", .format = text_tenths,
                      .views = VIEW_CELLS | VIEW_TIME, .place = 780)},
    {FIELD(field_number, struct cell_energy, "watts_low", watts_low, NULLABLE)},
    {FIELD(field_number, struct cell_energy, "watts_high", watts_high, NULLABLE)},
    {FIELD(field_number, struct cell_energy, "launch_ns", launch_ns, NULLABLE), .low = 0,
     .high = 1e15, .about = "that a launch took then, with what lies between graphs",
     .rules = AT_LEAST(0)},
    {FIELD(field_number, struct cell_energy, "seconds", seconds, NULLABLE), .low = 0, .high = 1e9,
     .about = "of the stretch, between two steps of the counter", .rules = AT_LEAST(0)},
    {FIELD(field_uint32, struct cell_energy, "steps", steps, REQUIRED),
     .about = "of the counter in it"},
    {FIELD(field_number, struct cell_energy, "sm_clock_mhz", sm_clock_mhz, NULLABLE),
     .about = "median then", .rules = ABOVE(0),
     .column = COLUMN(.heading = "SM clock meanwhile, MHz", .key = "energy_sm_clock_mhz",
                      .format = text_count, .views = VIEW_CELLS | VIEW_TIME, .place = 790)},
    {FIELD(field_number, struct cell_energy, "celsius", celsius, NULLABLE),
     .about = "of the GPU at its end"},
    {FIELD(field_bits, struct cell_energy, "limits", limits, REQUIRED), .names = &energy_limits,
     .about = "what held clock or power down then, as NVML says: energy and time are those of a "
              "GPU that was held down",
     .column = COLUMN(.heading = "held down by", .key = "energy_limits",
                      .views = VIEW_CELLS | VIEW_TIME, .place = 800)},
    {FIELD(field_text, struct cell_energy, "null_reason", reason, NULLABLE),
     .about = "why launch_j is null",
     .column = COLUMN(.heading = "no energy", .key = "energy_null_reason",
                      .views = VIEW_CELLS | VIEW_TIME, .place = 810)},
    {FIELD(field_text, struct cell_energy, "lookup_null_reason", lookup_reason, NULLABLE),
     .about = "why lookup_j is null where launch_j is not",
     .column = COLUMN(.heading = "no energy a lookup", .key = "lookup_null_reason",
                      .views = VIEW_CELLS | VIEW_TIME, .place = 820)},
};

const struct object cell_energy_object = {.fields = FIELDS(energy_rows),
                                          .given = offsetof(struct cell_result, energy.given)};

static const struct field energy_fields[] = {
    {FIELD(field_number, struct energy_method, "seconds", seconds, REQUIRED), .low = 0.001,
     .high = 3600, .about = "of a stretch, at least, as asked for", .rules = ABOVE(0)},
    {FIELD(field_number, struct energy_method, "period_ms", period_ms, NULLABLE), .low = 0,
     .high = 1e9, .about = "median time between two steps of the counter on the idle GPU",
     .rules = AT_LEAST(0)},
    {FIELD(field_number, struct energy_method, "unit_mj", unit_mj, NULLABLE), .low = 0,
     .high = 1e15, .about = "that all differences of its readings are multiples of",
     .rules = AT_LEAST(0)},
    {FIELD(field_number, struct energy_method, "idle_watts", idle.value, NULLABLE), .low = 0,
     .high = 1e6,
     .about = "of the idle GPU, with a context: mean of a stretch before the cells and one after",
     .rules = AT_LEAST(0)},
    {FIELD(field_number, struct energy_method, "idle_watts_low", idle.ci_low, NULLABLE),
     .about = "95 % interval, and half of what both differ by more"},
    {FIELD(field_number, struct energy_method, "idle_watts_high", idle.ci_high, NULLABLE)},
    {FIELD(field_text, struct energy_method, "null_reason", reason, NULLABLE),
     .about = "why there is no energy; null where it was measured"},
};
const struct object energy_method_object = {.fields = FIELDS(energy_fields),
                                            .given = offsetof(struct result, energy_method.given)};
