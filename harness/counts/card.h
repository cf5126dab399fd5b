/* SPDX-License-Identifier: MIT
 * Chip cards: 28 numbers of one chip, each with an interval. JSON, schema results/card.schema.json.
 * Cards of some chips are built into the program. */
#pragma once

#include "cell.h"
#include "json.h"
#include "optional.h"

struct device_info;
struct document;
struct fields;

enum { CARD_NAME_BYTES = 64, CARD_TEXT_BYTES = 400 };

/* The numbers of a card: counts/estimate.h computes times from them. card_rows has their words. */
enum card_key {
    CARD_SM_COUNT,
    CARD_WARPS_PER_SM,
    CARD_BLOCKS_PER_SM,
    CARD_SHARED_BYTES_PER_SM,
    CARD_SHARED_BYTES_RESERVED,
    CARD_SM_CLOCK_MHZ,
    CARD_L2_BYTES,
    CARD_L2_BYTES_PER_NS,
    CARD_DRAM_BYTES_PER_NS,
    CARD_LAUNCH_NS,
    CARD_BLOCK_START_NS,
    CARD_BLOCK_L2_NS,
    CARD_BLOCK_DRAM_NS,
    CARD_ISSUE_PER_CYCLE,
    CARD_ALU_LATENCY_CYCLES,
    CARD_L1_REQUESTS_PER_CYCLE,
    CARD_L1_LATENCY_CYCLES,
    CARD_TEXTURE_REQUESTS_PER_CYCLE,
    CARD_SHARED_WAVEFRONTS_PER_CYCLE,
    CARD_CONSTANT_L1_BYTES,
    CARD_CONSTANT_LOADS_PER_CYCLE,
    CARD_CONSTANT_ADDRESS_CYCLES,
    CARD_CONSTANT_FILL_CYCLES,
    CARD_L2_LATENCY_CYCLES,
    CARD_L2_LINE_NS,
    CARD_L1_LIMIT_REQUESTS_PER_CYCLE,
    CARD_L2_LIMIT_BYTES_PER_NS,
    CARD_DRAM_LIMIT_BYTES_PER_NS,
    CARD_NUMBERS
};

/* A number and its uncertainty: low <= value <= high. All are NaN if it is not known. */
struct card_number {
    double value, low, high;
};

struct card {
    char name[CARD_NAME_BYTES]; /* "H200" */
    char chip[CARD_NAME_BYTES]; /* CUPTI's name, "GH100"; "" when not known */
    uint32_t cc_major, cc_minor;
    struct card_number number[CARD_NUMBERS];
};

/* Where a number comes from, in a document. */
enum card_origin {
    ORIGIN_DEVICE,
    ORIGIN_CHARACTERIZED,
    ORIGIN_RESULTS,
    ORIGIN_PUBLISHED,
    CARD_ORIGINS
};

/* A number as a document has it. */
struct card_entry {
    struct card_number number;
    enum card_origin origin;
    const char *method, *experiment, *name; /* name: of the experiment's number; NULL: none */
    char evidence[64]; /* a key of the card's evidence; "": none */
};

extern const struct fields card_entry_fields;

/* A file that numbers rest on. */
struct card_file {
    const char *file, *sha256;
};

extern const struct fields card_file_fields;

struct card_row {
    const char *key, *unit;
    bool required;    /* every card has it; else null where nobody has measured or published it */
    bool faster;      /* a greater number means a faster chip */
    double low, high; /* limits of a value */
    const char *summary;
    bool whole; /* an integer */
    bool limit; /* of a stream: explain asks for it, and the simple time does not */
};

extern const struct card_row card_rows[CARD_NUMBERS];

/* A card in the program. */
struct card_text {
    const char *name; /* "h200" */
    const char *file; /* its path in the repository */
    const char *json;
};

extern const struct card_text card_texts[]; /* the first is the default */
extern const size_t card_text_count;

extern const struct document card_document;

/* Reads and checks a card: a built-in one by its name, else a file; NULL gives the default card.
 * STATUS_USAGE, logged with the wrong key, on failure; *out is then unchanged. */
enum status card_read(const char *path, struct card *out);

/* Like card_read; also gives the JSON of the file. The caller frees *json with json_free. */
enum status card_read_json(const char *path, struct card *out, cJSON **json);

/* Reads and checks a card in memory. Messages use `name`. STATUS_USAGE, logged, with the wrong key;
 * *out is then not valid. */
enum status card_check(const char *name, const cJSON *json, struct card *out);

/* Writes the keys of a set, a bit for each by its enum card_key: "launch_ns, l2_line_ns". "" for an
 * empty set. */
void card_keys_text(uint32_t keys, char out[CARD_TEXT_BYTES]);

/* A card that has nothing but what the driver says of a device. */
void card_of_device(const struct device_info *device, struct card *out);

/* Whether a built-in card is of that chip. */
bool card_known(const struct device_info *device);

/* The number of its architecture: 90 of compute capability 9.0. */
uint32_t card_architecture(const struct card *card);

/* A number whose row is `whole`. */
struct optional card_integer(const struct card *card, enum card_key key);

/* The keys that the card lacks, a bit for each. */
uint32_t card_unknown(const struct card *card);

/* Those of them that the simple time may need. */
uint32_t card_unknown_of_model(const struct card *card);

/* Whether the card is of this device's chip, as far as both name it. */
bool card_is_of(const struct card *card, const struct device_info *device);

/* Reads the card of a device's chip: the one of that path or name, or if that is NULL a built-in
 * one, preferably with the device's name. Messages say that `owner` has the device.
 * STATUS_ENVIRONMENT, logged, if none is of that chip; *out is then not valid. */
enum status card_read_of(const char *path, const struct device_info *device, const char *owner,
                         struct card *out);

/* Blocks that fit an SM of the chip: by its limits of threads, blocks, shared memory and registers.
 * `registers` is the number for each thread, 0 if not known. The result is at least 1. The steps of
 * registers are those of the CUDA occupancy calculator, from compute capability 3.5 on. */
uint32_t card_blocks_room(const struct card *card, const struct cell *cell, uint32_t registers);

/* Blocks that an SM runs at a time: all that fit, or fewer if the cell's parameter warps_per_sm
 * asks for that. */
uint32_t card_blocks_resident(const struct card *card, const struct cell *cell, uint32_t registers);

/* Sets the grid of a cell with a grid-stride loop to the blocks that fit the chip. Other cells are
 * unchanged. */
void card_set_grid(const struct card *card, struct cell *cell);
