/* SPDX-License-Identifier: MIT
 * Walks the stack of a program at each of its instructions, from the dynamic linker's first to
 * the last, and compares with the calls and returns that were seen to happen. No unwind
 * information goes into the latter. */
#define _GNU_SOURCE
#include "check.h"

#include "native/elf/memory.h"
#include "native/elf/modules.h"
#include "native/unwind/registers.h"
#include "native/unwind/unwind.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_DEPTH 200
#define STACK_BYTES (1u << 20)
#define MAX_CALL_BYTES 15
#define CONTEXT_PC 168 /* in the ucontext_t of the kernel */
#define MAX_COMPLAINTS 10
#define SYSCALL_OPCODE 0x050f

struct call {
    uint64_t pc, slot; /* the return address, and where it is on the stack */
};

struct walk {
    pid_t pid;
    struct user_regs_struct user;
    struct call calls[MAX_DEPTH]; /* outermost first */
    uint32_t depth;
    int pending_signal;
    uint64_t stack_end;
    uint8_t *stack; /* a copy, from sp on */
    bool has_copy;  /* not while the stack pointer is where the stack has not grown to yet */
    struct dw_native_modules modules;
    struct dw_unwinder unwinder;
    uint64_t steps, wrong, guessed;
};

static bool read_memory(void *context, uint64_t address, void *to, size_t size)
{
    const struct walk *walk = context;
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    return process_vm_readv(walk->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static bool read_stack(void *context, uint64_t address, void *to, size_t size)
{
    struct walk *walk = context;
    assert_true(address >= walk->user.rsp && address + size <= walk->stack_end);
    if (!walk->has_copy)
        return read_memory(walk, address, to, size);
    memcpy(to, walk->stack + (address - walk->user.rsp), size);
    return true;
}

static void refresh_modules(struct walk *walk)
{
    struct dw_memory memory = {read_memory, walk};
    dw_native_modules_release(&walk->modules);
    dw_unwind_modules_release(&walk->unwinder.modules);
    assert_int_equal(dw_native_modules_of(walk->pid, &memory, &walk->modules), 0);
    assert_int_equal(dw_unwind_modules_make(&walk->modules, &walk->unwinder.modules), 0);
    walk->unwinder.epoch++;
}

static void start_program(struct walk *walk, const char *program)
{
    int status;
    walk->pid = fork();
    assert_true(walk->pid >= 0);
    if (!walk->pid) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            _exit(77);
        execl(program, program, (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(walk->pid, &status, 0), walk->pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_GETREGS, walk->pid, 0, &walk->user), 0);
    walk->stack = malloc(STACK_BYTES);
    walk->stack_end = walk->user.rsp + 8;
    walk->unwinder = (struct dw_unwinder){.cache = dw_unwind_cache_new(),
                                          .stack = {read_stack, walk},
                                          .code = {read_memory, walk},
                                          .doubt = {read_memory, walk},
                                          .stack_end = walk->stack_end,
                                          .effort = DW_EFFORT_OUTSIDE};
    refresh_modules(walk);
}

static uint64_t word_at(struct walk *walk, uint64_t address)
{
    uint64_t word;
    assert_true(read_memory(walk, address, &word, sizeof word));
    return word;
}

static void push_call(struct walk *walk, uint64_t pc, uint64_t slot)
{
    assert_true(walk->depth < MAX_DEPTH);
    walk->calls[walk->depth++] = (struct call){pc, slot};
}

/* What the instruction did to the stack of calls. */
static void follow_instruction(struct walk *walk, const struct user_regs_struct *before)
{
    while (walk->depth && walk->calls[walk->depth - 1].slot < walk->user.rsp)
        walk->depth--;
    if (walk->user.rsp != before->rsp - 8)
        return;
    uint64_t word = word_at(walk, walk->user.rsp);
    if (word > before->rip && word <= before->rip + MAX_CALL_BYTES && walk->user.rip != word)
        push_call(walk, word, walk->user.rsp);
}

/* The kernel put a frame there: the code that ends the handler, and the context. */
static void follow_signal(struct walk *walk)
{
    uint64_t sp = walk->user.rsp;
    push_call(walk, word_at(walk, sp + 8 + CONTEXT_PC), sp + 8 + CONTEXT_PC);
    push_call(walk, word_at(walk, sp), sp);
}

static bool is_right(const struct walk *walk, const struct dw_native_frame *frames, uint32_t count)
{
    if (count != walk->depth + 1 || frames[0].pc != walk->user.rip)
        return false;
    for (uint32_t i = 1; i < count; i++)
        if (frames[i].pc != walk->calls[walk->depth - i].pc)
            return false;
    return true;
}

static void print_place(const struct walk *walk, uint64_t pc)
{
    const struct dw_native_module *module = dw_native_modules_find(&walk->modules, pc);
    print_message(" %s+%#lx", module ? module->path : "?", pc - (module ? module->bias : 0));
}

static void complain(const struct walk *walk, const struct dw_native_frame *frames, uint32_t count)
{
    print_message("step %lu: walked", walk->steps);
    for (uint32_t i = 0; i < count; i++)
        print_place(walk, frames[i].pc);
    print_message("\n  but it was");
    print_place(walk, walk->user.rip);
    for (uint32_t i = walk->depth; i--;)
        print_place(walk, walk->calls[i].pc);
    print_message("\n");
}

/* The dynamic linker does not describe its own beginning, so nothing tells that it is one. */
static bool is_in_program(const struct walk *walk, uint64_t pc)
{
    const struct dw_native_module *module = dw_native_modules_find(&walk->modules, pc);
    return module && strstr(module->path, "step_program");
}

static void check_stack(struct walk *walk)
{
    struct dw_registers registers;
    struct dw_native_frame frames[MAX_DEPTH];
    bool complete, is_guessed = false;
    uint64_t size = walk->stack_end - walk->user.rsp;
    assert_true(size <= STACK_BYTES);
    walk->has_copy = read_memory(walk, walk->user.rsp, walk->stack, size);
    dw_registers_of_user(&walk->user, &registers);
    uint32_t count = dw_unwind(&walk->unwinder, &registers, frames, MAX_DEPTH, &complete);
    for (uint32_t i = 1; i < count; i++)
        is_guessed |= frames[i].how != DW_UNWIND_TABLE;
    walk->guessed += is_guessed;
    if (is_right(walk, frames, count) && (complete || !is_in_program(walk, frames[count - 1].pc)))
        return;
    if (walk->wrong++ < MAX_COMPLAINTS)
        complain(walk, frames, count);
}

static bool is_mapping_call(struct walk *walk)
{
    uint64_t call = walk->user.rax;
    return (word_at(walk, walk->user.rip) & 0xffff) == SYSCALL_OPCODE &&
           (call == SYS_mmap || call == SYS_munmap || call == SYS_mprotect);
}

/* One instruction, or a signal; false when the program is over. */
static bool step(struct walk *walk)
{
    struct user_regs_struct before = walk->user;
    bool is_mapping = is_mapping_call(walk);
    int status, delivered = walk->pending_signal;
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, walk->pid, 0, delivered), 0);
    assert_int_equal(waitpid(walk->pid, &status, 0), walk->pid);
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return false;
    }
    walk->pending_signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    assert_int_equal(ptrace(PTRACE_GETREGS, walk->pid, 0, &walk->user), 0);
    if (is_mapping)
        refresh_modules(walk);
    if (delivered)
        follow_signal(walk);
    else
        follow_instruction(walk, &before);
    walk->steps++;
    return true;
}

static void walk_program(const char *program)
{
    struct walk walk = {0};
    start_program(&walk, program);
    do
        check_stack(&walk);
    while (step(&walk));
    print_message("%lu instructions, %lu wrong stacks, %lu guessed\n", walk.steps, walk.wrong,
                  walk.guessed);
    assert_true(walk.steps > 10000);
    assert_int_equal(walk.wrong, 0);
    dw_unwind_cache_free(walk.unwinder.cache);
    dw_unwind_modules_release(&walk.unwinder.modules);
    dw_native_modules_release(&walk.modules);
    free(walk.stack);
}

static void test_every_instruction_without_frame_pointers(void **state)
{
    (void)state;
    walk_program(STEP_PROGRAM);
}

static void test_every_instruction_with_frame_pointers(void **state)
{
    (void)state;
    walk_program(STEP_PROGRAM "_fp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_instruction_without_frame_pointers),
        cmocka_unit_test(test_every_instruction_with_frame_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
