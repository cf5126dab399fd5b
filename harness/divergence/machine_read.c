/* SPDX-License-Identifier: MIT
 * The values of what instructions read: see machine.h. */
#include <string.h>

#include "transfer.h"

static const struct code_fact *find_fact(const struct code_fact_list *list, uint32_t place)
{
    const struct code_fact *fact = code_fact_before(list, place);

    return fact && fact->place == place ? fact : NULL;
}

/* -- constant banks ---------------------------------------------------------------------------- */

/* Where the driver puts what a launch has besides parameters, in bytes of their bank. A window is
 * the place of another memory in generic addresses, of 64 bits. */
static const struct launch_layout {
    uint32_t from; /* architecture */
    uint32_t block_size, grid_size, stack_pointer, constant_window, shared_window, local_window;
} layouts[] = {
    {100, 0x360, 0x370, 0x37c, 0x120, UINT32_MAX, 0x2f8},
    {90, 0x00, 0x0c, 0x28, 0xd0, UINT32_MAX, 0x20},
    {0, 0x00, 0x0c, 0x28, 0x50, 0x18, 0x20},
};

enum { WORD_BYTES = sizeof(uint32_t), SIZE_BYTES = 3 * WORD_BYTES /* of a dim3 */ };

static const struct launch_layout *layout_of(const struct machine *machine)
{
    const struct launch_layout *layout = layouts;

    while (machine->architecture < layout->from)
        layout++;
    return layout;
}

/* A word of the bank of parameters. */
static struct value launch_word(const struct machine *machine, uint32_t offset)
{
    const struct launch_layout *layout = layout_of(machine);
    const uint32_t *block = machine->facts->block, behind = offset - layout->block_size;
    struct value value = value_uniform(LEVEL_GRID);
    const struct code_fact *fact;

    if (offset == layout->stack_pointer) {
        value = value_number(0);
        value.origin = ORIGIN_STACK;
        return value;
    }
    /* A generic address of the stack is followed as if its window began at 0. */
    if (offset == layout->local_window)
        return value_number(0);
    if (offset == layout->constant_window)
        value.origin = ORIGIN_CONSTANT;
    if (layout->shared_window != UINT32_MAX && offset == layout->shared_window + WORD_BYTES)
        value.origin = ORIGIN_SHARED;
    if (behind < SIZE_BYTES && offset % WORD_BYTES == 0 && block[0])
        return value_number(block[behind / WORD_BYTES]);
    if (behind == 0) {
        value.bits = WARP_LANES_BITS;
        value.flags = FLAG_WHOLE;
        return value;
    }
    if (behind < SIZE_BYTES || offset - layout->grid_size < SIZE_BYTES) {
        value.flags = 0;
        return value;
    }
    fact = find_fact(&machine->facts->parameters, offset);
    if (fact)
        value.origin = (uint16_t)(ORIGIN_PARAMETER + fact->value);
    return value;
}

struct value machine_constant(const struct machine *machine, unsigned bank, uint32_t offset)
{
    const struct code_facts *facts = machine->facts;
    struct value value = value_uniform(LEVEL_GRID);
    const struct code_fact *fact = NULL;
    uint32_t number;

    switch (bank) {
    case PARAMETER_BANK:
        return launch_word(machine, offset);
    case LITERAL_BANK:
        if (!facts->literals || (size_t)offset + sizeof(number) > facts->literal_bytes)
            return value;
        memcpy(&number, facts->literals + offset, sizeof(number));
        return value_number(number);
    case ADDRESS_BANK:
        fact = find_fact(&facts->addresses, offset);
        if (fact)
            value.origin = (uint16_t)(ORIGIN_SYMBOL + fact->value);
        return value;
    default:
        return value;
    }
}

struct value machine_stack_pointer(const struct machine *machine)
{
    return machine_constant(machine, PARAMETER_BANK, layout_of(machine)->stack_pointer);
}

/* -- operands ---------------------------------------------------------------------------------- */

struct value machine_register(const struct machine *machine, const struct value *state,
                              uint32_t number)
{
    if (number == REGISTER_ZERO || number == UNIFORM_ZERO)
        return value_number(0);
    if (number == PREDICATE_TRUE || number == UNIFORM_PREDICATE_TRUE)
        return value_number(1);
    /* A warp has one uniform register, or predicate, of a number; parts of it that execute one
     * after the other find what they wrote. */
    if ((number >= UNIFORM_FIRST && number < UNIFORM_ZERO) ||
        (number >= UNIFORM_PREDICATE_FIRST && number < UNIFORM_PREDICATE_TRUE))
        return machine->partial || value_is_uniform(&state[number]) ? state[number]
                                                                    : value_uniform(LEVEL_WARP);
    return number < REGISTER_COUNT ? state[number] : value_divergent(WHY_OPERATION);
}

struct value machine_predicate(struct machine *machine, const struct value *state, uint32_t number,
                               bool negated)
{
    enum { NOT_FIRST_AND_SECOND = 0x0c };
    const struct value value = machine_register(machine, state, number);

    if (!negated)
        return value;
    if (number == PREDICATE_TRUE || number == UNIFORM_PREDICATE_TRUE)
        return value_number(0);
    if (!value_is_known(&value))
        return value_function(&value, 1);
    const struct value operands[] = {value, value_number(1), value_number(0)};

    return value_logic(&machine->lanes, operands, NOT_FIRST_AND_SECOND);
}

struct value machine_input(struct machine *machine, const struct value *state,
                           const struct instruction *in, unsigned i)
{
    return machine_predicate(machine, state, in->input[i].number, in->input[i].negated);
}

struct value machine_inputs(struct machine *machine, const struct value *state,
                            const struct instruction *in)
{
    struct value inputs[INPUTS_MAX];

    for (unsigned i = 0; i < INPUTS_MAX; i++)
        inputs[i] = machine_input(machine, state, in, i);
    return value_function(inputs, INPUTS_MAX);
}

struct value machine_source(struct machine *machine, const struct value *state,
                            const struct instruction *in, uint32_t index, unsigned i, unsigned word)
{
    const struct operand *source = &in->source[i];
    const struct code_fact *fact;
    struct value value;

    switch (source->kind) {
    case OPERAND_REGISTER:
    case OPERAND_UNIFORM:
        if (source->number == REGISTER_ZERO || source->number == UNIFORM_ZERO)
            return value_number(0);
        return machine_register(machine, state, source->number + word);
    case OPERAND_IMMEDIATE:
        fact = word == 0 ? find_fact(&machine->facts->relocated, index * INSTRUCTION_BYTES) : NULL;
        if (fact) {
            value = value_uniform(LEVEL_GRID);
            value.origin = (uint16_t)(ORIGIN_SYMBOL + fact->value);
            return value;
        }
        return value_number(word == 0 ? source->number : source->upper);
    case OPERAND_CONSTANT:
        return machine_constant(machine, source->bank, source->number + WORD_BYTES * word);
    default:
        return value_number(0);
    }
}

struct value machine_handle(const struct machine *machine, const struct value *state,
                            const struct instruction *in)
{
    struct value words[2] = {value_number(0), value_number(0)};

    for (unsigned word = 0; word < in->handle.words && in->handle.number != UNIFORM_ZERO; word++)
        words[word] = machine_register(machine, state, in->handle.number + word);
    return value_function(words, sizeof(words) / sizeof(words[0]));
}

struct value machine_condition(struct machine *machine, const struct value *state,
                               const struct instruction *in)
{
    const struct value guard = machine_predicate(machine, state, in->guard, in->guard_negated);

    return in->input[0].number == PREDICATE_TRUE
               ? guard
               : value_of_both(guard, machine_inputs(machine, state, in));
}

struct value machine_address(struct machine *machine, const struct value *state,
                             const struct instruction *in, uint32_t index, struct value *high)
{
    const struct operand *address = &in->source[SOURCE_ADDRESS], *added = &in->source[SOURCE_ADDED];
    const uint32_t scale = in->opcode == OPCODE_LDS ? instruction_field(in, FIELD_LDS_SCALE) : 0;
    const struct value handle = machine_handle(machine, state, in);
    struct value low = machine_source(machine, state, in, index, SOURCE_ADDRESS, 0);

    /* LDS, before sm_90 too: the register times 4, 8 or 16. */
    if (scale)
        low = value_multiply(&machine->lanes, value_plain(low), value_number(2u << scale));
    *high = in->wide_address && address->words == 2
                ? machine_source(machine, state, in, index, SOURCE_ADDRESS, 1)
                : value_number(0);
    if (added->kind == OPERAND_UNIFORM) {
        low = value_add(&machine->lanes, low,
                        machine_source(machine, state, in, index, SOURCE_ADDED, 0));
        if (added->words == 2) {
            const struct value parts[] = {*high, machine_source(machine, state, in, index,
                                                                SOURCE_ADDED, 1)};

            *high = transfer_high(parts, sizeof(parts) / sizeof(parts[0]), NULL);
        }
    }
    /* The memory that an address is in. All have the same, but for parts of a warp. */
    if (!value_is_uniform(&handle))
        low = value_of_both(low, handle);
    return value_add(&machine->lanes, low, value_number((uint32_t)in->offset));
}
