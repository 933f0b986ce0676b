/* SPDX-License-Identifier: MIT
 * The Python in another process: which version it is, where its runtime lies, and where
 * its structures have their fields. Found once; reading stacks needs no more than this. */
#ifndef DW_ATTACH_PYTHON_PYTHON_RUNTIME_H
#define DW_ATTACH_PYTHON_PYTHON_RUNTIME_H

#include "attach/python/python_offsets.h"
#include "attach/target/target.h"

struct dw_python {
    const struct dw_target *target; /* borrowed */
    uint64_t runtime;               /* the address of _PyRuntime */
    uint32_t version;               /* as Py_Version has it; the lower 16 bits may be unknown */
    bool free_threaded;
    struct dw_py_offsets offsets;
};

static inline unsigned dw_python_minor(const struct dw_python *python)
{
    return python->version >> 16 & 0xff;
}

/* DW_ERR_NOT_PYTHON; DW_ERR_PYTHON_VERSION, and then `version` and `free_threaded` are what
 * was found; DW_ERR_PERMISSION or DW_ERR_ENDED. */
int dw_python_locate(const struct dw_target *target, struct dw_python *python);

/* The version in a file name such as libpython3.12.so.1.0 or lib/python3.12/; 0 for none. */
uint32_t dw_python_version_in(const char *path);

#endif
