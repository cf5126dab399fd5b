/* SPDX-License-Identifier: MIT
 * A device as fields of a document. Compute capability is text ("9.0"), throttle reasons are a list
 * of names, groups of SMs are a list of sizes. */
#include "device_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema.h"

/* -- compute capability: "9.0" ----------------------------------------------------------------- */

static void write_capability(cJSON *object, const struct field *field, const void *base)
{
    const struct device_info *info = base;
    char text[32];

    snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu32, info->cc_major, info->cc_minor);
    json_add_text(object, field->key, text);
}

static void read_capability(const struct node *node, const struct field *field, void *base)
{
    struct device_info *info = base;
    const char *text = cJSON_GetStringValue(node_get(node, field->key));
    char *end = "";

    /* "MAJOR.MINOR", each of at most 5 digits and without a sign. */
    if (text && strspn(text, "0123456789.") == strlen(text) && strlen(text) <= 11 && text[0] != '.')
        info->cc_major = (uint32_t)strtoul(text, &end, 10);
    if (*end == '.' && end[1] && strspn(end + 1, "0123456789") == strlen(end + 1))
        info->cc_minor = (uint32_t)strtoul(end + 1, NULL, 10);
    else
        node_refuse(node, field->key, "a string like \"9.0\"");
}

static const struct field_kind field_capability = {.write = write_capability,
                                                   .read = read_capability,
                                                   .schema = schema_text};

/* -- clocks ------------------------------------------------------------------------------------ */

static const struct field clock_rows[] = {
    {FIELD(field_number, struct device_info, "sm_max_mhz", sm_clock_max_mhz, NULLABLE),
     .rules = ABOVE(0)},
    {FIELD(field_number, struct device_info, "memory_max_mhz", memory_clock_max_mhz, NULLABLE),
     .rules = ABOVE(0)},
};
static const struct object clock_object = {.fields = FIELDS(clock_rows), .given = SIZE_MAX};

/* -- throttle reasons -------------------------------------------------------------------------- */

static const struct field throttle_rows[] = {
    {FIELD(field_uint64, struct device_info, "before", throttle_before, REQUIRED)},
    {FIELD(field_uint64, struct device_info, "after", throttle_after, REQUIRED)},
};
static const struct fields throttle_fields = FIELDS(throttle_rows);

static void write_throttle(cJSON *object, const struct field *field, const void *base)
{
    const struct device_info *info = base;
    cJSON *throttle = json_add(object, field->key, cJSON_CreateObject());

    json_add(throttle, "known", cJSON_CreateBool(info->throttle_known));
    if (info->throttle_known) {
        fields_write(throttle, &throttle_fields, base);
        return;
    }
    for (size_t i = 0; i < throttle_fields.count; i++)
        json_add_text(throttle, throttle_fields.rows[i].key, NULL);
}

static void read_throttle(const struct node *node, const struct field *field, void *base)
{
    const struct node throttle = node_object(node, field->key);
    struct device_info *info = base;

    info->throttle_known = cJSON_IsTrue(node_get(&throttle, "known"));
    if (!cJSON_IsBool(node_get(&throttle, "known")))
        node_refuse(&throttle, "known", "true or false");
    else if (info->throttle_known)
        fields_read(&throttle, &throttle_fields, base);
}

static const struct field known_row = {.key = "known", .kind = &field_bool};

/* Before and after are null where nothing is known. */
static void schema_throttle(struct schema_object *object, const struct field *field)
{
    struct field rows[3] = {known_row, throttle_rows[0], throttle_rows[1]};
    const struct fields fields = FIELDS(rows);

    rows[1].rules = rows[2].rules = "\"type\": [\"integer\", \"string\", \"null\"], " AT_LEAST(0);
    schema_fill(schema_property(object, field, "object"), &fields);
}

static const struct field_kind field_throttle = {.write = write_throttle,
                                                 .read = read_throttle,
                                                 .schema = schema_throttle};

/* -- the board --------------------------------------------------------------------------------- */

static void write_groups(cJSON *object, const struct field *field, const void *base)
{
    const struct board *board = base;
    cJSON *array =
        json_add(object, field->key, board->group_count ? cJSON_CreateArray() : cJSON_CreateNull());

    for (size_t i = 0; i < board->group_count; i++)
        json_append(array, cJSON_CreateNumber(board->constant_cache_groups[i]));
}

static void read_groups(const struct node *node, const struct field *field, void *base)
{
    const bool known = !cJSON_IsNull(node_get(node, field->key));
    const struct node array = known ? node_array(node, field->key) : (struct node){0};
    struct board *board = base;
    const cJSON *item;

    if (!known || node_failed(node))
        return;
    cJSON_ArrayForEach (item, array.json) {
        const double sms = cJSON_IsNumber(item) ? item->valuedouble : 0;

        if (!(sms >= 1 && sms <= UINT32_MAX) || sms != floor(sms) ||
            board->group_count == BOARD_GROUPS_MAX) {
            node_refuse(node, field->key, "an array of numbers of SMs, or null");
            return;
        }
        board->constant_cache_groups[board->group_count++] = (uint32_t)sms;
    }
}

static const struct field_kind field_groups = {.write = write_groups, .read = read_groups};

const struct field board_rows[BOARD_ROWS] = {
    {FIELD(field_text, struct board, "part_number", part_number, NULLABLE),
     .about = "of the board, by NVML; no serial number is read"},
    {FIELD(field_text, struct board, "part_number_reason", part_number_reason, NULLABLE),
     .about = "why there is no part number; null where there is one"},
    {FIELD(field_groups, struct board, "constant_cache_groups", constant_cache_groups, REQUIRED),
     .rules = "\"type\": [\"array\", \"null\"], \"minItems\": 1, \"items\": {\"type\": "
              "\"integer\", \"minimum\": 1}",
     .about = "numbers of SMs that share an L1.5 constant cache, from the largest on"},
    {FIELD(field_text, struct board, "constant_cache_groups_reason", groups_reason, NULLABLE),
     .about = "why the groups are not known; null where they are"},
};
static const struct object board_object = {.fields = {board_rows, BOARD_ROWS},
                                           .given = offsetof(struct device_info, board.given)};

/* -- the device -------------------------------------------------------------------------------- */

static const struct field device_rows[] = {
    {FIELD(field_text, struct device_info, "name", name, REQUIRED)},
    {FIELD(field_capability, struct device_info, "compute_capability", cc_major, REQUIRED),
     .rules = PATTERN("^[0-9]+\\\\.[0-9]+$")},
    {FIELD(field_text, struct device_info, "chip", chip, NULLABLE),
     .about = "CUPTI's name, such as GH100"},
    {FIELD(field_text, struct device_info, "uuid", uuid, NULLABLE)},
    {FIELD(field_uint32, struct device_info, "sm_count", sm_count, NULLABLE)},
    {FIELD(field_uint32, struct device_info, "warps_per_sm", warps_per_sm, NULLABLE),
     .about = "that can be resident at a time"},
    {FIELD(field_uint32, struct device_info, "blocks_per_sm", blocks_per_sm, NULLABLE),
     .about = "that can be resident at a time"},
    {FIELD(field_uint32, struct device_info, "shared_bytes_per_sm", shared_bytes_per_sm, NULLABLE),
     .about = "shared memory of an SM"},
    {FIELD(field_optional, struct device_info, "shared_bytes_reserved", shared_bytes_reserved,
           NULLABLE),
     .about = "of that for every block", .rules = AT_LEAST(0)},
    {FIELD(field_uint64, struct device_info, "l2_bytes", l2_bytes, NULLABLE)},
    {FIELD(field_uint64, struct device_info, "memory_bytes", memory_bytes, NULLABLE)},
    {FIELD(field_text, struct device_info, "driver", driver, NULLABLE),
     .about = "version of the kernel driver"},
    {FIELD(field_uint32, struct device_info, "cuda_driver_api", cuda_driver_api, NULLABLE),
     .about = "newest CUDA that the driver speaks: 13000 is 13.0"},
    {FIELD(field_text, struct device_info, "vbios", vbios, NULLABLE)},
    {FIELD(field_text, struct device_info, "ecc", ecc, NULLABLE),
     .about = "on or off; of several processes that differ, mixed"},
    {FIELD(field_text, struct device_info, "mig", mig, NULLABLE),
     .about = "on or off; of several processes that differ, mixed"},
    {FIELD(field_text, struct device_info, "pci_bus_id", pci_bus_id, NULLABLE)},
    {FIELD(field_number, struct device_info, "launch_ns", launch_ns, NULLABLE),
     .about = "what one more launch of an empty kernel costs in a chain of launches"},
    /* whose members are those of the device */
    {.key = "clocks", .kind = &field_object, .object = &clock_object},
    {.key = "throttle",
     .kind = &field_throttle,
     .about = "why the driver held the clocks down, before and after the run: NVML's bits of "
              "clocks event reasons. null where known is false"},
    {FIELD(field_object, struct device_info, "board", board, LATER), .object = &board_object,
     .about = "what tells boards of one model apart; null for a card; older files lack it"},
};

const struct object device_object = {.fields = FIELDS(device_rows), .given = SIZE_MAX};
