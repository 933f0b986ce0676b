/* SPDX-License-Identifier: MIT
 * What a log says of memory, as objects: a tuple for each row, with its whole stack. */
#include "probe/memory/memory_paths.h"

#include "probe/render.h"

#include <string.h>

static PyObject *text_of(const struct dw_profile *profile, dw_string_id id)
{
    struct dw_string text = dw_profile_string(profile, id);
    return PyUnicode_DecodeUTF8(text.bytes, (Py_ssize_t)text.size, "backslashreplace");
}

/* (function, file, line) */
static PyObject *frame_of(const struct dw_profile *profile, dw_path_id path)
{
    const struct dw_place *place = &profile->places.places[profile->paths.paths[path].step];
    const struct dw_frame *frame = &profile->frames.frames[place->frame];
    return Py_BuildValue("NNI", text_of(profile, frame->name), text_of(profile, frame->file),
                         (unsigned)place->line);
}

/* The outermost first. */
static PyObject *stack_of(const struct dw_profile *profile, dw_path_id path)
{
    PyObject *stack = PyList_New(0);
    for (; stack && path != DW_PATH_ROOT; path = profile->paths.paths[path].parent) {
        PyObject *frame = frame_of(profile, path);
        if (!frame || PyList_Append(stack, frame))
            Py_CLEAR(stack);
        Py_XDECREF(frame);
    }
    if (stack && PyList_Reverse(stack))
        Py_CLEAR(stack);
    return stack;
}

static PyObject *label_of(const struct dw_profile *profile, dw_labels_id labels, const char *key)
{
    for (uint32_t i = 0; i < profile->labels.pair_count; i++) {
        dw_string_id name = profile->labels.pairs[i].key;
        dw_string_id value = strcmp(dw_profile_string(profile, name).bytes, key) != 0
                                 ? 0
                                 : dw_labels_value(&profile->labels, labels, name);
        if (value)
            return text_of(profile, value);
    }
    return Py_NewRef(Py_None);
}

/* (tid, mark, stack, allocated, live, peak), in bytes */
static PyObject *item_of(const struct dw_profile *profile, const struct dw_thread *thread,
                         const struct dw_value_row *row)
{
    return Py_BuildValue("KNNKKK", (unsigned long long)thread->tid,
                         label_of(profile, row->labels, "mark"), stack_of(profile, row->path),
                         (unsigned long long)dw_value_get(&thread->values, row, DW_ALLOC_BYTES),
                         (unsigned long long)dw_value_get(&thread->values, row, DW_LIVE_BYTES),
                         (unsigned long long)dw_value_get(&thread->values, row, DW_PEAK_BYTES));
}

static int add_thread(PyObject *list, const struct dw_profile *profile,
                      const struct dw_thread *thread)
{
    for (uint32_t i = 0; i < thread->values.count; i++) {
        const struct dw_value_row *row = &thread->values.rows[i];
        if (!(row->mask & DW_MEMORY_MASK))
            continue;
        PyObject *item = item_of(profile, thread, row);
        int failed = !item || PyList_Append(list, item);
        Py_XDECREF(item);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *make_paths(struct dw_profile *profile)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < profile->thread_count; i++)
        if (add_thread(list, profile, &profile->threads[i]))
            Py_CLEAR(list);
    return list;
}

PyObject *dw_memory_py_paths(PyObject *module, PyObject *log)
{
    (void)module;
    return dw_log_to_object(log, make_paths);
}
