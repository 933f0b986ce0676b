/* SPDX-License-Identifier: MIT
 * Regions in Python code: the Region type, and the calls that make them. A
 * Region only says which region it is; what is open stands in the track, so one
 * Region serves all threads, recursion and every `with` that uses it. */
#ifndef DW_PROBE_REGION_REGION_H
#define DW_PROBE_REGION_REGION_H

#include "cpython/frame.h"
#include "record/recorder.h"

struct dw_region {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *name;
    dw_frame_id frame;
    bool is_global;
    bool is_iterator; /* an end of iteration does not count */
    bool is_watched;  /* somebody is called when it begins and ends: region_hook.h */
};

/* What region() gives when nothing records. */
extern PyObject *dw_region_off;

/* Adds the type to the module. -1 with an exception set on failure. */
int dw_region_init(PyObject *module);
void dw_region_name_init(void);
PyObject *dw_region_new(PyObject *name, dw_frame_id frame, bool is_global, bool is_iterator);

/* The Region of a name, or of the calling line for None; a new reference. */
PyObject *dw_region_named(PyObject *name, bool is_global, bool is_iterator);
PyObject *dw_region_of_caller(bool is_global, bool is_iterator);
/* region(name=None, as_global=False) */
PyObject *dw_region_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                         PyObject *keywords);
/* Reads (name=None, as_global=False, asglobal=False) from a vectorcall, from the
 * argument `first` on. -1 with an exception set on failure. */
int dw_region_arguments(PyObject *const *arguments, Py_ssize_t count, PyObject *keywords,
                        Py_ssize_t first, PyObject **name, bool *is_global);

void dw_region_enter_now(struct dw_region *region);
void dw_region_exit_now(struct dw_region *region, bool counted);

/* The bytes of a str; lone surrogates, as in undecodable file names, go out as they came. */
PyObject *dw_region_name_bytes(PyObject *text);

/* The frame of a counter or an instant of that name. -1 with an exception set on failure. */
int dw_region_frame(enum dw_frame_kind kind, PyObject *name, dw_frame_id *frame);

#endif
