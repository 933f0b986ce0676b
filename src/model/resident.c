/* SPDX-License-Identifier: MIT
 * The names are those of the places that rows of resident memory are on, so they are part of
 * recordings. Brackets mark what is not code. */
#include "model/resident.h"

const char *const dw_resident_names[DW_RESIDENTS] = {
    [DW_RESIDENT_PYTHON] = "<Python, live>",
    [DW_RESIDENT_NATIVE] = "<native code, live>",
    [DW_RESIDENT_ARENAS] = "<Python's arenas: free, or overhead>",
    [DW_RESIDENT_EARLIER] = "<mapped before the recording>",
    [DW_RESIDENT_FREE] = "<free, kept by malloc>",
    [DW_RESIDENT_BEFORE] = "<malloc: from before, unseen, or overhead>",
    [DW_RESIDENT_MAPPED] = "<mapped by the program>",
    [DW_RESIDENT_FILES] = "<files: programs, libraries, data>",
    [DW_RESIDENT_STACKS] = "<stacks>",
    [DW_RESIDENT_DWELL] = "<dwell>",
    [DW_RESIDENT_OTHER] = "<not explained>",
    [DW_RESIDENT_UNTOUCHED] = "<live, but never touched>",
};
