/* SPDX-License-Identifier: MIT
 * The transfer functions: the abstract value of each register that an instruction writes. */
#include "machine.h"

#include <string.h>

enum {
    SPECIAL_LANE = 0x00,
    SPECIAL_CTAID_X = 0x25,
    SPECIAL_CTAID_Z = 0x27,
    SPECIAL_SHARED_WINDOW = 0x2f,
    SPECIAL_EQMASK = 0x38,
    SPECIAL_GEMASK = 0x3c,
    SPECIAL_CLUSTER_CTAID = 0x88,
    SPECIAL_ZERO = 0xff
};

/* -- results ----------------------------------------------------------------------------------- */

/* The high word of a sum whose low word is such. */
static struct value high_word(const struct value *parts, size_t count, const struct value *low)
{
    struct value out = value_shared(LEVEL_GRID);

    for (size_t i = 0; i < count + (low != NULL); i++) {
        const struct value *part = i < count ? &parts[i] : low;

        /* Lanes of a function that is not followed need not go as those of the low word do. */
        if (part->lanes == LANES_ANY || part->flags & FLAG_HALF ||
            (i < count && part->lanes == LANES_GIVEN))
            return value_of_both(value_function(parts, count), low ? *low : value_number(0));
        out.level = part->level > out.level ? part->level : out.level;
        if (part->origin == ORIGIN_SHARED && i < count)
            out.origin = ORIGIN_SHARED;
        out.flags |= (part->flags & (FLAG_RELIED | FLAG_DATA)) |
                     (part->lanes != LANES_SAME ? FLAG_HIGH : 0) |
                     (i < count ? part->flags & FLAG_HIGH : 0);
    }
    return out;
}

/* threadIdx, `axis` 0 to 2, of the threads of a warp. Where the shape of a block is known, that of
 * each warp is worked out. Otherwise, a kernel that reads threadIdx.x alone has blocks of one
 * dimension, and rows are whole warps in others. */
static struct value thread_index(struct machine *machine, unsigned axis)
{
    const uint32_t *shape = machine->facts->block;
    uint32_t lanes[WARP_LANES] = {0}, differ = 0;
    struct value value;

    if (shape[0] == 0) {
        for (unsigned i = 0; i < WARP_LANES; i++)
            lanes[i] = axis == 0 ? i : 0;
        value = value_lanes(&machine->lanes, lanes);
        value.bits = axis == 0 ? 5 : 0;
        value.level = LEVEL_WARP;
        return value_relied(value, machine->flat ? 0 : FLAG_RELIED);
    }
    for (uint32_t warp = 0; warp * WARP_LANES < shape[0] * shape[1] * shape[2]; warp++) {
        uint32_t base = 0;

        for (uint32_t i = 0; i < WARP_LANES; i++) {
            const uint32_t thread = warp * WARP_LANES + i;
            const uint32_t index = axis == 0   ? thread % shape[0]
                                   : axis == 1 ? thread / shape[0] % shape[1]
                                               : thread / shape[0] / shape[1];

            base = i == 0 ? index : base;
            if (warp == 0)
                lanes[i] = index;
            if (index - base != lanes[i] - lanes[0])
                return value_given(WHY_SHAPE);
        }
        differ |= base ^ lanes[0];
    }
    value = value_lanes(&machine->lanes, lanes);
    if (differ) {
        value.bits = (uint8_t)__builtin_ctz(differ);
        value.level = LEVEL_WARP;
    }
    return value;
}

static struct value special(struct machine *machine, unsigned number)
{
    uint32_t lanes[WARP_LANES];
    struct value value;

    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = number == SPECIAL_EQMASK       ? 1u << i
                   : number == SPECIAL_EQMASK + 1 ? (1u << i) - 1
                   : number == SPECIAL_EQMASK + 2 ? (2u << i) - 1
                   : number == SPECIAL_EQMASK + 3 ? ~((2u << i) - 1)
                   : number == SPECIAL_GEMASK     ? ~((1u << i) - 1)
                                                  : i;
    if (number == SPECIAL_LANE || (number >= SPECIAL_EQMASK && number <= SPECIAL_GEMASK))
        return value_lanes(&machine->lanes, lanes);
    if (number == SPECIAL_SHARED_WINDOW) {
        value = value_shared(LEVEL_GRID);
        value.origin = ORIGIN_SHARED;
        return value;
    }
    if ((number >= SPECIAL_CTAID_X && number <= SPECIAL_CTAID_Z) || number == SPECIAL_CLUSTER_CTAID)
        value = value_shared(LEVEL_BLOCK);
    else if (number >= SPECIAL_TID_X && number <= SPECIAL_TID_Z)
        value = thread_index(machine, number - SPECIAL_TID_X);
    else
        return value_any(WHY_OPERATION);
    value.flags &= (uint8_t)~FLAG_SIGNED;
    return value;
}

struct value machine_address(struct machine *machine, const struct value *state,
                             const struct instruction *in, uint32_t at, struct value *high)
{
    const uint32_t scale = in->opcode == OPCODE_LDS ? instruction_field(in, FIELD_LDS_SCALE) : 0;
    struct value low = machine_source(machine, state, in, at, 0, 0);

    /* LDS, before sm_90 too: the register times 4, 8 or 16. */
    if (scale)
        low = value_multiply(&machine->lanes, value_plain(low), value_number(2u << scale));
    *high = in->wide_address && in->source[0].words == 2
                ? machine_source(machine, state, in, at, 0, 1)
                : value_number(0);
    if (in->source[1].kind == OPERAND_UNIFORM) {
        low = value_add(&machine->lanes, low, machine_source(machine, state, in, at, 1, 0));
        if (in->source[1].words == 2)
            *high = high_word((const struct value[]){*high,
                                                     machine_source(machine, state, in, at, 1, 1)},
                              2, NULL);
    }
    return value_add(&machine->lanes, low, value_number((uint32_t)in->offset));
}

/* The slot of the stack at an address; SLOTS: none that is followed. */
static unsigned slot_of(const struct value *address)
{
    if (address->origin != ORIGIN_STACK || !value_is_number(address))
        return SLOTS;
    return address->known / 4 + SLOTS / 2 < SLOTS && address->known % 4 == 0
               ? address->known / 4 + SLOTS / 2
               : SLOTS;
}

/* The value that a load brings. */
static struct value loaded(struct machine *machine, const struct value *state,
                           const struct instruction *in, uint32_t at, unsigned word)
{
    const bool words = instruction_field(in, FIELD_SIZE) >= SIZE_WORD;
    struct value high, address, inputs;

    switch (in->opcode) {
    case OPCODE_LDC:
    case OPCODE_ULDC:
    case OPCODE_ULDC_INDEXED:
    case OPCODE_LDCU:
        address = in->source[0].kind == OPERAND_NONE ? value_number(0)
                                                     : machine_source(machine, state, in, at, 0, 0);
        if (value_is_number(&address) && words)
            return machine_constant(machine, in->source[1].bank,
                                    in->source[1].number + address.known + 4 * word);
        if (!value_is_shared(&address))
            return value_any(WHY_DATA);
        return value_relied(value_shared((enum level)address.level),
                            address.flags | (address.level > LEVEL_GRID ? FLAG_DATA : 0));
    case OPCODE_LDL:
        address = machine_address(machine, state, in, at, &high);
        if (slot_of(&address) + word < SLOTS && words)
            return state[REGISTER_COUNT + slot_of(&address) + word];
        return value_any(WHY_DATA);
    case OPCODE_LDG:
    case OPCODE_LDS:
        address = machine_address(machine, state, in, at, &high);
        inputs = machine_inputs(machine, state, in);
        if (!value_is_shared(&address) || !value_is_shared(&high) || !value_is_shared(&inputs))
            return value_any(WHY_DATA);
        return value_relied(value_shared(LEVEL_WARP), address.flags | high.flags | inputs.flags);
    default:
        return value_any(WHY_DATA);
    }
}

/* The value of result `word` of a sum, a product, a sum of shifted values, or a shift. `s` has the
 * low words of its operands, and room for two predicates. */
static struct value arithmetic(struct machine *machine, const struct value *state,
                               const struct instruction *in, uint32_t at, unsigned word,
                               struct value s[OPERANDS_MAX + 2])
{
    struct lane_tables *lanes = &machine->lanes;
    const bool extended = instruction_field(in, FIELD_EXTENDED);
    struct value high;

    switch (in->transfer) {
    case TRANSFER_ADD:
    case TRANSFER_ADD_WIDE:
        for (unsigned i = 0; i < OPERANDS_MAX; i++)
            if (in->source[i].negated && in->source[i].kind != OPERAND_NONE)
                s[i] = value_negate(lanes, s[i]);
        if (in->transfer == TRANSFER_ADD && in->name[0] != 'V' && extended) {
            s[3] = machine_input(machine, state, in, 0);
            s[4] = machine_input(machine, state, in, 1);
            return high_word(s, 5, NULL);
        }
        high = value_add(lanes, value_add(lanes, s[0], s[1]), s[2]);
        if (word == 0)
            return high;
        for (unsigned i = 0; i < OPERANDS_MAX; i++)
            s[i] = machine_source(machine, state, in, at, i, 1);
        return high_word(s, 3, &high);
    case TRANSFER_MULTIPLY:
    case TRANSFER_MULTIPLY_WIDE:
        if (in->transfer == TRANSFER_MULTIPLY && extended) {
            /* IMAD.X: compilers add a carry to a high word by it, with 0 as the product. */
            s[3] = machine_input(machine, state, in, 0);
            s[1] = value_multiply(lanes, value_plain(s[0]), value_plain(s[1]));
            return high_word(&s[1], 3, NULL);
        }
        if (in->source[1].negated && in->source[1].kind != OPERAND_IMMEDIATE)
            s[1] = value_negate(lanes, s[1]);
        if (in->source[2].negated)
            s[2] = value_negate(lanes, s[2]);
        high = value_add(lanes, value_multiply(lanes, value_plain(s[0]), value_plain(s[1])), s[2]);
        if (word == 0)
            return high;
        s[2] = machine_source(machine, state, in, at, 2, 1);
        for (unsigned i = 0; i < 2; i++) {
            s[i] = value_plain(s[i]);
            /* Where the low word differs by its factors, the high one does with it. */
            if (s[i].lanes == LANES_GIVEN && high.lanes == LANES_GIVEN)
                s[i].lanes = LANES_STRIDE;
        }
        return high_word(s, 3, &high);
    case TRANSFER_SHIFT_ADD: {
        const unsigned by = instruction_field(in, FIELD_LEA_SHIFT);
        const bool of_high = instruction_field(in, FIELD_HIGH_WORD);

        if (in->source[0].negated)
            s[0] = value_negate(lanes, s[0]);
        if (of_high && !extended && by > 0 && in->source[2].number == REGISTER_ZERO &&
            !in->source[0].negated) {
            /* The operand, shifted to the right: .SX32 brings its sign. */
            high = value_shift_right(lanes, value_plain(s[0]), WORD_BITS - by,
                                     instruction_field(in, FIELD_SIGNED));
            if (high.lanes != LANES_ANY && high.lanes != LANES_GIVEN && !(s[1].flags & FLAG_HIGH))
                return value_add(lanes, high, s[1]);
        }
        if (of_high || extended) {
            s[3] = machine_input(machine, state, in, 0);
            return high_word(s, 4, NULL);
        }
        return value_add(lanes, value_multiply(lanes, value_plain(s[0]), value_number(1u << by)),
                         s[1]);
    }
    default: {
        const unsigned type = instruction_field(in, FIELD_SHIFT_TYPE);
        const bool right = instruction_field(in, FIELD_SHIFT_RIGHT),
                   of_high = instruction_field(in, FIELD_HIGH_WORD);
        const bool small = type >= SHIFT_S32, is_signed = type == SHIFT_S32 || type == SHIFT_S64;

        if (value_is_number(&s[1])) {
            const unsigned by = s[1].known & UINT8_MAX;

            s[0] = value_plain(s[0]);
            s[2] = value_plain(s[2]);
            if (!right && !of_high && (small || by < WORD_BITS))
                return by < WORD_BITS ? value_multiply(lanes, s[0], value_number(1u << by))
                                      : value_number(0);
            if (right && of_high && small &&
                (in->source[0].number == REGISTER_ZERO || in->source[0].number == UNIFORM_ZERO))
                return value_shift_right(lanes, s[2], by, is_signed);
        }
        return value_function(s, 3);
    }
    }
}

/* The value that each lane gets by a shuffle. */
static struct value shuffled(const struct value *state, const struct instruction *in,
                             struct value values)
{
    /* From one lane to all: by index, with all lanes in one part. */
    enum { LANE_IN_REGISTER = 2, LANE_IN_CODE = 7 }; /* the form: the clamp is in the code */
    const bool by_index = instruction_field(in, FIELD_SHUFFLE_MODE) == 0,
               whole = instruction_field(in, FIELD_SHUFFLE_CLAMP) == WARP_LANES - 1;
    const bool known_form = in->form == LANE_IN_REGISTER || in->form == LANE_IN_CODE;
    const struct value lane = in->form == LANE_IN_CODE
                                  ? value_number(0)
                                  : machine_register(state, instruction_field(in, FIELD_B));
    const bool given = known_form && !((values.flags | lane.flags) & FLAG_DATA);
    struct value shared = value_shared(LEVEL_WARP);

    if (by_index && whole && known_form && value_is_shared(&lane)) {
        shared.flags = given ? 0 : shared.flags;
        return value_relied(shared, lane.flags);
    }
    if (given)
        return value_relied(value_given(WHY_LANES), values.flags | lane.flags);
    return value_any(values.lanes == LANES_ANY && values.why == WHY_DATA ? WHY_DATA : WHY_LANES);
}

/* Some function of all that an instruction reads. */
static struct value function_of(struct machine *machine, const struct value *state,
                                const struct instruction *in, uint32_t at)
{
    struct value out = machine_inputs(machine, state, in);

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        for (unsigned word = 0; word < in->source[i].words && word < 2; word++)
            out = value_of_both(out, machine_source(machine, state, in, at, i, word));
    return out;
}

/* The value of result `word` of an instruction that writes registers. */
static struct value result_of(struct machine *machine, const struct value *state,
                              const struct instruction *in, uint32_t at, unsigned word)
{
    struct lane_tables *lanes = &machine->lanes;
    struct value s[OPERANDS_MAX + 2], high;

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        s[i] = machine_source(machine, state, in, at, i, 0);
    switch (in->transfer) {
    case TRANSFER_MOVE:
        return word == 0 ? s[1] : machine_source(machine, state, in, at, 1, 1);
    case TRANSFER_ADD_WIDE:
    case TRANSFER_MULTIPLY_WIDE:
        /* .X: the upper half of 128 bits, with a carry. */
        if (instruction_field(in, FIELD_EXTENDED))
            break;
        return arithmetic(machine, state, in, at, word, s);
    case TRANSFER_ADD:
    case TRANSFER_MULTIPLY:
    case TRANSFER_SHIFT_ADD:
    case TRANSFER_SHIFT:
        return arithmetic(machine, state, in, at, word, s);
    case TRANSFER_LOGIC: {
        const unsigned table = instruction_field(in, FIELD_LOGIC_TABLE);

        for (unsigned i = 0; i < 3; i++)
            s[i] = value_plain(s[i]);
        return value_logic(lanes, s, table);
    }
    case TRANSFER_PERMUTE: {
        /* Bytes 0 and 1 of one operand, which stay where they are; above, their sign, zeros, or
         * what is left there. */
        const uint32_t by = s[1].known, sign = (by >> 4 & 0xf) | 8, first = by >> 2 & 1 ? 2 : 0;
        const uint32_t zero = in->uniform ? UNIFORM_ZERO : REGISTER_ZERO;
        const bool extended = (by >> 8 & 0xff) == sign * 0x11;

        if (!value_is_number(&s[1]) || instruction_field(in, FIELD_PERMUTE_MODE) ||
            (by & 0xbb) != 0x10 || (by >> 2 & 1) != (by >> 6 & 1))
            break;
        if (!extended && (in->source[by >> 10 & 1 ? 2 : 0].number != zero ||
                          in->source[by >> 14 & 1 ? 2 : 0].number != zero))
            return value_half(s[first], s[2 - first].flags);
        return value_shift_right(lanes,
                                 value_multiply(lanes, value_plain(s[first]),
                                                value_number(1u << HALF_BITS)),
                                 HALF_BITS, extended);
    }
    case TRANSFER_SELECT:
        if (in->opcode != OPCODE_SEL && in->opcode != OPCODE_USEL &&
            (in->source[0].negated || in->source[1].negated))
            break;
        return value_select(lanes, machine_input(machine, state, in, 0),
                            machine_source(machine, state, in, at, 0, word),
                            machine_source(machine, state, in, at, 1, word));
    case TRANSFER_HALVES:
        /* 0 * 0 and a number: this is how compilers move one. */
        if (in->form == FORM_IMMEDIATE_C && in->source[0].number == REGISTER_ZERO &&
            in->source[1].number == REGISTER_ZERO && in->input[0].number == PREDICATE_TRUE)
            return s[2];
        break;
    case TRANSFER_SPECIAL:
        high = special(machine, instruction_field(in, FIELD_SPECIAL));
        if (in->opcode == OPCODE_CS2R || in->opcode == OPCODE_CS2UR)
            return instruction_field(in, FIELD_SPECIAL) == SPECIAL_ZERO ? value_number(0) : high;
        if (in->uniform && !value_is_shared(&high))
            return value_shared(LEVEL_WARP);
        return high;
    case TRANSFER_LOAD:
        return loaded(machine, state, in, at, word);
    case TRANSFER_SHUFFLE:
        return shuffled(state, in, s[0]);
    case TRANSFER_WARP:
        if (in->opcode == OPCODE_R2UR || in->opcode == OPCODE_R2UR_EARLY)
            return value_is_shared(&s[0]) ? s[0]
                                          : value_relied(value_shared(LEVEL_WARP), s[0].flags);
        return value_shared(LEVEL_WARP);
    case TRANSFER_ATOMIC:
        return value_any(WHY_DATA);
    case TRANSFER_LANES:
        return value_any(WHY_LANES);
    case TRANSFER_UNKNOWN:
    case TRANSFER_BRANCH:
    case TRANSFER_STORE:
    case TRANSFER_NOTHING:
        return value_any(WHY_OPERATION);
    default:
        break;
    }
    return function_of(machine, state, in, at);
}

/* The answer of each lane, where a comparison is of one word that all lanes know, and takes no
 * predicate, which branches would lose. False: it is not such a one. */
static bool known_answer(struct machine *machine, const struct instruction *in,
                         const struct value s[2], struct value inputs, struct value *out)
{
    enum { LESS = 1, EQUAL = 2, GREATER = 4 };
    const bool combined = instruction_field(in, FIELD_COMPARE_COMBINED),
               extended = instruction_field(in, FIELD_COMPARE_EXTENDED),
               is_signed = instruction_field(in, FIELD_SIGNED);
    const unsigned test = instruction_field(in, FIELD_COMPARE_TEST);
    uint32_t lanes[WARP_LANES];

    if (in->transfer != TRANSFER_COMPARE || in->source[0].words != 1 || combined || extended ||
        !value_is_number(&inputs) || !(inputs.known & 1) || !value_is_known(&s[0]) ||
        !value_is_known(&s[1]) || s[0].origin != 0 || s[1].origin != 0 ||
        ((s[0].flags | s[1].flags) & FLAG_RELIED))
        return false;
    for (unsigned i = 0; i < WARP_LANES; i++) {
        const uint32_t x = s[0].known + lane_of(&machine->lanes, &s[0], i);
        const uint32_t y = s[1].known + lane_of(&machine->lanes, &s[1], i);
        const bool less = is_signed ? (int32_t)x < (int32_t)y : x < y;

        lanes[i] = ((test & LESS) && less) || ((test & EQUAL) && x == y) ||
                   ((test & GREATER) && !less && x != y);
    }
    *out = value_lanes(&machine->lanes, lanes);
    return true;
}

/* The value of a predicate that an instruction writes. */
static struct value answer_of(struct machine *machine, const struct value *state,
                              const struct instruction *in, uint32_t at, bool first)
{
    struct value s[OPERANDS_MAX + INPUTS_MAX + 1], out;
    size_t count = 0;

    if (in->transfer == TRANSFER_WARP && in->opcode != OPCODE_REDUX && in->opcode != OPCODE_R2UR &&
        in->opcode != OPCODE_R2UR_EARLY)
        return value_shared(LEVEL_WARP);
    if (in->transfer >= TRANSFER_SPECIAL || in->transfer <= TRANSFER_NOTHING)
        return value_any(in->transfer == TRANSFER_LOAD || in->transfer == TRANSFER_ATOMIC
                             ? WHY_DATA
                             : WHY_LANES);
    /* The predicates that a mask leaves as they are: which ones is not known. */
    if (in->opcode == OPCODE_R2P && in->source[1].kind != OPERAND_IMMEDIATE)
        return value_any(WHY_OPERATION);
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        s[count++] = machine_source(machine, state, in, at, i, 0);
    if (first && known_answer(machine, in, s, machine_input(machine, state, in, 0), &out))
        return out;
    /* A carry: it goes into the high word alone. */
    if (in->transfer == TRANSFER_ADD || in->transfer == TRANSFER_SHIFT_ADD ||
        in->transfer == TRANSFER_MULTIPLY_WIDE) {
        for (unsigned i = 0; i < INPUTS_MAX; i++)
            s[count++] = machine_input(machine, state, in, i);
        if (in->source[2].words == 2)
            s[count++] = machine_source(machine, state, in, at, 2, 1);
        return high_word(s, count, NULL);
    }
    return function_of(machine, state, in, at);
}

/* The value of a register where the guard of an instruction holds, or does not; NULL: not known
 * apart. */
static struct guarded *guarded_at(struct machine *machine, const struct value *state,
                                  const struct instruction *in, uint32_t number, bool holds)
{
    struct guarded *of = &machine->guarded[number];

    return of->visit == machine->visit && of->guard == in->guard &&
                   of->negated == (in->guard_negated == holds) && of->from == state[in->guard].from
               ? of
               : NULL;
}

void machine_exchange(struct machine *machine, struct value *state, const struct instruction *in)
{
    uint32_t numbers[OPERANDS_MAX * 4 + INPUTS_MAX];
    size_t count = 0;

    if (in->guard == PREDICATE_TRUE || in->guard == UNIFORM_PREDICATE_TRUE)
        return;
    for (unsigned i = 0; i < INPUTS_MAX; i++)
        numbers[count++] = in->input[i].number;
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        for (unsigned word = 0; word < in->source[i].words && word < 4; word++)
            if (in->source[i].kind == OPERAND_REGISTER || in->source[i].kind == OPERAND_UNIFORM)
                numbers[count++] = in->source[i].number + word;
    for (size_t i = 0; i < count; i++) {
        struct guarded *of =
            numbers[i] < REGISTER_COUNT ? guarded_at(machine, state, in, numbers[i], true) : NULL;
        struct value value;

        for (size_t k = 0; k < i; k++) /* a register that is read twice is exchanged once */
            of = numbers[k] == numbers[i] ? NULL : of;
        if (!of || numbers[i] == in->guard)
            continue;
        value = state[numbers[i]];
        state[numbers[i]] = of->value;
        of->value = value;
    }
}

void machine_execute(struct machine *machine, struct value *state, uint32_t at)
{
    struct instruction in;
    struct value guard, results[RESULTS_MAX][4];

    instruction_decode(machine->code, (size_t)at * INSTRUCTION_BYTES, machine->architecture, &in);
    guard = machine_predicate(machine, state, in.guard, in.guard_negated);
    if (value_is_number(&guard) && !(guard.known & 1))
        return;
    if (in.transfer == TRANSFER_UNKNOWN) {
        for (unsigned i = 0; i < VALUES; i++)
            state[i] = value_any(WHY_OPERATION);
        machine->visit++;
        return;
    }
    machine_exchange(machine, state, &in);
    if (in.transfer == TRANSFER_STORE) {
        struct value high, address = machine_address(machine, state, &in, at, &high);
        const unsigned slot = slot_of(&address), size = instruction_field(&in, FIELD_SIZE);
        const unsigned words = size <= SIZE_WORD ? 1 : size == SIZE_PAIR ? 2 : 4;

        if (in.opcode == OPCODE_STL && slot + words <= SLOTS && size >= SIZE_WORD) {
            for (unsigned i = 0; i < words; i++) {
                struct value *old = &state[REGISTER_COUNT + slot + i];

                *old = value_select(&machine->lanes, guard,
                                    machine_source(machine, state, &in, at, 2, i), *old);
                old->from = at;
            }
        } else if (in.opcode == OPCODE_STL || address.origin < ORIGIN_PARAMETER) {
            for (unsigned i = 0; i < SLOTS; i++)
                state[REGISTER_COUNT + i] = value_any(WHY_DATA);
        }
        machine_exchange(machine, state, &in);
        return;
    }
    for (unsigned i = 0; i < in.results; i++)
        for (unsigned k = 0; k < in.result[i].count && k < 4; k++)
            results[i][k] = in.result[i].first >= PREDICATE_FIRST
                                ? answer_of(machine, state, &in, at, i == 0)
                                : result_of(machine, state, &in, at, k);
    machine_exchange(machine, state, &in);
    for (unsigned i = 0; i < in.results; i++)
        for (unsigned k = 0; k < in.result[i].count; k++) {
            const uint32_t number = in.result[i].first + k;
            const struct guarded *other = guarded_at(machine, state, &in, number, false);
            const struct value now = results[i][k < 4 ? k : 3];
            struct value *old = &state[number];

            *old = in.guard == PREDICATE_TRUE || in.guard == UNIFORM_PREDICATE_TRUE
                       ? now
                       : value_select(&machine->lanes, guard, now, other ? other->value : *old);
            old->from = at;
            machine->guarded[number] = (struct guarded){now, machine->visit, state[in.guard].from,
                                                        in.guard, in.guard_negated};
            machine->guarded[number].value.from = at;
        }
}
