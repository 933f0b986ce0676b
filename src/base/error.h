/* SPDX-License-Identifier: MIT
 * Error codes of the cold paths. Functions return 0 or one of these; the
 * result goes through the last parameter and is untouched on failure. */
#ifndef DW_BASE_ERROR_H
#define DW_BASE_ERROR_H

enum dw_error {
    DW_OK = 0,
    DW_ERR_MEMORY = -1,    /* out of memory */
    DW_ERR_IO = -2,        /* a system call failed; errno says why */
    DW_ERR_NOT_DWELL = -3, /* the file does not start as a dwell log */
    DW_ERR_EMPTY = -4,     /* the file has no bytes */
    DW_ERR_VERSION = -5,   /* written by a newer format version */
    DW_ERR_DAMAGED = -6,   /* nothing intact could be read */
    DW_ERR_TOO_LARGE = -7, /* beyond the limits a reader accepts */
    DW_ERR_NO_TIMELINE = -8,
    DW_ERR_ARGUMENT = -9,
    DW_ERR_DUPLICATE = -10, /* the same recording twice in one merge */
    DW_ERR_NO_LINES = -11,
    DW_ERR_NO_PROCESS = -12,
    DW_ERR_ENDED = -13,      /* the process ended meanwhile */
    DW_ERR_PERMISSION = -14, /* the system does not let us read its memory */
    DW_ERR_UNREADABLE = -15, /* no memory of the process at that address */
    DW_ERR_NOT_PYTHON = -16,
    DW_ERR_PYTHON_VERSION = -17, /* a Python that dwell cannot read */
    DW_ERR_NO_RUNTIME = -18,     /* Python is there, but does not run yet or any more */
    DW_ERR_STALE = -19,          /* the file is not the one that ran */
    DW_ERR_NO_SAMPLES = -20,     /* a profile of neither time nor samples */
    DW_ERR_REMOVED = -21,        /* the file lost its name while we wrote it */
    DW_ERR_UNSOUND = -22,        /* what we wrote is not what a reader accepts */
    DW_ERR_OUTPUT = -23,         /* more was to be written than is allowed */
};

/* One clause, lower case, without a full stop. For DW_ERR_IO it reads errno. */
const char *dw_error_text(int error);

#endif
