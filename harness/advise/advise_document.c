/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "advise.h"
#include "document.h"
#include "sass.h"
#include "user_code.h"
#include "version.h"

/* -- kinds: none is read ------------------------------------------------------------------------------- */

static void write_path(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, ((const struct advised_place *)base)->path->name);
}

static void write_instruction(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, image_instruction(&((const struct advised_place *)base)->cell));
}

/* Whether low and high are by errors that were found, of this unit. */
static void write_error_known(cJSON *object, const struct field *field, const void *base)
{
    json_add(object, field->key, cJSON_CreateBool(advised_place_is_sure(base)));
}

static void write_stretch_path(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, ((const struct advised_stretch *)base)->path->name);
}

static const struct field_kind kind_path = {write_path, NULL};
static const struct field_kind kind_instruction = {write_instruction, NULL};
static const struct field_kind kind_error_known = {write_error_known, NULL};
static const struct field_kind kind_stretch_path = {write_stretch_path, NULL};

/* -- places ------------------------------------------------------------------------------------------- */

static const struct names standings = {.names = advise_standing_names};
static const struct names axis_names = {.names = advise_axis_names};

static const struct field predicted_rows[] = {
    {FIELD(field_number, struct advised_prediction, "time_ns", time_ns, REQUIRED)},
    {FIELD(field_number, struct advised_prediction, "low", low_ns, REQUIRED)},
    {FIELD(field_number, struct advised_prediction, "high", high_ns, REQUIRED)},
    {FIELD(field_bool, struct advised_prediction, "off", off, REQUIRED)},
};
static const struct object predicted_object = {FIELDS(predicted_rows),
                                               .given = offsetof(struct advised_place, predicted.known)};

static const struct field place_rows[] = {
    {.key = "path", .kind = &kind_path},
    {FIELD(field_number, struct advised_place, "time_ns", time_ns, REQUIRED)},
    {FIELD(field_number, struct advised_place, "low", low_ns, REQUIRED)},
    {FIELD(field_number, struct advised_place, "high", high_ns, REQUIRED)},
    {.key = "error_known", .kind = &kind_error_known},
    {FIELD(field_number, struct advised_place, "relative", relative, REQUIRED)},
    {FIELD(field_number, struct advised_place, "apart", apart, REQUIRED)},
    {FIELD(field_number, struct advised_place, "ratio_error", ratio_error, REQUIRED)},
    {FIELD(field_name, struct advised_place, "standing", standing, REQUIRED), .of = &standings},
    {FIELD(field_text, struct advised_place, "reason", reason, REQUIRED)},
    {.key = "instruction", .kind = &kind_instruction},
    {FIELD(field_object, struct advised_place, "predicted", predicted, NULLABLE), .of = &predicted_object},
};
static const struct objects ranking = OBJECTS_OF(place_rows, struct advised_place, struct advice, count);

static const struct field excluded_rows[] = {
    {.key = "path", .kind = &kind_path},
    {FIELD(field_text, struct advised_place, "reason", reason, REQUIRED)},
};
static const struct fields excluded_fields = FIELDS(excluded_rows);

static void write_excluded(cJSON *object, const struct field *field, const void *base)
{
    const struct advice *advice = base;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < advice->excluded; i++)
        fields_write(json_append(array, cJSON_CreateObject()), &excluded_fields, &advice->places[advice->count + i]);
}

static void write_choice(cJSON *object, const struct field *field, const void *base)
{
    json_add_text(object, field->key, ((const struct advice *)base)->places[0].path->name);
}

/* The names of the places that stand to the first so as field->of says. */
static void write_standing(cJSON *object, const struct field *field, const void *base)
{
    const struct advice *advice = base;
    cJSON *array = json_add(object, field->key, cJSON_CreateArray());

    for (size_t i = 0; i < advice->count; i++)
        if (advice->places[i].standing == *(const enum advise_standing *)field->of)
            json_append(array, cJSON_CreateString(advice->places[i].path->name));
}

static void write_measure(cJSON *object, const struct field *field, const void *base)
{
    struct memory command;

    if (advise_run_command(base, &command))
        json_add_text(object, field->key, command.text);
    else
        json_add(object, field->key, NULL);
    free(command.text);
}

static const struct field_kind kind_measure = {write_measure, NULL};
static const struct field_kind kind_excluded = {write_excluded, NULL};
static const struct field_kind kind_choice = {write_choice, NULL};
static const struct field_kind kind_standing = {write_standing, NULL};

static void write_device(cJSON *object, const struct field *field, const void *base)
{
    const struct advice *advice = base;

    if (advice->modelled)
        json_add(object, field->key, cJSON_CreateNull());
    else
        fields_write(json_add(object, field->key, cJSON_CreateObject()), &device_object.fields, &advice->device);
}

static const struct field_kind kind_device = {write_device, NULL};

/* -- the document -------------------------------------------------------------------------------------- */

static const struct field stretch_rows[] = {
    {FIELD(field_name, struct advised_stretch, "axis", axis, REQUIRED), .of = &axis_names},
    {.key = "path", .kind = &kind_stretch_path},
    {FIELD(field_uint32, struct advised_stretch, "first", first, REQUIRED)},
    {FIELD(field_uint32, struct advised_stretch, "last", last, REQUIRED)},
    {FIELD(field_bool, struct advised_stretch, "too_close", close, REQUIRED)},
    {FIELD(field_uint64, struct advised_stretch, "elements", elements, REQUIRED)},
};
static const struct objects stretches = {.fields = FIELDS(stretch_rows),
                                         .element_bytes = sizeof(struct advised_stretch),
                                         .count = offsetof(struct advice, stretch_count),
                                         .max = ADVISE_STRETCHES_MAX};

static const struct field name_rows[] = {
    {FIELD(field_text, struct card, "name", name, REQUIRED)},
    {FIELD(field_text, struct card, "chip", chip, REQUIRED)},
};
static const struct fields name_fields = FIELDS(name_rows);

static const struct field card_rows[] = {
    {FIELD(field_reference, struct advice, "file", card_file, NULLABLE)},
    {FIELD(field_pointer, struct advice, NULL, card, REQUIRED), .of = &name_fields},
};
static const struct object card_object = {FIELDS(card_rows), .given = SIZE_MAX};

static void write_configuration(cJSON *object, const struct field *field, const void *base)
{
    const struct cell *cell = &((const struct advice *)base)->cell;
    cJSON *configuration = json_add(object, field->key, cJSON_CreateObject());

    json_add_text(configuration, "workload", cell->workload->name);
    json_add_text(configuration, "pattern", cell->pattern->name);
    json_add_text(configuration, "indices", ((const struct advice *)base)->indices_path);
    json_add_integer(configuration, "elements", cell->elements);
    json_add_integer(configuration, "block_size", cell->block_size);
    for (size_t i = 0; i < parameter_count; i++)
        if (cell_takes(cell->workload, cell->pattern) >> i & 1)
            json_add_integer(configuration, parameters[i].name,
                             parameter_value(cell->parameters, (enum parameter_index)i));
}

static const struct field_kind kind_configuration = {write_configuration, NULL};
static const enum advise_standing alike = ADVISE_ALIKE_FIRST, too_close = ADVISE_TOO_CLOSE;

static const struct field root_rows[] = {
    {.key = "tool", .kind = &field_tool},
    {FIELD(field_bool, struct advice, "modelled", modelled, REQUIRED)},
    {FIELD(field_number, struct advice, "told", told, REQUIRED)},
    {.key = "device", .kind = &kind_device},
    {.key = "card", .kind = &field_object, .of = &card_object},
    {.key = "configuration", .kind = &kind_configuration},
    {.key = "choice", .kind = &kind_choice},
    {.key = "alike", .kind = &kind_standing, .of = &alike},
    {.key = "too_close", .kind = &kind_standing, .of = &too_close},
    {FIELD(field_list, struct advice, "ranking", places, REQUIRED), .of = &ranking},
    {.key = "excluded", .kind = &kind_excluded},
    {.key = "measure", .kind = &kind_measure},
    {FIELD(field_array, struct advice, "crossovers", stretches, REQUIRED), .of = &stretches},
    {FIELD(field_pointer, struct advice, "code", code, NULLABLE), .of = &user_code_fields},
};

const struct document advise_document = {.schema = "cbank-advice",
                                         .what = "advice",
                                         .major = 1,
                                         .root = {.fields = FIELDS(root_rows), .given = SIZE_MAX}};
