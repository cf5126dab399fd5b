/* SPDX-License-Identifier: MIT */
#include "sass_old.h"

#include <string.h>

/* The parts of an instruction: how far its lowest bit is from bit 0. */
enum { CACHE_BITS = 3, SIZE_BITS = 7, BANK_BITS = 0x1f, INDEX_NONE = 0xff, PREDICATE_NEVER = 0xf, USER_BANK = 3 };

/* How an instruction loads. */
enum old_way {
    WAY_GLOBAL,  /* which cache, by a field */
    WAY_INDEXED, /* LDC: of a bank, with a register or without */
    WAY_OPERAND, /* of a bank */
    WAY_PLAIN,   /* the kind says all */
};

/* The bits of a word that say what it is, in the order in which they are tried. */
struct old_form {
    uint64_t mask, value;
    enum old_way way;
    unsigned kind;  /* of WAY_PLAIN */
    unsigned size;  /* lowest bit of the size; 0: a word */
    unsigned cache; /* of WAY_GLOBAL: lowest bit of which cache */
};

#define TOP(bits) ((uint64_t)(bits) << 48)
/* Kepler has three types of instructions, in the lowest two bits. */
#define KEPLER(mask, value, type) TOP(mask) | 3, TOP(value) | (type)
#define KEPLER_LDG                ((uint64_t)1 << 44) /* tells it from TEX */

/* clang-format off */
/* Read off what the disassembler of CUDA 11.8 says of every value of the highest 13 bits, of Kepler the highest 10. */
static const struct old_form maxwell[] = {
    {TOP(0xfff8), TOP(0xeed0), WAY_GLOBAL, .size = 48, .cache = 46},                 /* LDG */
    {TOP(0xfff8), TOP(0xef90), WAY_INDEXED, .size = 48},                             /* LDC */
    {TOP(0xfff8), TOP(0xef48), WAY_PLAIN, .kind = SASS_LDS, .size = 48},
    {TOP(0xfff8), TOP(0xef40), WAY_PLAIN, .kind = LOAD_LOCAL, .size = 48},
    {TOP(0xe000), TOP(0x8000), WAY_PLAIN, .kind = LOAD_GENERIC, .size = 53},
    {TOP(0xfff8), TOP(0xef10), WAY_PLAIN, .kind = SASS_SHFL},
    {TOP(0xf000), TOP(0xc000), WAY_PLAIN, .kind = SASS_TLD},                                 /* TEX, TLD4 */
    {TOP(0xf800), TOP(0xd000), WAY_PLAIN, .kind = SASS_TLD},                                 /* TEXS, TLDS */
    {TOP(0xfc00), TOP(0xd800), WAY_PLAIN, .kind = SASS_TLD},                                 /* TEXS */
    {TOP(0xfe00), TOP(0xda00), WAY_PLAIN, .kind = SASS_TLD},                                 /* TLDS */
    {TOP(0xfe00), TOP(0xdc00), WAY_PLAIN, .kind = SASS_TLD},                                 /* TLD */
    {TOP(0xff80), TOP(0xde00), WAY_PLAIN, .kind = SASS_TLD},                                 /* TXD */
    {TOP(0xfff8), TOP(0xdeb8), WAY_PLAIN, .kind = SASS_TLD},                                 /* TEX by a handle */
    {TOP(0xfff8), TOP(0xdef8), WAY_PLAIN, .kind = SASS_TLD},                                 /* TLD4 by a handle */
    {TOP(0xf800), TOP(0x4800), WAY_OPERAND, .size = 0},                                         /* the second operand */
    {TOP(0xff00), TOP(0x5100), WAY_OPERAND, .size = 0},                                         /* the third: FFMA, XMAD */
    {TOP(0xfe00), TOP(0x5200), WAY_OPERAND, .size = 0},                                         /* IMAD, DFMA, PRMT, BFI ... */
    {TOP(0xfe00), TOP(0x0200), WAY_OPERAND, .size = 0},                                         /* LOP3 */
    {TOP(0xfc00), TOP(0x1800), WAY_OPERAND, .size = 0},                                         /* LEA */
    {TOP(0xf080), TOP(0x6080), WAY_OPERAND, .size = 0},                                         /* HFMA2 */
    {TOP(0xf880), TOP(0x7880), WAY_OPERAND, .size = 0},                                         /* HMUL2, HADD2, HSET2 ... */
};

static const struct old_form kepler[] = {
    {KEPLER(0xe000, 0xc000, 0), WAY_GLOBAL, .size = 56, .cache = 59},                /* LD, which LDG is elsewhere */
    {TOP(0xfff8) | KEPLER_LDG | 3, TOP(0x6000) | KEPLER_LDG | 1, WAY_PLAIN, .kind = SASS_LDG_CONSTANT, .size = 47},
    {KEPLER(0xf800, 0x6000, 1), WAY_PLAIN, .kind = SASS_TLD},                                /* TEX */
    {KEPLER(0xf800, 0x7000, 1), WAY_PLAIN, .kind = SASS_TLD},                                /* TLD4 */
    {KEPLER(0xfc00, 0x7000, 2), WAY_PLAIN, .kind = SASS_TLD},                                /* TLD */
    {KEPLER(0xf780, 0x7600, 2), WAY_PLAIN, .kind = SASS_TLD},                                /* TXD */
    {KEPLER(0xffc0, 0x7800, 2), WAY_PLAIN, .kind = SASS_TLD},                                /* TLD by a handle */
    {KEPLER(0xff80, 0x7d80, 2), WAY_PLAIN, .kind = SASS_TLD},                                /* TEX, TLD4 by a handle */
    {KEPLER(0xffc0, 0x7880, 2), WAY_PLAIN, .kind = SASS_SHFL},
    {KEPLER(0xffc0, 0x7a00, 2), WAY_PLAIN, .kind = LOAD_LOCAL, .size = 51},
    {KEPLER(0xffc0, 0x7a40, 2), WAY_PLAIN, .kind = SASS_LDS, .size = 51},
    {KEPLER(0xffc0, 0x7c80, 2), WAY_INDEXED, .size = 51},                            /* LDC */
    {KEPLER(0xe000, 0x4000, 2), WAY_OPERAND, .size = 0},                                        /* the second operand */
    {KEPLER(0xf800, 0x6000, 2), WAY_OPERAND, .size = 0},
    {KEPLER(0xfc00, 0x8c00, 2), WAY_OPERAND, .size = 0},                                        /* the third: FFMA */
    {KEPLER(0xf000, 0x9000, 2), WAY_OPERAND, .size = 0},                                        /* IMAD, DFMA, PRMT, BFI ... */
};

static const struct old_family {
    uint32_t first, last; /* architectures */
    size_t bundle;        /* instructions, with the first, which is none */
    unsigned predicate, index, indexed_bank, operand_bank; /* lowest bits */
    const struct old_form *forms;
    size_t count;
} families[] = {
    {35, 37, 8, 18, 10, 39, 37, kepler, sizeof(kepler) / sizeof(kepler[0])},
    {50, 62, 4, 16, 8, 36, 34, maxwell, sizeof(maxwell) / sizeof(maxwell[0])},
};
/* clang-format on */

static const struct old_family *family_of(uint32_t architecture)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (architecture >= families[i].first && architecture <= families[i].last)
            return &families[i];
    return NULL;
}

bool old_known(uint32_t architecture)
{
    return family_of(architecture);
}

static unsigned bank_kind(uint64_t bank, bool indexed)
{
    if (bank == USER_BANK)
        return indexed ? SASS_LDC : LOAD_FIXED;
    return bank == 0 ? (indexed ? SASS_LDC_PARAMETER : LOAD_ARGUMENT) : LOAD_COMPILER;
}

static unsigned form_kind(const struct old_family *family, const struct old_form *form, uint64_t word)
{
    static const unsigned of_cache[CACHE_BITS + 1] = {SASS_LDG, SASS_LDG_STRONG, SASS_LDG_CONSTANT, SASS_LDG_STRONG};
    const uint64_t operand_bank = word >> family->operand_bank & BANK_BITS;

    switch (form->way) {
    case WAY_GLOBAL:
        return of_cache[word >> form->cache & CACHE_BITS];
    case WAY_INDEXED:
        return bank_kind(word >> family->indexed_bank & BANK_BITS, (word >> family->index & INDEX_NONE) != INDEX_NONE);
    case WAY_OPERAND:
        return operand_bank == USER_BANK ? SASS_OPERAND : bank_kind(operand_bank, false);
    case WAY_PLAIN:
    default:
        return form->kind;
    }
}

bool old_load_at(const unsigned char *code, size_t at, uint32_t architecture, struct old_load *out)
{
    static const unsigned widths[SIZE_BITS + 1] = {0, 0, 1, 1, 2, 3, 4, 4};
    const struct old_family *family = family_of(architecture);
    uint64_t word;

    memcpy(&word, code + at, sizeof(word));
    if (at / OLD_INSTRUCTION_BYTES % family->bundle == 0 ||
        (word >> family->predicate & PREDICATE_NEVER) == PREDICATE_NEVER)
        return false;
    for (size_t i = 0; i < family->count; i++) {
        const struct old_form *form = &family->forms[i];

        if ((word & form->mask) != form->value)
            continue;
        *out = (struct old_load){.kind = form_kind(family, form, word),
                                 .width = form->size ? widths[word >> form->size & SIZE_BITS] : SASS_WORD};
        return true;
    }
    return false;
}
