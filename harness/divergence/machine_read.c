/* SPDX-License-Identifier: MIT
 * The values of what instructions read: see machine.h. */
#include "machine.h"

#include <string.h>

static const struct code_fact *find_fact(const struct code_fact_list *list, uint32_t at)
{
    const struct code_fact *fact = code_fact_before(list, at);

    return fact && fact->at == at ? fact : NULL;
}

struct value machine_constant(const struct machine *machine, unsigned bank, uint32_t offset)
{
    const bool late = machine->architecture >= 100;
    const uint32_t block_size = late ? 0x360 : 0, grid_size = late ? 0x370 : 12,
                   bytes = 3 * sizeof(uint32_t);
    struct value value = value_shared(LEVEL_GRID);
    const struct code_fact *fact;

    if (bank == PARAMETER_BANK && offset == (late ? 0x37c : 0x28)) {
        value = value_number(0);
        value.origin = ORIGIN_STACK;
    } else if (bank == PARAMETER_BANK && offset - block_size < bytes && offset % 4 == 0 &&
               machine->facts->block[0]) {
        return value_number(machine->facts->block[(offset - block_size) / 4]);
    } else if (bank == PARAMETER_BANK &&
               (offset - block_size < bytes || offset - grid_size < bytes)) {
        value.bits = offset == block_size ? 5 : 0;
        value.flags = offset == block_size ? FLAG_WHOLE : 0;
    } else if (bank == PARAMETER_BANK && (fact = find_fact(&machine->facts->parameters, offset))) {
        value.origin = (uint16_t)(ORIGIN_PARAMETER + fact->value);
    } else if (bank == LITERAL_BANK && machine->facts->literals &&
               (size_t)offset + 4 <= machine->facts->literal_bytes) {
        uint32_t number;

        memcpy(&number, machine->facts->literals + offset, sizeof(number));
        return value_number(number);
    } else if (bank == ADDRESS_BANK && (fact = find_fact(&machine->facts->addresses, offset))) {
        value.origin = (uint16_t)(ORIGIN_SYMBOL + fact->value);
    }
    return value;
}

struct value machine_register(const struct value *state, uint32_t number)
{
    if (number == REGISTER_ZERO || number == UNIFORM_ZERO)
        return value_number(0);
    if (number == PREDICATE_TRUE || number == UNIFORM_PREDICATE_TRUE)
        return value_number(1);
    /* A warp has one uniform register, or predicate, of a number. */
    if ((number >= UNIFORM_FIRST && number < UNIFORM_ZERO) ||
        (number >= UNIFORM_PREDICATE_FIRST && number < UNIFORM_PREDICATE_TRUE))
        return value_is_shared(&state[number]) ? state[number] : value_shared(LEVEL_WARP);
    return number < REGISTER_COUNT ? state[number] : value_any(WHY_OPERATION);
}

struct value machine_predicate(struct machine *machine, const struct value *state, uint32_t number,
                               bool negated)
{
    enum { NOT_FIRST_AND_SECOND = 0x0c };
    const struct value value = machine_register(state, number);
    const struct value operands[3] = {value, value_number(1), value_number(0)};

    if (!negated)
        return value;
    return value_is_known(&value) ? value_logic(&machine->lanes, operands, NOT_FIRST_AND_SECOND)
                                  : value_function(&value, 1);
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
                            const struct instruction *in, uint32_t at, unsigned i, unsigned word)
{
    const struct operand *source = &in->source[i];
    const struct code_fact *fact;
    struct value value;

    switch (source->kind) {
    case OPERAND_REGISTER:
    case OPERAND_UNIFORM:
        if (source->number == REGISTER_ZERO || source->number == UNIFORM_ZERO)
            return value_number(0);
        return machine_register(state, source->number + word);
    case OPERAND_IMMEDIATE:
        fact = word == 0 ? find_fact(&machine->facts->relocated, at * INSTRUCTION_BYTES) : NULL;
        if (fact) {
            value = value_shared(LEVEL_GRID);
            value.origin = (uint16_t)(ORIGIN_SYMBOL + fact->value);
            return value;
        }
        return value_number(word == 0 ? source->number : source->upper);
    case OPERAND_CONSTANT:
        return machine_constant(machine, source->bank, source->number + 4 * word);
    default:
        return value_number(0);
    }
}

struct value machine_condition(struct machine *machine, const struct value *state,
                               const struct instruction *in)
{
    const struct value guard = machine_predicate(machine, state, in->guard, in->guard_negated);

    return in->input[0].number == PREDICATE_TRUE
               ? guard
               : value_of_both(guard, machine_inputs(machine, state, in));
}
