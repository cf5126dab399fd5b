/* SPDX-License-Identifier: MIT
 * One instruction: which values it changes, and under which guard. What it makes of them is in
 * transfer.c. */
#include <string.h>

#include "transfer.h"

/* -- guards ------------------------------------------------------------------------------------ */

static bool is_guarded(const struct instruction *in)
{
    return in->guard != PREDICATE_TRUE && in->guard != UNIFORM_PREDICATE_TRUE;
}

/* The value of a register where the guard of an instruction holds, or does not; NULL: not known
 * apart. */
static struct guarded *guarded_value(struct machine *machine, const struct value *state,
                                     const struct instruction *in, uint32_t number, bool holds)
{
    struct guarded *guarded = &machine->guarded[number];

    return guarded->visit == machine->visit && guarded->guard == in->guard &&
                   guarded->negated == (in->guard_negated == holds) &&
                   guarded->from == state[in->guard].from
               ? guarded
               : NULL;
}

enum { READ_MAX = (OPERANDS_MAX + 1) * RESULT_WORDS_MAX + INPUTS_MAX };

/* The registers and predicates that an instruction reads, each once; returns how many. */
static size_t registers_read(const struct instruction *in, uint32_t numbers[READ_MAX])
{
    uint32_t all[READ_MAX];
    size_t count = 0, different = 0;

    for (unsigned i = 0; i < INPUTS_MAX; i++)
        all[count++] = in->input[i].number;
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        for (unsigned word = 0; word < in->source[i].words && word < RESULT_WORDS_MAX; word++)
            if (in->source[i].kind == OPERAND_REGISTER || in->source[i].kind == OPERAND_UNIFORM)
                all[count++] = in->source[i].number + word;
    for (unsigned word = 0; word < in->handle.words && in->handle.number != UNIFORM_ZERO; word++)
        all[count++] = in->handle.number + word;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (k < different && numbers[k] != all[i])
            k++;
        numbers[k] = all[i];
        different += k == different;
    }
    return different;
}

void machine_exchange(struct machine *machine, struct value *state, const struct instruction *in)
{
    uint32_t numbers[READ_MAX];
    size_t count;

    if (!is_guarded(in))
        return;
    count = registers_read(in, numbers);
    for (size_t i = 0; i < count; i++) {
        struct guarded *guarded = NULL;
        struct value value;

        if (numbers[i] < REGISTER_COUNT && numbers[i] != in->guard)
            guarded = guarded_value(machine, state, in, numbers[i], true);
        if (!guarded)
            continue;
        value = state[numbers[i]];
        state[numbers[i]] = guarded->value;
        guarded->value = value;
    }
}

/* Whether WARPSYNC makes threads wait for those of a mask that is not the same in all threads: each
 * part of the warp goes on alone. A mask in the code is one of all that execute it. */
static bool waits_for_part(const struct step *step)
{
    const struct value mask =
        machine_source(step->machine, step->state, step->in, step->index, SOURCE_A, 0);

    return step->in->opcode == OPCODE_WARPSYNC && !value_is_uniform(&mask);
}

/* Whether an instruction asks which threads execute it with its own: a vote on what is always true.
 * Other votes wait for the threads of a mask before. */
static bool reads_active_mask(const struct instruction *in)
{
    return (in->opcode == OPCODE_VOTE || in->opcode == OPCODE_VOTEU) &&
           (in->input[0].number == PREDICATE_TRUE || in->input[0].number == UNIFORM_PREDICATE_TRUE);
}

/* -- execution --------------------------------------------------------------------------------- */

/* Whether threads of a warp store different words, at different places, or not all of them do. */
static bool stores_apart(const struct step *step, const struct value *guard,
                         const struct value *address, const struct value *high, unsigned words)
{
    bool alike = value_is_uniform(guard) && value_is_uniform(address) && value_is_uniform(high);

    for (unsigned i = 0; i < words; i++) {
        const struct value word =
            machine_source(step->machine, step->state, step->in, step->index, SOURCE_DATA, i);

        alike &= value_is_uniform(&word);
    }
    return !alike;
}

/* A store to the stack changes the words that it is known to write; one to where it is not known
 * may change them all. */
static void store(const struct step *step, const struct value *guard, struct value *state)
{
    const struct instruction *in = step->in;
    struct machine *machine = step->machine;
    struct value high;
    const struct value address = machine_address(machine, state, in, step->index, &high);
    const unsigned slot = stack_slot(&address), size = instruction_field(in, FIELD_SIZE);
    const unsigned words = size <= SIZE_WORD ? 1 : size == SIZE_PAIR ? 2 : 4;
    const bool local = in->opcode == OPCODE_STL || address.origin == ORIGIN_STACK;
    const bool may_be_local =
        local || (address.origin < ORIGIN_CONSTANT && high.origin != ORIGIN_SHARED);

    machine->local_apart |= may_be_local && stores_apart(step, guard, &address, &high, words);
    /* A place that relies on blocks of whole warps may be another one. */
    if (local && slot + words <= SLOTS && size >= SIZE_WORD && !(address.flags & FLAG_RELIED)) {
        for (unsigned i = 0; i < words; i++) {
            struct value *old = &state[REGISTER_COUNT + slot + i];

            *old =
                value_select(&machine->lanes, *guard,
                             machine_source(machine, state, in, step->index, SOURCE_DATA, i), *old);
            old->from = step->index;
        }
    } else if (may_be_local) {
        for (unsigned i = 0; i < SLOTS; i++)
            state[REGISTER_COUNT + i] = value_divergent(WHY_DATA);
    }
}

/* A register or predicate gets a value, where the guard holds. */
static void write_register(const struct step *step, const struct value *guard, struct value *state,
                           uint32_t number, struct value now)
{
    const struct instruction *in = step->in;
    struct machine *machine = step->machine;
    const struct guarded *earlier = guarded_value(machine, state, in, number, false);
    struct value *old = &state[number];

    *old = is_guarded(in)
               ? value_select(&machine->lanes, *guard, now, earlier ? earlier->value : *old)
               : now;
    old->from = step->index;
    machine->written[number] = ++machine->writes;
    machine->guarded[number] =
        (struct guarded){now, machine->visit, state[in->guard].from, in->guard, in->guard_negated};
    machine->guarded[number].value.from = step->index;
}

void machine_execute(struct machine *machine, struct value *state, uint32_t index)
{
    const struct instruction *in = &machine->instructions[index];
    struct value guard, results[RESULTS_MAX][RESULT_WORDS_MAX];
    struct quotient quotient;
    struct exchange exchange;
    struct choice choice;
    bool divided, chosen;
    const struct step step = {machine, state, in, index};

    guard = machine_predicate(machine, state, in->guard, in->guard_negated);
    if (value_is_number(&guard) && !(guard.known & 1))
        return;
    if (in->transfer == TRANSFER_UNKNOWN) {
        for (unsigned i = 0; i < VALUES; i++)
            state[i] = value_divergent(WHY_OPERATION);
        machine->local_apart = true;
        machine->visit++;
        return;
    }
    machine->partial |= waits_for_part(&step) || (machine->diverged && reads_active_mask(in));
    /* All is read before anything is written. */
    machine_exchange(machine, state, in);
    if (in->transfer == TRANSFER_STORE)
        store(&step, &guard, state);
    for (unsigned i = 0; i < in->results; i++)
        for (unsigned k = 0; k < in->result[i].count && k < RESULT_WORDS_MAX; k++)
            results[i][k] = in->result[i].first >= PREDICATE_FIRST
                                ? transfer_predicate(&step, i == 0)
                                : transfer_register(&step, k);
    divided = !is_guarded(in) && transfer_quotient(&step, &quotient);
    chosen = !is_guarded(in) && transfer_choice(&step, &choice);
    machine_exchange(machine, state, in);
    for (unsigned i = 0; i < in->results; i++)
        for (unsigned k = 0; k < in->result[i].count; k++)
            write_register(&step, &guard, state, in->result[i].first + k,
                           results[i][k < RESULT_WORDS_MAX ? k : RESULT_WORDS_MAX - 1]);
    if (!is_guarded(in) && in->results > 0 && in->result[0].count == 1 &&
        transfer_exchange(&step, &exchange)) {
        exchange.visit = machine->visit;
        exchange.written = machine->written[in->result[0].first];
        machine->exchanges[in->result[0].first] = exchange;
    }
    if (divided && in->results > 0) {
        quotient.visit = machine->visit;
        quotient.from = index;
        machine->quotients[in->result[0].first + in->result[0].count - 1] = quotient;
    }
    if (chosen) {
        choice.visit = machine->visit;
        choice.from = index;
        machine->choices[in->result[0].first] = choice;
    }
}
