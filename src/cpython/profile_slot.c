/* SPDX-License-Identifier: MIT
 * One user is the thread's function itself, so that it costs what it costs alone; only two have a
 * function between them. */
#include "cpython/profile_slot.h"

#include "cpython/thread_hooks.h"

static Py_tracefunc users[DW_PROFILE_USERS];
static struct dw_py_thread_hook hook;

static int tell_all(PyObject *unused, PyFrameObject *frame, int what, PyObject *value)
{
    for (size_t i = 0; i < DW_PROFILE_USERS; i++)
        if (users[i])
            users[i](unused, frame, what, value);
    return 0;
}

/* NULL without a user. */
static Py_tracefunc choose(void)
{
    Py_tracefunc chosen = NULL;
    for (size_t i = 0; i < DW_PROFILE_USERS; i++)
        if (users[i])
            chosen = chosen ? tell_all : users[i];
    return chosen;
}

int dw_py_profile_share(enum dw_py_profile_user user, Py_tracefunc function)
{
    users[user] = function;
    if (!dw_py_thread_hook_install(&hook, choose()))
        return 0;
    users[user] = NULL;
    return -1;
}

void dw_py_profile_leave(enum dw_py_profile_user user)
{
    users[user] = NULL;
    if (!choose())
        dw_py_thread_hook_remove(&hook);
    else if (dw_py_thread_hook_install(&hook, choose()))
        PyErr_Clear(); /* tell_all goes on */
}

bool dw_py_profile_is_shared(enum dw_py_profile_user user)
{
    return users[user] != NULL;
}

bool dw_py_profile_has(Py_tracefunc function)
{
    return hook.is_installed && function == hook.function;
}
