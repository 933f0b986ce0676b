/* SPDX-License-Identifier: MIT
 * The hot path of signatures: arguments become words by reading the frame and the C
 * structs of the objects. Nothing of an object is called. */
#include "probe/call/signature.h"

#include "base/grow.h"
#include "probe/call/argument_type.h"

#define ELEMENTS_MAX 100

static inline void add(struct dw_signature_key *key, uint64_t word)
{
    key->words[key->count++] = word;
}

static inline void add_array(struct dw_signature_key *key, const struct dw_array *array)
{
    enum dw_array_order order = array->flags & DW_ARRAY_C_ORDER   ? DW_ORDER_C
                                : array->flags & DW_ARRAY_F_ORDER ? DW_ORDER_F
                                                                  : DW_ORDER_STRIDED;
    add(key, dw_word_of_type(dw_array_type, DW_FORM_ARRAY));
    add(key, (uint64_t)(uintptr_t)dw_dtype_text(array->dtype));
    add(key, (uint64_t)order << 8 | (uint64_t)array->rank << 1);
    for (int i = 0; i < array->rank; i++)
        add(key, (uint64_t)array->shape[i] << 1);
}

static void add_list(struct dw_signature_key *key, PyObject *list)
{
    Py_ssize_t length = PyList_GET_SIZE(list);
    PyTypeObject *type = length ? Py_TYPE(PyList_GET_ITEM(list, 0)) : NULL;
    for (Py_ssize_t i = 1; type && i < length && length <= ELEMENTS_MAX; i++)
        if (Py_TYPE(PyList_GET_ITEM(list, i)) != type)
            type = NULL;
    bool is_long = length > ELEMENTS_MAX;
    add(key, dw_word_of_type(&PyList_Type, DW_FORM_LIST));
    add(key, is_long ? 0 : (uint64_t)(length + 1) << 1);
    add(key, is_long || !type ? 0 : dw_word_of_type(type, DW_FORM_PLAIN));
}

static inline void add_value(struct dw_signature_key *key, PyObject *value, bool elements)
{
    PyTypeObject *type = value ? Py_TYPE(value) : NULL;
    if (!type) {
        add(key, 0);
    } else if (type == dw_array_type) {
        add_array(key, (const struct dw_array *)value);
    } else if (__builtin_expect(dw_described_count != 0, 0) && dw_type_is_described(type)) {
        add(key, dw_word_of_type(type, DW_FORM_DESCRIBED));
        add(key, (uint64_t)(uintptr_t)dw_described_text(value));
    } else if (__builtin_expect(elements, 0) && PyList_CheckExact(value)) {
        add_list(key, value);
    } else {
        add(key, dw_word_of_type(type, DW_FORM_PLAIN));
    }
}

/* *args and **kwargs: how many there are, plus one. */
static void add_rest(struct dw_signature_key *key, PyObject *rest)
{
    Py_ssize_t count = -1;
    if (rest && PyTuple_CheckExact(rest))
        count = PyTuple_GET_SIZE(rest);
    else if (rest && PyDict_CheckExact(rest))
        count = PyDict_GET_SIZE(rest);
    add(key, (uint64_t)(count + 1) << 1);
}

void dw_signature_read(struct dw_signature_key *key, dw_py_frame *frame, PyCodeObject *code,
                       bool elements)
{
    int named = code->co_argcount + code->co_kwonlyargcount;
    int all = dw_py_code_arguments(code);
    int i = 0;
    key->count = 0;
    for (; i < named && key->count < DW_SIGNATURE_WORDS_MAX; i++)
        add_value(key, dw_py_frame_argument(frame, code, i), elements);
    for (; i < all && key->count < DW_SIGNATURE_WORDS_MAX; i++)
        add_rest(key, dw_py_frame_argument(frame, code, i));
    key->is_cut = i < all;
}

void dw_signature_learn(dw_py_frame *frame, PyCodeObject *code)
{
    for (int i = 0; i < code->co_argcount + code->co_kwonlyargcount; i++) {
        PyObject *value = dw_py_frame_argument(frame, code, i);
        if (value)
            dw_argument_type_learn(value);
    }
}

struct wanted {
    const PyCodeObject *code;
    const struct dw_signature_key *key;
};

static uint64_t hash_key(const PyCodeObject *code, const struct dw_signature_key *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)code;
    for (uint32_t i = 0; i < key->count; i++) {
        hash = (hash ^ key->words[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return dw_hash_mix(hash);
}

static bool same_signature(const void *entries, uint32_t id, const void *wanted)
{
    const struct dw_signature *signature = ((struct dw_signature *const *)entries)[id];
    const struct wanted *want = wanted;
    return signature->code == want->code && dw_signature_is(signature, want->key);
}

static uint64_t hash_of(const void *entries, uint32_t id)
{
    return ((struct dw_signature *const *)entries)[id]->hash;
}

struct dw_signature *dw_signatures_find(const struct dw_signatures *signatures,
                                        const PyCodeObject *code,
                                        const struct dw_signature_key *key)
{
    struct wanted wanted = {code, key};
    uint32_t found = dw_map_find(&signatures->index, hash_key(code, key), same_signature,
                                 signatures->entries, &wanted);
    return found == DW_MAP_NONE ? NULL : signatures->entries[found];
}

static void count_one(struct dw_signatures *signatures, const PyCodeObject *code)
{
    uint64_t count = 0;
    dw_pointer_map_take(&signatures->count_of, code, &count);
    dw_pointer_map_put(&signatures->count_of, code, count + 1);
}

struct dw_signature *dw_signatures_add(struct dw_signatures *signatures, const PyCodeObject *code,
                                       const struct dw_signature_key *key)
{
    size_t size = key->count * sizeof *key->words;
    if (DW_GROW(signatures->entries, signatures->count, signatures->capacity))
        return NULL;
    struct dw_signature *signature = malloc(sizeof *signature + size);
    if (!signature)
        return NULL;
    *signature = (struct dw_signature){
        .code = code, .hash = hash_key(code, key), .function = DW_MAP_NONE, .count = key->count};
    memcpy(signature->words, key->words, size);
    signatures->entries[signatures->count] = signature;
    if (dw_map_add(&signatures->index, signature->hash, signatures->count, hash_of,
                   signatures->entries)) {
        free(signature);
        return NULL;
    }
    for (uint32_t i = 0; i < key->count; i++)
        if (key->words[i] & 1)
            Py_INCREF(dw_word_type(key->words[i]));
    signatures->count++;
    count_one(signatures, code);
    return signature;
}

bool dw_signatures_are_full(struct dw_signatures *signatures, const PyCodeObject *code)
{
    uint64_t count;
    if (!dw_pointer_map_take(&signatures->count_of, code, &count))
        return !signatures->limit;
    dw_pointer_map_put(&signatures->count_of, code, count);
    return count >= signatures->limit;
}

static void release_one(struct dw_signature *signature)
{
    for (uint32_t i = 0; i < signature->count; i++)
        if (signature->words[i] & 1)
            Py_DECREF(dw_word_type(signature->words[i]));
    free(signature);
}

void dw_signatures_release(struct dw_signatures *signatures)
{
    for (uint32_t i = 0; i < signatures->count; i++)
        release_one(signatures->entries[i]);
    free(signatures->entries);
    dw_map_release(&signatures->index);
    dw_pointer_map_release(&signatures->count_of);
}
