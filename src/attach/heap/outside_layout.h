/* SPDX-License-Identifier: MIT
 * Where objects have their fields that are at the same place from 3.11 to 3.15, on 64 bits; what
 * moves is in attach/python/python_offsets.h. */
#ifndef DW_ATTACH_HEAP_OUTSIDE_LAYOUT_H
#define DW_ATTACH_HEAP_OUTSIDE_LAYOUT_H

#include <stdint.h>

enum {
    DW_OBJECT_SIZE = 16, /* the number of items of those that have some */
    DW_LIST_ITEMS = 24,
    DW_LIST_ROOM = 32,
    DW_SET_MASK = 32,
    DW_SET_TABLE = 40,
    DW_CODE_CONSTANTS = 24, /* then names and the table of exceptions */
    DW_KEYS_SIZES = 8,      /* in bits: the size, the index; then the kind */
    DW_KEYS_USABLE = 16,
    DW_KEYS_COUNT = 24,
    DW_KEYS_INDEX = 32,
};

/* PyTypeObject. */
enum {
    DW_TP_NAME = 24,
    DW_TP_BASIC = 32,
    DW_TP_ITEM = 40,
    DW_TP_FLAGS = 168,
    DW_TP_TRAVERSE = 184,
    DW_TP_MEMBERS = 240,
    DW_TP_BASE = 256,
    DW_TP_DICT = 264,
    DW_TP_DICT_OFFSET = 288,
    DW_TP_BASES = 336,
    DW_TP_MRO = 344,
    DW_TP_CACHE = 352,
};

/* Flags of types. */
#define DW_TYPE_HAS_MANAGED_WEAKREFS ((uint64_t)1 << 3)
#define DW_TYPE_IS_ON_HEAP ((uint64_t)1 << 9)
#define DW_TYPE_IS_READY ((uint64_t)1 << 12)
#define DW_TYPE_HAS_GC ((uint64_t)1 << 14)
#define DW_TYPE_IS_EXCEPTION ((uint64_t)1 << 30)
#define DW_TYPE_IS_TYPE ((uint64_t)1 << 31)

#endif
