/* SPDX-License-Identifier: MIT
 * The signature of a call: the types of its arguments, and the shapes of arrays, as
 * words that are compared one by one. A signature is made once and found again after. */
#ifndef DW_PROBE_CALL_SIGNATURE_H
#define DW_PROBE_CALL_SIGNATURE_H

#include "base/map.h"
#include "base/pointer_map.h"
#include "cpython/frame.h"

#include <string.h>

enum {
    DW_SIGNATURE_WORDS_MAX = 256, /* arguments that begin after so many words are left out */
    DW_ARGUMENT_WORDS_MAX = 68,
};

/* An argument begins with its type, the lowest bit set and the form above it, or with 0 when
 * it has no value; the words that follow have the lowest bit clear, but for element types. */
enum dw_argument_form {
    DW_FORM_PLAIN,
    DW_FORM_ARRAY,     /* text of the dtype, order and rank, shape */
    DW_FORM_DESCRIBED, /* a text, 0 when its function failed */
    DW_FORM_LIST,      /* length + 1, 0 for a long list; the elements' type, 0 when they differ */
};

enum dw_array_order { DW_ORDER_C, DW_ORDER_F, DW_ORDER_STRIDED };

struct dw_signature_key {
    bool is_cut; /* for want of words */
    uint32_t count;
    uint64_t words[DW_SIGNATURE_WORDS_MAX + DW_ARGUMENT_WORDS_MAX];
};

/* It holds references to its types, so that their addresses stay theirs. */
struct dw_signature {
    const PyCodeObject *code; /* the function has the reference */
    uint64_t hash;
    uint32_t function;
    uint32_t count;
    uint64_t words[];
};

struct dw_signatures {
    bool on;
    bool elements;  /* lists differ by the types of their elements */
    uint32_t limit; /* of one function */
    struct dw_signature **entries;
    uint32_t count, capacity;
    struct dw_map index;
    struct dw_pointer_map count_of; /* by code object */
};

/* Reads the arguments of a call that begins. Runs Python code only for described types. */
void dw_signature_read(struct dw_signature_key *key, dw_py_frame *frame, PyCodeObject *code,
                       bool elements);
/* Learns about the types of the arguments. May run Python code. */
void dw_signature_learn(dw_py_frame *frame, PyCodeObject *code);

static inline bool dw_signature_is(const struct dw_signature *signature,
                                   const struct dw_signature_key *key)
{
    return signature && signature->count == key->count &&
           !memcmp(signature->words, key->words, key->count * sizeof *key->words);
}

/* NULL when it is not known. */
struct dw_signature *dw_signatures_find(const struct dw_signatures *signatures,
                                        const PyCodeObject *code,
                                        const struct dw_signature_key *key);
/* A signature that is not known yet; NULL when out of memory. */
struct dw_signature *dw_signatures_add(struct dw_signatures *signatures, const PyCodeObject *code,
                                       const struct dw_signature_key *key);
bool dw_signatures_are_full(struct dw_signatures *signatures, const PyCodeObject *code);
void dw_signatures_release(struct dw_signatures *signatures);

/* "dot(a:ndarray(dtype=float32, shape=(16,)), n:int)"; new reference or NULL. */
PyObject *dw_signature_name(PyCodeObject *code, const struct dw_signature_key *key);

static inline uint64_t dw_word_of_type(PyTypeObject *type, enum dw_argument_form form)
{
    return (uint64_t)(uintptr_t)type | (uint64_t)form << 1 | 1;
}

static inline PyTypeObject *dw_word_type(uint64_t word)
{
    return (PyTypeObject *)(uintptr_t)(word & ~(uint64_t)7);
}

static inline enum dw_argument_form dw_word_form(uint64_t word)
{
    return (enum dw_argument_form)(word >> 1 & 3);
}

#endif
