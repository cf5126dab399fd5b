/* SPDX-License-Identifier: MIT
 * The folder of a chip, results/chips/NAME: what belongs into it, which command leaves each file, and the manifest that says
 * what it is of. contribute makes such a folder, check looks at one. */
#ifndef CBANK_CHIP_H
#define CBANK_CHIP_H

#include "device.h"
#include "document.h"
#include "files.h"
#include "sha256.h"
#include "status.h"

/* What a file of the folder is. */
enum chip_kind { CHIP_RESULT, CHIP_CHARACTERIZATION, CHIP_CALIBRATION, CHIP_CARD };

/* What leaves one file. */
struct chip_step {
    const char *file;
    const char *what;      /* for people */
    enum chip_kind kind;
    const char *script;    /* of scripts/, which takes the arguments; NULL: this program does */
    const char *arguments; /* with blanks between */
    const char *brief;     /* likewise in a folder for tests; NULL: the same */
    double seconds;        /* on an H200, for what is left */
    bool scratch;          /* a card on the way to the last one: goes when that is there */
};

extern const struct chip_step chip_steps[];
extern const size_t chip_step_count;

enum { CHIP_PATH_BYTES = 4096, CHIP_CREDIT_BYTES = 128, CHIP_ARGV_BYTES = 1024 };

/* Most bytes of a folder. */
#define MIB            1048576.0
#define CHIP_BYTES_MAX (10 * MIB)

#define CHIP_MANIFEST "manifest.json"

/* A file that a manifest names. */
struct manifest_file {
    const char *name; /* lies in the manifest's tree, or is not owned */
    char sha256[SHA256_HEX_BYTES];
    uint64_t bytes;
};

/* manifest.json: results/manifest.schema.json. */
struct manifest {
    char argv[CHIP_ARGV_BYTES];     /* of who made it */
    char credit[CHIP_CREDIT_BYTES]; /* who measured */
    bool brief; /* by the short plans of tests: says nothing about a chip */
    char measured_utc[32]; /* when the first plan began */
    struct device_info device;
    struct manifest_file *files; /* owned */
    size_t file_count;
    cJSON *tree; /* owned; NULL: not read from a file */
};

extern const struct document manifest_document;

/* Writes the path of a file of the folder. */
void chip_path(const char *folder, const char *file, char out[CHIP_PATH_BYTES]);

/* The arguments of a step. */
const char *chip_arguments(const struct chip_step *step, bool brief);

/* The words of the line that runs a step, less the program: its arguments, and the file that it writes. A card's name theirs. */
void chip_words(const struct chip_step *step, bool brief, char out[CHIP_ARGV_BYTES]);

/* Whether a command line is that of the step. */
bool chip_is_of_step(const struct chip_step *step, bool brief, const char *argv);

/* Adds the files of a folder that belong to a chip, without its name: *.json but for the manifest, by name. STATUS_USAGE
 * where the folder cannot be read. */
enum status chip_files(const char *folder, struct file_list *names);

void manifest_close(struct manifest *manifest);

#endif
