/* SPDX-License-Identifier: MIT
 * What the decoder says of instructions that compilers made, beside what nvdisasm prints of them;
 * from sm_100 on, beside what the code around them makes of their registers. */
#include <stdbool.h>

#include "instruction.h"
#include "test.h"

enum { READ_MAX = 8 };

/* Registers in the numbering of instruction.h. */
#define UR(n) (UNIFORM_FIRST + (n))
#define P(n)  (PREDICATE_FIRST + (n))
#define UP(n) (UNIFORM_PREDICATE_FIRST + (n))
#define END   REGISTER_COUNT

static const struct made {
    const char *text;
    uint64_t low, high;
    uint32_t architecture;
    uint16_t reads[READ_MAX], writes[READ_MAX]; /* up to END */
} made[] = {
    {"@P3 VOTEU.ANY UR6, UPT, PT",
     0x0000000000063886,
     0x000038e0100,
     80,
     {P(3), END},
     {UR(6), END}},
    {"@UP3 S2UR UR6, SR_CTAID.X",
     0x00000000000639c3,
     0x00000002500,
     80,
     {UP(3), END},
     {UR(6), END}},
    {"@P3 REDUX.OR UR6, R0", 0x00000000000633c4, 0x00000004000, 80, {P(3), 0, END}, {UR(6), END}},
    {"@!UP0 LDCU.64 UR4, c[0x0][0x390]",
     0x00007200ff0487ac,
     0x00008000a00,
     120,
     {UP(0), END},
     {UR(4), UR(5), END}},
    {"LDG.E R0, [R8.64]",
     0x0000002408007981,
     0x0000c1e1900,
     90,
     {8, 9, UR(36), UR(37), END},
     {0, END}},
    {"SHFL.IDX PT, R9, R2, R9, R4",
     0x0000000902097389,
     0x000000e0004,
     75,
     {2, 9, 4, END},
     {9, END}},
    {"SHFL.IDX PT, R0, R9, R8, 0x1f", 0x00001f0809007589, 0x000000e0000, 75, {9, 8, END}, {0, END}},
    {"WARPSYNC R6", 0x0000000600007348, 0x00003800000, 80, {6, END}, {END}},
    {"WARPSYNC R11", 0x000000000b007348, 0x00003800000, 90, {11, END}, {END}},
    {"BRA.DIV UR6, 0x4d0", 0x000004d206007947, 0x0000b800000, 80, {UR(6), END}, {END}},
    {"TLD.LZ RZ, R7, R5, UR4, 0x0, 1D, 0x1",
     0x000004ff05077f66,
     0x000089e01ff,
     90,
     {5, 6, UR(4), UR(5), END},
     {7, END}},
    {"HMMA.884.F32.F32.STEP2 R20, R4, R8, RZ",
     0x0000000804147236,
     0x000000154ff,
     70,
     {END},
     {20, 21, 22, 23, END}},
    {"VIADD R9, R0, UR9", 0x0000000900097c36, 0x00008000000, 90, {0, UR(9), END}, {9, END}},
    {"a minimum of 32 bits", 0x0000000409027217, 0x00007ffe200, 110, {9, 4, END}, {2, END}},
    {"a minimum of 64 bits",
     0x0000000402047217,
     0x00003ffe600,
     120,
     {2, 3, 4, 5, END},
     {4, 5, END}},
    {"BMOV.32.CLEAR B1, B0", 0x0000000000017f55, 0x00000100000, 87, {END}, {END}},
    {"ATOMG.E.ADD.STRONG.GPU PT, R7, [R2.64], R7",
     0x00000007020779a8,
     0x000081ee1c4,
     80,
     {2, 3, 7, UR(4), UR(5), END},
     {7, END}},
    {"DADD R4, R4, R6", 0x0000000004047229, 0x00000000006, 80, {4, 5, 6, 7, END}, {4, 5, END}},
    {"FADD R4, R4, UR4", 0x0000000404047e21, 0x00008000000, 80, {4, UR(4), END}, {4, END}},
};

static bool is_listed(const uint16_t *list, uint32_t number)
{
    while (*list != END && *list != number)
        list++;
    return *list == number;
}

static size_t length(const uint16_t *list)
{
    size_t count = 0;

    while (list[count] != END)
        count++;
    return count;
}

/* Requires that registers are in a list; how many that are. */
static size_t require_listed(const uint16_t *list, uint32_t first, uint32_t count)
{
    if (first == REGISTER_ZERO || first == UNIFORM_ZERO || first == PREDICATE_TRUE ||
        first == UNIFORM_PREDICATE_TRUE)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        assert_true(is_listed(list, first + i));
    return count;
}

TEST(registers_and_predicates_of_instructions)
{
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        const uint64_t words[2] = {made[i].low, made[i].high};
        size_t reads = 0, writes = 0;
        struct instruction in;

        print_message("%s\n", made[i].text);
        instruction_decode((const unsigned char *)words, 0, made[i].architecture, &in);
        reads += require_listed(made[i].reads, in.guard, 1);
        for (unsigned k = 0; k < OPERANDS_MAX; k++)
            if (in.source[k].kind == OPERAND_REGISTER || in.source[k].kind == OPERAND_UNIFORM)
                reads += require_listed(made[i].reads, in.source[k].number, in.source[k].words);
        for (unsigned k = 0; k < INPUTS_MAX; k++)
            reads += require_listed(made[i].reads, in.input[k].number, 1);
        if (in.handle.kind == OPERAND_UNIFORM)
            reads += require_listed(made[i].reads, in.handle.number, in.handle.words);
        for (unsigned k = 0; k < in.results; k++)
            writes += require_listed(made[i].writes, in.result[k].first, in.result[k].count);
        assert_int_equal(reads, length(made[i].reads));
        assert_int_equal(writes, length(made[i].writes));
    }
}

TEST(an_opcode_that_is_not_in_the_table_has_no_name)
{
    const uint64_t words[2] = {0x00000008030f7276, 0x0000780000a};
    struct instruction in;

    instruction_decode((const unsigned char *)words, 0, 100, &in);
    assert_string_equal(in.name, "?");
    assert_int_equal(in.transfer, TRANSFER_UNKNOWN);
}

/* A modifier that no compiler was seen to set may make something else of the operands. */
TEST(a_modifier_that_is_not_modelled_is_not_followed)
{
    static const struct {
        uint64_t low, high;
        enum transfer transfer;
    } rows[] = {
        {0x0000000504047210, 0x00007ffe0ff, TRANSFER_ADD}, /* IADD3 R4, R4, R5, RZ */
        {0x0000000504047210, 0x00007fff0ff, TRANSFER_FUNCTION}, /* with bit 76 */
        {0x0000000500027202, 0x00000000f00, TRANSFER_MOVE}, /* MOV R2, R5 */
        {0x0000000500027202, 0x00000000700, TRANSFER_UNKNOWN}, /* MOV R2, R5, 0x7 */
        {0x00000a0000017a02, 0x00000000f00, TRANSFER_MOVE}, /* MOV R1, c[0x0][0x28] */
        {0x00000a0000017a02, 0x00008000f00, TRANSFER_UNKNOWN}, /* MOV R1, cx[UR0][0x28] */
        {0x00005c0004047ab9, 0x00008000a00, TRANSFER_UNKNOWN}, /* ULDC.64 UR4, cx[UR4][0x170] */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t words[2] = {rows[i].low, rows[i].high};
        struct instruction in;

        instruction_decode((const unsigned char *)words, 0, 80, &in);
        assert_int_equal(in.transfer, rows[i].transfer);
    }
}
