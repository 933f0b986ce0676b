/* SPDX-License-Identifier: MIT
 * A stack machine on symbolic values: each is a base, an offset and at most one dereference. What
 * does not come to that form is refused, and the walk guesses. */
#include "native/unwind/cfi_expression.h"

#include "native/unwind/cfi_x86_64.h"

#define STACK_DEPTH 8

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08, /* to OP_CONST8S: unsigned and signed by turns, sizes 1, 2, 4, 8 */
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

struct machine {
    struct dw_cfi_cursor *cursor;
    uint64_t pc;
    uint32_t depth;
    struct dw_cfi_value stack[STACK_DEPTH];
};

static bool push(struct machine *machine, struct dw_cfi_value value)
{
    if (machine->depth == STACK_DEPTH)
        return false;
    machine->stack[machine->depth++] = value;
    return true;
}

static bool push_number(struct machine *machine, uint64_t number)
{
    return push(machine, (struct dw_cfi_value){.base = DW_BASE_NONE, .offset = number});
}

static bool push_constant(struct machine *machine, uint8_t op)
{
    uint32_t size = 1u << (op - OP_CONST1U) / 2;
    uint64_t number = dw_cfi_fixed(machine->cursor, size);
    uint32_t unused_bits = 64 - 8 * size;
    if ((op - OP_CONST1U) % 2)
        number = (uint64_t)((int64_t)(number << unused_bits) >> unused_bits);
    return push_number(machine, number);
}

static bool push_register(struct machine *machine, uint8_t number)
{
    uint64_t offset = (uint64_t)dw_cfi_sleb(machine->cursor);
    if (number == DW_REGISTER_RETURN)
        return push_number(machine, machine->pc + offset);
    return push(machine, (struct dw_cfi_value){.base = number, .offset = offset});
}

static bool add_number(struct machine *machine, uint64_t number)
{
    if (!machine->depth)
        return false;
    struct dw_cfi_value *top = &machine->stack[machine->depth - 1];
    *(top->is_indirect ? &top->beyond : &top->offset) += number;
    return true;
}

static bool follow_pointer(struct machine *machine)
{
    struct dw_cfi_value *top = &machine->stack[machine->depth - 1];
    if (!machine->depth || top->is_indirect || top->base == DW_BASE_NONE)
        return false;
    top->is_indirect = true;
    return true;
}

/* Two operands: numbers both, but for sums. */
static bool combine(struct machine *machine, uint8_t op)
{
    if (machine->depth < 2)
        return false;
    struct dw_cfi_value right = machine->stack[--machine->depth];
    struct dw_cfi_value *left = &machine->stack[machine->depth - 1];
    if (right.base != DW_BASE_NONE)
        return false;
    if (op == OP_PLUS || op == OP_MINUS)
        return add_number(machine, op == OP_PLUS ? right.offset : 0 - right.offset);
    if (left->base != DW_BASE_NONE)
        return false;
    switch (op) {
    case OP_AND: left->offset &= right.offset; return true;
    case OP_SHL: left->offset = right.offset < 64 ? left->offset << right.offset : 0; return true;
    case OP_GE: left->offset = (int64_t)left->offset >= (int64_t)right.offset; return true;
    default: return false;
    }
}

static bool execute(struct machine *machine)
{
    uint8_t op = dw_cfi_byte(machine->cursor);
    if (op >= OP_LIT0 && op <= OP_LIT31)
        return push_number(machine, op - OP_LIT0);
    if (op >= OP_BREG0 && op <= OP_BREG31)
        return push_register(machine, op - OP_BREG0);
    if (op >= OP_CONST1U && op <= OP_CONST8S)
        return push_constant(machine, op);
    switch (op) {
    case OP_CONSTU: return push_number(machine, dw_cfi_uleb(machine->cursor));
    case OP_CONSTS: return push_number(machine, (uint64_t)dw_cfi_sleb(machine->cursor));
    case OP_PLUS_UCONST: return add_number(machine, dw_cfi_uleb(machine->cursor));
    case OP_DEREF: return follow_pointer(machine);
    default: return combine(machine, op);
    }
}

bool dw_cfi_evaluate(struct dw_cfi_cursor *cursor, uint64_t pc, bool on_cfa,
                     struct dw_cfi_value *value)
{
    struct machine machine = {.cursor = cursor, .pc = pc};
    uint64_t size = dw_cfi_uleb(cursor), start = cursor->at, end = start + size;
    dw_cfi_skip(cursor, size);
    if (cursor->failed)
        return false;
    cursor->at = start;
    bool followed = !on_cfa || push(&machine, (struct dw_cfi_value){.base = DW_BASE_CFA});
    while (followed && cursor->at < end)
        followed = execute(&machine) && !cursor->failed;
    followed &= machine.depth && cursor->at == end;
    cursor->at = end;
    if (followed)
        *value = machine.stack[machine.depth - 1];
    return followed;
}
