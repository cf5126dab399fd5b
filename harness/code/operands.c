/* SPDX-License-Identifier: MIT */
#include "operands.h"

#include <string.h>

/* Fields of a row. Operands are in the order of the disassembly: A at bit 24, B and C as the form
 * says. */
enum {
    A = 1 << 0,
    B = 1 << 1,
    C = 1 << 2,
    A2 = 1 << 3 | A, /* a pair of registers */
    B2 = 1 << 4 | B,
    C2 = 1 << 5 | C,
    P = 1 << 6, /* a predicate is written, at bit 81 */
    Q = 1 << 7, /* and one at bit 84 */
    IN = 1 << 8, /* a predicate is read, at bit 87 */
    U = 1 << 9, /* on the uniform registers */
    SIZED = 1 << 10, /* as many registers as it loads */
    MASKED = 1 << 11, /* texture: registers of a mask, in two groups */
    ADDRESS = 1 << 12, /* memory: a register and 24 bits of offset */
    BANK = 1 << 13, /* constant memory: a register and an offset in a bank */
    DATA = 1 << 14, /* memory: the register at bit 32 is stored */
    ALL_PREDICATES = 1 << 15,
    FIXED = 1 << 16, /* B is at bit 32 and C at bit 64, whatever the form */
    HALF = 1 << 19, /* a pair, but one register where bit 80 is 0 */
    CONVERTED = 1 << 17, /* bits 75 and 84 have the sizes of what is written and read */
    LONG = 1 << 18, /* pairs of registers where bit 80 or the form says so, from sm_100 on */
    IN2 = 1 << 20, /* a second predicate is read, at bit 77 */
    IN3 = 1 << 21, /* and a third one, at bit 68: a uniform one where bit 67 is set */
    IN_RELU = 1 << 22, /* a predicate is read at bit 87, where bit 79 is set: .RELU */
    IN_LOAD = 1 << 23, /* a predicate is read at bit 64, whose number is inverted */
    P_ZD = 1 << 24, /* a predicate is written at bit 81, where bit 87 is set: .ZD */
    P_UNIFORM = 1 << 25, /* P is a uniform predicate, though inputs are none */
    IS_A = 1 << 26, /* where bit 65 is set, it writes predicates that are not in this table */
};

enum { OPERATIONS = 512 };

/* clang-format off */
static const struct row {
    uint8_t transfer, writes; /* registers from bit 16 on */
    uint32_t fields;
    const char *name;
} rows[OPERATIONS] = {
    [0x001] = {TRANSFER_NOTHING, 0, 0, "PMTRIG"},
    [0x002] = {TRANSFER_MOVE, 1, B | LONG, "MOV"},
    [0x003] = {TRANSFER_LANES, 1, 0, "P2R"},
    [0x004] = {TRANSFER_FUNCTION, 0, A | B | ALL_PREDICATES, "R2P"},
    [0x005] = {TRANSFER_SPECIAL, 1, HALF, "CS2R"},
    [0x006] = {TRANSFER_WARP, 1, P | IN, "VOTE"},
    [0x007] = {TRANSFER_SELECT, 1, A | B | IN | LONG, "SEL"},
    [0x008] = {TRANSFER_SELECT, 1, A | B | IN, "FSEL"},
    [0x009] = {TRANSFER_FUNCTION, 1, A | B | IN | IS_A, "FMNMX"},
    [0x00a] = {TRANSFER_FUNCTION, 1, A | B | IN, "FSET"},
    [0x00b] = {TRANSFER_FUNCTION, 0, A | B | P | Q | IN, "FSETP"},
    [0x00c] = {TRANSFER_COMPARE, 0, A | B | P | Q | IN | IN3 | LONG, "ISETP"},
    [0x00f] = {TRANSFER_FUNCTION, 1, A | B | C | IN, "VIMNMX3"},
    [0x010] = {TRANSFER_ADD, 1, A | B | C | P | Q | IN | IN2, "IADD3"},
    [0x011] = {TRANSFER_SHIFT_ADD, 1, A | B | C | P | IN, "LEA"},
    [0x012] = {TRANSFER_LOGIC, 1, A | B | C | P | IN, "LOP3"},
    [0x013] = {TRANSFER_FUNCTION, 1, B, "IABS"},
    [0x014] = {TRANSFER_FUNCTION, 1, A | B | C | P, "VABSDIFF"},
    [0x015] = {TRANSFER_FUNCTION, 1, A | B | C | P, "VABSDIFF4"},
    [0x016] = {TRANSFER_PERMUTE, 1, A | B | C, "PRMT"},
    [0x017] = {TRANSFER_FUNCTION, 1, A | B | IN, "IMNMX"},
    [0x018] = {TRANSFER_FUNCTION, 1, A | B, "ISCADD"},
    [0x019] = {TRANSFER_SHIFT, 1, A | B | C, "SHF"},
    [0x01a] = {TRANSFER_FUNCTION, 1, A | B, "SGXT"},
    [0x01b] = {TRANSFER_FUNCTION, 1, A | B, "BMSK"},
    [0x01c] = {TRANSFER_FUNCTION, 0, P | Q | IN | IN2 | IN3, "PLOP3"},
    [0x020] = {TRANSFER_FUNCTION, 1, A | B, "FMUL"},
    [0x021] = {TRANSFER_FUNCTION, 1, A | B | C, "FADD"},
    [0x022] = {TRANSFER_LANES, 1, A | B, "FSWZADD"},
    [0x023] = {TRANSFER_FUNCTION, 1, A | B | C, "FFMA"},
    [0x024] = {TRANSFER_MULTIPLY, 1, A | B | C | P | IN, "IMAD"},
    [0x025] = {TRANSFER_MULTIPLY_WIDE, 2, A | B | C2 | P | IN, "IMAD.WIDE"},
    [0x026] = {TRANSFER_FUNCTION, 1, A | B | C, "IDP"},
    [0x027] = {TRANSFER_FUNCTION, 1, A | B | C2 | P | IN, "IMAD.HI"},
    [0x028] = {TRANSFER_FUNCTION, 2, A2 | B2, "DMUL"},
    [0x029] = {TRANSFER_FUNCTION, 2, A2 | B2 | C2, "DADD"},
    [0x02a] = {TRANSFER_FUNCTION, 0, A2 | B2 | P | Q | IN, "DSETP"},
    [0x02b] = {TRANSFER_FUNCTION, 2, A2 | B2 | C2, "DFMA"},
    [0x030] = {TRANSFER_FUNCTION, 1, A | B | C, "HADD2"},
    [0x031] = {TRANSFER_HALVES, 1, A | B | C | IN_RELU, "HFMA2"},
    [0x032] = {TRANSFER_FUNCTION, 1, A | B, "HMUL2"},
    [0x033] = {TRANSFER_FUNCTION, 1, A | B | IN, "HSET2"},
    [0x034] = {TRANSFER_FUNCTION, 0, A | B | P | Q | IN, "HSETP2"},
    [0x035] = {TRANSFER_HALVES, 1, A | B | C | IN_RELU, "HFMA2.MMA"},
    [0x02d] = {TRANSFER_NOTHING, 0, 0, "PREEXIT"},
    [0x02e] = {TRANSFER_NOTHING, 0, 0, "ACQBULK"},
    [0x036] = {TRANSFER_ADD, 1, A | B, "VIADD"},
    [0x037] = {TRANSFER_LANES, 4, 0, "IMMA"},
    [0x038] = {TRANSFER_FUNCTION, 1, A | B | C, "I2IP"},
    [0x03b] = {TRANSFER_LOAD, 4, A | ADDRESS, "LDSM"},
    [0x03c] = {TRANSFER_LANES, 4, 0, "HMMA"},
    [0x03e] = {TRANSFER_FUNCTION, 1, A | B | C, "F2FP"},
    [0x03f] = {TRANSFER_LANES, 4, 0, "DMMA"},
    [0x040] = {TRANSFER_FUNCTION, 1, A | B | IN | IS_A, "HMNMX2"},
    [0x043] = {TRANSFER_FUNCTION, 1, A | B | C, "F2IP"},
    [0x045] = {TRANSFER_FUNCTION, 1, B, "I2FP"},
    [0x046] = {TRANSFER_FUNCTION, 1, A | B | C | IN, "VIADDMNMX"},
    [0x048] = {TRANSFER_FUNCTION, 1, A | B | P | Q | IN, "VIMNMX"},
    [0x04a] = {TRANSFER_FUNCTION, 1, A | B | U | P | Q | IN, "UVIMNMX"},
    [0x051] = {TRANSFER_FUNCTION, 1, A | B | U | IN, "UFSEL"},
    [0x053] = {TRANSFER_FUNCTION, 0, A | B | U | P | Q | IN, "UFSETP"},
    [0x054] = {TRANSFER_FUNCTION, 1, A | B | C | U, "UFADD"},
    [0x055] = {TRANSFER_FUNCTION, 1, A | B | C | U, "UFFMA"},
    [0x056] = {TRANSFER_FUNCTION, 1, A | B | U, "UFMUL"},
    [0x05a] = {TRANSFER_FUNCTION, 1, B | U, "UI2F"},
    [0x05c] = {TRANSFER_FUNCTION, 1, B | U, "UF2I"},
    [0x05d] = {TRANSFER_FUNCTION, 1, B | U, "UFRND"},
    [0x05e] = {TRANSFER_FUNCTION, 1, B | U, "UI2FP"},
    [0x082] = {TRANSFER_MOVE, 1, B | U | LONG, "UMOV"},
    [0x083] = {TRANSFER_WARP, 1, A | U, "UP2UR"},
    [0x086] = {TRANSFER_WARP, 1, U | P | P_UNIFORM | IN, "VOTEU"},
    [0x087] = {TRANSFER_SELECT, 1, A | B | U | IN | LONG, "USEL"},
    [0x08c] = {TRANSFER_COMPARE, 0, A | B | U | P | Q | IN | IN3 | LONG, "UISETP"},
    [0x090] = {TRANSFER_ADD, 1, A | B | C | U | P | Q | IN | IN2, "UIADD3"},
    [0x091] = {TRANSFER_SHIFT_ADD, 1, A | B | C | U | P | IN, "ULEA"},
    [0x092] = {TRANSFER_LOGIC, 1, A | B | C | U | P | IN, "ULOP3"},
    [0x096] = {TRANSFER_PERMUTE, 1, A | B | C | U, "UPRMT"},
    [0x097] = {TRANSFER_ADD_WIDE, 2, A2 | B2 | C2 | U | P | Q | IN | IN2, "UIADD3.64"},
    [0x099] = {TRANSFER_SHIFT, 1, A | B | C | U, "USHF"},
    [0x09a] = {TRANSFER_FUNCTION, 1, A | B | U, "USGXT"},
    [0x09b] = {TRANSFER_FUNCTION, 1, A | B | U, "UBMSK"},
    [0x09c] = {TRANSFER_FUNCTION, 0, U | P | Q | IN | IN2 | IN3, "UPLOP3"},
    [0x0a4] = {TRANSFER_MULTIPLY, 1, A | B | C | U | P | IN, "UIMAD"},
    [0x0a5] = {TRANSFER_MULTIPLY_WIDE, 2, A | B | C2 | U | P | IN, "UIMAD.WIDE"},
    [0x0a6] = {TRANSFER_FUNCTION, 1, A | B | C | U | P | IN, "UIMAD.HI"},
    [0x0a7] = {TRANSFER_FUNCTION, 1, A | B | C2 | U | P | IN, "UIMAD.HI"},
    [0x0b9] = {TRANSFER_LOAD, 1, U | SIZED | BANK, "ULDC"},
    [0x0bb] = {TRANSFER_LOAD, 1, A | U | SIZED | BANK, "ULDC"},
    [0x0bd] = {TRANSFER_FUNCTION, 1, B | U | P, "UFLO"},
    [0x0be] = {TRANSFER_FUNCTION, 1, B | U, "UBREV"},
    [0x0bf] = {TRANSFER_FUNCTION, 1, B | U, "UPOPC"},
    [0x0ca] = {TRANSFER_WARP, 1, A | U | P, "R2UR"},
    [0x0cb] = {TRANSFER_SPECIAL, 1, U | HALF, "CS2UR"},
    [0x100] = {TRANSFER_FUNCTION, 1, B | P, "FLO"},
    [0x101] = {TRANSFER_FUNCTION, 1, B, "BREV"},
    [0x102] = {TRANSFER_FUNCTION, 0, A | B | P, "FCHK"},
    [0x104] = {TRANSFER_FUNCTION, 1, B, "F2F"},
    [0x105] = {TRANSFER_FUNCTION, 1, B, "F2I"},
    [0x106] = {TRANSFER_FUNCTION, 1, B, "I2F"},
    [0x107] = {TRANSFER_FUNCTION, 1, B, "FRND"},
    [0x108] = {TRANSFER_FUNCTION, 1, B, "MUFU"},
    [0x109] = {TRANSFER_FUNCTION, 1, B, "POPC"},
    [0x110] = {TRANSFER_FUNCTION, 1, B | CONVERTED, "F2F"},
    [0x111] = {TRANSFER_FUNCTION, 1, B | CONVERTED, "F2I"},
    [0x112] = {TRANSFER_FUNCTION, 1, B | CONVERTED, "I2F"},
    [0x113] = {TRANSFER_FUNCTION, 1, B | CONVERTED, "FRND"},
    [0x118] = {TRANSFER_NOTHING, 0, 0, "NOP"},
    [0x119] = {TRANSFER_SPECIAL, 1, 0, "S2R"},
    [0x11a] = {TRANSFER_NOTHING, 0, 0, "DEPBAR"},
    [0x11b] = {TRANSFER_NOTHING, 0, 0, "ENDCOLLECTIVE"},
    [0x11c] = {TRANSFER_WARP, 1, P | IN, "B2R"},
    [0x11d] = {TRANSFER_NOTHING, 0, 0, "BAR"},
    [0x141] = {TRANSFER_NOTHING, 0, 0, "BSYNC"},
    [0x142] = {TRANSFER_NOTHING, 0, 0, "BREAK"},
    [0x143] = {TRANSFER_BRANCH, 0, IN, "CALL.ABS"},
    [0x144] = {TRANSFER_BRANCH, 0, IN, "CALL.REL"},
    [0x145] = {TRANSFER_NOTHING, 0, 0, "BSSY"},
    [0x146] = {TRANSFER_NOTHING, 0, 0, "YIELD"},
    [0x147] = {TRANSFER_BRANCH, 0, IN, "BRA"},
    [0x148] = {TRANSFER_NOTHING, 0, 0, "WARPSYNC"},
    [0x149] = {TRANSFER_BRANCH, 0, A2 | IN, "BRX"},
    [0x14a] = {TRANSFER_BRANCH, 0, IN, "JMP"},
    [0x14c] = {TRANSFER_BRANCH, 0, A2 | IN, "JMX"},
    [0x14d] = {TRANSFER_BRANCH, 0, IN, "EXIT"},
    [0x14e] = {TRANSFER_LANES, 2, 0, "LEPC"},
    [0x150] = {TRANSFER_BRANCH, 0, IN, "RET"},
    [0x155] = {TRANSFER_WARP, 1, 0, "BMOV"},
    [0x156] = {TRANSFER_NOTHING, 0, 0, "BMOV"},
    [0x158] = {TRANSFER_BRANCH, 0, A2 | U | IN, "BRXU"},
    [0x159] = {TRANSFER_BRANCH, 0, A2 | U | IN, "JMXU"},
    [0x15c] = {TRANSFER_NOTHING, 0, 0, "BPT"},
    [0x15d] = {TRANSFER_NOTHING, 0, 0, "NANOSLEEP"},
    [0x160] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TEX"},
    [0x161] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TEX"},
    [0x163] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TLD4"},
    [0x164] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TLD4"},
    [0x166] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TLD"},
    [0x167] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TLD"},
    [0x16a] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TMML"},
    [0x16c] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TXD"},
    [0x16d] = {TRANSFER_LOAD, 1, A2 | B2 | FIXED | MASKED | P, "TXD"},
    [0x16f] = {TRANSFER_LOAD, 1, A | FIXED | MASKED | P, "TXQ"},
    [0x180] = {TRANSFER_LOAD, 1, A | SIZED | ADDRESS | P_ZD | IN_LOAD, "LD"},
    [0x181] = {TRANSFER_LOAD, 1, A | SIZED | ADDRESS | P | IN_LOAD, "LDG"},
    [0x182] = {TRANSFER_LOAD, 1, A | SIZED | BANK, "LDC"},
    [0x183] = {TRANSFER_LOAD, 1, A | SIZED | ADDRESS, "LDL"},
    [0x184] = {TRANSFER_LOAD, 1, A | SIZED | ADDRESS | P_ZD, "LDS"},
    [0x185] = {TRANSFER_STORE, 0, A | ADDRESS | DATA, "ST"},
    [0x186] = {TRANSFER_NOTHING, 0, A | ADDRESS | DATA, "STG"},
    [0x187] = {TRANSFER_STORE, 0, A | ADDRESS | DATA, "STL"},
    [0x188] = {TRANSFER_NOTHING, 0, A | ADDRESS | DATA, "STS"},
    [0x189] = {TRANSFER_SHUFFLE, 1, A | P, "SHFL"},
    [0x18a] = {TRANSFER_ATOMIC, 2, A | ADDRESS | DATA | P, "ATOM"},
    [0x18b] = {TRANSFER_ATOMIC, 2, A | ADDRESS | DATA | P, "ATOM.CAS"},
    [0x18c] = {TRANSFER_ATOMIC, 2, A | ADDRESS | DATA, "ATOMS"},
    [0x18d] = {TRANSFER_ATOMIC, 2, A | ADDRESS | DATA, "ATOMS.CAS"},
    [0x18e] = {TRANSFER_NOTHING, 0, 0, "RED"},
    [0x18f] = {TRANSFER_NOTHING, 0, 0, "CCTL"},
    [0x190] = {TRANSFER_NOTHING, 0, 0, "CCTLL"},
    [0x192] = {TRANSFER_NOTHING, 0, 0, "MEMBAR"},
    [0x199] = {TRANSFER_LOAD, 4, A | FIXED | P, "SULD"},
    [0x19d] = {TRANSFER_NOTHING, 0, 0, "SUST"},
    [0x1a1] = {TRANSFER_LANES, 1, A | P, "MATCH"},
    [0x1a3] = {TRANSFER_ATOMIC, 2, A | ADDRESS | DATA | P, "ATOMG"},
    [0x1a6] = {TRANSFER_NOTHING, 0, 0, "REDG"},
    [0x1a7] = {TRANSFER_ATOMIC, 2, A | P, "SYNCS"},
    [0x1a8] = {TRANSFER_ATOMIC, 2, A | ADDRESS | DATA | P, "ATOMG"},
    [0x1a9] = {TRANSFER_ATOMIC, 2, A | ADDRESS | DATA | P, "ATOMG.CAS"},
    [0x1ab] = {TRANSFER_NOTHING, 0, 0, "ERRBAR"},
    [0x1ac] = {TRANSFER_LOAD, 1, A | U | SIZED | BANK, "LDCU"},
    [0x1ae] = {TRANSFER_NOTHING, 0, 0, "LDGSTS"},
    [0x1af] = {TRANSFER_NOTHING, 0, 0, "LDGDEPBAR"},
    [0x1b0] = {TRANSFER_NOTHING, 0, 0, "ARRIVES"},
    [0x1b1] = {TRANSFER_WARP, 2, U | P, "SYNCS"},
    [0x1b2] = {TRANSFER_WARP, 2, U | P, "SYNCS"},
    [0x1ba] = {TRANSFER_NOTHING, 0, 0, "UBLKCP"},
    [0x1c2] = {TRANSFER_WARP, 1, A | U | P, "R2UR"},
    [0x1c3] = {TRANSFER_SPECIAL, 1, U, "S2UR"},
    [0x1c4] = {TRANSFER_WARP, 1, A | U, "REDUX"},
    [0x1c6] = {TRANSFER_NOTHING, 0, 0, "FENCE"},
};

/* Operations of sm_100 and later whose number had another meaning before. */
static const struct row late_rows[OPERATIONS] = {
    [0x017] = {TRANSFER_FUNCTION, 2, A2 | B2 | P | Q | IN, "IMNMX.64"},
    [0x035] = {TRANSFER_ADD_WIDE, 2, A2 | B2 | P | IN, "IADD.64"},
    [0x085] = {TRANSFER_FUNCTION, 2, A2 | B2 | U | P | Q | IN, "UIMNMX.64"},
};
/* clang-format on */

enum {
    URZ_BEFORE = 63,
    LATE_FIRST = 100 /* architecture */,
    WIDE_CONVERSION = 3,
    LDCU = 0x1ac,
    OPERATION_UNIFORM_LAST = 0x0ff
};

static uint32_t bits(uint64_t low, uint64_t high, unsigned at, unsigned count)
{
    const uint64_t value = at >= 64  ? high >> (at - 64)
                           : at == 0 ? low
                                     : low >> at | high << (64 - at);

    return (uint32_t)(value & ((1ull << count) - 1));
}

/* A uniform register: before sm_100 they have 6 bits. */
static uint32_t uniform_number(uint32_t number, uint32_t architecture)
{
    if (architecture < LATE_FIRST)
        return (number & URZ_BEFORE) == URZ_BEFORE ? UNIFORM_ZERO
                                                   : UNIFORM_FIRST + (number & URZ_BEFORE);
    return UNIFORM_FIRST + number;
}

static void add_result(struct operands *out, uint32_t first, uint32_t count)
{
    if (count == 0 || first == REGISTER_ZERO || first == UNIFORM_ZERO || first == PREDICATE_TRUE ||
        first == UNIFORM_PREDICATE_TRUE || out->results == RESULTS_MAX)
        return;
    out->result[out->results].first = (uint16_t)first;
    out->result[out->results++].count = (uint16_t)count;
}

/* The predicates of a mask, in runs. There are four at most: P0, P2, P4 and P6. */
static void add_masked(struct operands *out, uint32_t first)
{
    const bool known = out->source[1].kind == OPERAND_IMMEDIATE;
    const uint32_t all = (1u << (PREDICATE_TRUE - PREDICATE_FIRST)) - 1;
    const uint32_t mask = known ? out->source[1].number & all : all;
    uint32_t count;

    for (uint32_t i = 0; mask >> i != 0; i += count + 1) {
        for (count = 0; mask >> (i + count) & 1; count++)
            ;
        add_result(out, first + i, count);
    }
}

/* The predicates that an instruction takes as inputs. */
static void predicate_inputs(uint64_t low, uint64_t high, const struct row *row,
                             struct operands *out)
{
    static const struct {
        uint32_t field;
        uint8_t at, input, only_with, inverted; /* only_with: a bit that must be set; 0: none */
    } places[] = {{IN, 87, 0, 0, 0},
                  {IN2, 77, 1, 0, 0},
                  {IN3, 68, 2, 0, 0},
                  {IN_RELU, 87, 0, 79, 0},
                  {IN_LOAD, 64, 0, 0, 7}};
    const bool uniform = row->fields & U && row->transfer != TRANSFER_WARP;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const bool third = places[i].field == IN3 && bits(low, high, 67, 1);

        if (row->fields & places[i].field &&
            (!places[i].only_with || bits(low, high, places[i].only_with, 1)))
            out->input[places[i].input] =
                (struct predicate_input){.number =
                                             (uint16_t)((uniform || third ? UNIFORM_PREDICATE_FIRST
                                                                          : PREDICATE_FIRST) +
                                                        (bits(low, high, places[i].at, 3) ^
                                                         places[i].inverted)),
                                         .negated = bits(low, high, places[i].at + 3u, 1)};
    }
}

/* The sources of arithmetic. A form (bits 9 to 11) says what is at bits 32 to 63, and whether that
 * is B or C: the other one is a register at bit 64. */
static void arithmetic_sources(uint64_t low, uint64_t high, uint32_t architecture,
                               const struct row *row, unsigned form, struct operands *out)
{
    const bool third =
        !(row->fields & FIXED) && row->fields & C && (form == 2 || form == 3 || form == 7);
    struct operand *special = &out->source[third ? 2 : 1], *other = &out->source[third ? 1 : 2];
    const bool uniform = row->fields & U;

    /* R2UR and REDUX read a register of the threads. */
    out->source[0] =
        (struct operand){.kind = uniform && row->transfer != TRANSFER_WARP ? OPERAND_UNIFORM
                                                                           : OPERAND_REGISTER,
                         .number = bits(low, high, 24, 8),
                         .negated = bits(low, high, 72, 1)};
    *other = (struct operand){.kind = uniform ? OPERAND_UNIFORM : OPERAND_REGISTER,
                              .number = bits(low, high, 64, 8),
                              .negated = bits(low, high, 75, 1)};
    *special = (struct operand){.kind = uniform ? OPERAND_UNIFORM : OPERAND_REGISTER,
                                .number = bits(low, high, 32, 8)};
    special->negated = bits(low, high, 63, 1);
    if (form == 2 || form == 4) {
        special->kind = OPERAND_IMMEDIATE;
        special->number = bits(low, high, 32, 32);
        special->upper = special->number >> 31 ? UINT32_MAX : 0;
        special->negated = false;
    } else if ((form == 3 || form == 5) && !uniform) {
        special->kind = OPERAND_CONSTANT;
        special->number = bits(low, high, 38, 16);
        special->bank = (uint8_t)bits(low, high, 54, 5);
    } else if (form >= 6) {
        special->kind = OPERAND_UNIFORM;
    }
    for (unsigned i = 0; i < OPERANDS_MAX; i++) {
        struct operand *source = &out->source[i];

        source->words = row->fields >> (i + 3) & 1 ? 2 : 1;
        if (!(row->fields >> i & 1))
            source->kind = OPERAND_NONE;
        else if (source->kind == OPERAND_UNIFORM)
            source->number = uniform_number(source->number, architecture);
    }
}

/* The address of a load or store, and what is stored. */
static void memory_sources(uint64_t low, uint64_t high, uint32_t architecture,
                           const struct row *row, struct operands *out)
{
    enum {
        GLOBAL_DESCRIPTOR_FIRST = 80 /* architecture */,
        LD = 0x180,
        LDG = 0x181,
        ST = 0x185,
        STG = 0x186
    };
    const unsigned operation = low & (OPERATIONS - 1);
    const bool global = operation == LD || operation == LDG || operation == ST ||
                        operation == STG || row->transfer == TRANSFER_ATOMIC;
    const bool wide = global && bits(low, high, 72, 1), whole = bits(low, high, 90, 1),
               added = bits(low, high, 91, 1);
    /* From sm_80 on, the uniform register beside an address of 64 bits describes the memory. */
    const bool described = global && architecture >= GLOBAL_DESCRIPTOR_FIRST && whole;
    const unsigned uniform_at = row->fields & DATA ? 64 : 32;

    out->wide_address = wide;
    out->offset = (int32_t)(bits(low, high, 40, 24) << 8) >> 8;
    out->source[0] = (struct operand){.kind = OPERAND_REGISTER, .number = bits(low, high, 24, 8)};
    out->source[0].words = wide && (!added || whole) ? 2 : 1;
    if (added && !described)
        out->source[1] =
            (struct operand){.kind = OPERAND_UNIFORM,
                             .number = uniform_number(bits(low, high, uniform_at, 8), architecture),
                             .words = wide ? 2 : 1};
    if (row->fields & DATA)
        out->source[2] = (struct operand){.kind = OPERAND_REGISTER,
                                          .number = bits(low, high, 32, 8),
                                          .words = 4};
}

/* Whether an operation of sm_100 or later, LONG, is on pairs: USEL has the form of a uniform
 * operand for them. */
static bool form_is_long(const struct operands *of)
{
    enum { USEL = 0x087 };
    const bool compare = of->transfer == TRANSFER_COMPARE, select = of->transfer == TRANSFER_SELECT;

    return of->high >> 16 & 1 || (!compare && of->form == 2) ||
           (select && (of->form == 3 || of->form == 7)) || (of->operation == USEL && of->form == 6);
}

void operands_at(const unsigned char *code, size_t at, uint32_t architecture, struct operands *out)
{
    /* by the field of the size of a load */
    static const uint8_t registers[] = {1, 1, 1, 1, 1, 2, 4, 4};
    static const uint8_t short_forms[] = {0, 1, 4, 1, 4, 5, 6, 6}; /* of operations on pairs */
    struct row changed;
    const struct row *row;
    uint64_t low, high;
    uint32_t first, count;

    memcpy(&low, code + at, sizeof(low));
    memcpy(&high, code + at + sizeof(low), sizeof(high));
    const bool late = architecture >= LATE_FIRST;

    row = late && late_rows[low & (OPERATIONS - 1)].name ? &late_rows[low & (OPERATIONS - 1)]
                                                         : &rows[low & (OPERATIONS - 1)];
    *out = (struct operands){.name = row->name ? row->name : "?",
                             .operation = low & (OPERATIONS - 1),
                             .transfer = (enum transfer)row->transfer,
                             .form = (uint8_t)bits(low, high, 9, 3),
                             .low = low,
                             .high = high,
                             .guard = (uint16_t)(PREDICATE_FIRST + bits(low, high, 12, 3)),
                             .guard_negated = bits(low, high, 15, 1),
                             .input = {{.number = PREDICATE_TRUE},
                                       {.number = PREDICATE_TRUE},
                                       {.number = PREDICATE_TRUE}}};
    if (row->fields & IS_A && bits(low, high, 65, 1))
        out->transfer = TRANSFER_UNKNOWN;
    if (out->transfer == TRANSFER_UNKNOWN)
        return;
    unsigned form = out->form;

    if (row->fields & LONG && late && form_is_long(out)) {
        changed = *row;
        changed.writes *= 2;
        changed.fields |= (row->fields & A ? A2 : 0) | B2;
        form = short_forms[form];
        row = &changed;
    }
    const bool uniform = row->fields & U;
    const uint32_t predicates =
        uniform && (row->transfer != TRANSFER_WARP || row->fields & P_UNIFORM)
            ? UNIFORM_PREDICATE_FIRST
            : PREDICATE_FIRST;

    /* The guard of an instruction on uniform registers is a uniform predicate. */
    if (uniform && out->operation < OPERATION_UNIFORM_LAST)
        out->guard = (uint16_t)(out->guard - PREDICATE_FIRST + UNIFORM_PREDICATE_FIRST);
    out->uniform = uniform;
    predicate_inputs(low, high, row, out);
    if (row->fields & ADDRESS) {
        memory_sources(low, high, architecture, row, out);
    } else if (row->fields & BANK) {
        const uint32_t index = bits(low, high, 24, 8);

        out->source[0] = (struct operand){.kind = row->fields & A ? OPERAND_REGISTER : OPERAND_NONE,
                                          .number = index,
                                          .words = 1};
        if (uniform && (row->fields & A))
            out->source[0] = (struct operand){.kind = OPERAND_UNIFORM,
                                              .number = uniform_number(index, architecture),
                                              .words = 1};
        out->source[1] =
            (struct operand){.kind = OPERAND_CONSTANT,
                             /* LDCU has one more bit. */
                             .number = out->operation == LDCU ? bits(low, high, 37, 17)
                                                              : bits(low, high, 38, 16),
                             .bank = (uint8_t)bits(low, high, 54, 5)};
        out->offset = (int32_t)(int16_t)out->source[1].number;
    } else {
        arithmetic_sources(low, high, architecture, row, form, out);
    }
    if (row == &changed && row->transfer == TRANSFER_MOVE && out->form == 2) {
        out->source[1].number = bits(low, high, 24, 32);
        out->source[1].upper = bits(low, high, 56, 32);
    }
    first = bits(low, high, 16, 8);
    count = row->writes;
    if (row->fields & CONVERTED) {
        count = bits(low, high, 75, 2) == WIDE_CONVERSION ? 2 : 1;
        out->source[1].words = bits(low, high, 84, 2) == WIDE_CONVERSION ? 2 : 1;
    }
    if (row->fields & HALF)
        count = bits(low, high, 80, 1) ? 2 : 1;
    if (row->fields & SIZED)
        count = registers[bits(low, high, 73, 3)];
    if (row->fields & MASKED) {
        const uint32_t mask = (uint32_t)__builtin_popcount(bits(low, high, 72, 4));

        add_result(out, bits(low, high, 64, 8), mask > 2 ? mask - 2 : 0);
        count = mask > 2 ? 2 : mask;
    }
    add_result(out, uniform ? uniform_number(first, architecture) : first, count);
    if (row->fields & ALL_PREDICATES)
        add_masked(out, predicates);
    if (row->fields & P || (row->fields & P_ZD && bits(low, high, 87, 1)))
        add_result(out, predicates + bits(low, high, 81, 3), 1);
    if (row->fields & Q)
        add_result(out, predicates + bits(low, high, 84, 3), 1);
}
