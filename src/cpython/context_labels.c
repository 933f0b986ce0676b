/* SPDX-License-Identifier: MIT
 * A context keeps its variables in a tree that never changes: whoever sets one makes a new tree,
 * and then puts it in the place of the old one. So a thread that is interrupted anywhere finds
 * its context, and in it a tree, whole:
 *
 * - tstate->context and ctx_vars are pointers that are stored at once. Both are stored before the
 *   reference to what was there is given up, so what a handler finds there is alive.
 * - Only the thread itself enters and leaves contexts and sets variables in them. A context is
 *   entered by one thread at a time, so without the GIL, too, nothing of it changes.
 * - The value itself may change, when it is in no other context: its id is stored at once, too.
 * - A new thread has no context before it first uses one, and an ending one gives its context up
 *   by storing NULL first. Both read as no labels.
 * - The garbage collector of another thread clears no context that a thread state refers to.
 * - A tree that is announced some instructions before its last fields are written, as a compiler
 *   may arrange, has NULL there since it was allocated. NULL reads as no labels.
 * - greenlets move the reference to a context between themselves and the thread state.
 * - A thread state that the interpreter frees when it ends is as good as those whose frames are
 *   walked: samples stop before.
 * - Contexts of other interpreters have trees of the same types, and never our variable.
 *
 * Nodes of trees are recognised by their types, which are not exported: they are learned from trees
 * that hold all kinds of them. Their layouts below have been the same since there are contexts. */
#include "cpython/context_labels.h"

#include "cpython/sample_walk.h"

#include <string.h>

#define LEVEL_BITS 5
#define LEVEL_MASK 0x1fu
#define MAX_LEVELS 8
#define MAX_COLLISIONS 64

typedef bool copier(void *to, const void *address, size_t size);

/* A key and its value; or NULL and the node below. */
struct entry {
    PyObject *key, *value;
};

struct bitmap_node {
    PyObject_VAR_HEAD uint32_t bitmap; /* the places that are taken, in order */
    struct entry entries[];
};

struct array_node {
    PyObject_HEAD PyObject *nodes[LEVEL_MASK + 1];
};

struct collision_node {
    PyObject_VAR_HEAD int32_t hash;
    struct entry entries[];
};

static struct {
    PyTypeObject *hamt, *bitmap, *array, *collision;
} known;

/* Written once, before dw_py_labels_are_used. */
static PyObject *variable;
static uint32_t variable_hash;
static PyTypeObject *value_type;
static const char *problem = "no label was used";

_Atomic bool dw_py_labels_are_used;
__thread uint64_t dw_py_labels_changes __attribute__((tls_model("initial-exec")));

static bool copy_own(void *to, const void *address, size_t size)
{
    memcpy(to, address, size);
    return true;
}

/* Whether there is an entry for the hash at that level. */
static inline bool bitmap_entry(const struct bitmap_node *node, uint32_t place, copier *copy,
                                struct entry *entry)
{
    struct bitmap_node head;
    uint32_t bit = 1u << place;
    if (!copy(&head, node, sizeof head) || !(head.bitmap & bit))
        return false;
    int at = __builtin_popcount(head.bitmap & (bit - 1));
    return 2 * at + 1 < Py_SIZE(&head) && copy(entry, &node->entries[at], sizeof *entry);
}

static inline bool array_entry(const struct array_node *node, uint32_t place, copier *copy,
                               struct entry *entry)
{
    entry->key = NULL;
    return copy(&entry->value, &node->nodes[place], sizeof entry->value);
}

static inline bool collision_entry(const struct collision_node *node, const PyObject *key,
                                   copier *copy, struct entry *entry)
{
    struct collision_node head;
    if (!copy(&head, node, sizeof head))
        return false;
    for (int i = 0; i < MAX_COLLISIONS && 2 * i + 1 < Py_SIZE(&head); i++)
        if (!copy(entry, &node->entries[i], sizeof *entry) || entry->key == key)
            return entry->key == key;
    return false;
}

static inline bool next_entry(const PyObject *node, uint32_t place, const PyObject *key,
                              copier *copy, struct entry *entry)
{
    PyObject head;
    if (!copy(&head, node, sizeof head))
        return false;
    if (Py_TYPE(&head) == known.bitmap)
        return bitmap_entry((const struct bitmap_node *)node, place, copy, entry);
    if (Py_TYPE(&head) == known.array)
        return array_entry((const struct array_node *)node, place, copy, entry);
    return Py_TYPE(&head) == known.collision &&
           collision_entry((const struct collision_node *)node, key, copy, entry);
}

#define FEW_VARIABLES 8

/* The entry of our variable among the first ones of a context that has few variables: faster than
 * to count bits. NULL: it is to be searched for. */
static inline const struct entry *scan(const struct bitmap_node *root)
{
    Py_ssize_t count = Py_IS_TYPE(root, known.bitmap) ? Py_SIZE(root) / 2 : 0;
    for (Py_ssize_t i = 0; i < count && i < FEW_VARIABLES; i++)
        if (root->entries[i].key == variable)
            return &root->entries[i];
    return NULL;
}

/* The value of our variable, or NULL. A tree shares the nodes that it has in common with others, so
 * the value is in no other one when each node on the way to it has one owner. */
static PyObject *find_own(const PyHamtObject *tree, bool *is_own)
{
    const PyObject *node = (const PyObject *)tree->h_root;
    const struct entry *first = scan((const struct bitmap_node *)node);
    uint32_t hash = variable_hash;
    struct entry entry;
    *is_own = Py_REFCNT(tree) == 1 && Py_REFCNT(node) == 1;
    if (__builtin_expect(first != NULL, 1)) {
        *is_own &= Py_REFCNT(first->value) == 1;
        return first->value;
    }
    for (int level = 0; level < MAX_LEVELS && node; level++, hash >>= LEVEL_BITS) {
        *is_own &= Py_REFCNT(node) == 1;
        if (!next_entry(node, hash & LEVEL_MASK, variable, copy_own, &entry))
            return NULL;
        if (entry.key) {
            *is_own &= Py_REFCNT(entry.value) == 1;
            return entry.key == variable ? entry.value : NULL;
        }
        node = entry.value;
    }
    return NULL;
}

/* The value of the key, or NULL. */
static inline __attribute__((always_inline)) PyObject *
find(const PyHamtObject *tree, const PyObject *key, uint32_t hash, copier *copy)
{
    PyHamtObject head;
    if (!copy(&head, tree, sizeof head) || Py_TYPE(&head) != known.hamt)
        return NULL;
    const PyObject *node = (const PyObject *)head.h_root;
    for (int level = 0; level < MAX_LEVELS && node; level++, hash >>= LEVEL_BITS) {
        struct entry entry;
        if (!next_entry(node, hash & LEVEL_MASK, key, copy, &entry))
            return NULL;
        if (entry.key)
            return entry.key == key ? entry.value : NULL;
        node = entry.value;
    }
    return NULL;
}

/* The value of our variable in the context, or NULL. */
static inline __attribute__((always_inline)) PyObject *value_in(const PyContext *context,
                                                                copier *copy)
{
    const PyHamtObject *vars;
    if (!context || !copy(&vars, &context->ctx_vars, sizeof vars) || !vars)
        return NULL;
    return find(vars, variable, variable_hash, copy);
}

static inline __attribute__((always_inline)) uint32_t labels_of(const PyThreadState *thread,
                                                                copier *copy)
{
    PyObject *context;
    struct dw_py_labels labels;
    if (!atomic_load_explicit(&dw_py_labels_are_used, memory_order_acquire) || problem ||
        !copy(&context, &thread->context, sizeof context))
        return 0;
    PyObject *value = value_in((const PyContext *)context, copy);
    if (!value || !copy(&labels, value, sizeof labels) || Py_TYPE(&labels) != value_type)
        return 0;
    return labels.id;
}

uint32_t dw_py_labels_own(const PyThreadState *thread)
{
    return labels_of(thread, copy_own);
}

uint32_t dw_py_labels_of_sleeper(const PyThreadState *thread)
{
    return labels_of(thread, dw_py_read);
}

/* An address says little about a tree: the next one may get it. But labels become others only when
 * the thread enters or leaves a context, which CPython counts, and when dwell puts a value, which
 * it counts itself. Somebody who copies all variables from one context to another puts ours as
 * well; that makes a new tree while the old one is there, so the address differs. */
uint32_t dw_py_labels_look(const PyThreadState *thread, struct dw_py_labels_seen *seen)
{
    const PyContext *context = (const PyContext *)thread->context;
    *seen = (struct dw_py_labels_seen){
        .thread = thread->id,
        .version = thread->context_ver,
        .changes = dw_py_labels_changes,
        .vars = context ? context->ctx_vars : NULL,
        .id = dw_py_labels_own(thread),
    };
    return seen->id;
}

const char *dw_py_labels_problem(void)
{
    return problem;
}

struct dw_py_labels *dw_py_labels_get(bool *is_own)
{
    PyObject *value = NULL;
    *is_own = false;
    if (!atomic_load_explicit(&dw_py_labels_are_used, memory_order_acquire))
        return NULL;
    const PyContext *context = (const PyContext *)PyThreadState_Get()->context;
    if (!problem && context)
        value = find_own(context->ctx_vars, is_own);
    else if (problem && !PyContextVar_Get(variable, NULL, &value))
        Py_XDECREF(value);
    return value && Py_IS_TYPE(value, value_type) ? (struct dw_py_labels *)value : NULL;
}

int dw_py_labels_set(struct dw_py_labels *value)
{
    PyObject *token = PyContextVar_Set(variable, (PyObject *)value);
    if (!token)
        return -1;
    dw_py_labels_changes++;
    Py_DECREF(token);
    return 0;
}

/* A tree goes by half of the bits of a hash. */
static uint32_t fold_hash(Py_hash_t hash)
{
    uint32_t folded = (uint32_t)hash ^ (uint32_t)((uint64_t)hash >> 32);
    return folded == UINT32_MAX ? UINT32_MAX - 1 : folded;
}

/* These make every kind of node: 32 places are taken in the first level, some of them twice or
 * three times, and two keys have the same hash. */
static int make_keys(PyObject *keys)
{
    for (int i = 0; i < 40; i++) {
        PyObject *key = PyLong_FromLong(i);
        if (!key || PyList_Append(keys, key))
            return -1;
        Py_DECREF(key);
    }
    static const long long more[] = {1025, 32769, 1ll << 32, 7ll << 32};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        PyObject *key = PyLong_FromLongLong(more[i]);
        if (!key || PyList_Append(keys, key))
            return -1;
        Py_DECREF(key);
    }
    return 0;
}

/* A tree of these keys, each its own value. */
static PyObject *make_tree(PyObject *keys, Py_ssize_t first, Py_ssize_t end)
{
    PyObject *context = PyContext_New();
    PyObject *tree = context ? Py_NewRef((PyObject *)((PyContext *)context)->ctx_vars) : NULL;
    Py_XDECREF(context);
    for (Py_ssize_t i = first; tree && i < end; i++) {
        PyObject *key = PyList_GET_ITEM(keys, i);
        Py_SETREF(tree, PyObject_CallMethod(tree, "set", "OO", key, key));
    }
    return tree;
}

static const PyObject *root_of(PyObject *tree)
{
    return (const PyObject *)((const PyHamtObject *)tree)->h_root;
}

/* `some` has one key of a hash, `colliding` two of them and no other. */
static void learn_types(PyObject *some, PyObject *many, PyObject *colliding)
{
    struct entry entry = {0};
    known.hamt = Py_TYPE(some);
    known.bitmap = Py_TYPE(root_of(some));
    known.array = Py_TYPE(root_of(many));
    bool has_entry =
        Py_TYPE(root_of(colliding)) == known.bitmap &&
        bitmap_entry((const struct bitmap_node *)root_of(colliding), 1, dw_py_read, &entry);
    PyObject head;
    if (has_entry && !entry.key && dw_py_read(&head, entry.value, sizeof head))
        known.collision = Py_TYPE(&head);
}

static bool can_find_all(PyObject *tree, PyObject *keys)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); i++) {
        PyObject *key = PyList_GET_ITEM(keys, i);
        if (find((const PyHamtObject *)tree, key, fold_hash(PyObject_Hash(key)), dw_py_read) != key)
            return false;
    }
    return !find((const PyHamtObject *)tree, variable, variable_hash, dw_py_read);
}

/* Exceptions other than for lack of memory mean that contexts are not what they were. */
static bool can_read_trees(PyObject *keys)
{
    Py_ssize_t count = PyList_GET_SIZE(keys);
    PyObject *some = make_tree(keys, 0, 3), *many = make_tree(keys, 0, count);
    PyObject *key = PyList_GET_ITEM(keys, 1), *same = PyList_GET_ITEM(keys, count - 2);
    PyObject *pair = Py_BuildValue("[OO]", key, same);
    PyObject *colliding = pair ? make_tree(pair, 0, 2) : NULL;
    bool all = some && many && colliding;
    if (all)
        learn_types(some, many, colliding);
    all = all && known.collision && known.array != known.bitmap && known.collision != known.array &&
          known.collision != known.bitmap && can_find_all(many, keys);
    Py_XDECREF(some);
    Py_XDECREF(many);
    Py_XDECREF(colliding);
    Py_XDECREF(pair);
    return all;
}

static int learn(void)
{
    PyObject *keys = PyList_New(0);
    if (!keys || make_keys(keys)) {
        Py_XDECREF(keys);
        return -1;
    }
    problem = can_read_trees(keys) ? NULL : "the contexts of this Python are not what dwell knows";
    Py_DECREF(keys);
    if (PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError))
        PyErr_Clear();
    return PyErr_Occurred() ? -1 : 0;
}

int dw_py_labels_init(PyTypeObject *type)
{
    if (atomic_load(&dw_py_labels_are_used))
        return 0;
    value_type = type;
    variable = PyContextVar_New("dwell_labels", NULL);
    if (!variable)
        return -1;
    variable_hash = fold_hash(PyObject_Hash(variable));
    if (learn()) {
        Py_CLEAR(variable);
        return -1;
    }
    atomic_store_explicit(&dw_py_labels_are_used, true, memory_order_release);
    return 0;
}
