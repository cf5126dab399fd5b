/* SPDX-License-Identifier: MIT
 * The manifest of a chip's folder: which files belong to it, with their hashes. A file of it is a
 * name without a folder. */
#include "manifest.h"

#include <stdlib.h>
#include <string.h>

#include "device_json.h"
#include "document.h"
#include "sha256.h"

enum { CREDIT_BYTES = 512 }; /* up to 127 characters */

struct manifest_file {
    const char *name, *sha256;
    uint64_t bytes;
};

struct manifest {
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

static const struct field file_rows[] = {
    {FIELD(field_reference, struct manifest_file, "name", name, REQUIRED)},
    {FIELD(field_reference, struct manifest_file, "sha256", sha256, REQUIRED)},
    {FIELD(field_uint64, struct manifest_file, "bytes", bytes, REQUIRED)},
};
static const struct objects file_list = {
    OBJECTS(file_rows, struct manifest_file, struct manifest, file_count),
    .max = 1000,
    .check = check_entry,
};

static const struct field rows[] = {
    {FIELD(field_text, struct manifest, "credit", credit, REQUIRED), .low = 1},
    {FIELD(field_bool, struct manifest, "brief", brief, REQUIRED)},
    {FIELD(field_reference, struct manifest, "measured_utc", measured_utc, REQUIRED)},
    {FIELD(field_object, struct manifest, "device", device, REQUIRED), .object = &device_object},
    {FIELD(field_list, struct manifest, "files", files, REQUIRED), .elements = &file_list},
};

static const struct document document = {
    .schema = "cbank-manifest",
    .what = "manifest",
    .remedy = "run cbank contribute, which writes it",
    .major = 1,
    .root = {.fields = FIELDS(rows), .given = SIZE_MAX},
};

enum status manifest_check(const char *file, const cJSON *tree)
{
    struct manifest manifest = {0};
    const enum status status = document_take(&document, file, tree, &manifest);

    free(manifest.files);
    return status;
}
