/* SPDX-License-Identifier: MIT
 * Walks a native stack by the unwind information (.eh_frame) of the modules, which is looked
 * up as it is needed and remembered by address, and by the rules that were made for functions
 * without any. It reads through a callback, so the stack may
 * be that of the thread itself in a signal handler, of another thread that sleeps, or a copy
 * from another process. [signal-safe] with a callback that is. */
#ifndef DW_NATIVE_UNWIND_UNWIND_H
#define DW_NATIVE_UNWIND_UNWIND_H

#include "native/unwind/code_rules.h"

/* Reads all of it, or returns false. */
typedef bool (*dw_memory_read)(void *context, uint64_t address, void *to, size_t size);

struct dw_memory {
    dw_memory_read read;
    void *context;
};

/* Executable code in memory, with where its .eh_frame_hdr is (0: it has none) and the mapped
 * memory around that. Unwind information elsewhere is read as doubtful. */
struct dw_unwind_module {
    uint64_t start, end;
    uint64_t hdr, hdr_size;
    uint64_t info_start, info_end;
    const uint8_t
        *copy; /* of the memory from hdr to info_end, which outlives the module; or NULL */
};

/* Sorted by start; published as a whole and then never changed. */
struct dw_unwind_modules {
    const struct dw_unwind_module *modules;
    uint32_t count;
};

#define DW_REGISTER_COUNT 16

struct dw_registers {
    uint64_t pc, sp, fp; /* fp: rbp */
    uint64_t rbx;        /* some functions keep their frame in it; 0 when unknown */
    /* By DWARF's numbers, 0 when unknown. Only for the first frame: the code that aligns the
     * stack, and much assembler, has its frame in one of these for a while. */
    uint64_t others[DW_REGISTER_COUNT];
};

/* How the frame was found. A guess makes everything outside of it uncertain too. */
enum dw_unwind_how {
    DW_UNWIND_FIRST,   /* where the thread stood */
    DW_UNWIND_TABLE,   /* by unwind information, or rules made of the instructions */
    DW_UNWIND_POINTER, /* by a frame pointer that was checked */
    DW_UNWIND_SCAN,    /* the next word on the stack that looks like a return address */
};

struct dw_native_frame {
    uint64_t pc; /* of frames other than the first: after the call */
    uint64_t sp; /* the stack pointer in that frame: frame i has [sp_i, sp_i+1) */
    enum dw_unwind_how how;
};

/* Fixed memory for rules that were looked up, shared by all threads without locks. */
struct dw_unwind_cache;
/* NULL when out of memory. Not [signal-safe]. */
struct dw_unwind_cache *dw_unwind_cache_new(void);
void dw_unwind_cache_free(struct dw_unwind_cache *cache);

#define DW_EFFORT_IN_HANDLER 32 /* the program waits meanwhile: some 50 us */
#define DW_EFFORT_OUTSIDE 512

struct dw_unwinder {
    struct dw_unwind_modules modules;
    struct dw_code_functions made; /* rules of functions that nothing describes */
    struct dw_unwind_cache *cache;
    uint64_t epoch;               /* changes with the modules: the cache keeps epochs apart */
    struct dw_memory stack;       /* reads of the stack, between sp and stack_end only */
    struct dw_memory stack_doubt; /* the same after a guess, which may lead beyond it; optional */
    struct dw_memory code;        /* reads of unwind information at places known to be mapped */
    struct dw_memory doubt;       /* the same after a guess, when an address may be anything */
    uint64_t stack_end;           /* first address above the stack */
    uint32_t effort; /* for the guesses of a walk: reads that ask the kernel, roughly */
};

/* Fills frames, the innermost first, and returns how many. `complete` tells whether the outermost
 * one was reached. */
uint32_t dw_unwind(const struct dw_unwinder *unwinder, const struct dw_registers *start,
                   struct dw_native_frame *frames, uint32_t capacity, bool *complete);
/* Whether unwind information, or a rule that was made, tells how to leave the code there. */
bool dw_unwind_has_rule(const struct dw_unwinder *unwinder, uint64_t address);

#endif
