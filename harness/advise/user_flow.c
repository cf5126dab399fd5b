/* SPDX-License-Identifier: MIT
 * What the code of a kernel does beside its loads: where loaded values go, what it stores in local
 * memory, and whether it works in loops. */
#include <string.h>

#include "instruction.h"
#include "user_access.h"

enum { STACK_REGISTER = 1 };

static void decode(const struct flow *flow, size_t index, struct instruction *out)
{
    instruction_decode(flow->code, index * INSTRUCTION_BYTES, flow->architecture, out);
}

/* Whether an instruction may write a register. */
static bool writes(const struct instruction *in, uint32_t number)
{
    if (in->transfer == TRANSFER_UNKNOWN)
        return true;
    for (size_t k = 0; k < in->results; k++)
        if (number - in->result[k].first < in->result[k].count)
            return true;
    return false;
}

/* Whether the block of code hands what it loads to an instruction of that opcode, in that source.
 */
static bool hands_to(const struct flow *flow, const struct analysed_load *load, unsigned opcode,
                     unsigned source)
{
    struct instruction in;
    uint32_t loaded;

    decode(flow, load->instruction, &in);
    if (in.transfer != TRANSFER_LOAD || in.results == 0 || in.result[0].first == REGISTER_ZERO)
        return false;
    loaded = in.result[0].first;
    for (size_t i = load->instruction + 1; i <= flow->blocks[load->block].last; i++) {
        decode(flow, i, &in);
        if (in.opcode == opcode && in.source[source].number == loaded)
            return true;
        if (writes(&in, loaded))
            return false;
    }
    return false;
}

bool flow_stores_shared(const struct flow *flow, const struct analysed_load *load)
{
    return hands_to(flow, load, OPCODE_STS, SOURCE_DATA);
}

bool flow_shuffles(const struct flow *flow, const struct analysed_load *load)
{
    return hands_to(flow, load, OPCODE_SHFL, SOURCE_A);
}

/* -- local memory ------------------------------------------------------------------------------ */

bool flow_writes_local(const struct flow *flow)
{
    for (size_t i = 0; i < flow->instructions; i++) {
        struct instruction in;

        decode(flow, i, &in);
        if (in.opcode == OPCODE_STL && in.source[SOURCE_ADDRESS].number != STACK_REGISTER)
            return true;
    }
    return false;
}

/* Whether an instruction computes: what it writes follows from its operands alone. */
static bool computes(const struct instruction *in)
{
    return in->transfer >= TRANSFER_FUNCTION && in->transfer <= TRANSFER_HALVES;
}

/* What an instruction writes: a number of the code, a parameter, or anything else. Compilers move a
 * number by IMAD RZ, RZ, 3, too. */
static enum local_content content_of(const struct instruction *in)
{
    bool numbers = computes(in), parameter = numbers || in->transfer == TRANSFER_LOAD;
    uint32_t from_bank = 0, operands = 0;

    if (in->guard != PREDICATE_TRUE)
        return LOCAL_OWN;
    for (unsigned i = 0; i < INPUTS_MAX; i++)
        numbers &= in->input[i].number == PREDICATE_TRUE;
    for (unsigned i = 0; i < OPERANDS_MAX; i++) {
        const struct operand *from = &in->source[i];
        const bool zero = (from->kind == OPERAND_REGISTER && from->number == REGISTER_ZERO) ||
                          (from->kind == OPERAND_UNIFORM && from->number == UNIFORM_ZERO);

        operands += from->kind != OPERAND_NONE;
        if (from->kind == OPERAND_NONE || zero)
            continue;
        numbers &= from->kind == OPERAND_IMMEDIATE;
        parameter &= from->kind == OPERAND_CONSTANT && from->bank == PARAMETER_BANK;
        from_bank++;
    }
    if (numbers && operands > 0)
        return LOCAL_NUMBERS;
    return parameter && from_bank == 1 ? LOCAL_PARAMETER : LOCAL_OWN;
}

/* What a store has: of each of its registers, the last instruction of the block before that wrote
 * it. */
static enum local_content stored_content(const struct flow *flow, size_t store, size_t first)
{
    enum local_content all = LOCAL_OWN;
    struct instruction in, before;
    uint32_t words;

    decode(flow, store, &in);
    words = instruction_field(&in, FIELD_SIZE);
    words = words == SIZE_QUAD ? 4 : words == SIZE_PAIR ? 2 : 1;
    for (uint32_t word = 0; word < words; word++) {
        const uint32_t number = in.source[SOURCE_DATA].number + word;
        enum local_content content = number == REGISTER_ZERO ? LOCAL_NUMBERS : LOCAL_OWN;

        for (size_t i = store; number != REGISTER_ZERO && i > first; i--) {
            decode(flow, i - 1, &before);
            if (!writes(&before, number))
                continue;
            content = content_of(&before);
            break;
        }
        if (content == LOCAL_OWN || (word > 0 && content != all))
            return LOCAL_OWN;
        all = content;
    }
    return all;
}

/* Whether code may store in an array by a pointer to it: generic stores and atomics, functions that
 * are not here. */
static bool stores_by_pointer(const struct flow *flow)
{
    struct instruction in;

    for (size_t i = 0; i < flow->instructions; i++) {
        decode(flow, i, &in);
        if (in.opcode == OPCODE_ST || in.opcode == OPCODE_ATOM || in.opcode == OPCODE_ATOM_CAS ||
            in.transfer == TRANSFER_UNKNOWN)
            return true;
    }
    return flow->calls_out || flow->lost;
}

enum local_content flow_local_content(const struct flow *flow)
{
    enum local_content all = LOCAL_OWN;
    size_t block = flow->block_count; /* that stores; none yet */

    if (stores_by_pointer(flow))
        return LOCAL_OWN;
    for (size_t b = 0; b < flow->block_count; b++)
        for (size_t i = flow->blocks[b].first; i <= flow->blocks[b].last; i++) {
            enum local_content content;
            struct instruction in;

            decode(flow, i, &in);
            if (in.opcode != OPCODE_STL)
                continue;
            /* Threads that branch, or have other predicates, store something else or nothing. */
            if (in.guard != PREDICATE_TRUE || (block != flow->block_count && block != b))
                return LOCAL_OWN;
            content = stored_content(flow, i, flow->blocks[b].first);
            if (content == LOCAL_OWN || (block == b && content != all))
                return LOCAL_OWN;
            all = content;
            block = b;
        }
    return all;
}

/* -- loops ------------------------------------------------------------------------------------- */

/* Whether a loop does more than copy tables or read those of the compiler, by its own loads. One
 * without loads computes. */
static bool loop_works(const struct flow *flow, const struct cubin_kernel *kernel, uint32_t loop)
{
    bool others = false;

    for (size_t i = 0; i < kernel->access_count; i++) {
        const struct user_access *access = &kernel->accesses[i];

        if (flow->blocks[access->code_block].loop != loop)
            continue;
        if (!access->copied && strcmp(access->memory, "compiler") != 0)
            return true;
        others = true;
    }
    return !others;
}

bool flow_works_in_loops(const struct flow *flow, const struct cubin_kernel *kernel)
{
    for (size_t loop = 0; loop < flow->loop_count; loop++)
        if (loop_works(flow, kernel, (uint32_t)loop))
            return true;
    return false;
}
