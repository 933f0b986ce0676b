/* SPDX-License-Identifier: MIT
 * Builds tuples from a log that was read; nothing here touches the sampler. */
#include "probe/sample/sample_rows.h"

#include "probe/render.h"

static PyObject *text(const struct dw_profile *profile, dw_string_id id)
{
    struct dw_string string = dw_profile_string(profile, id);
    return PyUnicode_DecodeUTF8(string.bytes, (Py_ssize_t)string.size, "surrogateescape");
}

static const char *kind_name(uint32_t kind)
{
    return kind == DW_FRAME_FUNCTION ? "python" : kind == DW_FRAME_NATIVE ? "native" : "mark";
}

static PyObject *frame_row(const struct dw_profile *profile, dw_place_id id)
{
    const struct dw_place *place = &profile->places.places[id];
    const struct dw_frame *frame = &profile->frames.frames[place->frame];
    return Py_BuildValue("(sNNIIII)", kind_name(frame->kind), text(profile, frame->name),
                         text(profile, frame->file), place->line, place->end_line, place->column,
                         place->end_column);
}

static Py_ssize_t depth_of(const struct dw_profile *profile, dw_path_id path)
{
    Py_ssize_t depth = 0;
    for (; path != DW_PATH_ROOT; path = profile->paths.paths[path].parent)
        depth++;
    return depth;
}

static PyObject *stack_row(const struct dw_profile *profile, dw_path_id path)
{
    Py_ssize_t depth = depth_of(profile, path);
    PyObject *stack = PyTuple_New(depth);
    for (; stack && path != DW_PATH_ROOT; path = profile->paths.paths[path].parent) {
        PyObject *frame = frame_row(profile, profile->paths.paths[path].step);
        if (frame)
            PyTuple_SET_ITEM(stack, --depth, frame);
        else
            Py_CLEAR(stack);
    }
    return stack;
}

static PyObject *sample_row(const struct dw_profile *profile, const struct dw_thread *thread,
                            const struct dw_sample *sample)
{
    const char *state = dw_sample_state_name(sample->state);
    return Py_BuildValue("(KNsNKKN)", (unsigned long long)thread->tid, text(profile, thread->name),
                         state ? state : "?", PyBool_FromLong(sample->state & DW_SAMPLE_HOLDS_GIL),
                         (unsigned long long)sample->count, (unsigned long long)sample->weight,
                         stack_row(profile, sample->path));
}

static int add_thread(PyObject *rows, const struct dw_profile *profile, uint32_t thread)
{
    struct dw_sample sample;
    for (uint32_t at = 0; dw_profile_sample(profile, thread, &at, &sample);) {
        PyObject *row = sample_row(profile, &profile->threads[thread], &sample);
        int failed = !row || PyList_Append(rows, row);
        Py_XDECREF(row);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *all_rows(const struct dw_profile *profile)
{
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows && i < profile->thread_count; i++)
        if (add_thread(rows, profile, i))
            Py_CLEAR(rows);
    return rows;
}

static PyObject *summary(const struct dw_profile *profile)
{
    const struct dw_process *process = profile->process_count ? profile->processes : NULL;
    const struct dw_sampling *sampling = process ? &process->sampling : NULL;
    if (!sampling)
        return PyDict_New();
    return Py_BuildValue(
        "{sK sK sK sK sK sK sN}", "period_ns", (unsigned long long)sampling->period_ns, "taken",
        (unsigned long long)sampling->taken, "missed", (unsigned long long)sampling->missed,
        "guessed", (unsigned long long)sampling->guessed, "cut", (unsigned long long)sampling->cut,
        "retried", (unsigned long long)sampling->retried, "ended", PyBool_FromLong(process->ended));
}

static PyObject *summary_and_rows(struct dw_profile *profile)
{
    PyObject *rows = all_rows(profile);
    return rows ? Py_BuildValue("(NN)", summary(profile), rows) : NULL;
}

PyObject *dw_sample_rows(PyObject *module, PyObject *log)
{
    (void)module;
    return dw_log_to_object(log, summary_and_rows);
}
