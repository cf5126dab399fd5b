/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibration.h"
#include "card.h"
#include "characterize.h"
#include "files.h"
#include "log.h"
#include "memory.h"
#include "result.h"
#include "verdict.h"

static const char again[] = "remove it and let cbank contribute make it again";
static const char one_gpu[] =
    "a folder is of one GPU, one driver and one program: remove what is of another and let cbank "
    "contribute measure it";

struct looking {
    struct chip_check *check;
    struct manifest manifest; /* without a name of the device: there is none */
    bool brief;
    char commit[96]; /* of the first file with one, and which file that is */
    char first[256];
    char uuid[DEVICE_TEXT_BYTES];
};

enum status check_add(struct chip_check *check, const char *file, const char *remedy, const char *format, ...)
{
    struct chip_finding *finding;
    va_list arguments;

    if (!memory_grow(&check->findings, check->count, sizeof(*finding)))
        return log_memory("what is wrong with %s", check->folder);
    finding = &check->findings[check->count++];
    snprintf(finding->file, sizeof(finding->file), "%s", file);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
    va_start(arguments, format);
    vsnprintf(finding->what, sizeof(finding->what), format, arguments);
    va_end(arguments);
    return STATUS_OK;
}

void check_close(struct chip_check *check)
{
    free(check->findings);
    *check = (struct chip_check){0};
}

enum status check_verdict(const struct chip_check *checks, size_t count)
{
    size_t findings = 0;

    for (size_t i = 0; i < count; i++)
        findings += checks[i].count;
    return findings > 0 ? STATUS_FINDING : STATUS_OK;
}

/* A file could not be read as what it should be; out of memory that says nothing of it. */
static enum status unread(struct looking *looking, const char *file, enum status status, const char *what)
{
    return status == STATUS_USAGE ? check_add(looking->check, file, again, "%s", what) : status;
}

/* -- every file ---------------------------------------------------------------------------------------- */

static const struct manifest_file *listed_file(const struct looking *looking, const char *name)
{
    for (size_t i = 0; i < looking->manifest.file_count; i++)
        if (strcmp(looking->manifest.files[i].name, name) == 0)
            return &looking->manifest.files[i];
    return NULL;
}

/* What a manifest says of a file. */
static enum status check_listed(struct looking *looking, const char *name, const char *text, size_t bytes)
{
    const struct manifest_file *listed = listed_file(looking, name);
    char sha256[SHA256_HEX_BYTES];

    if (!looking->manifest.device.name[0])
        return STATUS_OK;
    if (!listed)
        return check_add(looking->check, name, "remove it, or run cbank contribute again, which writes the manifest",
                         "is not in the manifest");
    sha256_hex(text, bytes, sha256);
    if (bytes != listed->bytes || strcmp(sha256, listed->sha256) != 0)
        return check_add(looking->check, name, again,
                         "is not the file of the manifest: %zu bytes with SHA-256 %.12s, not %" PRIu64 " with %.12s",
                         bytes, sha256, listed->bytes, listed->sha256);
    return STATUS_OK;
}

/* One of the texts that all files have to share: `known` is that of the first. */
static enum status check_same(struct looking *looking, const char *name, const char *what, const char *found,
                              char *known, size_t room)
{
    if (!found || strcmp(found, known) == 0)
        return STATUS_OK;
    if (!known[0]) {
        snprintf(known, room, "%s", found);
        return STATUS_OK;
    }
    return check_add(looking->check, name, one_gpu, "is of %s %s, and %s of %s", what, found, looking->first, known);
}

/* Which GPU, driver and program a document is of. */
static enum status check_head(struct looking *looking, const char *name, const cJSON *root)
{
    const cJSON *device = json_get(root, "device");
    struct chip_check *check = looking->check;
    const struct {
        const char *what, *key;
        const cJSON *object;
        char *known;
        size_t room;
    } same[] = {
        {"the GPU", "name", device, check->name, sizeof(check->name)},
        {"the board", "uuid", device, looking->uuid, sizeof(looking->uuid)},
        {"driver", "driver", device, check->driver, sizeof(check->driver)},
        {"commit", "git_commit", json_get(root, "tool"), looking->commit, sizeof(looking->commit)},
    };
    bool dirty = false;
    enum status status = STATUS_OK;

    if (device && !looking->first[0])
        snprintf(looking->first, sizeof(looking->first), "%s", name);
    for (size_t i = 0; status == STATUS_OK && i < sizeof(same) / sizeof(same[0]); i++) {
        const char *found = NULL;

        json_get_text(same[i].object, same[i].key, &found);
        status = check_same(looking, name, same[i].what, found, same[i].known, same[i].room);
    }
    if (status == STATUS_OK && !looking->brief && json_get_bool(json_get(root, "tool"), "git_dirty", &dirty) && dirty)
        status = check_add(check, name, "commit the changes, or take a clean clone, and measure again",
                           "is of a program with changes that no commit has");
    if (!check->chip[0]) {
        const char *chip = "";

        json_get_text(device, "chip", &chip);
        snprintf(check->chip, sizeof(check->chip), "%s", chip);
    }
    return status;
}

/* Looks at a file as far as all are alike. */
static enum status check_file(struct looking *looking, const char *name)
{
    char path[CHIP_PATH_BYTES], *text = NULL;
    cJSON *tree = NULL;
    size_t bytes = 0;
    enum status status;

    chip_path(looking->check->folder, name, path);
    status = file_read(path, JSON_FILE_BYTES_MAX, &text, &bytes);
    if (status != STATUS_OK)
        return unread(looking, name, status, "cannot be read");
    looking->check->files++;
    looking->check->bytes += bytes;
    status = check_listed(looking, name, text, bytes);
    if (status == STATUS_OK)
        status = json_parse(path, text, bytes, &tree);
    if (status == STATUS_OK)
        status = check_head(looking, name, tree);
    else if (status == STATUS_USAGE) /* what should be in it says so, too */
        status = STATUS_OK;
    cJSON_Delete(tree);
    free(text);
    return status;
}

/* -- what a step leaves -------------------------------------------------------------------------------- */

static enum status check_result(struct looking *looking, const struct chip_step *step, const char *path)
{
    struct chip_check *check = looking->check;
    struct result result = {0};
    struct exact_counts exact;
    enum status status = result_read(path, &result);

    if (status != STATUS_OK)
        return unread(looking, step->file, status, "is no result");
    exact = result_exact_counts(&result);
    if (result.modelled_time)
        status = check_add(check, step->file, again, "is a prediction: nothing was measured");
    else if (!result.complete)
        status =
            check_add(check, step->file, "run cbank contribute, which goes on with it", "is of a run that did not end");
    else if (!chip_is_of_step(step, looking->brief, result.argv))
        status = check_add(check, step->file, again, "is of another command: %s", result.argv);
    if (status == STATUS_OK && exact.differing > 0)
        status = check_add(check, step->file,
                           "cbank counters says which; a driver or compiler did something else than the "
                           "kernels say, so report it with the folder",
                           "has %" PRIu64 " exact counters that differ from what the kernels ask for", exact.differing);
    result_close(&result);
    return status;
}

static enum status check_characterization(struct looking *looking, const struct chip_step *step, const char *path)
{
    struct characterization found = {0};
    enum status status = characterization_read(path, &found);

    if (status != STATUS_OK)
        status = unread(looking, step->file, status, "is no characterization");
    else if (found.replayed)
        status = check_add(looking->check, step->file, again, "is a replay of %s: no GPU answered", found.replayed);
    characterization_close(&found);
    return status;
}

static enum status check_calibration(struct looking *looking, const struct chip_step *step, const char *path)
{
    struct calibration found = {0};
    enum status status = calibration_read(path, &found);

    if (status != STATUS_OK)
        status = unread(looking, step->file, status, "is no calibration");
    else if (found.modelled)
        status = check_add(looking->check, step->file, again, "is of predictions: nothing was measured");
    calibration_close(&found);
    return status;
}

/* -- the card ------------------------------------------------------------------------------------------ */

/* A file that a card rests on is the one of this folder. */
static enum status check_evidence(struct looking *looking, const char *card, const cJSON *evidence)
{
    const cJSON *item;
    enum status status = STATUS_OK;

    cJSON_ArrayForEach (item, evidence) {
        const char *file = "", *sha256 = "", *base;
        const struct manifest_file *listed;

        json_get_text(item, "file", &file);
        json_get_text(item, "sha256", &sha256);
        base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
        listed = listed_file(looking, base);
        if (status == STATUS_OK && looking->manifest.device.name[0] && (!listed || strcmp(listed->sha256, sha256) != 0))
            status = check_add(looking->check, card, again,
                               "rests on %s with SHA-256 %.12s, which is not in the folder", base, sha256);
    }
    return status;
}

/* What was fitted or found lies in its interval. */
static enum status check_intervals(struct looking *looking, const char *card, const cJSON *root)
{
    const cJSON *origin;
    enum status status = STATUS_OK;

    cJSON_ArrayForEach (origin, json_get(root, "origins")) {
        double low, high, value;

        if (status == STATUS_OK && json_get_double(root, origin->string, &value) &&
            json_get_double(origin, "low", &low) && json_get_double(origin, "high", &high) &&
            !(value >= low && value <= high))
            status = check_add(looking->check, card, again, "has %s of %g, beyond its interval from %g to %g",
                               origin->string, value, low, high);
    }
    return status;
}

/* The card and the device of the results say the same of the chip. */
static enum status check_device(struct looking *looking, const char *file, const struct card *card)
{
    const struct device_info *device = &looking->manifest.device;
    const size_t length = strlen(device->name), card_length = strlen(card->name);

    if (!device->name[0])
        return STATUS_OK;
    if (length < card_length || strcmp(device->name + length - card_length, card->name) != 0 ||
        card->cc_major != device->cc_major || card->cc_minor != device->cc_minor ||
        card->sm_count != device->sm_count || card->l2_bytes != device->l2_bytes)
        return check_add(looking->check, file, again,
                         "is a card of %s with %" PRIu32 " SMs and %" PRIu64
                         " bytes of L2, and the results are of %s with "
                         "%" PRIu32 " and %" PRIu64,
                         card->name, card->sm_count, card->l2_bytes, device->name, device->sm_count, device->l2_bytes);
    return STATUS_OK;
}

static enum status check_card(struct looking *looking, const struct chip_step *step, const char *path)
{
    char lacks[CARD_LACKS_BYTES];
    struct card card;
    cJSON *root = NULL;
    enum status status = card_read_json(path, &card, &root);

    if (status != STATUS_OK)
        return unread(looking, step->file, status, "is no card");
    status = check_device(looking, step->file, &card);
    if (status == STATUS_OK && card_lacks(&card, lacks))
        status = check_add(looking->check, step->file, again, "does not know %s", lacks);
    if (status == STATUS_OK)
        status = check_evidence(looking, step->file, json_get(root, "evidence"));
    if (status == STATUS_OK)
        status = check_intervals(looking, step->file, root);
    cJSON_Delete(root);
    return status;
}

/* -- the folder ---------------------------------------------------------------------------------------- */

static enum status (*const checks_of_kinds[])(struct looking *looking, const struct chip_step *step,
                                              const char *path) = {
    [CHIP_RESULT] = check_result,
    [CHIP_CHARACTERIZATION] = check_characterization,
    [CHIP_CALIBRATION] = check_calibration,
    [CHIP_CARD] = check_card,
};

static bool is_among(const struct file_list *names, const char *name)
{
    size_t i = 0;

    while (i < names->count && strcmp(names->paths[i], name) != 0)
        i++;
    return i < names->count;
}

static enum status check_steps(struct looking *looking, const struct file_list *names)
{
    enum status status = STATUS_OK;

    for (const struct chip_step *step = chip_steps; status == STATUS_OK && step < chip_steps + chip_step_count;
         step++) {
        char path[CHIP_PATH_BYTES];

        chip_path(looking->check->folder, step->file, path);
        if (!step->scratch && is_among(names, step->file))
            status = checks_of_kinds[step->kind](looking, step, path);
        else if (!step->scratch)
            status = check_add(looking->check, step->file, "run cbank contribute, which makes what is not there",
                               "is missing: %s", step->what);
    }
    for (size_t i = 0; status == STATUS_OK && i < looking->manifest.file_count; i++)
        if (!is_among(names, looking->manifest.files[i].name))
            status =
                check_add(looking->check, looking->manifest.files[i].name,
                          "run cbank contribute again, which writes the manifest", "is missing: the manifest names it");
    return status;
}

/* Reads the manifest, where there is one. */
static enum status check_manifest(struct looking *looking)
{
    struct chip_check *check = looking->check;
    struct manifest *manifest = &looking->manifest;
    char path[CHIP_PATH_BYTES];
    enum status status;

    chip_path(check->folder, CHIP_MANIFEST, path);
    if (access(path, F_OK) != 0)
        return check_add(check, CHIP_MANIFEST, "run cbank contribute, which writes it", "is missing");
    status = document_read(&manifest_document, path, manifest, &manifest->tree);
    if (status != STATUS_OK) {
        manifest_close(manifest);
        return unread(looking, CHIP_MANIFEST, status, "is no manifest");
    }
    snprintf(check->credit, sizeof(check->credit), "%s", manifest->credit);
    if (manifest->brief && !looking->brief)
        return check_add(check, CHIP_MANIFEST, "run cbank contribute without --brief, in another folder",
                         "is of the short plans of tests, which say nothing of a chip");
    return check_head(looking, CHIP_MANIFEST, manifest->tree);
}

static enum status look(struct looking *looking, const struct file_list *names)
{
    const size_t before = looking->check->count;
    enum status status = check_manifest(looking);

    for (size_t i = 0; status == STATUS_OK && i < names->count; i++)
        status = check_file(looking, names->paths[i]);
    if (status == STATUS_OK)
        status = check_steps(looking, names);
    if (status == STATUS_OK && (double)looking->check->bytes > CHIP_BYTES_MAX)
        status = check_add(looking->check, "", "measure with fewer samples", "has %.1f MiB, more than %.0f",
                           (double)looking->check->bytes / MIB, CHIP_BYTES_MAX / MIB);
    /* Of files that are not what they should be nothing is compared. */
    return status == STATUS_OK && looking->check->count == before ? check_twice(looking->check) : status;
}

enum status chip_check(const char *folder, bool brief, struct chip_check *out)
{
    struct looking looking = {.check = out, .brief = brief};
    struct file_list names = {0};
    enum status status;

    *out = (struct chip_check){0};
    snprintf(out->folder, sizeof(out->folder), "%s", folder);
    status = chip_files(folder, &names);
    if (status == STATUS_OK)
        status = look(&looking, &names);
    files_close(&names);
    manifest_close(&looking.manifest);
    return status;
}
