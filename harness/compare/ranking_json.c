/* SPDX-License-Identifier: MIT
 * The ranking of memory spaces as a document, schema results/ranking.schema.json. */
#include "cell_json.h"
#include "device_json.h"
#include "ranking.h"
#include "schema.h"
#include "version_json.h"

static const struct field time_rows[] = {
    {FIELD(field_number, struct cell_time, "value", summary.value, NULLABLE),
     .column = COLUMN(.frame = "time_ns")},
    {FIELD(field_number, struct cell_time, "ci_low", summary.ci_low, NULLABLE),
     .about = "of its 95 % interval", .column = COLUMN(.frame = "time_ns_low")},
    {FIELD(field_number, struct cell_time, "ci_high", summary.ci_high, NULLABLE),
     .column = COLUMN(.frame = "time_ns_high")},
};
static const struct object time_object = {.fields = FIELDS(time_rows), .given = SIZE_MAX};

static const struct names statuses = NAMES(cell_status_names, CELL_FAILED + 1, NULL);

#define FOUND(kind, key, member, presence) FIELD(kind, struct cell_result, key, member, presence)

static const struct field found_rows[] = {
    {FOUND(field_cell, "identity", cell, REQUIRED)},
    {FOUND(field_name, "status", status, REQUIRED), .names = &statuses, .about = "as in the result",
     .column = COLUMN(.frame = "status")},
    {FOUND(field_text, "reason", reason, NULLABLE), .about = "why it was skipped or failed",
     .column = COLUMN(.frame = "reason")},
    {FOUND(field_bool, "verified", verified, REQUIRED),
     .about = "its output was what it must be; otherwise it has no rank",
     .column = COLUMN(.frame = "verified")},
    {FOUND(field_bool, "as_written", of_case.as_written, REQUIRED),
     .about = "its tables are where the kernel file has them",
     .column = COLUMN(.frame = "as_written")},
    {FOUND(field_object, "time_ns", time, REQUIRED), .object = &time_object,
     .about = "of a launch, as in the result; all null where it was not timed"},
    {FOUND(field_text, "loads", of_case.instructions, NULLABLE),
     .about = "of the kernel by class, such as 32 LDC, 1 LDG; null where its code cannot be read",
     .column = COLUMN(.frame = "loads_by_class")},
    {FOUND(field_uint32, "registers", kernel.registers, NULLABLE), .about = "a thread",
     .column = COLUMN(.frame = "registers")},
    {FOUND(field_uint32, "blocks_per_sm", of_case.blocks_per_sm, NULLABLE),
     .about = "that fit at a time", .column = COLUMN(.frame = "blocks_per_sm")},
};
static const struct fields found_fields = FIELDS(found_rows);

static const struct field ratio_rows[] = {
    {FIELD(field_number, struct rank_ratio, "value", value, REQUIRED), .rules = AT_LEAST(1),
     .column = COLUMN(.frame = "ratio")},
    {FIELD(field_number, struct rank_ratio, "ci_low", ci_low, NULLABLE),
     .about = "95 % interval by those of the two times, whose relative widths add as squares. null "
              "for the fastest, and where a time has no interval",
     .column = COLUMN(.frame = "ratio_low")},
    {FIELD(field_number, struct rank_ratio, "ci_high", ci_high, NULLABLE),
     .column = COLUMN(.frame = "ratio_high")},
};
static const struct object ratio_object = {.fields = FIELDS(ratio_rows),
                                           .given = offsetof(struct rank, timed)};

static const struct field address_rows[] = {
    {FIELD(field_uint32, struct rank_addresses, "count", count, REQUIRED), .rules = AT_LEAST(2)},
    {FIELD(field_number, struct rank_addresses, "least_ns", least_ns, REQUIRED),
     .about = "of the medians at each address", .column = COLUMN(.frame = "address_least_ns")},
    {FIELD(field_number, struct rank_addresses, "most_ns", most_ns, REQUIRED),
     .column = COLUMN(.frame = "address_most_ns")},
    {FIELD(field_number, struct rank_addresses, "slower_share", slower_share, NULLABLE),
     .about = "of pairs of addresses, one of each memory space: where it is slower than the "
              "fastest. null for the fastest, or where that has one address",
     .rules = AT_LEAST(0) ", " AT_MOST(1), .column = COLUMN(.frame = "slower_share")},
};
static const struct object address_object = {.fields = FIELDS(address_rows),
                                             .given = offsetof(struct rank, addresses.given)};

static const struct names verdicts = NAMES(rank_verdict_words, RANK_VERDICTS, NULL);

#define RANK(kind, key, member, presence) FIELD(kind, struct rank, key, member, presence)

static const struct field rank_rows[] = {
    {RANK(field_pointer, NULL, row.found, REQUIRED), .fields = &found_fields},
    {RANK(field_uint32, "rank", place, NULLABLE),
     .about = "by the time, of one kernel, size and cache state: 1 is the fastest. null where it "
              "was not timed, or its output not verified",
     .rules = AT_LEAST(1), .column = COLUMN(.frame = "rank")},
    {RANK(field_name, "verdict", verdict, NULLABLE), .names = &verdicts,
     .about = "slower: by more than the threshold, as compare judges it. as fast: within it. too "
              "close to call: neither. slower on average: slower, but at fewer than 95 % of pairs "
              "of addresses. null without a rank, and where the times do not tell: too few "
              "samples, or another process used the GPU",
     .column = COLUMN(.frame = "verdict")},
    {RANK(field_object, "ratio", ratio, NULLABLE), .object = &ratio_object,
     .about = "of the time to that of the fastest; null without a rank"},
    {RANK(field_number, "adjusted_p", judged.adjusted_p, NULLABLE),
     .about = "of the verdict: two-sided, for a ratio no further from 1 than the threshold, after "
              "Holm's correction over the memory spaces",
     .rules = AT_LEAST(0) ", " AT_MOST(1)},
    {RANK(field_number, "noise", judged.noise, NULLABLE),
     .about = "of the verdict: relative difference that 95 % of comparisons stay below where "
              "nothing differs, with what processes differ by; null where it is not known",
     .rules = AT_LEAST(0)},
    {RANK(field_object, "addresses", addresses, NULLABLE), .object = &address_object,
     .about = "times by the addresses of its buffers, of which a user's table has one; null where "
              "it has no rank, or all samples are of one address"},
    {RANK(field_text, "why", why, NULLABLE),
     .about = "what may be the reason, and what addresses do; as below the row of text",
     .column = COLUMN(.frame = "why")},
};
static const struct objects rank_list = {OBJECTS(rank_rows, struct rank, struct ranking, count)};

static const struct field origin_rows[] = {
    {FIELD(field_reference, struct result, "engine", engine, REQUIRED)},
    {FIELD(field_text, struct result, "started_utc", started_utc, REQUIRED),
     .about = "when the result began"},
    {FIELD(field_object, struct result, "host", host, NULLABLE), .object = &host_object},
    {FIELD(field_object, struct result, "device", device, REQUIRED), .object = &device_object},
};
static const struct fields origin_fields = FIELDS(origin_rows);

static const struct field rows[] = {
    {.key = "tool", .kind = &field_tool},
    {FIELD(field_pointer, struct ranking, NULL, result, REQUIRED), .fields = &origin_fields},
    {FIELD(field_number, struct ranking, "threshold", threshold, REQUIRED),
     .about = "relative difference of times that counts", .rules = ABOVE(0)},
    {FIELD(field_list, struct ranking, "cells", ranks, REQUIRED), .elements = &rank_list,
     .about = "a row for each memory space. Those of a kernel, size and cache state are "
              "neighbours, the fastest first"},
};

const struct document ranking_document = {
    .schema = "cbank-ranking",
    .what = "ranking",
    .about = "The memory spaces of a user's kernel, ranked: what cbank spaces --ranks writes. Keys "
             "end in their unit. A value that is not known is null.",
    .major = 1,
    .minor = 0,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};
