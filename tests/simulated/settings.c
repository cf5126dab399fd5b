/* SPDX-License-Identifier: MIT
 * CBANK_SIMULATED, the script of a simulated GPU: NAME=VALUE with commas between. Rows say how each
 * value is read; a word that no row knows ends the program, so that a test cannot plant nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulated.h"

struct settings settings = {
    .devices = 1,
    .ecc = 1,
    .seed = 1,
    .noise = 0.0005,
    .mode = 1,
    .slow_factor = 2,
    .slow_device = -1,
    .swapped = -1,
    .part = "900-00000-0000-000",
    .limit_ms = 2000,
    .energy_step_ms = 100,
    .energy_unit = 1,
    .idle_watts = 75,
    .launch_uj = 50,
    .lookup_pj = 20,
    .launch_us = 2,
    .parameter_ns = 0.1,
    .copy_us = 5,
    .load_us = 300,
};

struct card card;
struct chip chip = {
    .uniform_request_cycles = 0.5886,
    .immediate_request_cycles = 1,
    .copy_ns = 6327,
    .copy_bytes_per_ns = 15,
    .parameter_lines = 2,
    .immediate_lines = 8,
    .levels = {{2048, 64, 4, 1, CACHE_TREE, 2, 2}, {131072, 256, 8, 18, CACHE_TREE, 2, 0}},
};

/* -- values ------------------------------------------------------------------------------------ */

/* Reads text into what `to` points to; false where it cannot be. */
typedef bool setting_read(char *text, void *to);

static bool read_number(char *text, void *to)
{
    char *end;

    *(double *)to = strtod(text, &end);
    return end > text && !*end;
}

static bool read_text(char *text, void *to)
{
    return snprintf(to, SETTING_BYTES, "%s", text) < SETTING_BYTES;
}

/* A, or A/B. */
static bool read_grown(char *text, void *to)
{
    struct grown *grown = to;
    char *after = strchr(text, '/');

    if (after)
        *after++ = '\0';
    return read_number(text, &grown->before) && read_number(after ? after : text, &grown->after);
}

/* NAME, and behind it in any order an error, the first whole number, and "sticky". */
static bool read_planted(char *text, void *to)
{
    struct planted_list *list = to;
    struct planted *planted = list->count < FAULTS_MAX ? &list->faults[list->count++] : NULL;

    if (!planted || !read_text(strsep(&text, ":"), planted->name))
        return false;
    for (char *word; (word = strsep(&text, ":"));)
        if (strcmp(word, "sticky") == 0)
            planted->sticky = true;
        else if (planted->nth == 0 && strspn(word, "0123456789") == strlen(word))
            planted->nth = strtoull(word, NULL, 10);
        else
            snprintf(planted->error, sizeof(planted->error), "%s", word);
    planted->nth += planted->nth == 0;
    return true;
}

static const struct setting {
    const char *name;
    size_t offset;
    setting_read *read;
} rows[] = {
#define NUMBER(name)  {#name, offsetof(struct settings, name), read_number},
#define TEXT_OF(name) {#name, offsetof(struct settings, name), read_text},
#define GROWN(name)   {#name, offsetof(struct settings, name), read_grown},
#define PLANT(name)   {#name, offsetof(struct settings, name), read_planted},
    NUMBERS(NUMBER) GROWING(GROWN) TEXTS(TEXT_OF) PLANTED(PLANT)};

/* -- the list ---------------------------------------------------------------------------------- */

static void refuse(const char *word)
{
    fprintf(stderr, "CBANK_SIMULATED: %s; see tests/simulated/simulated.h\n", word);
    _exit(99);
}

static bool read_setting(const char *name, char *value)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].read(value, (char *)&settings + rows[i].offset);
    return false;
}

static void read_list(char *text)
{
    for (char *word; (word = strsep(&text, ","));) {
        const char *name = word;
        char *value = strchr(word, '=');

        if (!*word)
            continue;
        if (!value)
            refuse(word);
        *value++ = '\0';
        if (!read_setting(name, value))
            refuse(name);
    }
    if (settings.devices < 1 || settings.devices > DEVICES_MAX)
        refuse("devices");
}

/* The chip as its card has it. */
static void take_card(void)
{
    chip.sm_count = (uint32_t)card_integer(&card, CARD_SM_COUNT).value;
    chip.warps_per_sm = (uint32_t)card_integer(&card, CARD_WARPS_PER_SM).value;
    chip.blocks_per_sm = (uint32_t)card_integer(&card, CARD_BLOCKS_PER_SM).value;
    chip.shared_bytes_per_sm = (uint32_t)card_integer(&card, CARD_SHARED_BYTES_PER_SM).value;
    chip.shared_bytes_reserved = (uint32_t)card_integer(&card, CARD_SHARED_BYTES_RESERVED).value;
    chip.l2_bytes = card.number[CARD_L2_BYTES].value;
    chip.sm_clock_mhz = card.number[CARD_SM_CLOCK_MHZ].value;
    chip.launch_ns = card.number[CARD_LAUNCH_NS].value;
    chip.dram_bytes_per_ns = card.number[CARD_DRAM_BYTES_PER_NS].value;
    chip.l1_requests_per_cycle = card.number[CARD_L1_REQUESTS_PER_CYCLE].value;
    chip.texture_requests_per_cycle = card.number[CARD_TEXTURE_REQUESTS_PER_CYCLE].value;
    chip.shared_wavefronts_per_cycle = card.number[CARD_SHARED_WAVEFRONTS_PER_CYCLE].value;
}

void settings_read(void)
{
    static bool read;
    const char *text = read ? NULL : getenv("CBANK_SIMULATED");
    char *copy = text ? strdup(text) : NULL;

    if (read)
        return;
    read = true;
    if (copy)
        read_list(copy);
    free(copy);
    if (card_read(NULL, &card) != STATUS_OK)
        refuse("no card");
    take_card();
    if (settings.clock <= 0)
        settings.clock = chip.sm_clock_mhz;
    if (settings.throttle_clock <= 0)
        settings.throttle_clock = 0.7 * settings.clock;
    if (settings.capability <= 0)
        settings.capability = 10 * card.cc_major + card.cc_minor;
    if (settings.memory <= 0)
        settings.memory = 140e9;
    if (settings.free <= 0)
        settings.free = settings.memory;
}
