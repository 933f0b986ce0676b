/* SPDX-License-Identifier: MIT
 * Where the resident memory of a process is: rows of DW_RESIDENT_BYTES, on a place for each part.
 * All parts together, less DW_RESIDENT_UNTOUCHED, are what the system calls RSS. Parts with other
 * names are those of allocators that only some processes have. */
#ifndef DW_MODEL_RESIDENT_H
#define DW_MODEL_RESIDENT_H

/* Behind the name of an allocator whose blocks cannot be recorded: only what it mapped is known. */
#define DW_RESIDENT_UNSEEN ": its blocks are not seen"

enum dw_resident {
    DW_RESIDENT_PYTHON,    /* live, as recorded */
    DW_RESIDENT_NATIVE,    /* the same, of malloc */
    DW_RESIDENT_ARENAS,    /* Python's arenas: what is free, or their own */
    DW_RESIDENT_EARLIER,   /* mapped before the recording, by Python or others */
    DW_RESIDENT_FREE,      /* that malloc keeps */
    DW_RESIDENT_BEFORE,    /* allocated by malloc before the recording, or unseen, or its own */
    DW_RESIDENT_MAPPED,    /* by the program */
    DW_RESIDENT_FILES,     /* programs, libraries and data */
    DW_RESIDENT_STACKS,    /* of threads */
    DW_RESIDENT_DWELL,     /* what the recording needs */
    DW_RESIDENT_OTHER,     /* not explained */
    DW_RESIDENT_UNTOUCHED, /* allocated and never used, so that it is not resident */
    DW_RESIDENTS
};

extern const char *const dw_resident_names[DW_RESIDENTS];

#endif
