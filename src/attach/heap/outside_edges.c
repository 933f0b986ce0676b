/* SPDX-License-Identifier: MIT
 * Numbers of items are bounded: an object that is not what it looks like costs little. */
#include "attach/heap/outside_edges.h"

#include "attach/heap/outside_layout.h"
#include "attach/python/field.h"
#include "attach/python/py_object.h"

#define MAX_ITEMS ((uint64_t)1 << 32)
#define MAX_BYTES ((uint64_t)1 << 46)
#define MAX_INDEX_BITS 40
#define GC_HEAD_BYTES 16u
#define KEYS_LOOKED_AT 32
#define BEFORE_BYTES 16u /* what lies before objects for their attributes */
#define DICT_BEFORE 24
#define VALUES_BEFORE 32
#define STATIC_TYPE_BYTES 416 /* of PyTypeObject; 8 less in 3.11 */

/* The table of keys that a dictionary, or a class, has. */
struct keys {
    uint64_t entries, count, bytes, references;
    uint64_t left; /* room for more */
    uint32_t entry_words;
};

static uint64_t at(const struct dw_outside_types *types, uint64_t address)
{
    return dw_outside_at(types->memory, address);
}

static bool read_keys(const struct dw_outside_types *types, uint64_t address, struct keys *keys)
{
    uint64_t head;
    if (!dw_outside_word(types->memory, address + DW_KEYS_SIZES, &head))
        return false;
    uint8_t size_bits = (uint8_t)head, index_bits = (uint8_t)(head >> 8),
            kind = (uint8_t)(head >> 16);
    uint64_t capacity = ((uint64_t)2 << size_bits) / 3;
    *keys = (struct keys){.count = at(types, address + DW_KEYS_COUNT)};
    if (index_bits > MAX_INDEX_BITS || size_bits > MAX_INDEX_BITS || kind > 2 ||
        keys->count > capacity)
        return false;
    keys->entry_words = kind ? 2 : 3;
    keys->entries = address + DW_KEYS_INDEX + ((uint64_t)1 << index_bits);
    keys->bytes = DW_KEYS_INDEX + ((uint64_t)1 << index_bits) + capacity * keys->entry_words * 8;
    keys->references = at(types, address);
    keys->left =
        at(types, address + DW_KEYS_USABLE) < capacity ? at(types, address + DW_KEYS_USABLE) : 0;
    return true;
}

static void visit_words(const struct dw_outside_visitor *visitor, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        visitor->visit(dw_py_untagged(at(visitor->types, first + i * 8)), visitor->context);
}

void dw_outside_items(struct dw_outside_types *types, uint64_t dict, dw_outside_item *item,
                      void *context)
{
    const struct dw_py_offsets *offsets = &types->python->offsets;
    uint64_t values = at(types, dict + offsets->dict_values);
    struct keys keys;
    if (!read_keys(types, at(types, dict + offsets->dict_keys), &keys))
        return;
    for (uint64_t i = 0; i < keys.count; i++) {
        uint64_t entry = keys.entries + i * keys.entry_words * 8 + (keys.entry_words - 2) * 8;
        uint64_t value =
            at(types, values ? values + offsets->dict_values_items + i * 8 : entry + 8);
        if (value)
            item(at(types, entry), value, context);
    }
}

bool dw_outside_maps_to_itself(struct dw_outside_types *types, uint64_t dict)
{
    const struct dw_py_offsets *offsets = &types->python->offsets;
    uint64_t seen = 0;
    struct keys keys;
    if (at(types, dict + offsets->dict_values) ||
        !read_keys(types, at(types, dict + offsets->dict_keys), &keys) || keys.entry_words != 2)
        return false;
    for (uint64_t i = 0; i < keys.count && seen < KEYS_LOOKED_AT; i++) {
        uint64_t key = at(types, keys.entries + i * 16),
                 value = at(types, keys.entries + i * 16 + 8);
        if (value && key != value)
            return false;
        seen += value != 0;
    }
    return seen == KEYS_LOOKED_AT;
}

static void visit_item(uint64_t key, uint64_t value, void *context)
{
    const struct dw_outside_visitor *visitor = context;
    visitor->visit(value, visitor->context);
    visitor->visit(key, visitor->context);
}

static void visit_value(uint64_t key, uint64_t value, void *context)
{
    const struct dw_outside_visitor *visitor = context;
    (void)key;
    visitor->visit(value, visitor->context);
}

/* Whether an instance that has a dictionary tells the collector of that and no more, though the
 * values stand in the instance: since 3.13.13 and 3.14.4. */
static bool dict_has_values(const struct dw_outside_types *types)
{
    uint32_t version = types->python->version;
    return version >= (dw_python_minor(types->python) == 13 ? 0x030d0d00u : 0x030e0400u);
}

/* Keys that instances of a class share are the class's; values that stand in an instance are those
 * of its dictionary, or the instance's. */
static void visit_dict(const struct dw_outside_visitor *visitor, uint64_t dict)
{
    const struct dw_py_offsets *offsets = &visitor->types->python->offsets;
    uint64_t values = at(visitor->types, dict + offsets->dict_values);
    struct dw_outside_visitor copy = *visitor;
    if (values && offsets->instances == DW_PY_VALUES_INLINE && !dict_has_values(visitor->types) &&
        at(visitor->types, values) >> 16 & 0xff)
        return;
    dw_outside_items(visitor->types, dict, values ? visit_value : visit_item, &copy);
}

static void visit_set(const struct dw_outside_visitor *visitor, uint64_t set)
{
    uint64_t mask = at(visitor->types, set + DW_SET_MASK),
             table = at(visitor->types, set + DW_SET_TABLE);
    for (uint64_t i = 0; mask < MAX_ITEMS && i <= mask; i++)
        visitor->visit(at(visitor->types, table + i * 16), visitor->context);
}

static void visit_type(const struct dw_outside_visitor *visitor, uint64_t type)
{
    static const uint16_t offsets[] = {DW_TP_BASE, DW_TP_DICT, DW_TP_BASES, DW_TP_MRO, DW_TP_CACHE};
    if (!(at(visitor->types, type + DW_TP_FLAGS) & DW_TYPE_IS_ON_HEAP))
        return;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        visit_words(visitor, type + offsets[i], 1);
    visit_words(visitor, type + visitor->types->python->offsets.type_cached_keys + 8, 1);
}

static void visit_code(const struct dw_outside_visitor *visitor, uint64_t code)
{
    const struct dw_py_offsets *offsets = &visitor->types->python->offsets;
    visit_words(visitor, code + DW_CODE_CONSTANTS, 3);
    visit_words(visitor, code + offsets->code_filename, 2);
    visit_words(visitor, code + offsets->code_qualname, 1);
    visit_words(visitor, code + offsets->code_linetable, 1);
    visit_words(visitor, code + offsets->code_local_names, 1);
    visit_words(visitor, code + offsets->code_local_kinds, 1);
}

void dw_outside_frame_edges(const struct dw_outside_visitor *visitor, uint64_t frame)
{
    static const uint8_t first[] = {0, 24, 32, 40}, later[] = {0, 16, 40, 48};
    const uint8_t *offsets = dw_python_minor(visitor->types->python) == 11 ? first : later;
    for (int i = 0; i < 4; i++)
        visit_words(visitor, frame + offsets[i], 1);
}

/* What gi_frame_state says of one that has not begun, or sleeps. */
static bool is_asleep(const struct dw_python *python, int8_t state)
{
    return dw_python_minor(python) >= 15 ? state >= 0 && state < 4 : state < 0;
}

/* A generator that sleeps has its frame inside. */
static void visit_generator(const struct dw_outside_visitor *visitor, uint64_t generator)
{
    const struct dw_py_offsets *offsets = &visitor->types->python->offsets;
    uint64_t frame = generator + (dw_python_minor(visitor->types->python) == 11 ? 80 : 72);
    uint64_t saved = at(visitor->types, frame + (offsets->frame_saved & ~7u));
    uint64_t locals = frame + offsets->frame_locals;
    uint64_t count = offsets->saved_is_pointer ? (saved - locals) / 8 : (uint32_t)saved;
    int8_t state = (int8_t)dw_outside_byte(visitor->types->memory, frame - 5);
    if (!is_asleep(visitor->types->python, state) || count > UINT16_MAX)
        return;
    dw_outside_frame_edges(visitor, frame);
    visit_words(visitor, locals, count);
}

/* Of the fields of an array, which NumPy has promised to leave where they are. */
enum {
    ARRAY_DATA = 16,
    ARRAY_DIMENSIONS = 24, /* how many */
    ARRAY_SHAPE = 32,
    ARRAY_STRIDES = 40,
    ARRAY_BASE = 48,
    ARRAY_TYPE = 56,
    ARRAY_FLAGS = 64,
    ARRAY_OWNS_DATA = 4, /* a flag */
    ARRAY_TYPE_NUMBER = 28,
    ARRAY_OF_OBJECTS = 17,
    ARRAY_DIMENSIONS_MAX = 64,
};

/* The bytes of an array that owns them, else 0; such an array has no gaps. */
static uint64_t array_bytes(const struct dw_outside_types *types, uint64_t array)
{
    uint32_t count = (uint32_t)at(types, array + ARRAY_DIMENSIONS);
    uint64_t shape = at(types, array + ARRAY_SHAPE), strides = at(types, array + ARRAY_STRIDES);
    uint64_t most = 0;
    bool is_owner = at(types, array + ARRAY_FLAGS) & ARRAY_OWNS_DATA;
    for (uint32_t i = 0; i < count && count <= ARRAY_DIMENSIONS_MAX && is_owner; i++) {
        uint64_t length = at(types, shape + i * 8u), stride = at(types, strides + i * 8u);
        if (!length)
            return 0;
        uint64_t bytes = length < MAX_BYTES && stride < MAX_BYTES ? length * stride : 0;
        most = bytes > most && bytes < MAX_BYTES ? bytes : most;
    }
    return most;
}

/* With its shape and strides, which lie elsewhere. */
static uint64_t array_size(const struct dw_outside_types *types, uint64_t array)
{
    uint32_t count = (uint32_t)at(types, array + ARRAY_DIMENSIONS);
    return array_bytes(types, array) + (count <= ARRAY_DIMENSIONS_MAX ? count * 16u : 0);
}

static void visit_array(const struct dw_outside_visitor *visitor, uint64_t array)
{
    const struct dw_outside_types *types = visitor->types;
    uint64_t base = at(types, array + ARRAY_BASE), type = at(types, array + ARRAY_TYPE);
    uint64_t number = at(types, type + (ARRAY_TYPE_NUMBER & ~7)) >> 32;
    visitor->visit(base, visitor->context);
    if (!base && number == ARRAY_OF_OBJECTS)
        visit_words(visitor, at(types, array + ARRAY_DATA), array_bytes(types, array) / 8);
}

static int64_t item_count(const struct dw_outside_types *types, uint64_t object,
                          const struct dw_outside_type *type)
{
    uint64_t tag = at(types, object + DW_OBJECT_SIZE);
    struct dw_py_integer integer = {0};
    if (type->kind != DW_OUTSIDE_INTEGER)
        return type->is_sized && tag < MAX_ITEMS ? (int64_t)tag : 0;
    dw_py_integer_split(&types->python->offsets, tag, &integer);
    int64_t digits = integer.digit_count < MAX_ITEMS ? (int64_t)integer.digit_count : 0;
    return digits || dw_python_minor(types->python) == 11 ? digits : 1; /* 0 has room for one */
}

static uint64_t end_of(const struct dw_outside_types *types, uint64_t object,
                       const struct dw_outside_type *type)
{
    int64_t items = item_count(types, object, type);
    return object + (((uint64_t)(type->basic_size + items * type->item_size) + 7) & ~(uint64_t)7);
}

uint64_t dw_outside_dict_of(struct dw_outside_types *types, uint64_t object,
                            const struct dw_outside_type *type)
{
    uint64_t dict;
    if (type->flags & DW_PY_MANAGED_DICT)
        dict = at(types, object - DICT_BEFORE);
    else
        dict = type->is_class && type->dict_offset < 0
                   ? at(types, end_of(types, object, type) + (uint64_t)type->dict_offset)
                   : 0;
    return dict & 1 ? 0 : dict; /* values, in 3.12 */
}

/* Where the values stand, 0 when there are none. */
static uint64_t values_of(const struct dw_outside_types *types, uint64_t object,
                          const struct dw_outside_type *type)
{
    const struct dw_py_offsets *offsets = &types->python->offsets;
    uint64_t before = at(types, object - DICT_BEFORE);
    uint64_t inside = object + (uint64_t)type->basic_size;
    if (!(type->flags & DW_PY_MANAGED_DICT))
        return 0;
    if (offsets->instances == DW_PY_VALUES_BEFORE)
        return at(types, object - VALUES_BEFORE);
    if (offsets->instances == DW_PY_VALUES_TAGGED)
        return before & 1 ? before + 1 : 0;
    bool is_valid = type->flags & DW_PY_INLINE_VALUES && at(types, inside) >> 24 & 0xff;
    return is_valid ? inside + offsets->dict_values_items : 0;
}

void dw_outside_attributes(struct dw_outside_types *types, uint64_t object,
                           const struct dw_outside_type *type, dw_outside_item *item, void *context)
{
    uint64_t values = values_of(types, object, type);
    struct keys keys;
    if (!values ||
        !read_keys(types, at(types, type->address + types->python->offsets.type_cached_keys),
                   &keys))
        return;
    for (uint64_t i = 0; i < keys.count; i++) {
        uint64_t entry = keys.entries + i * keys.entry_words * 8 + (keys.entry_words - 2) * 8;
        uint64_t value = at(types, values + i * 8);
        if (value)
            item(at(types, entry), value, context);
    }
}

static void visit_attributes(const struct dw_outside_visitor *visitor, uint64_t object,
                             const struct dw_outside_type *type)
{
    struct dw_outside_visitor copy = *visitor;
    uint64_t dict = dw_outside_dict_of(visitor->types, object, type);
    visitor->visit(dict, visitor->context);
    if (!dict || !dict_has_values(visitor->types))
        dw_outside_attributes(visitor->types, object, type, visit_value, &copy);
    if (type->flags & DW_TYPE_IS_ON_HEAP && type->traverse)
        visitor->visit(type->address, visitor->context);
}

void dw_outside_edges(const struct dw_outside_visitor *visitor, uint64_t object,
                      const struct dw_outside_type *type)
{
    const struct dw_outside_types *types = visitor->types;
    const struct dw_py_offsets *offsets = &types->python->offsets;
    uint64_t size = at(types, object + DW_OBJECT_SIZE);
    for (uint32_t i = 0; i < type->offset_count; i++)
        visit_words(visitor, object + type->offsets[i], 1);
    visit_attributes(visitor, object, type);
    switch (type->kind) {
    case DW_OUTSIDE_DICT:
        if (object != types->interned)
            visit_dict(visitor, object);
        break;
    case DW_OUTSIDE_SET: visit_set(visitor, object); break;
    case DW_OUTSIDE_TYPE: visit_type(visitor, object); break;
    case DW_OUTSIDE_CODE: visit_code(visitor, object); break;
    case DW_OUTSIDE_GENERATOR: visit_generator(visitor, object); break;
    case DW_OUTSIDE_ARRAY: visit_array(visitor, object); break;
    case DW_OUTSIDE_LIST:
        if (size < MAX_ITEMS)
            visit_words(visitor, at(types, object + DW_LIST_ITEMS), size);
        break;
    case DW_OUTSIDE_TUPLE:
        if (size < MAX_ITEMS)
            visit_words(visitor, object + offsets->tuple_items, size);
        break;
    default: break;
    }
}

static uint64_t dict_bytes(const struct dw_outside_types *types, uint64_t dict)
{
    const struct dw_py_offsets *offsets = &types->python->offsets;
    uint64_t values = at(types, dict + offsets->dict_values);
    struct keys keys;
    if (!read_keys(types, at(types, dict + offsets->dict_keys), &keys))
        return 0;
    /* The empty dictionary's keys, and those of a class, are not its own. */
    uint64_t room = values ? keys.count + keys.left : 0;
    return room * 8 + (keys.references == 1 ? keys.bytes : 0);
}

/* As object.__sizeof__ of str: with its characters, which stand behind its head. */
static uint64_t string_size(const struct dw_outside_types *types, uint64_t string)
{
    const struct dw_py_offsets *offsets = &types->python->offsets;
    uint32_t state = (uint32_t)at(types, string + offsets->string_state);
    uint64_t length = at(types, string + offsets->string_length);
    struct dw_py_string_form form = dw_py_string_form(state);
    uint64_t head = !form.is_compact ? offsets->string_data + 8u
                    : form.is_ascii  ? offsets->string_ascii_data
                                     : offsets->string_data;
    return length < MAX_ITEMS ? head + (length + 1) * (form.width ? form.width : 1) : 0;
}

/* A class has the keys that its instances share. */
static uint64_t type_size(const struct dw_outside_types *types, uint64_t type, uint64_t head)
{
    uint64_t meta = at(types, type + DW_PY_TYPE_AT);
    struct keys keys = {0};
    if (!(at(types, type + DW_TP_FLAGS) & DW_TYPE_IS_ON_HEAP))
        return STATIC_TYPE_BYTES;
    read_keys(types, at(types, type + types->python->offsets.type_cached_keys), &keys);
    return head + at(types, meta + DW_TP_BASIC) + keys.bytes;
}

uint64_t dw_outside_size(struct dw_outside_types *types, uint64_t object,
                         const struct dw_outside_type *type)
{
    uint64_t head =
        (type->flags & DW_TYPE_HAS_GC ? GC_HEAD_BYTES : 0) +
        (type->flags & (DW_TYPE_HAS_MANAGED_WEAKREFS | DW_PY_MANAGED_DICT) ? BEFORE_BYTES : 0);
    uint64_t size =
        (uint64_t)type->basic_size + (uint64_t)(item_count(types, object, type) * type->item_size);
    uint64_t room = at(types, object + DW_LIST_ROOM), mask = at(types, object + DW_SET_MASK);
    switch (type->kind) {
    case DW_OUTSIDE_DICT: return head + size + dict_bytes(types, object);
    case DW_OUTSIDE_LIST: return head + size + (room < MAX_ITEMS ? room * 8 : 0);
    case DW_OUTSIDE_SET: return head + size + (mask > 7 && mask < MAX_ITEMS ? (mask + 1) * 16 : 0);
    case DW_OUTSIDE_STRING: return head + string_size(types, object);
    case DW_OUTSIDE_ARRAY: return head + size + array_size(types, object);
    case DW_OUTSIDE_TYPE: return type_size(types, object, head);
    default: return head + size;
    }
}
