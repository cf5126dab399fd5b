/* SPDX-License-Identifier: MIT */
#include "chip.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "version.h"

/* -- steps --------------------------------------------------------------------------------------------- */

#define RUN       "run --engine cuda --quiet --anonymous"
#define FEW       " --counters instructions"
#define DIVERGENT "sm__idc_divergent_instructions.sum,sm__idc_divergent_instruction_replays.sum"
#define SMALL     " --elements 12800 --path constant,global --pattern per_block,per_warp --max-samples 60"

/* What is measured often is kept with few samples, so that a folder stays within CHIP_BYTES_MAX. Files that a card is fitted
 * to: see FITTED. */
#define FITTED "core-matrix.json core-matrix-cold.json sizes.json all-paths.json"

/* clang-format off */
const struct chip_step chip_steps[] = {
    {"core-matrix.json", "the default plan", CHIP_RESULT, NULL, RUN " --max-samples 200", RUN SMALL, 8, false},
    {"core-matrix-cold.json", "the default plan, caches flushed", CHIP_RESULT, NULL, RUN " --max-samples 200 --regime cold",
     RUN SMALL " --regime cold", 5, false},
    {"second-process.json", "the default plan by another process", CHIP_RESULT, NULL, RUN " --max-samples 200", RUN SMALL, 3, false},
    {"calibration.json", "how much processes differ", CHIP_CALIBRATION, NULL,
     "calibrate --engine cuda --processes 5 --max-samples 200", "calibrate --engine cuda --processes 3" SMALL, 17, false},
    {"sizes.json", "twelve sizes, both regimes", CHIP_RESULT, NULL,
     RUN " --max-samples 60 --regime hot,cold --path constant,global" FEW
     " --elements 128000,270336,540672,1000000,2000000,4000000,6000000,8000000,10000000,12800000,25600000,51200000",
     RUN SMALL " --regime hot,cold", 21, false},
    {"serialization.json", "distinct addresses of a load", CHIP_RESULT, NULL, RUN " --max-samples 60 --sweep distinct --counters default," DIVERGENT,
     RUN " --sweep distinct --elements 12800 --path constant,global --distinct 1,8 --stride-bytes 64 --max-samples 60", 15, false},
    {"widths.json", "elements of 1 to 16 bytes", CHIP_RESULT, NULL, RUN " --max-samples 48 --sweep widths" FEW,
     RUN " --sweep widths --elements 12800 --path constant --distinct 8 --stride-bytes 16 --max-samples 60", 10, false},
    {"table-sizes.json", "tables of 16 bytes to 64 KB", CHIP_RESULT, NULL, RUN " --max-samples 48 --sweep sizes" FEW,
     RUN " --sweep sizes --elements 12800 --path constant --table-bytes 64,4096 --max-samples 60", 22, false},
    {"all-paths.json", "every workload by every path", CHIP_RESULT, NULL, RUN " --max-samples 48 --workload all --path all" FEW,
     RUN " --workload add,conv_1d --elements 12800 --path constant,global --max-samples 60", 34, false},
    {"characterization.json", "latencies, caches, serialization", CHIP_CHARACTERIZATION, NULL, "characterize --quiet", NULL, 5, false},
    {".found.json", "a card of what was found", CHIP_CARD, NULL,
     "characterize --quiet --replay characterization.json --json .again.json --new-card .found.json", NULL, 3, true},
    {".fitted.json", "its times, fitted", CHIP_CARD, "fit_card.py", "--card .found.json -o .fitted.json " FITTED, NULL, 165, true},
    {"card.json", "the card", CHIP_CARD, NULL,
     "characterize --quiet --replay characterization.json --card .fitted.json --json .again.json --new-card card.json", NULL, 1, false},
};
/* clang-format on */

const size_t chip_step_count = sizeof(chip_steps) / sizeof(chip_steps[0]);

const char *chip_arguments(const struct chip_step *step, bool brief)
{
    return brief && step->brief ? step->brief : step->arguments;
}

void chip_words(const struct chip_step *step, bool brief, char out[CHIP_ARGV_BYTES])
{
    const bool card = step->kind == CHIP_CARD;

    snprintf(out, CHIP_ARGV_BYTES, "%s%s%s", chip_arguments(step, brief), card ? "" : " --json ",
             card ? "" : step->file);
}

bool chip_is_of_step(const struct chip_step *step, bool brief, const char *argv)
{
    char wanted[CHIP_ARGV_BYTES + 1] = " ";

    chip_words(step, brief, wanted + 1);
    return strstr(argv, wanted) != NULL;
}

/* -- the manifest -------------------------------------------------------------------------------------- */

#define LONGEST_NAME 255

static const struct field file_rows[] = {
    {FIELD(field_reference, struct manifest_file, "name", name, REQUIRED)},
    {FIELD(field_text, struct manifest_file, "sha256", sha256, REQUIRED), .low = SHA256_HEX_BYTES - 1},
    {FIELD(field_uint64, struct manifest_file, "bytes", bytes, REQUIRED)},
};

static void check_file(const struct node *node, void *element)
{
    const struct manifest_file *file = element;

    if (strlen(file->name) > LONGEST_NAME || strchr(file->name, '/') || file->name[0] == '.')
        node_refuse(node, "name", "the name of a file of this folder");
}

static const struct objects file_list = {
    .fields = FIELDS(file_rows),
    .element_bytes = sizeof(struct manifest_file),
    .count = offsetof(struct manifest, file_count),
    .max = 1000,
    .line = true,
    .check = check_file,
};

static const struct field manifest_rows[] = {
    {FIELD(field_tool, struct manifest, "tool", argv, REQUIRED)},
    {FIELD(field_text, struct manifest, "credit", credit, REQUIRED)},
    {FIELD(field_bool, struct manifest, "brief", brief, REQUIRED)},
    {FIELD(field_text, struct manifest, "measured_utc", measured_utc, REQUIRED)},
    {FIELD(field_object, struct manifest, "device", device, REQUIRED), .of = &device_object},
    {FIELD(field_list, struct manifest, "files", files, REQUIRED), .of = &file_list},
};

const struct document manifest_document = {
    .schema = "cbank-manifest",
    .what = "manifest",
    .remedy = "cbank contribute writes one",
    .major = 1,
    .minor = 0,
    .root = {.fields = FIELDS(manifest_rows), .given = SIZE_MAX},
};

void manifest_close(struct manifest *manifest)
{
    free(manifest->files);
    cJSON_Delete(manifest->tree);
    *manifest = (struct manifest){0};
}

/* -- files --------------------------------------------------------------------------------------------- */

void chip_path(const char *folder, const char *file, char out[CHIP_PATH_BYTES])
{
    snprintf(out, CHIP_PATH_BYTES, "%s/%s", folder, file);
}

static int is_of_chip(const struct dirent *entry)
{
    return file_is_json(entry->d_name) && strcmp(entry->d_name, CHIP_MANIFEST) != 0;
}

enum status chip_files(const char *folder, struct file_list *names)
{
    struct dirent **entries = NULL;
    const int found = scandir(folder, &entries, is_of_chip, alphasort);
    enum status status = STATUS_OK;

    if (found < 0)
        return errno == ENOMEM ? log_memory("the names of files")
                               : log_error(STATUS_USAGE, "%s: %s; name the folder of a chip", folder, strerror(errno));
    for (int i = 0; i < found; i++) {
        if (status == STATUS_OK)
            status = files_take(names, strdup(entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    return status;
}
