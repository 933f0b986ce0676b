/* SPDX-License-Identifier: MIT
 * Instructions that only the kernel uses, far calls and the like are not known. A register that may
 * be written counts as written. */
#include "native/unwind/decode_x86_64.h"

#include <string.h>

#define BIT(register) (1u << (register))
#define RAX_RDX (BIT(DW_RAX) | BIT(DW_RDX))
#define STRING_REGISTERS (BIT(DW_RAX) | BIT(DW_RCX) | BIT(DW_RSI) | BIT(DW_RDI))

/* Which table an opcode is of. */
enum map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_HALF_A = 5, MAP_HALF_B = 6 };

enum { PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2 }; /* as VEX numbers them */

struct reader {
    const uint8_t *code;
    size_t size, at;
    bool failed;
    bool has_rex, is_wide, is_vector; /* vector: by VEX or EVEX */
    bool has_66;
    uint8_t prefix;                          /* the last of 66, f3, f2 */
    uint8_t high_reg, high_index, high_base; /* 0 or 8: the registers' highest bit */
    uint8_t other;                           /* the third operand of VEX */
    enum map map;
    uint8_t opcode, mode, reg, rm;
    uint8_t base; /* of a memory operand; DW_NO_REGISTER when it is more than base + offset */
    int32_t displacement;
};

static uint8_t next_byte(struct reader *reader)
{
    if (reader->at < reader->size)
        return reader->code[reader->at++];
    reader->failed = true;
    return 0;
}

static int32_t next_number(struct reader *reader, uint32_t size)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < size; i++)
        value |= (uint32_t)next_byte(reader) << 8 * i;
    return size == 1 ? (int8_t)value : size == 2 ? (int16_t)value : (int32_t)value;
}

/* Notes a prefix; false when the byte is not one. */
static bool take_prefix(struct reader *reader, uint8_t byte)
{
    switch (byte) {
    case 0x66:
        reader->has_66 = true;
        if (!reader->prefix)
            reader->prefix = PREFIX_66;
        return true;
    case 0xf2: reader->prefix = PREFIX_F2; return true;
    case 0xf3: reader->prefix = PREFIX_F3; return true;
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0xf0: return true;
    default: return false;
    }
}

static void take_rex(struct reader *reader, uint8_t rex)
{
    reader->has_rex = true;
    reader->is_wide = rex & 8;
    reader->high_reg = rex & 4 ? 8 : 0;
    reader->high_index = rex & 2 ? 8 : 0;
    reader->high_base = rex & 1 ? 8 : 0;
}

/* The bits of VEX and EVEX are those of REX upside down. */
static void take_vex(struct reader *reader, uint8_t first)
{
    uint8_t high = first == 0xc5 ? 0x60 : next_byte(reader);
    uint8_t low = next_byte(reader);
    reader->is_vector = true;
    reader->high_reg = (first == 0xc5 ? low : high) & 0x80 ? 0 : 8;
    reader->high_index = high & 0x40 ? 0 : 8;
    reader->high_base = high & 0x20 ? 0 : 8;
    reader->other = (uint8_t)(~low >> 3 & 15);
    reader->prefix = low & 3;
    reader->map = first == 0xc5 ? MAP_0F : (enum map)(high & 31);
    reader->failed |= reader->map < MAP_0F || reader->map > MAP_0F3A;
}

static void take_evex(struct reader *reader)
{
    uint8_t high = next_byte(reader), low = next_byte(reader);
    next_byte(reader);
    reader->is_vector = true;
    reader->high_reg = high & 0x80 ? 0 : 8;
    reader->high_index = high & 0x40 ? 0 : 8;
    reader->high_base = high & 0x20 ? 0 : 8;
    reader->other = (uint8_t)(~low >> 3 & 15);
    reader->prefix = low & 3;
    reader->map = (enum map)(high & 7);
    reader->failed |= reader->map == MAP_ONE_BYTE || reader->map == 4 || reader->map > MAP_HALF_B;
}

static void read_opcode(struct reader *reader)
{
    uint8_t byte = next_byte(reader);
    while (take_prefix(reader, byte))
        byte = next_byte(reader);
    if (byte >> 4 == 4) {
        take_rex(reader, byte);
        byte = next_byte(reader);
    }
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
        reader->failed |= reader->has_rex;
        byte == 0x62 ? take_evex(reader) : take_vex(reader, byte);
        byte = next_byte(reader);
    } else if (byte == 0x0f) {
        reader->map = MAP_0F;
        byte = next_byte(reader);
        if (byte == 0x38 || byte == 0x3a) {
            reader->map = byte == 0x38 ? MAP_0F38 : MAP_0F3A;
            byte = next_byte(reader);
        }
    }
    reader->opcode = byte;
}

static void read_operands(struct reader *reader)
{
    uint8_t byte = next_byte(reader);
    reader->mode = byte >> 6;
    reader->reg = (byte >> 3 & 7) | reader->high_reg;
    reader->rm = (byte & 7) | reader->high_base;
    reader->base = reader->rm;
    if (reader->mode == 3)
        return;
    uint32_t size = reader->mode == 1 ? 1 : reader->mode == 2 ? 4 : 0;
    if ((byte & 7) == 4) {
        uint8_t scaled = next_byte(reader);
        bool has_index = ((scaled >> 3 & 7) | reader->high_index) != 4;
        bool has_base = reader->mode || (scaled & 7) != 5;
        size = has_base ? size : 4;
        reader->base = has_index || !has_base ? DW_NO_REGISTER : (scaled & 7) | reader->high_base;
    } else if (!reader->mode && (byte & 7) == 5) {
        size = 4;
        reader->base = DW_NO_REGISTER; /* from the pc */
    }
    reader->displacement = next_number(reader, size);
}

static bool is_memory(const struct reader *reader)
{
    return reader->mode != 3;
}

/* The size of a constant that is as long as the operands, at most 4. */
static uint32_t constant_size(const struct reader *reader)
{
    return reader->has_66 && !reader->is_wide ? 2 : 4;
}

/* Without REX, 4 to 7 are the second bytes of the first four registers. */
static uint32_t byte_register(const struct reader *reader, uint8_t number)
{
    return BIT(!reader->has_rex && number >= 4 && number < 8 ? number - 4 : number);
}

static uint32_t rm_written(const struct reader *reader, bool is_byte)
{
    if (is_memory(reader))
        return 0;
    return is_byte ? byte_register(reader, reader->rm) : BIT(reader->rm);
}

static uint32_t reg_written(const struct reader *reader, bool is_byte)
{
    return is_byte ? byte_register(reader, reader->reg) : BIT(reader->reg);
}

static bool set(struct dw_instruction *to, enum dw_operation operation, uint8_t reg, uint8_t base,
                int32_t offset)
{
    to->operation = operation;
    to->reg = reg;
    to->base = base;
    to->offset = offset;
    return true;
}

static bool writes(struct dw_instruction *to, uint32_t registers)
{
    to->operation = DW_OP_OTHER;
    to->writes = registers;
    return true;
}

static bool leads(struct reader *reader, struct dw_instruction *to, enum dw_operation operation,
                  uint32_t size)
{
    int32_t distance = next_number(reader, size);
    to->operation = operation;
    to->target = (int64_t)reader->at + distance;
    return true;
}

/* add, or, adc, sbb, and, sub, xor, cmp of two operands. */
static bool decode_arithmetic(struct reader *reader, struct dw_instruction *to)
{
    uint8_t form = reader->opcode & 7;
    bool compares = reader->opcode >> 3 == 7, is_byte = !(form & 1);
    if (form >= 6)
        return false;
    if (form >= 4) {
        next_number(reader, is_byte ? 1 : constant_size(reader));
        return writes(to, compares ? 0 : BIT(DW_RAX));
    }
    read_operands(reader);
    return writes(to, compares   ? 0
                      : form < 2 ? rm_written(reader, is_byte)
                                 : reg_written(reader, is_byte));
}

/* The same with a constant. */
static bool decode_arithmetic_constant(struct reader *reader, struct dw_instruction *to)
{
    enum { ADD = 0, SUB = 5, COMPARE = 7 };
    bool is_byte = reader->opcode == 0x80;
    read_operands(reader);
    uint8_t kind = reader->reg & 7;
    int32_t constant = next_number(reader, reader->opcode == 0x81 ? constant_size(reader) : 1);
    if (reader->is_wide && !is_byte && !is_memory(reader) && constant != INT32_MIN &&
        (kind == ADD || kind == SUB))
        return set(to, DW_OP_ADD, reader->rm, 0, kind == ADD ? constant : -constant);
    return writes(to, kind == COMPARE ? 0 : rm_written(reader, is_byte));
}

static bool decode_move(struct reader *reader, struct dw_instruction *to)
{
    bool is_byte = !(reader->opcode & 1), is_load = reader->opcode & 2;
    read_operands(reader);
    if (is_byte || !reader->is_wide)
        return writes(to, is_load ? reg_written(reader, is_byte) : rm_written(reader, is_byte));
    if (is_memory(reader))
        return set(to, is_load ? DW_OP_LOAD : DW_OP_STORE, reader->reg, reader->base,
                   reader->displacement);
    return is_load ? set(to, DW_OP_COPY, reader->reg, reader->rm, 0)
                   : set(to, DW_OP_COPY, reader->rm, reader->reg, 0);
}

static bool decode_lea(struct reader *reader, struct dw_instruction *to)
{
    read_operands(reader);
    if (!is_memory(reader))
        return false;
    if (!reader->is_wide || reader->base == DW_NO_REGISTER)
        return writes(to, BIT(reader->reg));
    return set(to, DW_OP_LEA, reader->reg, reader->base, reader->displacement);
}

/* test, not, neg, mul, div. */
static bool decode_group3(struct reader *reader, struct dw_instruction *to)
{
    bool is_byte = reader->opcode == 0xf6;
    read_operands(reader);
    uint8_t kind = reader->reg & 7;
    if (kind < 2) {
        next_number(reader, is_byte ? 1 : constant_size(reader));
        return writes(to, 0);
    }
    return writes(to, kind < 4 ? rm_written(reader, is_byte) : RAX_RDX);
}

static bool decode_group5(struct reader *reader, struct dw_instruction *to)
{
    read_operands(reader);
    switch (reader->reg & 7) {
    case 0:
    case 1: return writes(to, rm_written(reader, reader->opcode == 0xfe));
    case 2: return reader->opcode == 0xff && set(to, DW_OP_CALL, 0, 0, 0);
    case 4: return reader->opcode == 0xff && set(to, DW_OP_JUMP_FAR, 0, 0, 0);
    case 6:
        return reader->opcode == 0xff && !reader->has_66 &&
               set(to, DW_OP_PUSH, is_memory(reader) ? DW_NO_REGISTER : reader->rm, 0, 0);
    default: return false;
    }
}

/* Opcodes whose lowest bits are a register. */
static bool decode_short(struct reader *reader, struct dw_instruction *to)
{
    uint8_t number = (reader->opcode & 7) | reader->high_base;
    switch (reader->opcode >> 3) {
    case 0x50 >> 3: return !reader->has_66 && set(to, DW_OP_PUSH, number, 0, 0);
    case 0x58 >> 3: return !reader->has_66 && set(to, DW_OP_POP, number, 0, 0);
    case 0x90 >> 3:
        return writes(to,
                      reader->opcode == 0x90 && !reader->high_base ? 0 : BIT(DW_RAX) | BIT(number));
    case 0xb0 >> 3: next_byte(reader); return writes(to, byte_register(reader, number));
    case 0xb8 >> 3:
        next_number(reader, constant_size(reader));
        if (reader->is_wide)
            next_number(reader, 4);
        return writes(to, BIT(number));
    default: return false;
    }
}

static bool decode_others(struct reader *reader, struct dw_instruction *to)
{
    bool is_byte = !(reader->opcode & 1);
    switch (reader->opcode) {
    case 0x63: read_operands(reader); return writes(to, BIT(reader->reg));
    case 0x68:
        next_number(reader, 4);
        return !reader->has_66 && set(to, DW_OP_PUSH, DW_NO_REGISTER, 0, 0);
    case 0x6a:
        next_byte(reader);
        return !reader->has_66 && set(to, DW_OP_PUSH, DW_NO_REGISTER, 0, 0);
    case 0x69:
    case 0x6b:
        read_operands(reader);
        next_number(reader, reader->opcode == 0x6b ? 1 : constant_size(reader));
        return writes(to, BIT(reader->reg));
    case 0x80:
    case 0x81:
    case 0x83: return decode_arithmetic_constant(reader, to);
    case 0x84:
    case 0x85: read_operands(reader); return writes(to, 0);
    case 0x86:
    case 0x87:
        read_operands(reader);
        return writes(to, rm_written(reader, is_byte) | reg_written(reader, is_byte));
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b: return decode_move(reader, to);
    case 0x8d: return decode_lea(reader, to);
    case 0x98: return writes(to, BIT(DW_RAX));
    case 0x99: return writes(to, BIT(DW_RDX));
    case 0x9e:
    case 0x9f: return writes(to, BIT(DW_RAX));
    case 0xa4:
    case 0xa5:
    case 0xa6:
    case 0xa7:
    case 0xaa:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xae:
    case 0xaf: return writes(to, STRING_REGISTERS);
    case 0xa8: next_byte(reader); return writes(to, 0);
    case 0xa9: next_number(reader, constant_size(reader)); return writes(to, 0);
    case 0xc0:
    case 0xc1:
        read_operands(reader);
        next_byte(reader);
        return writes(to, rm_written(reader, is_byte));
    case 0xc3: return set(to, DW_OP_RETURN, 0, 0, 0);
    case 0xc6:
    case 0xc7:
        read_operands(reader);
        next_number(reader, is_byte ? 1 : constant_size(reader));
        return !(reader->reg & 7) && writes(to, rm_written(reader, is_byte));
    case 0xc9: return set(to, DW_OP_LEAVE, 0, 0, 0);
    case 0xcc:
    case 0xf4: return set(to, DW_OP_STOP, 0, 0, 0);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: read_operands(reader); return writes(to, rm_written(reader, is_byte));
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3: to->writes = BIT(DW_RCX); return leads(reader, to, DW_OP_BRANCH, 1);
    case 0xe8: return leads(reader, to, DW_OP_CALL, 4);
    case 0xe9: return leads(reader, to, DW_OP_JUMP, 4);
    case 0xeb: return leads(reader, to, DW_OP_JUMP, 1);
    case 0xf5:
    case 0xf8:
    case 0xf9:
    case 0xfc:
    case 0xfd:
    case 0x9b: return writes(to, 0);
    case 0xf6:
    case 0xf7: return decode_group3(reader, to);
    case 0xfe:
    case 0xff: return decode_group5(reader, to);
    default: return false;
    }
}

static bool decode_one_byte(struct reader *reader, struct dw_instruction *to)
{
    uint8_t opcode = reader->opcode;
    if (opcode < 0x40)
        return decode_arithmetic(reader, to);
    if (opcode >> 4 == 7)
        return leads(reader, to, DW_OP_BRANCH, 1);
    if (opcode >= 0xd8 && opcode <= 0xdf) { /* the old floating point unit */
        read_operands(reader);
        return writes(to, BIT(DW_RAX));
    }
    if (opcode >> 4 == 5 || opcode >> 3 == 0x90 >> 3 || opcode >> 4 == 0xb)
        return decode_short(reader, to);
    return decode_others(reader, to);
}

static bool has_constant(const struct reader *reader)
{
    uint8_t opcode = reader->opcode;
    if (reader->map != MAP_0F)
        return reader->map == MAP_0F3A;
    return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
           (opcode >= 0xc4 && opcode <= 0xc6) ||
           (!reader->is_vector && (opcode == 0xa4 || opcode == 0xac || opcode == 0xba));
}

/* The general registers that instructions of vectors write, whatever encodes them. */
static uint32_t written_by_vectors(const struct reader *reader)
{
    uint8_t opcode = reader->opcode;
    switch (reader->map) {
    case MAP_0F:
    case MAP_HALF_A:
        if (opcode == 0x7e)
            return reader->prefix == PREFIX_F3 ? 0 : rm_written(reader, false);
        return opcode == 0x2c || opcode == 0x2d || opcode == 0x50 || opcode == 0xc5 ||
                       opcode == 0xd7 || (reader->is_vector && opcode == 0x93) ||
                       (reader->is_vector && (opcode == 0x78 || opcode == 0x79))
                   ? BIT(reader->reg)
                   : 0;
    case MAP_0F38:
        if (opcode < 0xf0)
            return 0;
        return BIT(reader->reg) | (reader->is_vector ? BIT(reader->other) : 0);
    case MAP_0F3A:
        if (opcode >= 0x14 && opcode <= 0x17)
            return rm_written(reader, false);
        return opcode >= 0xf0                    ? BIT(reader->reg)
               : opcode >= 0x60 && opcode < 0x64 ? BIT(DW_RCX)
                                                 : 0;
    default: return 0;
    }
}

static bool decode_vectors(struct reader *reader, struct dw_instruction *to)
{
    bool has_operands = reader->map != MAP_0F || reader->opcode != 0x77;
    if (has_operands)
        read_operands(reader);
    if (has_constant(reader))
        next_byte(reader);
    return writes(to, written_by_vectors(reader));
}

/* Instructions of 0F that work on general registers; false when it is another one. */
static bool decode_general(struct reader *reader, struct dw_instruction *to)
{
    uint8_t opcode = reader->opcode;
    bool is_byte = !(opcode & 1);
    if (opcode >= 0xc8 && opcode <= 0xcf)
        return writes(to, BIT((opcode & 7) | reader->high_base));
    read_operands(reader);
    if (has_constant(reader))
        next_byte(reader);
    if (opcode >> 4 == 4)
        return writes(to, BIT(reader->reg));
    if (opcode >> 4 == 9)
        return writes(to, rm_written(reader, true));
    switch (opcode) {
    case 0xa3: return writes(to, 0);
    case 0xa4:
    case 0xa5:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xb3:
    case 0xbb: return writes(to, rm_written(reader, false));
    case 0xba: return writes(to, (reader->reg & 7) == 4 ? 0 : rm_written(reader, false));
    case 0xae: return writes(to, reader->prefix == PREFIX_F3 ? rm_written(reader, false) : 0);
    case 0xaf:
    case 0xb6:
    case 0xb7:
    case 0xb8:
    case 0xbc:
    case 0xbd:
    case 0xbe:
    case 0xbf: return writes(to, BIT(reader->reg));
    case 0xb0:
    case 0xb1: return writes(to, rm_written(reader, is_byte) | BIT(DW_RAX));
    case 0xc0:
    case 0xc1: return writes(to, rm_written(reader, is_byte) | reg_written(reader, is_byte));
    case 0xc3: return writes(to, 0);
    case 0xc7: return writes(to, RAX_RDX | rm_written(reader, false));
    case 0x01: return reader->mode == 3 && writes(to, RAX_RDX | BIT(DW_RCX));
    default: return false;
    }
}

static bool decode_0f(struct reader *reader, struct dw_instruction *to)
{
    uint8_t opcode = reader->opcode;
    bool is_of_vectors = (opcode >= 0x10 && opcode <= 0x17) || (opcode >= 0x28 && opcode <= 0x2f) ||
                         (opcode >= 0x50 && opcode <= 0x7f && opcode != 0x78 && opcode != 0x79) ||
                         opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6) || opcode >= 0xd0;
    if (opcode >> 4 == 8)
        return leads(reader, to, DW_OP_BRANCH, 4);
    if (is_of_vectors)
        return opcode != 0xff && decode_vectors(reader, to);
    if (opcode == 0x0d || (opcode >= 0x18 && opcode <= 0x1f)) {
        read_operands(reader);
        return writes(to, (reader->reg & 7) == 1 ? rm_written(reader, false) : 0); /* rdssp */
    }
    switch (opcode) {
    case 0x05: return writes(to, BIT(DW_RAX) | BIT(DW_RCX) | BIT(DW_R11));
    case 0x0b: return set(to, DW_OP_STOP, 0, 0, 0);
    case 0x31: return writes(to, RAX_RDX);
    case 0xa2: return writes(to, RAX_RDX | BIT(DW_RCX) | BIT(DW_RBX));
    default: return decode_general(reader, to);
    }
}

bool dw_decode(const uint8_t *code, size_t size, struct dw_instruction *instruction)
{
    struct reader reader = {.code = code, .size = size};
    struct dw_instruction made = {0};
    read_opcode(&reader);
    bool is_known =
        !reader.failed && (reader.is_vector || reader.map > MAP_0F ? decode_vectors(&reader, &made)
                           : reader.map == MAP_0F                  ? decode_0f(&reader, &made)
                                                  : decode_one_byte(&reader, &made));
    if (!is_known || reader.failed || reader.at > 15)
        return false;
    made.size = (uint32_t)reader.at;
    *instruction = made;
    return true;
}
