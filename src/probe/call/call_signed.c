/* SPDX-License-Identifier: MIT
 * A signature is looked up by its key first and by its name after that, since different words can
 * read the same. A function with too many signatures keeps one more for all the rest. */
#include "probe/call/call_signed.h"

uint32_t dw_signed_function_find(struct dw_call_profile *profile, PyCodeObject *code,
                                 const struct dw_signature_key *key)
{
    const struct dw_signature *signature = dw_signatures_find(&profile->signatures, code, key);
    return signature ? signature->function : dw_call_function_find(profile, code);
}

struct signed_name {
    PyObject *code, *name;
};

static bool same_signed_name(const void *functions, uint32_t id, const void *wanted)
{
    const struct dw_call_function *function = &((const struct dw_call_function *)functions)[id];
    const struct signed_name *want = wanted;
    return function->code == want->code && !PyUnicode_Compare(function->name, want->name);
}

static uint64_t hash_signed_name(const PyObject *code, PyObject *name)
{
    return dw_hash_mix((uint64_t)(uintptr_t)code * 31 ^ (uint64_t)PyObject_Hash(name));
}

static uint64_t signed_name_hash_of(const void *functions, uint32_t id)
{
    const struct dw_call_function *function = &((const struct dw_call_function *)functions)[id];
    return hash_signed_name(function->code, function->name);
}

/* Signatures that read the same are one function. Takes the name. */
static uint32_t name_signature(struct dw_call_profile *profile, struct dw_signature *signature,
                               struct signed_name name)
{
    uint64_t hash = hash_signed_name(name.code, name.name);
    uint32_t function =
        dw_map_find(&profile->signed_names, hash, same_signed_name, profile->functions, &name);
    if (function != DW_MAP_NONE) {
        Py_DECREF(name.name);
        return function;
    }
    function = dw_call_function_add(profile, signature, name.code, name.name);
    if (function != DW_MAP_NONE)
        dw_map_add(&profile->signed_names, hash, function, signed_name_hash_of, profile->functions);
    return function;
}

uint32_t dw_signed_function_rest(struct dw_call_profile *profile, PyCodeObject *code)
{
    uint32_t function = dw_call_function_find(profile, code);
    if (function != DW_MAP_NONE)
        return function;
    return dw_call_function_add(profile, code, (PyObject *)code,
                                PyUnicode_FromFormat("%U(%s)", code->co_name, "…"));
}

uint32_t dw_signed_function_add(struct dw_call_profile *profile, PyCodeObject *code,
                                const struct dw_signature_key *key)
{
    if (dw_signatures_are_full(&profile->signatures, code))
        return dw_signed_function_rest(profile, code);
    PyObject *name = dw_signature_name(code, key);
    struct dw_signature *signature =
        name ? dw_signatures_add(&profile->signatures, code, key) : NULL;
    if (!signature) {
        Py_XDECREF(name);
        return dw_signed_function_rest(profile, code);
    }
    return signature->function =
               name_signature(profile, signature, (struct signed_name){(PyObject *)code, name});
}
