/* SPDX-License-Identifier: MIT */
#include "failing.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static _Atomic uint64_t asked, failing_first, failing_last;
static _Atomic int64_t live;

void failing_start(uint64_t nth, bool for_good)
{
    asked = 0;
    failing_first = nth;
    failing_last = for_good && nth ? UINT64_MAX : nth;
}

uint64_t failing_stop(void)
{
    failing_first = failing_last = 0;
    return asked;
}

int64_t failing_live(void)
{
    return live;
}

static bool fails(void)
{
    uint64_t nth = ++asked;
    return failing_first && nth >= failing_first && nth <= failing_last;
}

static void *counted(void *made)
{
    live += made != NULL;
    return made;
}

/* What the linker calls in place of the functions, and the functions themselves. */
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
void __wrap_free(void *memory);
ZSTD_CCtx *__wrap_ZSTD_createCCtx(void);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void);
int __wrap_deflateInit2_(z_stream *stream, int level, int method, int window, int memory,
                         int strategy, const char *version, int size);

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void __real_free(void *memory);
ZSTD_CCtx *__real_ZSTD_createCCtx(void);
ZSTD_DCtx *__real_ZSTD_createDCtx(void);
int __real_deflateInit2_(z_stream *stream, int level, int method, int window, int memory,
                         int strategy, const char *version, int size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    void *made = __real_realloc(old, size);
    return old ? made : counted(made);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t size)
{
    return fails() ? NULL : counted(__real_strndup(text, size));
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

ZSTD_CCtx *__wrap_ZSTD_createCCtx(void)
{
    return fails() ? NULL : __real_ZSTD_createCCtx();
}

ZSTD_DCtx *__wrap_ZSTD_createDCtx(void)
{
    return fails() ? NULL : __real_ZSTD_createDCtx();
}

int __wrap_deflateInit2_(z_stream *stream, int level, int method, int window, int memory,
                         int strategy, const char *version, int size)
{
    return fails() ? Z_MEM_ERROR
                   : __real_deflateInit2_(stream, level, method, window, memory, strategy, version,
                                          size);
}
