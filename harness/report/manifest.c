/* SPDX-License-Identifier: MIT
 * The manifest of a chip's folder: which files belong to it, with their hashes. A file of it is a
 * name without a folder. */
#include "manifest.h"

#include <stdlib.h>
#include <string.h>

#include "device_json.h"
#include "document.h"
#include "schema.h"
#include "sha256.h"

enum { CREDIT_BYTES = 512 }; /* up to 127 characters */

struct manifest_file {
    const char *name, *sha256;
    uint64_t bytes;
};

/* The program that measured, and wrote this. */
struct manifest_tool {
    const char *name, *version, *git_commit, *argv, *compiler, *cuda_toolkit;
    bool git_dirty;
};

struct manifest {
    struct manifest_tool tool;
    char credit[CREDIT_BYTES];
    bool brief;
    const char *measured_utc;
    struct device_info device;
    struct manifest_file *files; /* owned */
    size_t file_count;
};

/* A JSON file of the folder itself, and a hash. */
static void check_entry(const struct node *node, void *element)
{
    const struct manifest_file *file = element;
    const size_t bytes = strlen(file->name);

    if (*file->name == '.' || strchr(file->name, '/') || bytes < 6 ||
        strcmp(file->name + bytes - 5, ".json") != 0)
        node_refuse(node, "name", "the name of a JSON file in the folder");
    else if (strlen(file->sha256) != SHA256_HEX_BYTES - 1 ||
             strspn(file->sha256, "0123456789abcdef") != SHA256_HEX_BYTES - 1)
        node_refuse(node, "sha256", "64 hexadecimal digits");
}

static const struct field tool_rows[] = {
    {FIELD(field_reference, struct manifest_tool, "name", name, REQUIRED)},
    {FIELD(field_reference, struct manifest_tool, "version", version, REQUIRED)},
    {FIELD(field_reference, struct manifest_tool, "git_commit", git_commit, NULLABLE)},
    {FIELD(field_bool, struct manifest_tool, "git_dirty", git_dirty, REQUIRED),
     .about = "the sources had changes that no commit has"},
    {FIELD(field_reference, struct manifest_tool, "argv", argv, REQUIRED)},
    {FIELD(field_reference, struct manifest_tool, "compiler", compiler, LATER)},
    {FIELD(field_reference, struct manifest_tool, "cuda_toolkit", cuda_toolkit, LATER)},
};
static const struct object tool_object = {.fields = FIELDS(tool_rows), .given = SIZE_MAX};

static const struct field file_rows[] = {
    {FIELD(field_reference, struct manifest_file, "name", name, REQUIRED),
     .rules = PATTERN("^[^./][^/]*\\\\.json$")},
    {FIELD(field_reference, struct manifest_file, "sha256", sha256, REQUIRED),
     .rules = PATTERN_HASH},
    {FIELD(field_uint64, struct manifest_file, "bytes", bytes, REQUIRED)},
};
static const struct objects file_list = {
    OBJECTS(file_rows, struct manifest_file, struct manifest, file_count),
    .max = 1000,
    .closed = true,
    .check = check_entry,
};

static const struct field rows[] = {
    {FIELD(field_object, struct manifest, "tool", tool, REQUIRED), .object = &tool_object,
     .about = "the program that measured, and wrote this"},
    {FIELD(field_text, struct manifest, "credit", credit, REQUIRED), .low = 1,
     .about = "who measured; anonymous where nobody was named", .rules = "\"maxLength\": 127"},
    {FIELD(field_bool, struct manifest, "brief", brief, REQUIRED),
     .about = "the short plans of tests, which say nothing of a chip"},
    {FIELD(field_reference, struct manifest, "measured_utc", measured_utc, REQUIRED),
     .about = "when the first plan began"},
    {FIELD(field_object, struct manifest, "device", device, REQUIRED), .object = &device_object,
     .about = "the GPU, with the keys that it has in a result"},
    {FIELD(field_list, struct manifest, "files", files, REQUIRED), .elements = &file_list,
     .about = "every other file of the folder"},
};

const struct document manifest_document = {
    .schema = "cbank-manifest",
    .what = "manifest",
    .remedy = "run cbank contribute, which writes it",
    .about =
        "manifest.json beside the files of one GPU, one driver and one program, as cbank "
        "contribute writes it. A reader takes any version 1.x and ignores keys that it does not "
        "know.",
    .major = 1,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status manifest_check(const char *file, const cJSON *tree)
{
    struct manifest manifest = {0};
    const enum status status = document_take(&manifest_document, file, tree, &manifest);

    free(manifest.files);
    return status;
}
