/* SPDX-License-Identifier: MIT
 * A machine with one row of rules, which instructions change up to the address that is asked for.
 * Only the columns that unwinding follows are kept. */
#include "native/unwind/cfi.h"

#include "native/unwind/cfi_expression.h"
#include "native/unwind/cfi_x86_64.h"

#define MAX_INSTRUCTIONS 20000
#define MAX_REMEMBERED 4

enum {
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_ARGS_SIZE = 0x2e,
    CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40, /* these three hold an operand in their low six bits */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_PRIMARY = 0xc0,
};

/* Differs from DW_CFI_LOST: an undefined return address is the end of the stack. */
#define UNDEFINED (DW_CFI_LOST + 1)

enum slot_index { SLOT_FP, SLOT_RBX, SLOT_PC, SLOT_OTHER, SLOT_COUNT };

struct slot {
    uint8_t where; /* enum dw_cfi_where, or UNDEFINED */
    int32_t offset;
};

struct row {
    bool is_cfa_known;
    struct dw_cfi_value cfa;
    struct slot slots[SLOT_COUNT];
};

struct machine {
    const struct dw_eh_record *record;
    struct dw_cfi_cursor *cursor;
    uint64_t target, location;
    uint32_t left, remembered_count;
    struct row row, initial, remembered[MAX_REMEMBERED];
};

static struct slot *slot_of(struct machine *machine, uint64_t column)
{
    enum slot_index index = SLOT_OTHER;
    if (column == machine->record->return_column)
        index = SLOT_PC;
    else if (column == DW_REGISTER_FP)
        index = SLOT_FP;
    else if (column == DW_REGISTER_RBX)
        index = SLOT_RBX;
    return &machine->row.slots[index];
}

static void mark(struct machine *machine, uint64_t column, uint8_t where)
{
    *slot_of(machine, column) = (struct slot){.where = where};
}

static void save_at(struct machine *machine, uint64_t column, uint8_t base, uint64_t offset)
{
    struct slot slot = {.where = DW_CFI_LOST, .offset = (int32_t)offset};
    if ((uint64_t)(int64_t)slot.offset == offset)
        slot.where = base == DW_BASE_CFA      ? DW_CFI_AT_CFA
                     : base == DW_REGISTER_SP ? DW_CFI_AT_SP
                     : base == DW_REGISTER_FP ? DW_CFI_AT_FP
                                              : DW_CFI_LOST;
    *slot_of(machine, column) = slot;
}

static void save_by_expression(struct machine *machine, uint64_t column)
{
    struct dw_cfi_value value;
    bool followed = dw_cfi_evaluate(machine->cursor, machine->target, true, &value);
    if (followed && !value.is_indirect && value.base != DW_BASE_NONE)
        save_at(machine, column, value.base, value.offset);
    else
        mark(machine, column, DW_CFI_LOST);
}

static void restore(struct machine *machine, uint64_t column)
{
    struct slot *slot = slot_of(machine, column);
    *slot = machine->initial.slots[slot - machine->row.slots];
}

static void define_cfa(struct machine *machine, uint64_t base, uint64_t offset)
{
    machine->row.is_cfa_known = base < DW_REGISTER_COUNT;
    machine->row.cfa = (struct dw_cfi_value){.base = (uint8_t)base, .offset = offset};
}

static void define_cfa_by_expression(struct machine *machine)
{
    struct row *row = &machine->row;
    row->is_cfa_known = dw_cfi_evaluate(machine->cursor, machine->target, false, &row->cfa) &&
                        row->cfa.base < DW_REGISTER_COUNT;
}

static void remember(struct machine *machine)
{
    if (machine->remembered_count == MAX_REMEMBERED)
        machine->cursor->failed = true;
    else
        machine->remembered[machine->remembered_count++] = machine->row;
}

static void recall(struct machine *machine)
{
    if (!machine->remembered_count)
        machine->cursor->failed = true;
    else
        machine->row = machine->remembered[--machine->remembered_count];
}

static void advance(struct machine *machine, uint64_t units)
{
    machine->location += units * machine->record->code_unit;
}

/* Scales an offset of the table, which is in units of the CIE. */
static uint64_t scaled(const struct machine *machine, uint64_t units)
{
    return units * (uint64_t)machine->record->data_unit;
}

static uint64_t signed_operand(struct machine *machine)
{
    return (uint64_t)dw_cfi_sleb(machine->cursor);
}

/* Executes an instruction that defines the CFA; false when it is another one. */
static bool execute_for_cfa(struct machine *machine, uint8_t op)
{
    struct dw_cfi_cursor *cursor = machine->cursor;
    struct dw_cfi_value *cfa = &machine->row.cfa;
    uint64_t base;
    switch (op) {
    case CFA_DEF_CFA:
        base = dw_cfi_uleb(cursor);
        define_cfa(machine, base, dw_cfi_uleb(cursor));
        return true;
    case CFA_DEF_CFA_SF:
        base = dw_cfi_uleb(cursor);
        define_cfa(machine, base, scaled(machine, signed_operand(machine)));
        return true;
    case CFA_DEF_CFA_REGISTER: define_cfa(machine, dw_cfi_uleb(cursor), cfa->offset); return true;
    case CFA_DEF_CFA_OFFSET: define_cfa(machine, cfa->base, dw_cfi_uleb(cursor)); return true;
    case CFA_DEF_CFA_OFFSET_SF:
        define_cfa(machine, cfa->base, scaled(machine, signed_operand(machine)));
        return true;
    case CFA_DEF_CFA_EXPRESSION: define_cfa_by_expression(machine); return true;
    default: return false;
    }
}

/* Instructions on one column, which is their first operand. */
static void execute_for_column(struct machine *machine, uint8_t op)
{
    struct dw_cfi_cursor *cursor = machine->cursor;
    uint64_t column = dw_cfi_uleb(cursor);
    uint64_t units;
    struct dw_cfi_value unused;
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        units = dw_cfi_uleb(cursor);
        save_at(machine, column, DW_BASE_CFA, scaled(machine, units));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        units = signed_operand(machine);
        save_at(machine, column, DW_BASE_CFA, scaled(machine, units));
        break;
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        units = 0 - dw_cfi_uleb(cursor);
        save_at(machine, column, DW_BASE_CFA, scaled(machine, units));
        break;
    case CFA_RESTORE_EXTENDED: restore(machine, column); break;
    case CFA_SAME_VALUE: mark(machine, column, DW_CFI_SAME); break;
    case CFA_UNDEFINED: mark(machine, column, UNDEFINED); break;
    case CFA_EXPRESSION: save_by_expression(machine, column); break;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
        dw_cfi_uleb(cursor);
        mark(machine, column, DW_CFI_LOST);
        break;
    case CFA_VAL_EXPRESSION:
        dw_cfi_evaluate(cursor, machine->target, true, &unused);
        mark(machine, column, DW_CFI_LOST);
        break;
    default: cursor->failed = true; break;
    }
}

static void execute_secondary(struct machine *machine, uint8_t op)
{
    struct dw_cfi_cursor *cursor = machine->cursor;
    switch (op) {
    case 0: break;
    case CFA_ADVANCE_LOC1: advance(machine, dw_cfi_fixed(cursor, 1)); break;
    case CFA_ADVANCE_LOC2: advance(machine, dw_cfi_fixed(cursor, 2)); break;
    case CFA_ADVANCE_LOC4: advance(machine, dw_cfi_fixed(cursor, 4)); break;
    case CFA_SET_LOC:
        machine->location = dw_cfi_pointer(cursor, machine->record->encoding, 0);
        break;
    case CFA_REMEMBER_STATE: remember(machine); break;
    case CFA_RESTORE_STATE: recall(machine); break;
    case CFA_ARGS_SIZE: dw_cfi_uleb(cursor); break;
    default:
        if (!execute_for_cfa(machine, op))
            execute_for_column(machine, op);
        break;
    }
}

static void execute(struct machine *machine)
{
    uint8_t op = dw_cfi_byte(machine->cursor), low = op & (uint8_t)~CFA_PRIMARY;
    uint64_t units;
    switch (op & CFA_PRIMARY) {
    case CFA_ADVANCE_LOC: advance(machine, low); break;
    case CFA_RESTORE: restore(machine, low); break;
    case CFA_OFFSET:
        units = dw_cfi_uleb(machine->cursor);
        save_at(machine, low, DW_BASE_CFA, scaled(machine, units));
        break;
    default: execute_secondary(machine, op); break;
    }
}

/* The row in force at the target is complete when the next row would begin beyond it. */
static bool run(struct machine *machine, struct dw_cfi_cursor *cursor)
{
    machine->cursor = cursor;
    while (!cursor->failed && cursor->at < cursor->end && machine->location <= machine->target) {
        if (!machine->left--)
            return false;
        execute(machine);
    }
    return !cursor->failed;
}

static struct dw_cfi_slot finished_slot(const struct row *row, enum slot_index index)
{
    const struct slot *slot = &row->slots[index];
    uint8_t where = slot->where == UNDEFINED ? DW_CFI_LOST : slot->where;
    return (struct dw_cfi_slot){(enum dw_cfi_where)where, slot->offset};
}

static bool finish(const struct machine *machine, struct dw_cfi_rule *rule)
{
    const struct row *row = &machine->row;
    struct dw_cfi_rule made = {
        .base = row->cfa.base,
        .is_indirect = row->cfa.is_indirect,
        .is_signal = machine->record->is_signal,
        .is_end = row->slots[SLOT_PC].where == UNDEFINED,
        .offset = (int32_t)row->cfa.offset,
        .beyond = (int32_t)row->cfa.beyond,
        .fp = finished_slot(row, SLOT_FP),
        .rbx = finished_slot(row, SLOT_RBX),
        .pc = finished_slot(row, SLOT_PC),
    };
    *rule = made;
    return made.is_end || (row->is_cfa_known && (uint64_t)(int64_t)made.offset == row->cfa.offset &&
                           (uint64_t)(int64_t)made.beyond == row->cfa.beyond &&
                           (made.pc.where == DW_CFI_AT_CFA || made.pc.where == DW_CFI_AT_SP));
}

bool dw_cfi_run(struct dw_eh_record *record, uint64_t address, struct dw_cfi_rule *rule)
{
    struct machine machine = {
        .record = record, .target = address, .location = record->start, .left = MAX_INSTRUCTIONS};
    if (!run(&machine, &record->cie))
        return false;
    machine.initial = machine.row;
    return run(&machine, &record->fde) && finish(&machine, rule);
}
