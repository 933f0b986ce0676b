/* SPDX-License-Identifier: MIT
 * 3.11: the only way is threading.setprofile, which the program would see. */
#include "cpython/thread_births.h"

void dw_py_births_watch(dw_py_thread_born *born)
{
    (void)born;
}

void dw_py_births_unwatch(void)
{
}
