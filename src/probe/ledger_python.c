/* SPDX-License-Identifier: MIT
 * What cannot be encoded has an empty name: a probe does not fail because of it. */
#include "probe/ledger_python.h"

#include "probe/render.h"

int dw_ledger_text(struct dw_ledger *ledger, PyObject *text, dw_string_id *id)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    *id = 0;
    if (!bytes) {
        PyErr_Clear();
        return 0;
    }
    int error =
        dw_ledger_string(ledger, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes), id);
    Py_DECREF(bytes);
    return error;
}

int dw_ledger_function(struct dw_ledger *ledger, PyObject *name, const PyCodeObject *code,
                       dw_frame_id *id)
{
    struct dw_frame frame = {.kind = code ? DW_FRAME_FUNCTION : DW_FRAME_BUILTIN};
    int error = dw_ledger_text(ledger, name, &frame.name);
    if (!error && code) {
        error = dw_ledger_text(ledger, code->co_filename, &frame.file);
        frame.line = (uint32_t)code->co_firstlineno;
    }
    return error ? error : dw_ledger_frame(ledger, &frame, id);
}

PyObject *dw_ledger_take_bytes(struct dw_ledger *ledger, int error)
{
    const struct dw_buffer *memory = ledger ? &ledger->sink.writer.memory : NULL;
    PyObject *bytes =
        error ? dw_raise_error(error, NULL)
              : PyBytes_FromStringAndSize((const char *)memory->data, (Py_ssize_t)memory->size);
    dw_ledger_release(ledger);
    return bytes;
}
