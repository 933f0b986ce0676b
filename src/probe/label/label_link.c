/* SPDX-License-Identifier: MIT
 * Blocks in one context end in any order when generators are left half way; a token of the
 * variable would bring back what is long over. So leaving looks for its own link. */
#include "probe/label/label_link.h"

#include "record/labels.h"

/* The value of the context variable. */
struct holder {
    struct dw_py_labels head; /* the id of the link */
    struct dw_label_link *link;
};

static PyTypeObject *link_type, *holder_type;
static struct dw_label_link *end_of_chains;

static void holder_dealloc(PyObject *object)
{
    Py_DECREF((PyObject *)((struct holder *)object)->link);
    PyObject_Free(object);
    Py_DECREF(holder_type);
}

static PyType_Slot holder_slots[] = {{Py_tp_dealloc, holder_dealloc}, {0, NULL}};

static PyType_Spec holder_spec = {
    .name = "dwell._core._Labels",
    .basicsize = sizeof(struct holder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = holder_slots,
};

/* Of a chain as long as a recursion is deep; so not by recursion. */
static void link_dealloc(PyObject *object)
{
    while (object) {
        struct dw_label_link *link = (struct dw_label_link *)object;
        PyObject *parent = (PyObject *)link->parent;
        Py_XDECREF(link->texts);
        PyObject_Free(link);
        Py_DECREF(link_type);
        if (parent && Py_REFCNT(parent) > 1) {
            Py_DECREF(parent);
            parent = NULL;
        }
        object = parent;
    }
}

static PyType_Slot link_slots[] = {{Py_tp_dealloc, link_dealloc}, {0, NULL}};

static PyType_Spec link_spec = {
    .name = "dwell._core._LabelLink",
    .basicsize = sizeof(struct dw_label_link),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = link_slots,
};

static struct dw_string text_at(PyObject *texts, Py_ssize_t at)
{
    PyObject *text = PyTuple_GET_ITEM(texts, at);
    return (struct dw_string){PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text)};
}

static int extend(dw_labels_id parent, PyObject *texts, dw_labels_id *id)
{
    struct dw_label_text labels[DW_LABELS_KEYS_MAX + 1];
    size_t count = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts) && count <= DW_LABELS_KEYS_MAX; i += 2)
        labels[count++] = (struct dw_label_text){text_at(texts, i), text_at(texts, i + 1)};
    int error = dw_labels_extend(parent, labels, count, id);
    if (error)
        PyErr_NoMemory();
    return error ? -1 : 0;
}

static struct dw_label_link *make(struct dw_label_link *parent, uint64_t serial, PyObject *texts,
                                  dw_labels_id id)
{
    struct dw_label_link *link = PyObject_New(struct dw_label_link, link_type);
    if (!link)
        return NULL;
    link->id = id;
    link->serial = serial;
    link->texts = Py_XNewRef(texts);
    link->parent = (struct dw_label_link *)Py_XNewRef((PyObject *)parent);
    return link;
}

struct dw_label_link *dw_label_link_new(struct dw_label_link *parent, uint64_t serial,
                                        PyObject *texts)
{
    dw_labels_id id;
    return extend(parent->id, texts, &id) ? NULL : make(parent, serial, texts, id);
}

int dw_label_link_init(void)
{
    link_type = (PyTypeObject *)PyType_FromSpec(&link_spec);
    holder_type = link_type ? (PyTypeObject *)PyType_FromSpec(&holder_spec) : NULL;
    end_of_chains = holder_type ? make(NULL, 0, NULL, 0) : NULL;
    return end_of_chains ? 0 : -1;
}

int dw_label_link_start(void)
{
    return dw_py_labels_init(holder_type);
}

static inline struct holder *find_holder(bool *is_own)
{
    return (struct holder *)dw_py_labels_get(is_own);
}

struct dw_label_link *dw_label_link_now(void)
{
    bool is_own;
    const struct holder *holder = find_holder(&is_own);
    return holder ? holder->link : end_of_chains;
}

/* Takes the reference to the link, as replace() does. */
static int put_holder(struct dw_label_link *link)
{
    struct holder *holder = PyObject_New(struct holder, holder_type);
    if (!holder) {
        Py_DECREF((PyObject *)link);
        return -1;
    }
    holder->head.id = link->id;
    holder->link = link;
    int error = dw_py_labels_set(&holder->head);
    Py_DECREF((PyObject *)holder);
    return error;
}

static inline int replace(struct holder *holder, bool is_own, struct dw_label_link *link)
{
    if (__builtin_expect(!holder || !is_own, 0))
        return put_holder(link);
    struct dw_label_link *before = holder->link;
    holder->link = link;
    dw_py_labels_change(&holder->head, link->id);
    Py_DECREF((PyObject *)before);
    return 0;
}

int dw_label_link_set(struct dw_label_link *link)
{
    bool is_own;
    struct holder *holder = find_holder(&is_own);
    return replace(holder, is_own, (struct dw_label_link *)Py_NewRef((PyObject *)link));
}

int dw_label_link_enter(dw_make_label_link *make_link, void *context)
{
    bool is_own;
    struct holder *holder = find_holder(&is_own);
    struct dw_label_link *link = make_link(context, holder ? holder->link : end_of_chains);
    return link ? replace(holder, is_own, link) : -1;
}

static bool has(const struct dw_label_link *link, uint64_t serial)
{
    while (link && link->serial != serial)
        link = link->parent;
    return link;
}

/* The chain without that link, which is in it; a new reference. */
static struct dw_label_link *without(struct dw_label_link *link, uint64_t serial)
{
    if (link->serial == serial)
        return (struct dw_label_link *)Py_NewRef((PyObject *)link->parent);
    if (Py_EnterRecursiveCall(" while a label ends"))
        return NULL;
    struct dw_label_link *parent = without(link->parent, serial);
    Py_LeaveRecursiveCall();
    struct dw_label_link *made =
        parent ? dw_label_link_new(parent, link->serial, link->texts) : NULL;
    Py_XDECREF((PyObject *)parent);
    return made;
}

int dw_label_link_leave(uint64_t serial)
{
    bool is_own;
    struct holder *holder = find_holder(&is_own);
    struct dw_label_link *now = holder ? holder->link : end_of_chains;
    if (__builtin_expect(now->serial == serial, 1))
        return replace(holder, is_own, (struct dw_label_link *)Py_NewRef((PyObject *)now->parent));
    if (!has(now, serial))
        return 0;
    struct dw_label_link *rest = without(now, serial);
    return rest ? replace(holder, is_own, rest) : -1;
}
