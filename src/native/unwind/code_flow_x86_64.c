/* SPDX-License-Identifier: MIT
 * Passes over the code are repeated until nothing changes: what is known only gets less. That a
 * function returns with all as it was at the entry speaks for having followed it right. */
#include "native/unwind/code_flow_x86_64.h"

#include "base/grow.h"

#define MAX_BYTES (1u << 20)
#define MAX_HEADS 4096
#define MAX_PASSES 32
#define WORD_BYTES 8
#define UNKNOWN DW_VALUE_UNKNOWN
#define ENTRY_SP (-WORD_BYTES) /* the return address is there */

struct function {
    const uint8_t *code;
    uint32_t size;
    uint16_t *head_at;           /* for each byte, the index of its head + 1; 0: none */
    struct dw_code_state *heads; /* what is known where ways meet: at what is jumped to */
    uint32_t head_count, head_capacity;
    bool has_changed, is_refused;
    bool is_left; /* some way out leaves all as it was at the entry */
    dw_code_visit visit;
    void *context;
};

static bool must_be_kept(uint32_t reg)
{
    return reg == DW_RBX || reg == DW_RBP || reg >= DW_R12;
}

static void enter(struct dw_code_state *state)
{
    for (int i = 0; i < DW_REGISTERS; i++) {
        state->values[i] = must_be_kept((uint32_t)i) ? DW_VALUE_AT_ENTRY(i) : UNKNOWN;
        state->saved[i] = UNKNOWN;
    }
    state->values[DW_RSP] = ENTRY_SP;
    state->kept_at = UNKNOWN;
    state->kept = UNKNOWN;
}

static bool meet_one(int32_t *into, int32_t other)
{
    if (*into == other || *into == UNKNOWN)
        return false;
    *into = UNKNOWN;
    return true;
}

/* Returns whether less is known than before. */
static bool meet(struct dw_code_state *into, const struct dw_code_state *other)
{
    bool has_changed = false;
    for (int i = 0; i < DW_REGISTERS; i++) {
        has_changed |= meet_one(&into->values[i], other->values[i]);
        has_changed |= meet_one(&into->saved[i], other->saved[i]);
    }
    has_changed |= meet_one(&into->kept_at, other->kept_at);
    return meet_one(&into->kept, other->kept) || has_changed;
}

static int32_t moved(int32_t value, int32_t by)
{
    int64_t sum = (int64_t)value + by;
    if (sum <= INT32_MIN || sum >= INT32_MAX)
        return UNKNOWN;
    int32_t place = (int32_t)sum;
    return (dw_value_is_place(value) && dw_value_is_place(place)) ||
                   (dw_value_is_by_floor(value) && dw_value_is_by_floor(place))
               ? place
               : UNKNOWN;
}

/* The place that a memory operand is; UNKNOWN when it may be anywhere. */
static int32_t place_of(const struct dw_code_state *state, uint8_t base, int32_t offset)
{
    return base == DW_NO_REGISTER ? UNKNOWN : moved(state->values[base], offset);
}

/* What was saved first stays where it is, until something else is put there. Memory at unknown
 * places is taken to be other memory: a function that overwrote what it has saved would not return
 * well. */
static void store(struct dw_code_state *state, int32_t place, int32_t value)
{
    if (place == UNKNOWN)
        return;
    for (uint32_t i = 0; i < DW_REGISTERS; i++) {
        bool is_it = value == DW_VALUE_AT_ENTRY(i);
        if (state->saved[i] == place && !is_it)
            state->saved[i] = UNKNOWN;
        if (is_it && state->saved[i] == UNKNOWN && dw_value_is_place(place))
            state->saved[i] = place;
    }
    if (state->kept_at == place)
        state->kept_at = UNKNOWN;
    if (dw_value_is_place(value) && state->kept_at == UNKNOWN) {
        state->kept_at = place;
        state->kept = value;
    }
}

static int32_t load(const struct dw_code_state *state, int32_t place)
{
    if (place == UNKNOWN)
        return UNKNOWN;
    for (int32_t i = 0; i < DW_REGISTERS; i++)
        if (state->saved[i] == place)
            return DW_VALUE_AT_ENTRY(i);
    return state->kept_at == place ? state->kept : UNKNOWN;
}

static void pop(struct dw_code_state *state, uint8_t reg)
{
    int32_t *sp = &state->values[DW_RSP], value = load(state, *sp);
    *sp = moved(*sp, WORD_BYTES);
    state->values[reg] = value;
}

static void push(struct dw_code_state *state, uint8_t reg)
{
    int32_t *sp = &state->values[DW_RSP];
    int32_t value = reg == DW_NO_REGISTER ? UNKNOWN : state->values[reg];
    *sp = moved(*sp, -WORD_BYTES);
    store(state, *sp, value);
}

/* The stack pointer is somewhere else, and what was counted from the last floor is forgotten. */
static void begin_floor(struct dw_code_state *state)
{
    for (uint32_t i = 0; i < DW_REGISTERS; i++)
        if (dw_value_is_by_floor(state->values[i]))
            state->values[i] = UNKNOWN;
    if (dw_value_is_by_floor(state->kept_at))
        state->kept_at = UNKNOWN;
    state->values[DW_RSP] = DW_VALUE_FLOOR;
}

static void forget_registers(struct dw_code_state *state, uint32_t registers)
{
    for (uint32_t i = 0; i < DW_REGISTERS; i++)
        if (registers >> i & 1)
            state->values[i] = UNKNOWN;
    if (registers >> DW_RSP & 1)
        begin_floor(state);
}

static void call(struct dw_code_state *state)
{
    for (uint32_t i = 0; i < DW_REGISTERS; i++)
        if (!must_be_kept(i) && i != DW_RSP)
            state->values[i] = UNKNOWN;
}

static void apply(struct dw_code_state *state, const struct dw_instruction *did)
{
    int32_t *values = state->values;
    switch (did->operation) {
    case DW_OP_COPY: values[did->reg] = values[did->base]; break;
    case DW_OP_ADD: values[did->reg] = moved(values[did->reg], did->offset); break;
    case DW_OP_LEA: values[did->reg] = place_of(state, did->base, did->offset); break;
    case DW_OP_LOAD: values[did->reg] = load(state, place_of(state, did->base, did->offset)); break;
    case DW_OP_STORE:
        store(state, place_of(state, did->base, did->offset), values[did->reg]);
        break;
    case DW_OP_PUSH: push(state, did->reg); break;
    case DW_OP_POP: pop(state, did->reg); break;
    case DW_OP_LEAVE:
        values[DW_RSP] = values[DW_RBP];
        pop(state, DW_RBP);
        break;
    case DW_OP_CALL: call(state); break;
    default: break;
    }
    forget_registers(state, did->writes);
}

/* Whether all is as it was at the entry, as far as the caller relies on it. */
static bool is_as_entered(const struct dw_code_state *state)
{
    for (uint32_t i = 0; i < DW_REGISTERS; i++)
        if (must_be_kept(i) && state->values[i] != DW_VALUE_AT_ENTRY(i))
            return false;
    return state->values[DW_RSP] == ENTRY_SP;
}

static void arrive(struct function *function, int64_t target, const struct dw_code_state *state)
{
    uint16_t *head_at = &function->head_at[target];
    if (*head_at) {
        function->has_changed |= meet(&function->heads[*head_at - 1], state);
        return;
    }
    if (function->head_count == MAX_HEADS ||
        DW_GROW(function->heads, function->head_count, function->head_capacity)) {
        function->is_refused = true;
        return;
    }
    function->heads[function->head_count] = *state;
    *head_at = (uint16_t)++function->head_count;
    function->has_changed = true;
}

/* A jump out of the function is a call that does not come back here, if all is as it was; else it
 * goes to another part of the function, of which nothing is known. */
static void lead(struct function *function, uint32_t at, const struct dw_instruction *did,
                 const struct dw_code_state *state)
{
    int64_t target = (int64_t)at + did->target;
    if (target >= 0 && target < function->size)
        arrive(function, target, state);
    else
        function->is_left |= is_as_entered(state);
}

/* Returns whether the way goes on behind the instruction. */
static bool goes_on(struct function *function, uint32_t at, const struct dw_instruction *did,
                    const struct dw_code_state *state)
{
    switch (did->operation) {
    case DW_OP_BRANCH: lead(function, at, did, state); return true;
    case DW_OP_JUMP: lead(function, at, did, state); return false;
    case DW_OP_JUMP_FAR: function->is_left |= is_as_entered(state); return false;
    case DW_OP_RETURN:
        function->is_left = true;
        function->is_refused |= !is_as_entered(state);
        return false;
    case DW_OP_STOP: return false;
    default: return true;
    }
}

/* Code that is jumped into the middle of is not what it seems to be. */
static bool has_head_inside(const struct function *function, uint32_t at, uint32_t size)
{
    for (uint32_t i = 1; i < size; i++)
        if (function->head_at[at + i])
            return true;
    return false;
}

/* Applies the instruction at `at` to *state; returns its size, 0 when it is not understood. */
static uint32_t step(struct function *function, uint32_t at, struct dw_code_state *state,
                     bool *is_reached)
{
    struct dw_instruction did;
    if (!dw_decode(function->code + at, function->size - at, &did) ||
        has_head_inside(function, at, did.size)) {
        function->is_refused = true;
        return 0;
    }
    apply(state, &did);
    *is_reached = goes_on(function, at, &did, state);
    return did.size;
}

/* One pass, which visits if it is the last. */
static int pass(struct function *function, bool is_last)
{
    struct dw_code_state state;
    bool is_reached = false;
    int error = 0;
    function->has_changed = function->is_left = false;
    for (uint32_t at = 0; at < function->size && !function->is_refused && !error;) {
        uint16_t head = function->head_at[at];
        if (head && is_reached)
            function->has_changed |= meet(&function->heads[head - 1], &state);
        if (head)
            state = function->heads[head - 1];
        is_reached |= head;
        if (is_last)
            error = function->visit(function->context, at, is_reached ? &state : NULL);
        at += is_reached ? step(function, at, &state, &is_reached) : 1;
    }
    return error;
}

static int follow(struct function *function)
{
    struct dw_code_state entry;
    int error = 0;
    enter(&entry);
    arrive(function, 0, &entry);
    for (uint32_t i = 0; i < MAX_PASSES && function->has_changed && !function->is_refused; i++)
        error = pass(function, false);
    function->is_refused |= function->has_changed || !function->is_left;
    return error || function->is_refused ? error : pass(function, true);
}

int dw_code_flow(const uint8_t *code, size_t size, dw_code_visit visit, void *context,
                 bool *is_understood)
{
    struct function function = {
        .code = code, .size = (uint32_t)size, .visit = visit, .context = context};
    *is_understood = false;
    if (!size || size > MAX_BYTES)
        return 0;
    function.head_at = calloc(size, sizeof *function.head_at);
    int error = function.head_at ? follow(&function) : DW_ERR_MEMORY;
    free(function.head_at);
    free(function.heads);
    *is_understood = !error && !function.is_refused;
    return error;
}
