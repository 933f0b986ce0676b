/* SPDX-License-Identifier: MIT
 * Compares the code with the shapes that CPython copies, and writes an .eh_frame for those found,
 * as a compiler would have done. */
#include "native/unwind/trampolines.h"

#include "base/buffer.h"
#include "base/error.h"

#include <string.h>

#define PREFIX "py::"
#define RECORD_BYTES 40

struct shape {
    const char *code;
    uint8_t size;
    uint8_t rules[8];
};

/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret, and from 3.14 on push %rbp; mov %rsp,%rbp; call
 * *%rcx; pop %rbp; ret. Each may have endbr64 before it. */
static const struct shape shapes[] = {
    {"\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3", 11, {0x44, 0x0e, 16, 0x46, 0x0e, 8}},
    {"\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3",
     15,
     {0x48, 0x0e, 16, 0x46, 0x0e, 8}},
    {"\x55\x48\x89\xe5\xff\xd1\x5d\xc3", 8, {0x41, 0x0e, 16, 0x86, 2, 0x46, 0x0e, 8}},
    {"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xff\xd1\x5d\xc3",
     12,
     {0x45, 0x0e, 16, 0x86, 2, 0x46, 0x0e, 8}},
};

bool dw_trampoline_is_name(const char *name)
{
    return !strncmp(name, PREFIX, strlen(PREFIX));
}

static const struct shape *shape_of(const uint8_t *code, size_t size)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (size >= shapes[i].size && !memcmp(code, shapes[i].code, shapes[i].size))
            return &shapes[i];
    return NULL;
}

/* Addresses have 8 bytes; the CFA is the stack pointer + 8, with the return address below it. */
static void put_cie(struct dw_buffer *frame)
{
    static const uint8_t cie[] = {20, 0,    0,  0, 0, 0,    0, 0, 1,    'z', 'R', 0,
                                  1,  0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1,   0,   0};
    dw_buffer_append(frame, cie, sizeof cie);
}

static void put_fde(struct dw_buffer *frame, const struct shape *shape, uint64_t address)
{
    uint8_t record[RECORD_BYTES] = {RECORD_BYTES - 4};
    uint32_t back = (uint32_t)frame->size + 4;
    uint64_t size = shape->size;
    memcpy(record + 4, &back, sizeof back);
    memcpy(record + 8, &address, sizeof address);
    memcpy(record + 16, &size, sizeof size);
    memcpy(record + 25, shape->rules, sizeof shape->rules);
    dw_buffer_append(frame, record, sizeof record);
}

int dw_trampolines_find(const uint8_t *code, size_t size, uint64_t address,
                        struct dw_trampolines *found)
{
    struct dw_buffer frame = {0};
    int error = DW_ERR_EMPTY;
    *found = (struct dw_trampolines){.count = 0};
    for (size_t at = 0; at < size; at += DW_TRAMPOLINE_BYTES) {
        const struct shape *shape = shape_of(code + at, size - at);
        if (!shape)
            continue;
        if (!found->count++)
            put_cie(&frame);
        put_fde(&frame, shape, address + at);
    }
    if (found->count)
        error = frame.failed ? DW_ERR_MEMORY
                             : dw_eh_index_make(frame.data, frame.size, address, &found->unwinding);
    dw_buffer_release(&frame);
    return error == DW_ERR_MEMORY ? error : 0;
}
