/* SPDX-License-Identifier: MIT
 * From a name, or the line that calls, to its Region; and region() itself. */
#include "base/grow.h"
#include "probe/region/region.h"

#include <string.h>

PyObject *dw_region_name_bytes(PyObject *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (bytes)
        return bytes;
    PyErr_Clear();
    return PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
}

static int intern_frame(enum dw_frame_kind kind, PyObject *name, const char *file, int line,
                        dw_frame_id *frame)
{
    PyObject *bytes = dw_region_name_bytes(name);
    if (!bytes)
        return -1;
    int error = dw_recorder_frame(kind, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes),
                                  file, strlen(file), (uint32_t)line, frame);
    Py_DECREF(bytes);
    if (error)
        PyErr_NoMemory();
    return error ? -1 : 0;
}

int dw_region_frame(enum dw_frame_kind kind, PyObject *name, dw_frame_id *frame)
{
    if (PyUnicode_Check(name))
        return intern_frame(kind, name, "", 0, frame);
    PyErr_Format(PyExc_TypeError, "name must be a str, not %.100s", Py_TYPE(name)->tp_name);
    return -1;
}

PyObject *dw_region_named(PyObject *name, bool is_global, bool is_iterator)
{
    dw_frame_id frame;
    if (dw_region_frame(DW_FRAME_REGION, name, &frame))
        return NULL;
    return dw_region_new(name, frame, is_global, is_iterator);
}

/* Regions that named themselves by their line, kept with the code object. */
struct site {
    int offset;
    bool is_global, is_iterator;
    PyObject *region;
};

struct sites {
    uint32_t count, capacity;
    struct site *sites;
};

static Py_ssize_t sites_index;

static void free_sites(void *value)
{
    struct sites *sites = value;
    for (uint32_t i = 0; sites && i < sites->count; i++)
        Py_DECREF(sites->sites[i].region);
    if (sites)
        free(sites->sites);
    free(sites);
}

static struct sites *sites_of(PyCodeObject *code)
{
    void *known = NULL;
    PyUnstable_Code_GetExtra((PyObject *)code, sites_index, &known);
    if (known)
        return known;
    struct sites *made = calloc(1, sizeof *made);
    if (made && !PyUnstable_Code_SetExtra((PyObject *)code, sites_index, made))
        return made;
    free(made);
    return NULL;
}

/* "func() <file.py:12>", in the file as an absolute path so that its text can be kept. */
static PyObject *make_site_region(PyCodeObject *code, int offset, bool is_global, bool is_iterator)
{
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    if (!file) {
        PyErr_Clear();
        file = "?";
    }
    int line = PyCode_Addr2Line(code, offset);
    const char *base = strrchr(file, '/');
    PyObject *name =
        PyUnicode_FromFormat("%U() <%s:%d>", code->co_name, base ? base + 1 : file, line);
    if (!name)
        return NULL;
    char *absolute = realpath(file, NULL);
    dw_frame_id frame;
    PyObject *region = NULL;
    if (!intern_frame(DW_FRAME_REGION, name, absolute ? absolute : file, line, &frame))
        region = dw_region_new(name, frame, is_global, is_iterator);
    free(absolute);
    Py_DECREF(name);
    return region;
}

PyObject *dw_region_of_caller(bool is_global, bool is_iterator)
{
    dw_py_frame *frame = dw_py_frame_now();
    struct sites *sites = frame ? sites_of(dw_py_frame_code(frame)) : NULL;
    if (!sites)
        return Py_NewRef(dw_region_off);
    int offset = dw_py_frame_offset(frame);
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->sites[i];
        if (site->offset == offset && site->is_global == is_global &&
            site->is_iterator == is_iterator)
            return Py_NewRef(site->region);
    }
    PyObject *region = make_site_region(dw_py_frame_code(frame), offset, is_global, is_iterator);
    if (!region || DW_GROW(sites->sites, sites->count, sites->capacity))
        return region;
    sites->sites[sites->count++] = (struct site){offset, is_global, is_iterator, Py_NewRef(region)};
    return region;
}

/* Literal names come back as the same object: one look finds their Region. */
#define CACHE_SIZE 256
static struct {
    PyObject *name;
    struct dw_region *region;
} cache[CACHE_SIZE];

static PyObject *cached_region(PyObject *name, bool is_global)
{
    size_t at = ((uintptr_t)name >> 4 ^ (uintptr_t)name >> 12 ^ is_global) % CACHE_SIZE;
    struct dw_region *region = cache[at].region;
    if (__builtin_expect(cache[at].name == name && region->is_global == is_global, 1))
        return Py_NewRef(region);
    region = (struct dw_region *)dw_region_named(name, is_global, false);
    if (!region)
        return NULL;
    PyObject *old_name = cache[at].name;
    struct dw_region *old_region = cache[at].region;
    cache[at].name = Py_NewRef(name);
    cache[at].region = (struct dw_region *)Py_NewRef(region);
    Py_XDECREF(old_name);
    Py_XDECREF(old_region);
    return (PyObject *)region;
}

static int keyword_argument(PyObject *keyword, PyObject *value, PyObject **name, bool *is_global)
{
    if (PyUnicode_CompareWithASCIIString(keyword, "name") == 0) {
        *name = value;
        return 0;
    }
    if (PyUnicode_CompareWithASCIIString(keyword, "as_global") == 0 ||
        PyUnicode_CompareWithASCIIString(keyword, "asglobal") == 0) {
        int truth = PyObject_IsTrue(value);
        *is_global |= truth > 0;
        return truth < 0 ? -1 : 0;
    }
    PyErr_Format(PyExc_TypeError, "unexpected keyword argument '%U'; there are name and as_global",
                 keyword);
    return -1;
}

int dw_region_arguments(PyObject *const *arguments, Py_ssize_t count, PyObject *keywords,
                        Py_ssize_t first, PyObject **name, bool *is_global)
{
    if (count > first + 2) {
        PyErr_Format(PyExc_TypeError, "at most %zd positional arguments, not %zd", first + 2,
                     count);
        return -1;
    }
    if (count > first)
        *name = arguments[first];
    if (count > first + 1)
        *is_global = PyObject_IsTrue(arguments[first + 1]) > 0;
    Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; i++)
        if (keyword_argument(PyTuple_GET_ITEM(keywords, i), arguments[count + i], name, is_global))
            return -1;
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *dw_region_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                         PyObject *keywords)
{
    (void)module;
    if (!atomic_load_explicit(&dw_recorder_active, memory_order_relaxed))
        return Py_NewRef(dw_region_off);
    if (__builtin_expect(count == 1 && !keywords && arguments[0] != Py_None, 1))
        return cached_region(arguments[0], false);
    PyObject *name = Py_None;
    bool is_global = false;
    if (dw_region_arguments(arguments, count, keywords, 0, &name, &is_global))
        return NULL;
    return name == Py_None ? dw_region_of_caller(is_global, false) : cached_region(name, is_global);
}

void dw_region_name_init(void)
{
    sites_index = PyUnstable_Eval_RequestCodeExtraIndex(free_sites);
}
