/* SPDX-License-Identifier: MIT
 * A type is read once. Its own slots and members, and those of its bases, tell where its objects
 * keep references; of types of C code that declare nothing, a table does. */
#include "attach/heap/outside_types.h"

#include "attach/heap/outside_layout.h"
#include "attach/python/py_dict.h"
#include "attach/python/py_object.h"
#include "base/error.h"
#include "base/grow.h"

#include <string.h>

#define MAX_BASIC 65536
#define MAX_BASES 256
#define MAX_MEMBERS 512
#define MEMBER_BYTES 40
#define MEMBER_OBJECT 6
#define MEMBER_OBJECT_EX 16
#define NAME_BYTES 128
#define NO_TYPE UINT32_MAX

/* Types of C code, and where they have what they tell the garbage collector. Not all versions have
 * the last ones; what is there instead is no object. */
static const struct known {
    const char *name;
    uint8_t offsets[15];
    const char *names[15]; /* of attributes */
} known[] = {
    {.name = "function",
     .offsets = {16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 104, 112, 120, 128},
     .names = {"__globals__", "__builtins__", "__name__", "__qualname__", "__code__",
               "__defaults__", "__kwdefaults__", "__closure__", "__doc__", "__dict__", "__module__",
               "__annotations__"}},
    {.name = "method", .offsets = {16, 24}, .names = {"__func__", "__self__"}},
    {.name = "cell", .offsets = {16}, .names = {"cell_contents"}},
    {.name = "module", .offsets = {16}, .names = {"__dict__"}},
    {.name = "builtin_function_or_method",
     .offsets = {24, 32},
     .names = {"__self__", "__module__"}},
    {.name = "builtin_method", .offsets = {24, 32, 56}},
    {.name = "method-wrapper", .offsets = {16, 24}},
    {.name = "wrapper_descriptor", .offsets = {16}},
    {.name = "method_descriptor", .offsets = {16}},
    {.name = "classmethod_descriptor", .offsets = {16}},
    {.name = "getset_descriptor", .offsets = {16}},
    {.name = "member_descriptor", .offsets = {16}},
    {.name = "property",
     .offsets = {16, 24, 32, 40, 48},
     .names = {"fget", "fset", "fdel", "__doc__", "__name__"}},
    {.name = "staticmethod", .offsets = {16, 24}, .names = {"__func__", "__dict__"}},
    {.name = "classmethod", .offsets = {16, 24}, .names = {"__func__", "__dict__"}},
    {.name = "mappingproxy", .offsets = {16}},
    {.name = "weakref", .offsets = {24}},
    {.name = "weakref.ReferenceType", .offsets = {24}},
    {.name = "weakref.ProxyType", .offsets = {24}},
    {.name = "slice", .offsets = {16, 24, 32}},
    {.name = "traceback", .offsets = {16, 24}},
    {.name = "types.GenericAlias", .offsets = {16, 24, 32}},
    {.name = "collections.defaultdict", .offsets = {48}},
    {.name = "functools.partial", .offsets = {16, 24, 32, 40}},
    {.name = "dict", .offsets = {0}},
    {.name = "list", .offsets = {0}},
    {.name = "tuple", .offsets = {0}},
    {.name = "set", .offsets = {0}},
    {.name = "frozenset", .offsets = {0}},
    {.name = "type", .offsets = {0}},
    {.name = "object", .offsets = {0}},
};

static const char *const exception_parts[] = {"__dict__",      "args",        "__notes__",
                                              "__traceback__", "__context__", "__cause__"};

static uint64_t at(struct dw_outside_types *types, uint64_t address)
{
    return dw_outside_at(types->memory, address);
}

static void add_offset(struct dw_outside_types *types, struct dw_outside_type *type, int64_t offset,
                       const char *name)
{
    if (offset < 16 || offset >= MAX_BASIC || offset & 7 ||
        type->offset_count == DW_OUTSIDE_REFERENCES)
        return;
    for (uint32_t i = 0; i < type->offset_count; i++)
        if (type->offsets[i] == offset)
            return;
    if (*name && !types->error)
        types->error = dw_string_intern(types->names, name, strlen(name),
                                        &type->offset_names[type->offset_count]);
    type->offsets[type->offset_count++] = (uint16_t)offset;
}

/* A text of C code. */
static void read_name(struct dw_outside_types *types, uint64_t address, char name[NAME_BYTES])
{
    uint64_t text = at(types, address);
    size_t i = 0;
    for (; text && i + 1 < NAME_BYTES; i++)
        if (!(name[i] = (char)dw_outside_byte(types->memory, text + i)))
            return;
    name[i] = 0;
}

/* The members of a type that are references: its slots, or what C code declares. */
static void add_members(struct dw_outside_types *types, struct dw_outside_type *type,
                        uint64_t members, uint64_t count)
{
    for (uint64_t i = 0; i < count && i < MAX_MEMBERS; i++, members += MEMBER_BYTES) {
        uint32_t kind = (uint32_t)at(types, members + 8);
        char name[NAME_BYTES] = "";
        if (!at(types, members))
            return;
        if (kind != MEMBER_OBJECT && kind != MEMBER_OBJECT_EX)
            continue;
        read_name(types, members, name);
        add_offset(types, type, (int64_t)at(types, members + 16), name);
    }
}

/* The slots of a class lie behind it. */
static void add_slots(struct dw_outside_types *types, struct dw_outside_type *type,
                      uint64_t address)
{
    uint64_t meta = at(types, address + 8);
    int64_t count = (int64_t)at(types, address + 16);
    if (count > 0)
        add_members(types, type, address + at(types, meta + DW_TP_BASIC), (uint64_t)count);
}

static const struct known *find_known(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name))
            return &known[i];
    return NULL;
}

/* 3.11 has the code first; later ones a list of weak references. */
static void add_generator(struct dw_outside_types *types, struct dw_outside_type *type)
{
    int64_t first = dw_python_minor(types->python) == 11 ? 32 : 24;
    type->kind = DW_OUTSIDE_GENERATOR;
    add_offset(types, type, first == 32 ? 16 : 0, "");
    for (int64_t i = 0; i < 3; i++) /* name, qualified name, exception */
        add_offset(types, type, first + i * 8, "");
}

static bool is_generator(const char *name)
{
    return !strcmp(name, "generator") || !strcmp(name, "coroutine") ||
           !strcmp(name, "async_generator");
}

static enum dw_outside_kind kind_of(uint64_t flags, const char *c_name)
{
    static const struct {
        const char *name;
        enum dw_outside_kind kind;
    } by_name[] = {{"set", DW_OUTSIDE_SET},
                   {"frozenset", DW_OUTSIDE_SET},
                   {"code", DW_OUTSIDE_CODE},
                   {"numpy.ndarray", DW_OUTSIDE_ARRAY}};
    static const struct {
        uint64_t flag;
        enum dw_outside_kind kind;
    } by_flag[] = {{DW_PY_DICT, DW_OUTSIDE_DICT},    {DW_PY_LIST, DW_OUTSIDE_LIST},
                   {DW_PY_TUPLE, DW_OUTSIDE_TUPLE},  {DW_PY_STRING, DW_OUTSIDE_STRING},
                   {DW_PY_LONG, DW_OUTSIDE_INTEGER}, {DW_TYPE_IS_TYPE, DW_OUTSIDE_TYPE}};
    for (size_t i = 0; i < sizeof by_flag / sizeof *by_flag; i++)
        if (flags & by_flag[i].flag)
            return by_flag[i].kind;
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (!strcmp(c_name, by_name[i].name))
            return by_name[i].kind;
    return DW_OUTSIDE_PLAIN;
}

/* What the nearest type of C code among the bases holds. */
static void add_of_c(struct dw_outside_types *types, struct dw_outside_type *type, uint64_t base)
{
    char name[NAME_BYTES] = "";
    read_name(types, base + DW_TP_NAME, name);
    uint64_t flags = at(types, base + DW_TP_FLAGS);
    type->kind = kind_of(type->flags, name);
    /* Frames and generators have room behind them, but no number of items. */
    type->is_sized = type->item_size > 0 && strcmp(name, "frame") != 0 && !is_generator(name);
    const struct known *of_name = find_known(name);
    for (size_t i = 0; of_name && of_name->offsets[i]; i++)
        add_offset(types, type, of_name->offsets[i], of_name->names[i] ? of_name->names[i] : "");
    if (is_generator(name))
        add_generator(types, type);
    else if (flags & DW_TYPE_IS_EXCEPTION)
        for (int64_t offset = 16; offset <= 56; offset += 8)
            add_offset(types, type, offset, exception_parts[offset / 8 - 2]);
    else
        type->is_unknown = !of_name && type->kind == DW_OUTSIDE_PLAIN && flags & DW_TYPE_HAS_GC &&
                           at(types, base + DW_TP_TRAVERSE);
    for (int i = 0; base && i < MAX_BASES; i++, base = at(types, base + DW_TP_BASE))
        add_members(types, type, at(types, base + DW_TP_MEMBERS), MAX_MEMBERS);
    if (type->is_unknown || type->flags & DW_TYPE_IS_ON_HEAP)
        add_offset(types, type, type->dict_offset, "__dict__");
}

static void read_references(struct dw_outside_types *types, struct dw_outside_type *type)
{
    uint64_t base = type->address;
    if (type->is_class)
        for (int i = 0; i < MAX_BASES && base; i++, base = at(types, base + DW_TP_BASE)) {
            if (at(types, base + DW_TP_TRAVERSE) != types->class_traverse)
                break;
            add_slots(types, type, base);
        }
    if (base)
        add_of_c(types, type, base);
}

static bool looks_like_type(struct dw_outside_types *types, uint64_t address)
{
    uint64_t meta, flags, basic;
    return dw_outside_word(types->memory, address + 8, &meta) &&
           dw_outside_word(types->memory, meta + DW_TP_FLAGS, &flags) && flags & DW_TYPE_IS_TYPE &&
           flags & DW_TYPE_IS_READY &&
           dw_outside_word(types->memory, address + DW_TP_FLAGS, &flags) &&
           flags & DW_TYPE_IS_READY &&
           dw_outside_word(types->memory, address + DW_TP_BASIC, &basic) && basic >= 16 &&
           basic < MAX_BASIC && at(types, address + DW_TP_NAME);
}

static int add_type(struct dw_outside_types *types, uint64_t address)
{
    int error = DW_GROW(types->types, types->count, types->capacity);
    if (error)
        return error;
    struct dw_outside_type *type = &types->types[types->count++];
    *type = (struct dw_outside_type){
        .address = address,
        .flags = at(types, address + DW_TP_FLAGS),
        .base = at(types, address + DW_TP_BASE),
        .traverse = at(types, address + DW_TP_TRAVERSE),
        .basic_size = (int64_t)at(types, address + DW_TP_BASIC),
        .item_size = (int64_t)at(types, address + DW_TP_ITEM),
        .dict_offset = (int64_t)at(types, address + DW_TP_DICT_OFFSET),
    };
    type->is_class = type->traverse && type->traverse == types->class_traverse;
    read_references(types, type);
    return 0;
}

uint32_t dw_outside_type_at(struct dw_outside_types *types, uint64_t address)
{
    if (!address || address & 7)
        return 0;
    uint32_t known_as = dw_address_map_find(&types->numbers, (uintptr_t)address);
    if (!known_as) {
        known_as = NO_TYPE;
        if (looks_like_type(types, address)) {
            types->error = types->error ? types->error : add_type(types, address);
            known_as = types->error ? NO_TYPE : types->count;
        }
        uint32_t *number = dw_address_map_at(&types->numbers, (uintptr_t)address);
        if (number)
            *number = known_as;
    }
    return known_as == NO_TYPE ? 0 : known_as - 1;
}

uint32_t dw_outside_type_of(struct dw_outside_types *types, uint64_t object)
{
    uint64_t type;
    return object && dw_outside_word(types->memory, object + DW_PY_TYPE_AT, &type)
               ? dw_outside_type_at(types, type)
               : 0;
}

/* importlib's classes are of Python code in every process; one of them tells how such are
 * traversed. */
static int find_class_traverse(struct dw_outside_types *types)
{
    const struct dw_python *python = types->python;
    uint64_t interpreter = at(types, python->runtime + python->offsets.runtime_interpreters);
    uint64_t modules = at(types, interpreter + python->offsets.interpreter_modules);
    uint64_t hint = 0, module, names, found;
    int error = dw_py_dict_find(python, modules, "_frozen_importlib", &hint, &module);
    hint = 0;
    if (!error)
        error = dw_target_read_u64(python->target, module + 16, &names);
    if (!error)
        error = dw_py_dict_find(python, names, "ModuleSpec", &hint, &found);
    if (!error)
        types->class_traverse = at(types, found + DW_TP_TRAVERSE);
    return error;
}

int dw_outside_types_init(struct dw_outside_types *types, const struct dw_python *python,
                          struct dw_outside_memory *memory, struct dw_string_table *names)
{
    *types = (struct dw_outside_types){.python = python, .memory = memory, .names = names};
    int error = DW_GROW(types->types, types->count, types->capacity);
    if (!error)
        types->types[types->count++] = (struct dw_outside_type){0};
    return error ? error : find_class_traverse(types);
}

void dw_outside_types_release(struct dw_outside_types *types)
{
    free(types->types);
    dw_address_map_release(&types->numbers);
    *types = (struct dw_outside_types){0};
}

static void split_name(const char *name, struct dw_buffer *module, struct dw_buffer *into)
{
    const char *dot = strrchr(name, '.'), *home = dot ? name : "builtins";
    dw_buffer_append(module, home, dot ? (size_t)(dot - name) : strlen(home));
    name = dot ? dot + 1 : name;
    dw_buffer_append(into, name, strlen(name));
}

void dw_outside_type_name(struct dw_outside_types *types, const struct dw_outside_type *type,
                          struct dw_buffer *module, struct dw_buffer *name)
{
    const struct dw_python *python = types->python;
    uint64_t hint = 0, home, qualified;
    bool cut;
    if (!(type->flags & DW_TYPE_IS_ON_HEAP)) {
        char text[NAME_BYTES] = "";
        read_name(types, type->address + DW_TP_NAME, text);
        split_name(text, module, name);
        return;
    }
    if (!dw_py_dict_find(python, at(types, type->address + DW_TP_DICT), "__module__", &hint,
                         &home) &&
        dw_outside_type_of(types, home) &&
        types->types[dw_outside_type_of(types, home)].kind == DW_OUTSIDE_STRING)
        dw_py_string_read(python, home, NAME_BYTES, module, &cut);
    qualified = at(types, type->address + python->offsets.type_cached_keys - 8);
    dw_py_string_read(python, qualified, NAME_BYTES, name, &cut);
}
