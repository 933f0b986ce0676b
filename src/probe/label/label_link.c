/* SPDX-License-Identifier: MIT
 * Blocks in one context end in any order when generators are left half way; a token of the
 * variable would bring back what is long over. So leaving looks for its own link. */
#include "probe/label/label_link.h"

#include "record/labels.h"

static PyTypeObject *link_type;
static struct dw_label_link *end_of_chains;

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
    .name = "dwell._core._Labels",
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
    link->head.id = id;
    link->serial = serial;
    link->texts = Py_XNewRef(texts);
    link->parent = (struct dw_label_link *)Py_XNewRef((PyObject *)parent);
    return link;
}

struct dw_label_link *dw_label_link_new(struct dw_label_link *parent, uint64_t serial,
                                        PyObject *texts)
{
    dw_labels_id id;
    return extend(parent->head.id, texts, &id) ? NULL : make(parent, serial, texts, id);
}

int dw_label_link_init(void)
{
    link_type = (PyTypeObject *)PyType_FromSpec(&link_spec);
    end_of_chains = link_type ? make(NULL, 0, NULL, 0) : NULL;
    return end_of_chains ? 0 : -1;
}

int dw_label_link_start(void)
{
    return dw_py_labels_init(link_type);
}

struct dw_label_link *dw_label_link_now(void)
{
    struct dw_py_labels *now = dw_py_labels_get();
    return now ? (struct dw_label_link *)now : end_of_chains;
}

int dw_label_link_set(struct dw_label_link *link)
{
    return dw_py_labels_set(&link->head);
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
    struct dw_label_link *now = dw_label_link_now();
    if (__builtin_expect(now->serial == serial, 1))
        return dw_label_link_set(now->parent);
    if (!has(now, serial))
        return 0;
    struct dw_label_link *rest = without(now, serial);
    int error = rest ? dw_label_link_set(rest) : -1;
    Py_XDECREF((PyObject *)rest);
    return error;
}
