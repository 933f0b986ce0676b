/* SPDX-License-Identifier: MIT
 * The one place where error codes become words. */
#include "base/error.h"

#include <errno.h>
#include <string.h>

/* The system's words for a pipe without a reader speak of a device. */
static const char *io_text(int number)
{
    return number == ENXIO ? "nobody reads from this pipe" : strerror(number);
}

const char *dw_error_text(int error)
{
    switch (error) {
    case DW_OK: return "no error";
    case DW_ERR_MEMORY: return "out of memory";
    case DW_ERR_IO: return io_text(errno);
    case DW_ERR_NOT_DWELL: return "neither a recording nor a profile that dwell reads";
    case DW_ERR_EMPTY: return "the file is empty";
    case DW_ERR_VERSION: return "written by a newer dwell; update dwell to read it";
    case DW_ERR_DAMAGED: return "damaged: no intact part of the recording was found";
    case DW_ERR_TOO_LARGE: return "unpacks to more than dwell is willing to read";
    case DW_ERR_NO_TIMELINE: return "holds no timeline; record it with 'dwell run --timeline'";
    case DW_ERR_ARGUMENT: return "invalid argument";
    case DW_ERR_DUPLICATE: return "the same recording was given twice";
    case DW_ERR_NO_LINES: return "holds no lines; record them with 'dwell run --lines'";
    case DW_ERR_NO_PROCESS: return "no such process";
    case DW_ERR_ENDED: return "the process has ended";
    case DW_ERR_PERMISSION: return "no permission to read its memory";
    case DW_ERR_UNREADABLE: return "its memory could not be read";
    case DW_ERR_NOT_PYTHON: return "not a Python process";
    case DW_ERR_PYTHON_VERSION: return "a version of Python that dwell cannot read";
    case DW_ERR_NO_RUNTIME: return "its Python has not started yet, or is shutting down";
    case DW_ERR_STALE: return "has changed since it was recorded";
    case DW_ERR_REMOVED: return "was removed while it was written, so nothing is left of it";
    case DW_ERR_UNSOUND: return "could not be read back, so it was not kept";
    case DW_ERR_OUTPUT:
        return "makes more output than a file of its size may; DWELL_OUTPUT_MB allows more";
    case DW_ERR_NO_SAMPLES: return "a profile of neither time nor samples";
    default: return "unknown error";
    }
}
