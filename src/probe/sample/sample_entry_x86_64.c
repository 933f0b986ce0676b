/* SPDX-License-Identifier: MIT
 * Assembler, because the compiler's first instructions already write to the stack. It counts the
 * handler in before it uses the slot, so that the slot is not freed under it. */
#include "probe/sample/sample_entry.h"

#include <stddef.h>
#include <sys/syscall.h>

_Static_assert(!(DW_SLOTS & (DW_SLOTS - 1)), "the number of slots is a mask");
_Static_assert(sizeof((struct dw_slot){0}.tid) == 4 && sizeof((struct dw_slot){0}.handlers) == 4,
               "as they are compared and counted here");
_Static_assert(!(offsetof(struct dw_slot_memory, stack_end) % 16), "as calls need it");

/* What a handler leaves in registers does not matter: the kernel puts all of them back. So nothing
 * is saved, and nothing at all is put onto the stack that the signal has met. */
__attribute__((naked)) void dw_handler_entry(int signal __attribute__((unused)),
                                             siginfo_t *info __attribute__((unused)),
                                             void *context __attribute__((unused)))
{
    __asm__("endbr64\n"
            "    movl %[gettid], %%eax\n"
            "    syscall\n"
            "    movl %%eax, %%r8d\n" /* the thread */
            "    movl %%eax, %%r9d\n" /* where its slot may be */
            "    movl %[probes], %%r10d\n"
            "1:  movl %%r9d, %%eax\n"
            "    andl %[mask], %%eax\n"
            "    imulq %[size], %%rax, %%rax\n"
            "    leaq dw_slots(%%rip), %%rbx\n"
            "    addq %%rax, %%rbx\n"
            "    cmpl %%r8d, %c[tid](%%rbx)\n"
            "    je 2f\n"
            "    incl %%r9d\n"
            "    decl %%r10d\n"
            "    jnz 1b\n"
            "    ret\n"
            "2:  lock incl %c[handlers](%%rbx)\n"
            "    cmpl %%r8d, %c[tid](%%rbx)\n" /* it may just have been freed */
            "    jne 3f\n"
            "    movq %%rsp, %%rbp\n"
            "    .cfi_def_cfa %%rbp, 8\n"
            "    movq %c[memory](%%rbx), %%rsp\n"
            "    addq %[stack_end], %%rsp\n"
            "    movq %%rbx, %%rcx\n"
            "    call dw_handler_run\n"
            "    movq %%rbp, %%rsp\n"
            "    .cfi_def_cfa %%rsp, 8\n"
            "3:  lock decl %c[handlers](%%rbx)\n"
            "    ret\n"
            :
            : [gettid] "i"(SYS_gettid), [probes] "i"(DW_SLOT_PROBES), [mask] "i"(DW_SLOTS - 1),
              [size] "i"(sizeof(struct dw_slot)), [tid] "i"(offsetof(struct dw_slot, tid)),
              [handlers] "i"(offsetof(struct dw_slot, handlers)),
              [memory] "i"(offsetof(struct dw_slot, memory)),
              [stack_end] "i"(offsetof(struct dw_slot_memory, stack_end)));
}
