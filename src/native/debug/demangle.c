/* SPDX-License-Identifier: MIT
 * Rust's names are tried first, since its first mangling looks like C++'s; the C++ library does
 * C++. */
#include "native/debug/demangle.h"

#include <stdlib.h>
#include <string.h>

/* A function of the C++ library, which has no C header. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status);

/* The length of the name without a compiler's ".cold", ".constprop.0" or ".llvm.123". */
static size_t length_without_clones(const char *name)
{
    static const char *const clones[] = {".cold",      ".part.", ".isra.",      ".constprop.",
                                         ".lto_priv.", ".llvm.", ".localalias", "._omp_fn."};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof clones / sizeof *clones; i++) {
        const char *at = strstr(name, clones[i]);
        while (at && at > name && at[-1] == '.') /* Rust has two dots between parts of paths */
            at = strstr(at + 1, clones[i]);
        if (at && at > name && (size_t)(at - name) < length)
            length = (size_t)(at - name);
    }
    return length;
}

static char *demangle_cpp(const char *name)
{
    int status;
    return __cxa_demangle(name, NULL, NULL, &status);
}

static char *shorten(const char *name)
{
    size_t length = length_without_clones(name);
    char *plain = strndup(name, length);
    char *rust = plain ? dw_demangle_rust(plain) : NULL;
    char *result = rust                                ? rust
                   : plain && !strncmp(plain, "_Z", 2) ? demangle_cpp(plain)
                   : plain                             ? dw_demangle_cython(plain)
                                                       : NULL;
    if (plain && !result && strpbrk(plain, "<({")) /* as in the source */
        result = strdup(plain);
    if (rust)
        dw_shorten_rust(rust);
    else if (result)
        dw_shorten_cpp(result);
    if (result || length == strlen(name))
        free(plain);
    else
        result = plain;
    return result;
}

char *dw_demangle(const char *name, enum dw_demangle how)
{
    if (how == DW_DEMANGLE_NONE)
        return NULL;
    if (how == DW_DEMANGLE_SHORT)
        return shorten(name);
    char *rust = dw_demangle_rust(name);
    return rust ? rust : !strncmp(name, "_Z", 2) ? demangle_cpp(name) : dw_demangle_cython(name);
}
