/* SPDX-License-Identifier: MIT */
#include "vary.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "operands.h"
#include "value.h"

enum {
    SLOTS = 64, /* words of the stack that are followed */
    VALUES = REGISTER_COUNT + SLOTS,
    VISITS_MAX = 48,
    STACK_POINTER = 1,
    SPECIAL_LANE = 0x00,
    SPECIAL_TID_X = 0x21,
    SPECIAL_TID_Z = 0x23,
    SPECIAL_CTAID_X = 0x25,
    SPECIAL_CTAID_Z = 0x27,
    SPECIAL_SHARED_WINDOW = 0x2f,
    SPECIAL_EQMASK = 0x38,
    SPECIAL_GEMASK = 0x3c,
    SPECIAL_CLUSTER_CTAID = 0x88
};

#define PHI 0x80000000u /* in `from`: the block whose ways met */

/* At which level ways part: LEVEL_CONSTANT and LEVEL_GRID, together; why, if each thread goes its own; and FLAG_RELIED. */
struct parting {
    uint8_t level, why, flags;
};

struct block_state {
    struct value *out; /* at its end; NULL: not yet visited */
    uint64_t merged[(VALUES + 63) / 64]; /* values that ways brought together at its begin, and that stay its own */
    struct parting join; /* ways meet here that part at that level */
    uint32_t label, spread; /* of the spread that is in progress */
    uint16_t visits;
    struct parting parted; /* its branch, as far as it was spread */
    bool dirty, pending;
};

struct loop_state {
    struct parting left; /* how its exits part */
    uint64_t written[(VALUES + 63) / 64];
};

/* What a register has where the predicate holds under which it was written last. Compilers guard an address and its load by
 * one predicate. */
struct guarded {
    struct value value;
    uint32_t visit; /* of a block; of another one, it does not count */
    uint32_t from; /* what made the predicate */
    uint16_t guard;
    bool negated;
};

struct vary {
    const struct flow *flow;
    const struct code_facts *facts;
    struct lane_tables lanes;
    struct block_state *blocks;
    struct loop_state *loops;
    uint64_t (*functions)[(VALUES + 63) / 64]; /* what each writes */
    uint32_t *returns, *calls; /* owned: the blocks that end so */
    size_t return_count, call_count;
    uint32_t spreads;
    bool flat; /* the kernel never reads tid.y or tid.z */
    struct guarded guarded[REGISTER_COUNT];
    uint32_t visit;
    struct value in[VALUES];
};

/* -- operands ------------------------------------------------------------------------------------------ */

static const struct code_fact *find_fact(const struct code_fact_list *list, uint32_t at)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (list->facts[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->facts[low].at == at ? &list->facts[low] : NULL;
}

/* A number in a constant bank at a known offset. */
static struct value constant_at(const struct vary *vary, unsigned bank, uint32_t offset)
{
    const bool late = vary->flow->architecture >= 100;
    const uint32_t block_size = late ? 0x360 : 0;
    struct value value = value_shared(LEVEL_GRID);
    const struct code_fact *fact;

    if (bank == 0 && offset == (late ? 0x37c : 0x28)) {
        value = value_number(0);
        value.origin = ORIGIN_STACK;
    } else if (bank == 0 && offset - block_size < sizeof(vary->facts->block) && offset % 4 == 0 &&
               vary->facts->block[0]) {
        return value_number(vary->facts->block[(offset - block_size) / 4]);
    } else if (bank == 0 && offset == block_size) {
        value.bits = 5;
        value.flags = FLAG_WHOLE;
    } else if (bank == 0 && (fact = find_fact(&vary->facts->parameters, offset))) {
        value.origin = (uint16_t)(ORIGIN_PARAMETER + fact->value);
    } else if (bank == 2 && vary->facts->literals && (size_t)offset + 4 <= vary->facts->literal_bytes) {
        uint32_t number;

        memcpy(&number, vary->facts->literals + offset, sizeof(number));
        return value_number(number);
    } else if (bank == 4 && (fact = find_fact(&vary->facts->addresses, offset))) {
        value.origin = (uint16_t)(ORIGIN_SYMBOL + fact->value);
    }
    return value;
}

static struct value register_of(const struct value *state, uint32_t number)
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

static struct value predicate_of(struct vary *vary, const struct value *state, uint32_t number, bool negated)
{
    const struct value value = register_of(state, number), none = value_number(0);
    const struct value operands[3] = {value, none, none};

    if (!negated)
        return value;
    if (value_is_known(&value)) {
        struct value inverse = value_logic(&vary->lanes, operands, 0x0f);
        const struct value low[3] = {inverse, value_number(1), none};

        return value_logic(&vary->lanes, low, 0xc0);
    }
    return value_function(&value, 1);
}

/* Word `word` of a source. */
static struct value source_of(struct vary *vary, const struct value *state, const struct operands *in, uint32_t at,
                              unsigned i, unsigned word)
{
    const struct operand *source = &in->source[i];
    const struct code_fact *fact;
    struct value value;

    switch (source->kind) {
    case OPERAND_REGISTER:
    case OPERAND_UNIFORM:
        if (source->number == REGISTER_ZERO || source->number == UNIFORM_ZERO)
            return value_number(0);
        return register_of(state, source->number + word);
    case OPERAND_IMMEDIATE:
        fact = word == 0 ? find_fact(&vary->facts->relocated, at * 16) : NULL;
        if (fact) {
            value = value_shared(LEVEL_GRID);
            value.origin = (uint16_t)(ORIGIN_SYMBOL + fact->value);
            return value;
        }
        return value_number(word == 0 ? source->number : source->upper);
    case OPERAND_CONSTANT:
        return constant_at(vary, source->bank, source->number + 4 * word);
    default:
        return value_number(0);
    }
}

/* -- results ------------------------------------------------------------------------------------------- */

/* The high word of a sum whose low word is such. */
static struct value high_word(const struct value *parts, size_t count, const struct value *low)
{
    struct value out = value_shared(LEVEL_GRID);

    for (size_t i = 0; i < count; i++) {
        if (parts[i].lanes == LANES_ANY)
            return parts[i];
        out.level = parts[i].level > out.level ? parts[i].level : out.level;
        out.flags |= parts[i].flags & (FLAG_HIGH | FLAG_RELIED);
        if (parts[i].lanes != LANES_SAME)
            out.flags |= FLAG_HIGH;
    }
    if (low && low->lanes != LANES_SAME) {
        if (low->lanes == LANES_ANY)
            return *low;
        out.flags |= FLAG_HIGH;
    }
    return out;
}

/* threadIdx, `axis` 0 to 2, of the threads of a warp. Where the shape of a block is known, that of each warp is worked out.
 * Otherwise, a kernel that reads threadIdx.x alone has blocks of one dimension, and rows are whole warps in others. */
static struct value thread_index(struct vary *vary, unsigned axis)
{
    const uint32_t *shape = vary->facts->block;
    uint32_t lanes[WARP_LANES] = {0}, first = 0, differ = 0;
    struct value value;

    if (shape[0] == 0) {
        for (unsigned i = 0; i < WARP_LANES; i++)
            lanes[i] = axis == 0 ? i : 0;
        value = value_lanes(&vary->lanes, lanes);
        value.bits = axis == 0 ? 5 : 0;
        value.level = LEVEL_WARP;
        return value_relied(value, vary->flat ? 0 : FLAG_RELIED);
    }
    for (uint32_t warp = 0; warp * WARP_LANES < shape[0] * shape[1] * shape[2]; warp++) {
        uint32_t base = 0;

        for (uint32_t i = 0; i < WARP_LANES; i++) {
            const uint32_t thread = warp * WARP_LANES + i;
            const uint32_t index = axis == 0   ? thread % shape[0]
                                   : axis == 1 ? thread / shape[0] % shape[1]
                                               : thread / shape[0] / shape[1];

            base = i == 0 ? index : base;
            if (warp > 0 && index - base != lanes[i] - first)
                return value_any(WHY_SHAPE);
            if (warp == 0) {
                lanes[i] = index;
                first = lanes[0];
            }
        }
        differ |= base ^ first;
    }
    value = value_lanes(&vary->lanes, lanes);
    if (differ) {
        value.bits = (uint8_t)__builtin_ctz(differ);
        value.level = LEVEL_WARP;
    }
    return value;
}

static struct value special(struct vary *vary, unsigned number)
{
    uint32_t lanes[WARP_LANES];

    for (unsigned i = 0; i < WARP_LANES; i++)
        lanes[i] = number == SPECIAL_EQMASK       ? 1u << i
                   : number == SPECIAL_EQMASK + 1 ? (1u << i) - 1
                   : number == SPECIAL_EQMASK + 2 ? (2u << i) - 1
                   : number == SPECIAL_EQMASK + 3 ? ~((2u << i) - 1)
                   : number == SPECIAL_GEMASK     ? ~((1u << i) - 1)
                                                  : i;
    if (number == SPECIAL_LANE || (number >= SPECIAL_EQMASK && number <= SPECIAL_GEMASK))
        return value_lanes(&vary->lanes, lanes);
    if ((number >= SPECIAL_CTAID_X && number <= SPECIAL_CTAID_Z) || number == SPECIAL_CLUSTER_CTAID)
        return value_shared(LEVEL_BLOCK);
    if (number == SPECIAL_SHARED_WINDOW)
        return value_shared(LEVEL_GRID);
    if (number >= SPECIAL_TID_X && number <= SPECIAL_TID_Z)
        return thread_index(vary, number - SPECIAL_TID_X);
    return value_any(WHY_OPERATION);
}

static struct value load_address(struct vary *vary, const struct value *state, const struct operands *in, uint32_t at,
                                 struct value *high)
{
    enum { LDS = 0x184 };
    struct value low = source_of(vary, state, in, at, 0, 0), other;

    /* LDS, before sm_90 too: the register times 4, 8 or 16. */
    if (in->operation == LDS && in->high >> 14 & 3)
        low = value_multiply(&vary->lanes, value_plain(low), value_number(2u << (in->high >> 14 & 3)));
    *high = in->wide_address && in->source[0].words == 2 ? source_of(vary, state, in, at, 0, 1) : value_number(0);
    if (in->source[1].kind == OPERAND_UNIFORM) {
        other = source_of(vary, state, in, at, 1, 0);
        low = value_add(&vary->lanes, low, other);
        if (in->source[1].words == 2) {
            const struct value both[2] = {*high, source_of(vary, state, in, at, 1, 1)};

            *high = high_word(both, 2, NULL);
        }
    }
    return value_add(&vary->lanes, low, value_number((uint32_t)in->offset));
}

/* The slot of the stack at an address; SLOTS: none that is followed. */
static unsigned slot_of(const struct value *address)
{
    if (address->origin != ORIGIN_STACK || !value_is_number(address))
        return SLOTS;
    return address->known / 4 + SLOTS / 2 < SLOTS && address->known % 4 == 0 ? address->known / 4 + SLOTS / 2 : SLOTS;
}

/* The value that a load brings. */
static struct value loaded(struct vary *vary, const struct value *state, const struct operands *in, uint32_t at,
                           unsigned word)
{
    enum { LDC = 0x182, ULDC = 0xb9, ULDC_INDEXED = 0xbb, LDCU = 0x1ac, LDG = 0x181, LDL = 0x183, LDS = 0x184 };
    struct value high, address;

    switch (in->operation) {
    case LDC:
    case ULDC:
    case ULDC_INDEXED:
    case LDCU:
        address = in->source[0].kind == OPERAND_NONE ? value_number(0) : source_of(vary, state, in, at, 0, 0);
        if (value_is_number(&address) && (in->high >> 9 & 7) >= 4)
            return constant_at(vary, in->source[1].bank, in->source[1].number + address.known + 4 * word);
        if (!value_is_shared(&address))
            return value_any(WHY_DATA);
        return value_relied(value_shared((enum level)address.level), address.flags);
    case LDL:
        address = load_address(vary, state, in, at, &high);
        if (slot_of(&address) + word < SLOTS && (in->high >> 9 & 7) >= 4)
            return state[REGISTER_COUNT + slot_of(&address) + word];
        return value_any(WHY_DATA);
    case LDG:
    case LDS:
        address = load_address(vary, state, in, at, &high);
        if (!value_is_shared(&address) || !value_is_shared(&high))
            return value_any(WHY_DATA);
        return value_relied(value_shared(LEVEL_WARP), address.flags | high.flags);
    default:
        return value_any(WHY_DATA);
    }
}

/* The value of result `word` of a product, a sum of shifted values, or a shift. */
static struct value scaled(struct vary *vary, const struct value *state, const struct operands *in, uint32_t at,
                           unsigned word)
{
    struct lane_tables *lanes = &vary->lanes;
    struct value s[OPERANDS_MAX + 1], high;
    const bool extended = in->high >> 10 & 1;

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        s[i] = source_of(vary, state, in, at, i, 0);
    switch (in->transfer) {
    case TRANSFER_MULTIPLY:
    case TRANSFER_MULTIPLY_WIDE:
        if (in->transfer == TRANSFER_MULTIPLY && extended) {
            /* IMAD.X: compilers add a carry to a high word by it, with 0 as the product. */
            s[3] = predicate_of(vary, state, in->condition, in->condition_negated);
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
        s[2] = source_of(vary, state, in, at, 2, 1);
        s[0] = value_plain(s[0]);
        s[1] = value_plain(s[1]);
        return high_word(s, 3, &high);
    case TRANSFER_SHIFT_ADD: {
        const unsigned by = in->high >> 11 & 31;
        const bool of_high = in->high >> 16 & 1;

        if (in->source[0].negated)
            s[0] = value_negate(lanes, s[0]);
        if (of_high && !extended && by > 0 && in->source[2].number == REGISTER_ZERO && (in->high >> 8 & 7) == 0) {
            /* Of a and 0: a, shifted to the right. */
            high = value_shift_right(lanes, value_plain(s[0]), WORD_BITS - by, false);
            if (high.lanes != LANES_ANY && !(s[1].flags & FLAG_HIGH))
                return value_add(lanes, high, s[1]);
        }
        if (of_high || extended) {
            s[3] = predicate_of(vary, state, in->condition, in->condition_negated);
            return high_word(s, 4, NULL);
        }
        return value_add(lanes, value_multiply(lanes, value_plain(s[0]), value_number(1u << by)), s[1]);
    }
    default: {
        const unsigned type = in->high >> 9 & 7;
        const bool right = in->high >> 12 & 1, of_high = in->high >> 16 & 1;
        const bool small = type >= 2, is_signed = type == 2 || type == 0;

        if (value_is_number(&s[1])) {
            const unsigned by = s[1].known & 0xff;

            s[0] = value_plain(s[0]);
            s[2] = value_plain(s[2]);
            if (!right && !of_high && (small || by < 32))
                return by < 32 ? value_multiply(lanes, s[0], value_number(1u << by)) : value_number(0);
            if (right && of_high && small &&
                (in->source[0].number == REGISTER_ZERO || in->source[0].number == UNIFORM_ZERO))
                return value_shift_right(lanes, s[2], by, is_signed);
        }
        return value_function(s, 3);
    }
    }
}

/* The value of result `word` of an instruction that writes registers. */
static struct value result_of(struct vary *vary, const struct value *state, const struct operands *in, uint32_t at,
                              unsigned word)
{
    struct lane_tables *lanes = &vary->lanes;
    struct value s[OPERANDS_MAX + 2], high;
    const bool extended = in->high >> 10 & 1;
    size_t count = 0;

    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        s[i] = source_of(vary, state, in, at, i, 0);
    switch (in->transfer) {
    case TRANSFER_MOVE:
        return word == 0 ? s[1] : source_of(vary, state, in, at, 1, 1);
    case TRANSFER_ADD:
        for (unsigned i = 0; i < OPERANDS_MAX; i++)
            if (in->source[i].negated && in->source[i].kind != OPERAND_NONE)
                s[i] = value_negate(lanes, s[i]);
        if (in->name[0] != 'V' && extended) {
            s[3] = predicate_of(vary, state, in->condition, in->condition_negated);
            s[4] = predicate_of(vary, state, in->carry, in->high >> 16 & 1);
            return high_word(s, 5, NULL);
        }
        return value_add(lanes, value_add(lanes, s[0], s[1]), s[2]);
    case TRANSFER_ADD_WIDE:
        for (unsigned i = 0; i < OPERANDS_MAX; i++)
            if (in->source[i].negated && in->source[i].kind != OPERAND_NONE)
                s[i] = value_negate(lanes, s[i]);
        high = value_add(lanes, value_add(lanes, s[0], s[1]), s[2]);
        if (word == 0)
            return high;
        for (unsigned i = 0; i < OPERANDS_MAX; i++)
            s[i] = source_of(vary, state, in, at, i, 1);
        return high_word(s, 3, &high);
    case TRANSFER_MULTIPLY:
    case TRANSFER_MULTIPLY_WIDE:
    case TRANSFER_SHIFT_ADD:
    case TRANSFER_SHIFT:
        return scaled(vary, state, in, at, word);
    case TRANSFER_LOGIC: {
        const unsigned table = in->high >> 8 & 0xff;

        for (unsigned i = 0; i < 3; i++)
            s[i] = value_plain(s[i]);
        return value_logic(lanes, s, table);
    }
    case TRANSFER_SELECT:
        if (in->operation != 0x007 && in->operation != 0x087 && (in->source[0].negated || in->source[1].negated))
            break;
        return value_select(lanes, predicate_of(vary, state, in->condition, in->condition_negated),
                            source_of(vary, state, in, at, 0, word), source_of(vary, state, in, at, 1, word));
    case TRANSFER_HALVES:
        /* 0 * 0 and a number: this is how compilers move one. */
        if (in->form == 2 && in->source[0].number == REGISTER_ZERO && in->source[1].number == REGISTER_ZERO)
            return s[2];
        break;
    case TRANSFER_SPECIAL:
        if (in->operation == 0x005 || in->operation == 0x0cb)
            return (in->high >> 8 & 0xff) == 0xff ? value_number(0) : special(vary, in->high >> 8 & 0xff);
        high = special(vary, in->high >> 8 & 0xff);
        if (in->uniform && !value_is_shared(&high))
            return value_shared(LEVEL_WARP);
        return high;
    case TRANSFER_LOAD:
        return loaded(vary, state, in, at, word);
    case TRANSFER_SHUFFLE: {
        /* From one lane to all: by index, with all lanes in one part. */
        const bool by_index = (in->low >> 58 & 3) == 0, whole = (in->low >> 40 & 0x1fff) == WARP_LANES - 1;
        const struct value lane = in->form == 7 ? value_number(0) : register_of(state, in->low >> 32 & 0xff);

        if (by_index && whole && (in->form == 2 || in->form == 7) && value_is_shared(&lane))
            return value_relied(value_shared(LEVEL_WARP), lane.flags);
        return value_any(WHY_LANES);
    }
    case TRANSFER_WARP:
        if (in->operation == 0x0ca || in->operation == 0x1c2)
            return value_is_shared(&s[0]) ? s[0] : value_relied(value_shared(LEVEL_WARP), s[0].flags);
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
    /* Some function of all words that it reads. */
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        if (in->source[i].kind != OPERAND_NONE)
            s[count++] = source_of(vary, state, in, at, i, 0);
    high = value_function(s, count);
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        if (in->source[i].words == 2) {
            const struct value both[2] = {high, source_of(vary, state, in, at, i, 1)};

            high = value_function(both, 2);
        }
    if (in->condition != PREDICATE_TRUE) {
        const struct value both[2] = {high, register_of(state, in->condition)};

        high = value_function(both, 2);
    }
    return high;
}

/* The value of a predicate that an instruction writes. */
static struct value answer_of(struct vary *vary, const struct value *state, const struct operands *in, uint32_t at,
                              bool first)
{
    struct value s[8];
    size_t count = 0;

    if (in->transfer == TRANSFER_WARP && in->operation != 0x1c4)
        return value_shared(LEVEL_WARP);
    if (in->transfer >= TRANSFER_SPECIAL || in->transfer <= TRANSFER_NOTHING)
        return value_any(in->transfer == TRANSFER_LOAD || in->transfer == TRANSFER_ATOMIC ? WHY_DATA : WHY_LANES);
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        s[i] = source_of(vary, state, in, at, i, 0);
    s[3] = predicate_of(vary, state, in->condition, in->condition_negated);
    /* The answer of a comparison: each lane's, where both are known. */
    if (in->transfer == TRANSFER_COMPARE && first && in->source[0].words == 1 && (in->high >> 10 & 3) == 0 &&
        !(in->high >> 8 & 1) && value_is_number(&s[3]) && (s[3].known & 1) && value_is_known(&s[0]) &&
        value_is_known(&s[1]) && s[0].origin == 0 && s[1].origin == 0) {
        const unsigned test = in->high >> 12 & 7;
        uint32_t lanes[WARP_LANES];

        for (unsigned i = 0; i < WARP_LANES; i++) {
            const uint32_t x = s[0].known + lane_of(&vary->lanes, &s[0], i);
            const uint32_t y = s[1].known + lane_of(&vary->lanes, &s[1], i);
            const bool less = in->high >> 9 & 1 ? (int32_t)x < (int32_t)y : x < y;

            lanes[i] = ((test & 1) && less) || ((test & 2) && x == y) || ((test & 4) && !less && x != y);
        }
        return value_relied(value_lanes(&vary->lanes, lanes), s[0].flags | s[1].flags);
    }
    /* A carry: it goes into the high word alone. */
    if (in->transfer == TRANSFER_ADD || in->transfer == TRANSFER_SHIFT_ADD || in->transfer == TRANSFER_MULTIPLY_WIDE) {
        s[4] = register_of(state, in->carry);
        return high_word(s, 5, NULL);
    }
    count = 4;
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        if (in->source[i].words == 2)
            s[count++] = source_of(vary, state, in, at, i, 1);
    if (in->operation == 0x01c || in->operation == 0x09c) { /* PLOP3: three predicates */
        const uint32_t base = in->operation == 0x09c ? UNIFORM_PREDICATE_FIRST : PREDICATE_FIRST;

        s[count++] = register_of(state, base + (in->high >> 13 & 7));
        s[count++] = register_of(state, base + (in->high >> 4 & 7));
    }
    return value_function(s, count);
}

/* What a register has where the guard of an instruction holds, or does not; NULL: not known apart. */
static struct guarded *guarded_at(struct vary *vary, const struct value *state, const struct operands *in,
                                  uint32_t number, bool holds)
{
    struct guarded *of = &vary->guarded[number];

    return of->visit == vary->visit && of->guard == in->guard && of->negated == (in->guard_negated == holds) &&
                   of->from == state[in->guard].from
               ? of
               : NULL;
}

/* Exchanges the values that an instruction reads with those that they have under its guard; and back. */
static void exchange_guarded(struct vary *vary, struct value *state, const struct operands *in)
{
    if (in->guard == PREDICATE_TRUE || in->guard == UNIFORM_PREDICATE_TRUE)
        return;
    for (unsigned i = 0; i < OPERANDS_MAX; i++)
        for (unsigned word = 0; word < in->source[i].words; word++) {
            const uint32_t number = in->source[i].number + word;
            const bool is_register = in->source[i].kind == OPERAND_REGISTER || in->source[i].kind == OPERAND_UNIFORM;
            struct guarded *of =
                is_register && number < REGISTER_COUNT ? guarded_at(vary, state, in, number, true) : NULL;
            struct value value;

            for (unsigned k = 0; k < i; k++) /* a register that is read twice is exchanged once */
                if (in->source[k].kind == in->source[i].kind && number - in->source[k].number < in->source[k].words)
                    of = NULL;
            if (!of)
                continue;
            value = state[number];
            state[number] = of->value;
            of->value = value;
        }
}

/* Executes an instruction. */
static void execute(struct vary *vary, struct value *state, uint32_t at)
{
    struct operands in;
    struct value guard, results[RESULTS_MAX][4];

    operands_at(vary->flow->code, (size_t)at * 16, vary->flow->architecture, &in);
    guard = predicate_of(vary, state, in.guard, in.guard_negated);
    if (value_is_number(&guard) && !(guard.known & 1))
        return;
    if (in.transfer == TRANSFER_UNKNOWN) {
        for (unsigned i = 0; i < VALUES; i++)
            state[i] = value_any(WHY_OPERATION);
        vary->visit++;
        return;
    }
    exchange_guarded(vary, state, &in);
    if (in.transfer == TRANSFER_STORE) {
        struct value high, address = load_address(vary, state, &in, at, &high);
        const unsigned slot = slot_of(&address), size = in.high >> 9 & 7;
        const unsigned words = size <= 4 ? 1 : size == 5 ? 2 : 4;

        if (in.operation == 0x187 && slot + words <= SLOTS && size >= 4) {
            for (unsigned i = 0; i < words; i++) {
                struct value *old = &state[REGISTER_COUNT + slot + i];

                *old = value_select(&vary->lanes, guard, source_of(vary, state, &in, at, 2, i), *old);
                old->from = at;
            }
        } else if (in.operation == 0x187 || address.origin < ORIGIN_PARAMETER) {
            for (unsigned i = 0; i < SLOTS; i++)
                state[REGISTER_COUNT + i] = value_any(WHY_DATA);
        }
        exchange_guarded(vary, state, &in);
        return;
    }
    for (unsigned i = 0; i < in.results; i++)
        for (unsigned k = 0; k < in.result[i].count && k < 4; k++)
            results[i][k] = in.result[i].first >= PREDICATE_FIRST ? answer_of(vary, state, &in, at, i == 0)
                                                                  : result_of(vary, state, &in, at, k);
    exchange_guarded(vary, state, &in);
    for (unsigned i = 0; i < in.results; i++)
        for (unsigned k = 0; k < in.result[i].count; k++) {
            const uint32_t number = in.result[i].first + k;
            const struct guarded *other = guarded_at(vary, state, &in, number, false);
            const struct value now = results[i][k < 4 ? k : 3];
            struct value *old = &state[number];

            *old = in.guard == PREDICATE_TRUE || in.guard == UNIFORM_PREDICATE_TRUE
                       ? now
                       : value_select(&vary->lanes, guard, now, other ? other->value : *old);
            old->from = at;
            vary->guarded[number] =
                (struct guarded){now, vary->visit, state[in.guard].from, in.guard, in.guard_negated};
            vary->guarded[number].value.from = at;
        }
}

/* -- where ways meet ----------------------------------------------------------------------------------- */

static bool is_written(const uint64_t *written, unsigned i)
{
    return written[i / 64] >> (i % 64) & 1;
}

static bool add_parting(struct parting *to, struct parting with)
{
    const struct parting before = *to;

    to->level = with.level > to->level ? with.level : to->level;
    to->why = to->why == WHY_DATA || with.why == 0 ? to->why : with.why;
    to->flags |= with.flags;
    return to->level != before.level || to->why != before.why || to->flags != before.flags;
}

/* A value after it left loops that threads leave at different times. */
static struct value left_loops(const struct vary *vary, struct value value, unsigned i, uint32_t from, uint32_t to)
{
    for (uint32_t loop = vary->flow->blocks[from].loop;
         loop != FLOW_NONE && !flow_within(vary->flow, vary->flow->blocks[to].loop, loop);
         loop = vary->flow->loops[loop].outer) {
        const struct loop_state *state = &vary->loops[loop];

        if (!is_written(state->written, i) || value_is_known(&value) || state->left.level <= LEVEL_GRID)
            continue;
        if (state->left.why)
            value = value_any(value.lanes == LANES_ANY && value.why == WHY_DATA ? WHY_DATA
                              : state->left.why == WHY_DATA                     ? WHY_DATA
                                                                                : WHY_LOOP);
        else if (value.level < state->left.level)
            value.level = state->left.level;
        value = value_relied(value, state->left.flags);
        value.from = PHI | to;
    }
    return value;
}

static struct value meet_at(struct value a, struct value b, uint32_t block, struct parting parting)
{
    struct value out;

    if (a.from == b.from && value_equal(&a, &b))
        return a;
    out = value_relied(value_meet(a, b, (enum level)parting.level, (enum why)parting.why), parting.flags);
    out.from = PHI | block;
    return out;
}

/* The value of register or slot `i` behind a call. False: the call does not come back, as far as is known. */
static bool behind_call(const struct vary *vary, uint32_t caller, unsigned i, struct value *out)
{
    const struct flow *flow = vary->flow;
    const uint32_t function = flow->blocks[flow->blocks[caller].called].function;
    bool found = false;

    *out = vary->blocks[caller].out[i];
    for (size_t k = 0; k < vary->return_count; k++) {
        const uint32_t block = vary->returns[k];

        if (flow->blocks[block].function != function || !vary->blocks[block].out)
            continue;
        if (is_written(vary->functions[function], i))
            *out = found
                       ? meet_at(*out, vary->blocks[block].out[i], caller, (struct parting){LEVEL_WARP, WHY_BRANCH, 0})
                       : vary->blocks[block].out[i];
        found = true;
    }
    return found;
}

/* The state at the begin of a block, in vary->in. False: nothing that leads here has been visited. */
static bool enter_block(struct vary *vary, uint32_t block)
{
    const struct flow *flow = vary->flow;
    const struct flow_block *of = &flow->blocks[block];
    struct block_state *state = &vary->blocks[block];
    bool found = false;

    if (block == flow->functions[0]) {
        for (unsigned i = 0; i < VALUES; i++)
            vary->in[i] = value_any(WHY_UNSET);
        vary->in[STACK_POINTER] = constant_at(vary, 0, flow->architecture >= 100 ? 0x37c : 0x28);
        found = true;
    }
    for (size_t k = 0; k < vary->call_count && block == flow->functions[of->function] && of->function != 0; k++) {
        const uint32_t caller = vary->calls[k];

        if (flow->blocks[caller].called != block || !vary->blocks[caller].out)
            continue;
        for (unsigned i = 0; i < VALUES; i++) {
            const struct value value = vary->blocks[caller].out[i];

            vary->in[i] = found ? meet_at(vary->in[i], value, block, (struct parting){LEVEL_WARP, 0, 0}) : value;
        }
        found = true;
    }
    for (uint32_t e = 0; e < of->entries; e++) {
        const uint32_t from = flow->edges[flow->entering[of->entry + e]].from;
        const bool back = flow->blocks[from].order >= of->order;
        struct value value;

        if (flow->blocks[from].order == FLOW_NONE || !vary->blocks[from].out)
            continue;
        for (unsigned i = 0; i < VALUES; i++) {
            value = vary->blocks[from].out[i];
            if (flow->blocks[from].end == FLOW_CALL && !behind_call(vary, from, i, &value))
                break;
            value = left_loops(vary, value, i, from, block);
            if (!found)
                vary->in[i] = value;
            else if (!(back && value.from == (PHI | block)))
                vary->in[i] = meet_at(vary->in[i], value, block, state->join);
            if (i + 1 == VALUES)
                found = true;
        }
    }
    /* A value once of this block stays so: loops within loops would hand it to and fro without end. */
    for (unsigned i = 0; i < VALUES; i++) {
        if (vary->in[i].from == (PHI | block))
            state->merged[i / 64] |= 1ull << (i % 64);
        else if (is_written(state->merged, i))
            vary->in[i].from = PHI | block;
    }
    return found;
}

/* -- where ways part ----------------------------------------------------------------------------------- */

/* Follows the ways of a branch until they meet: blocks that two of them reach are joins. */
static void spread(struct vary *vary, uint32_t branch, struct parting parting)
{
    const struct flow *flow = vary->flow;
    const struct flow_block *of = &flow->blocks[branch];
    const uint32_t number = ++vary->spreads;
    size_t pending = 0, cursor = flow->reached;

    for (uint32_t from = branch;;) {
        const struct flow_block *at = &flow->blocks[from];

        for (uint32_t e = at->edge; e < at->edge + at->edges; e++) {
            const uint32_t to = flow->edges[e].to, label = from == branch ? to : vary->blocks[from].label;
            struct block_state *state = &vary->blocks[to];

            for (uint32_t loop = at->loop; loop != FLOW_NONE && !flow_within(flow, flow->blocks[to].loop, loop);
                 loop = flow->loops[loop].outer)
                /* The branch is in the loop: threads leave it at different times. */
                if (flow_within(flow, of->loop, loop) && add_parting(&vary->loops[loop].left, parting))
                    for (size_t k = 0; k < flow->reached; k++)
                        vary->blocks[flow->sequence[k]].dirty = true;
            if (to == branch && state->spread == number && state->label == label)
                continue;
            if (state->spread != number) {
                state->spread = number;
                state->label = label;
            } else if (state->label == label || state->label == (PHI | to)) {
                continue;
            } else {
                state->label = PHI | to;
                state->dirty |= add_parting(&state->join, parting);
            }
            if (to == branch)
                continue;
            if (!state->pending) {
                state->pending = true;
                pending++;
            }
            cursor = flow->blocks[to].order < cursor ? flow->blocks[to].order : cursor;
        }
        if (pending <= 1)
            break;
        while (!vary->blocks[flow->sequence[cursor]].pending)
            cursor++;
        from = flow->sequence[cursor];
        vary->blocks[from].pending = false;
        pending--;
    }
    for (; pending > 0; cursor++)
        if (vary->blocks[flow->sequence[cursor]].pending) {
            vary->blocks[flow->sequence[cursor]].pending = false;
            pending--;
        }
}

/* -- all blocks ---------------------------------------------------------------------------------------- */

static void find_written(struct vary *vary)
{
    const struct flow *flow = vary->flow;
    bool more = true;

    for (size_t k = 0; k < flow->reached; k++) {
        const struct flow_block *block = &flow->blocks[flow->sequence[k]];

        for (uint32_t at = block->first; at <= block->last; at++) {
            struct operands in;
            uint64_t written[(VALUES + 63) / 64] = {0};

            operands_at(flow->code, (size_t)at * 16, flow->architecture, &in);
            vary->flat &= !(in.transfer == TRANSFER_SPECIAL &&
                            ((in.high >> 8 & 0xff) == SPECIAL_TID_X + 1 || (in.high >> 8 & 0xff) == SPECIAL_TID_Z));
            for (unsigned i = 0; i < in.results; i++)
                for (unsigned n = in.result[i].first; n < in.result[i].first + in.result[i].count && n < REGISTER_COUNT;
                     n++)
                    written[n / 64] |= 1ull << (n % 64);
            if (in.transfer == TRANSFER_STORE)
                for (unsigned n = REGISTER_COUNT; n < VALUES; n++)
                    written[n / 64] |= 1ull << (n % 64);
            if (in.transfer == TRANSFER_UNKNOWN || block->end == FLOW_CALL_OUT)
                memset(written, 0xff, sizeof(written));
            for (size_t w = 0; w < (VALUES + 63) / 64; w++) {
                vary->functions[block->function][w] |= written[w];
                for (uint32_t loop = block->loop; loop != FLOW_NONE; loop = flow->loops[loop].outer)
                    vary->loops[loop].written[w] |= written[w];
            }
        }
    }
    while (more) {
        more = false;
        for (size_t k = 0; k < flow->reached; k++) {
            const struct flow_block *block = &flow->blocks[flow->sequence[k]];

            for (size_t w = 0; block->called != FLOW_NONE && w < (VALUES + 63) / 64; w++) {
                const uint64_t callee = vary->functions[flow->blocks[block->called].function][w];

                more |= (vary->functions[block->function][w] | callee) != vary->functions[block->function][w];
                vary->functions[block->function][w] |= callee;
                for (uint32_t loop = block->loop; loop != FLOW_NONE; loop = flow->loops[loop].outer)
                    vary->loops[loop].written[w] |= callee;
            }
        }
    }
}

/* Visits a block. Whether its end has changed. */
static enum status visit_block(struct vary *vary, uint32_t block, bool *changed)
{
    const struct flow_block *of = &vary->flow->blocks[block];
    struct block_state *state = &vary->blocks[block];

    *changed = false;
    state->dirty = false;
    if (state->visits > VISITS_MAX || !enter_block(vary, block))
        return STATUS_OK;
    vary->visit++;
    for (uint32_t at = of->first; at <= of->last; at++)
        execute(vary, vary->in, at);
    if (of->end == FLOW_CALL_OUT)
        for (unsigned i = 0; i < VALUES; i++)
            vary->in[i] = value_any(WHY_CALL);
    if (state->visits == VISITS_MAX)
        for (unsigned i = 0; i < VALUES; i++)
            vary->in[i] = value_any(WHY_ROUNDS);
    state->visits++;
    if (!state->out) {
        state->out = malloc(VALUES * sizeof(*state->out));
        if (!state->out)
            return log_memory("the registers of %zu blocks", vary->flow->reached);
        *changed = true;
    }
    for (unsigned i = 0; i < VALUES && !*changed; i++)
        *changed = !value_equal(&state->out[i], &vary->in[i]) || state->out[i].from != vary->in[i].from;
    if (*changed)
        memcpy(state->out, vary->in, VALUES * sizeof(*state->out));
    if (of->edges > 1 && *changed) {
        const struct value *out = state->out;
        struct operands in;
        struct value values[6], all;
        struct parting parting;
        size_t count = 0;

        /* The predicates, or the address, that its last instruction goes by. */
        operands_at(vary->flow->code, (size_t)of->last * 16, vary->flow->architecture, &in);
        values[count++] = predicate_of(vary, out, in.guard, false);
        values[count++] = register_of(out, in.condition);
        if (in.operation == 0x147 && in.high >> 27 & 1)
            values[count++] =
                in.form == 2 ? register_of(out, UNIFORM_PREDICATE_FIRST + (in.low >> 24 & 7)) : value_any(WHY_BRANCH);
        for (unsigned word = 0; word < 2 && in.source[0].kind != OPERAND_NONE; word++)
            values[count++] = source_of(vary, out, &in, of->last, 0, word);
        all = value_function(values, count);
        parting.level = all.level;
        parting.why = all.lanes == LANES_SAME ? WHY_NONE : all.why == WHY_DATA ? WHY_DATA : WHY_BRANCH;
        parting.flags = all.flags & FLAG_RELIED;
        if (add_parting(&state->parted, parting) && parting.level > LEVEL_GRID)
            spread(vary, block, state->parted);
    }
    return STATUS_OK;
}

/* -- loads --------------------------------------------------------------------------------------------- */

static const char *const reasons[WHY_COUNT] = {
    [WHY_DATA] = "the index comes from memory",
    [WHY_BRANCH] = "threads that branched differently bring different values",
    [WHY_LOOP] = "threads leave a loop at different times",
    [WHY_ARITHMETIC] = "arithmetic on the thread's number that is not followed",
    [WHY_HIGH] = "the high word of an address is used as a number",
    [WHY_STRIDES] = "the threads of a warp are apart in different ways where branches meet",
    [WHY_LANES] = "it depends on what threads pass on",
    [WHY_SHAPE] = "the warps of a block of this shape differ",
    [WHY_CALL] = "a function is called whose code is not here",
    [WHY_UNSET] = "a register that nothing sets",
    [WHY_OPERATION] = "an instruction that is not followed",
    [WHY_ROUNDS] = "the code is too entangled",
    [WHY_IMAGE] = "an image, whose coordinates are not followed",
};

static void classify(const struct vary *vary, struct value low, struct value high, struct varying_load *load)
{
    const enum variation shared[] = {VARIATION_GRID, VARIATION_GRID, VARIATION_BLOCK, VARIATION_WARP};
    const enum level level = (enum level)(low.level > high.level ? low.level : high.level);
    enum why why = WHY_NONE;

    load->origin = low.origin;
    load->offset = (int32_t)low.displacement;
    if ((low.flags | high.flags) & FLAG_RELIED)
        load->condition = "if blockDim.x is a multiple of 32";
    if (vary->flow->lost) {
        load->variation = VARIATION_UNKNOWN;
        load->reason = "there is a jump to where nobody knows";
        return;
    }
    if (low.lanes == LANES_ANY || high.lanes == LANES_ANY) {
        why = (enum why)(low.lanes == LANES_ANY ? low.why : high.why);
    } else if (low.flags & FLAG_HIGH || (high.lanes != LANES_SAME) ||
               (low.lanes == LANES_SAME && high.flags & FLAG_HIGH)) {
        why = WHY_HIGH;
    } else if (low.lanes == LANES_SAME) {
        load->variation = value_is_number(&low) && value_is_number(&high) ? VARIATION_CONSTANT : shared[level];
        load->addresses = 1;
        return;
    } else if (low.lanes == LANES_STRIDE) {
        load->variation = VARIATION_AFFINE;
        return;
    } else {
        const int32_t stride = (int32_t)lane_of(&vary->lanes, &low, 1);

        load->variation = VARIATION_AFFINE;
        for (unsigned i = 0; i < WARP_LANES; i++) {
            bool first = true;

            load->lanes[i] = lane_of(&vary->lanes, &low, i);
            if (load->lanes[i] != i * (uint32_t)stride)
                load->variation = VARIATION_UNEVEN;
            for (unsigned k = 0; k < i; k++)
                first &= load->lanes[i] != load->lanes[k];
            load->addresses += first;
        }
        load->stride_bytes = load->variation == VARIATION_AFFINE ? stride : 0;
        return;
    }
    load->variation = why == WHY_DATA ? VARIATION_DATA : VARIATION_UNKNOWN;
    load->reason = reasons[why];
}

/* Whether an instruction is a load, and how its address varies before it is executed. */
static bool classify_at(struct vary *vary, uint32_t at, struct varying_load *load)
{
    enum { LDSM = 0x03b };
    struct operands in;
    struct value low = value_number(0), high = value_number(0), guard;
    bool is_load;

    operands_at(vary->flow->code, (size_t)at * 16, vary->flow->architecture, &in);
    guard = predicate_of(vary, vary->in, in.guard, in.guard_negated);
    if (value_is_number(&guard) && !(guard.known & 1))
        return false;
    exchange_guarded(vary, vary->in, &in);
    /* The rows of a matrix are no table. */
    is_load = in.operation != LDSM;
    if (in.transfer == TRANSFER_LOAD && in.operation >= 0x160 && in.operation <= 0x16f) {
        const struct value values[2] = {source_of(vary, vary->in, &in, at, 0, 0),
                                        source_of(vary, vary->in, &in, at, 1, 0)};

        /* TLD takes whole numbers. The highest three bits are 0 for one dimension. The coordinates of an image lie in as
         * many registers as it has dimensions. */
        load->image = (in.operation != 0x166 && in.operation != 0x167) || in.low >> 61 != 0;
        low = load->image ? value_any(WHY_IMAGE) : value_function(values, 2);
    } else if (in.transfer == TRANSFER_LOAD && in.source[1].kind == OPERAND_CONSTANT) {
        if (in.source[0].kind != OPERAND_NONE)
            low = source_of(vary, vary->in, &in, at, 0, 0);
        load->bank = in.source[1].bank;
        /* Not single parameters and the compiler's own. */
        is_load = load->bank == 3 || !value_is_number(&low);
        low = value_add(&vary->lanes, low, value_number((uint32_t)in.offset));
    } else if (in.transfer == TRANSFER_LOAD) {
        low = load_address(vary, vary->in, &in, at, &high);
    } else {
        is_load = false;
        for (unsigned i = 0; i < OPERANDS_MAX; i++)
            if (in.source[i].kind == OPERAND_CONSTANT && in.source[i].bank == 3) {
                is_load = true;
                low = value_number(in.source[i].number);
            }
    }
    exchange_guarded(vary, vary->in, &in);
    if (!is_load)
        return false;
    load->name = in.name;
    if (load->bank == 0 && low.from == 0 && in.transfer != TRANSFER_LOAD)
        load->bank = 3;
    load->evidence[load->evidence_count++] = at;
    if (!(low.from & PHI) && low.from != 0)
        load->evidence[load->evidence_count++] = low.from;
    classify(vary, low, high, load);
    return true;
}

enum status vary_loads(const struct flow *flow, const struct code_facts *facts, vary_visit *visit, void *context)
{
    struct vary *vary = calloc(1, sizeof(*vary));
    enum status status = vary ? lane_tables_open(&vary->lanes) : log_memory("the values of registers");
    bool more = true, changed;

    if (!vary || status != STATUS_OK) {
        free(vary);
        return status;
    }
    vary->flow = flow;
    vary->facts = facts;
    vary->flat = true;
    vary->blocks = calloc(flow->block_count + 1, sizeof(*vary->blocks));
    vary->loops = calloc(flow->loop_count + 1, sizeof(*vary->loops));
    vary->functions = calloc(flow->function_count + 1, sizeof(*vary->functions));
    vary->returns = calloc(flow->block_count + 1, sizeof(*vary->returns));
    vary->calls = calloc(flow->block_count + 1, sizeof(*vary->calls));
    if (!vary->blocks || !vary->loops || !vary->functions || !vary->returns || !vary->calls)
        status = log_memory("%zu blocks", flow->block_count);
    else
        find_written(vary);
    for (size_t k = 0; status == STATUS_OK && k < flow->reached; k++) {
        const uint32_t block = flow->sequence[k];

        vary->blocks[block].dirty = true;
        if (flow->blocks[block].end == FLOW_RETURN)
            vary->returns[vary->return_count++] = block;
        if (flow->blocks[block].end == FLOW_CALL)
            vary->calls[vary->call_count++] = block;
    }
    while (status == STATUS_OK && more) {
        more = false;
        for (size_t k = 0; status == STATUS_OK && k < flow->reached; k++) {
            const uint32_t block = flow->sequence[k];
            const struct flow_block *of = &flow->blocks[block];

            if (!vary->blocks[block].dirty)
                continue;
            status = visit_block(vary, block, &changed);
            more = true;
            if (!changed)
                continue;
            for (uint32_t e = of->edge; e < of->edge + of->edges; e++)
                vary->blocks[flow->edges[e].to].dirty = true;
            if (of->end == FLOW_CALL)
                vary->blocks[of->called].dirty = true;
            for (size_t i = 0; of->end == FLOW_RETURN && i < vary->call_count; i++) {
                const struct flow_block *caller = &flow->blocks[vary->calls[i]];

                if (flow->blocks[caller->called].function == of->function)
                    for (uint32_t e = caller->edge; e < caller->edge + caller->edges; e++)
                        vary->blocks[flow->edges[e].to].dirty = true;
            }
        }
    }
    for (uint32_t block = 0; status == STATUS_OK && block < flow->block_count; block++) {
        if (flow->blocks[block].order == FLOW_NONE || !enter_block(vary, block))
            continue;
        if (vary->blocks[block].visits > VISITS_MAX)
            for (unsigned i = 0; i < VALUES; i++)
                vary->in[i] = value_any(WHY_ROUNDS);
        vary->visit++;
        for (uint32_t at = flow->blocks[block].first; at <= flow->blocks[block].last; at++) {
            struct varying_load load = {.instruction = at, .block = block};

            if (classify_at(vary, at, &load))
                visit(&load, context);
            execute(vary, vary->in, at);
        }
    }
    for (size_t i = 0; vary->blocks && i < flow->block_count; i++)
        free(vary->blocks[i].out);
    free(vary->blocks);
    free(vary->loops);
    free(vary->functions);
    free(vary->returns);
    free(vary->calls);
    lane_tables_close(&vary->lanes);
    free(vary);
    return status;
}
