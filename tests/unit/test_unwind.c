/* SPDX-License-Identifier: MIT
 * Stacks of this process: in a signal handler, of other threads, through code that describes
 * itself badly or not at all. test_unwind_steps.c has the single instructions. */
#define _GNU_SOURCE
#include "check.h"

#include "native/elf/memory.h"
#include "native/elf/modules.h"
#include "native/unwind/registers.h"
#include "native/unwind/unwind.h"
#include "native/unwind/unwind_learn.h"
#include "unwind_targets.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_FRAMES 256

struct walked {
    struct dw_native_frame frames[MAX_FRAMES];
    uint32_t count;
    bool complete;
};

static struct dw_native_modules modules;
static struct dw_unwinder unwinder;
static struct walked in_handler;
static void *by_libgcc[MAX_FRAMES];
static int by_libgcc_count;

static uint64_t stack_end_of(pthread_t thread)
{
    pthread_attr_t attributes;
    void *start;
    size_t size;
    assert_int_equal(pthread_getattr_np(thread, &attributes), 0);
    assert_int_equal(pthread_attr_getstack(&attributes, &start, &size), 0);
    pthread_attr_destroy(&attributes);
    return (uint64_t)(uintptr_t)start + size;
}

static void refresh_modules(void)
{
    dw_native_modules_release(&modules);
    dw_unwind_modules_release(&unwinder.modules);
    assert_int_equal(dw_native_modules_own(&(struct dw_native_modules){0}, &modules), 0);
    assert_int_equal(dw_unwind_modules_make(&modules, &unwinder.modules), 0);
    unwinder.epoch++;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    struct dw_registers registers;
    int error_before = errno;
    by_libgcc_count = backtrace(by_libgcc, MAX_FRAMES);
    errno = error_before;
    dw_registers_of_context(context, &registers);
    in_handler.count =
        dw_unwind(&unwinder, &registers, in_handler.frames, MAX_FRAMES, &in_handler.complete);
}

static int set_up(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    unwinder.cache = dw_unwind_cache_new();
    assert_non_null(unwinder.cache);
    unwinder.stack = unwinder.code = dw_memory_own;
    unwinder.doubt = dw_memory_own_checked;
    unwinder.stack_end = stack_end_of(pthread_self());
    unwinder.effort = DW_EFFORT_IN_HANDLER;
    refresh_modules();
    by_libgcc_count = backtrace(by_libgcc, 1); /* loads libgcc now, not in the handler */
    return sigaction(SIGUSR1, &action, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    dw_native_modules_release(&modules);
    dw_unwind_modules_release(&unwinder.modules);
    dw_unwind_cache_free(unwinder.cache);
    return 0;
}

static bool has_guess(const struct walked *walked)
{
    for (uint32_t i = 1; i < walked->count; i++)
        if (walked->frames[i].how != DW_UNWIND_TABLE)
            return true;
    return false;
}

/* Which frame of the walk is in that function, or -1. */
static int frame_in(const struct walked *walked, const char *function)
{
    for (uint32_t i = 0; i < walked->count; i++) {
        Dl_info info;
        uint64_t address = walked->frames[i].pc - (i > 0);
        if (dladdr((void *)(uintptr_t)address, &info) && info.dli_sname &&
            !strcmp(info.dli_sname, function))
            return (int)i;
    }
    return -1;
}

static void interrupt(void)
{
    in_handler.count = 0;
    by_libgcc_count = 0;
    raise(SIGUSR1);
}

/* libgcc walks from the handler itself, so its list has that and the signal's frame before. */
static void assert_agrees_with_libgcc(const struct walked *walked)
{
    int first = 0;
    while (first < by_libgcc_count && (uint64_t)(uintptr_t)by_libgcc[first] != walked->frames[0].pc)
        first++;
    assert_true(first < by_libgcc_count);
    assert_int_equal(by_libgcc_count - first, walked->count);
    for (uint32_t i = 0; i < walked->count; i++)
        assert_int_equal(walked->frames[i].pc, (uint64_t)(uintptr_t)by_libgcc[(uint32_t)first + i]);
}

static void assert_frames_grow(const struct walked *walked)
{
    for (uint32_t i = 1; i < walked->count; i++)
        assert_true(walked->frames[i].sp > walked->frames[i - 1].sp);
}

static void assert_right(const struct walked *walked, const char *function)
{
    assert_true(walked->complete);
    assert_false(has_guess(walked));
    assert_frames_grow(walked);
    assert_agrees_with_libgcc(walked);
    assert_true(frame_in(walked, function) > 0);
    assert_true(frame_in(walked, "main") > frame_in(walked, function));
}

static void test_interrupted_code_with_all_kinds_of_frames(void **state)
{
    (void)state;
    dw_chain_outer(interrupt);
    assert_right(&in_handler, "dw_chain_outer");
    dw_chain_outer_fp(interrupt);
    assert_right(&in_handler, "dw_chain_outer_fp");
    dw_chain_sort(interrupt);
    assert_right(&in_handler, "dw_chain_sort");
    assert_true(frame_in(&in_handler, "qsort") < 0 ||
                frame_in(&in_handler, "qsort") < frame_in(&in_handler, "dw_chain_sort"));
}

/* A second signal in a handler: the frame that the kernel made is one of the walk. */
static void on_other_signal(int number)
{
    (void)number;
    interrupt();
}

static void raise_other(void)
{
    raise(SIGUSR2);
}

static void test_handler_is_walked_through(void **state)
{
    (void)state;
    signal(SIGUSR2, on_other_signal);
    dw_chain_outer(raise_other);
    signal(SIGUSR2, SIG_DFL);
    assert_right(&in_handler, "dw_chain_outer");
}

static void test_errno_is_left_alone(void **state)
{
    (void)state;
    uint64_t word;
    errno = 12345;
    assert_false(dw_memory_own_checked.read(NULL, 8, &word, sizeof word));
    assert_int_equal(errno, 12345);
    dw_chain_assembler(interrupt);
    assert_int_equal(errno, 12345);
    errno = 0;
}

static void test_undescribed_code_is_guessed_and_marked(void **state)
{
    (void)state;
    unwinder.effort = DW_EFFORT_OUTSIDE; /* which rules are in the cache, and so free, is chance */
    dw_chain_assembler(interrupt);
    unwinder.effort = DW_EFFORT_IN_HANDLER;
    int at = frame_in(&in_handler, "dw_chain_undescribed");
    int caller = frame_in(&in_handler, "dw_chain_assembler");
    assert_true(at > 0);
    assert_int_equal(caller, at + 1);
    assert_int_equal(in_handler.frames[at].how, DW_UNWIND_TABLE);
    assert_int_equal(in_handler.frames[caller].how, DW_UNWIND_SCAN);
    assert_true(in_handler.complete);
}

static uint64_t address_of(void (*function)(dw_then))
{
    uint64_t address;
    memcpy(&address, &function, sizeof address);
    return address;
}

/* A function that nothing describes, and one that calls it. */
struct kernel {
    void (*caller)(dw_then), (*function)(dw_then);
    const char *end, *name, *caller_name;
};

static const struct kernel kernels[] = {
    {dw_chain_matrix, dw_chain_kernel, dw_chain_kernel_end, "dw_chain_kernel", "dw_chain_matrix"},
    {dw_chain_dense_matrix, dw_chain_dense_kernel, dw_chain_dense_kernel_end,
     "dw_chain_dense_kernel", "dw_chain_dense_matrix"},
};

static void learn(const struct kernel *kernel, struct dw_code_book *book)
{
    uint64_t start = address_of(kernel->function);
    uint64_t size = (uint64_t)(uintptr_t)kernel->end - start;
    assert_true(dw_unwind_learn(&unwinder, book, start, size, start + size / 2));
    assert_false(dw_unwind_learn(&unwinder, book, start, size, start + size / 2));
    unwinder.made = dw_code_book_functions(book);
    assert_true(dw_unwind_has_rule(&unwinder, start));
}

static void forget(struct dw_code_book *book)
{
    unwinder.made = (struct dw_code_functions){0};
    dw_code_book_release(book);
}

static void test_undescribed_code_is_walked_by_rules_made_of_it(void **state)
{
    (void)state;
    dw_chain_matrix(interrupt);
    assert_true(frame_in(&in_handler, "dw_chain_matrix") < 0); /* neither told nor guessed */
    for (size_t i = 0; i < COUNT_OF(kernels); i++) {
        struct dw_code_book book = {0};
        learn(&kernels[i], &book);
        kernels[i].caller(interrupt);
        int at = frame_in(&in_handler, kernels[i].name);
        assert_true(at > 0);
        assert_int_equal(frame_in(&in_handler, kernels[i].caller_name), at + 1);
        assert_true(frame_in(&in_handler, "main") > at);
        assert_false(has_guess(&in_handler));
        assert_true(in_handler.complete);
        forget(&book);
    }
}

#define TRAP_FLAG 0x100

static struct {
    const struct kernel *kernel;
    uint32_t in_kernel, wrong;
    uint64_t caller; /* where it goes on after the call */
} stepped;

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    struct dw_registers registers;
    struct walked walked;
    dw_registers_of_context(context, &registers);
    uint64_t start = address_of(stepped.kernel->function);
    if (registers.pc < start || registers.pc >= (uint64_t)(uintptr_t)stepped.kernel->end)
        return;
    walked.count = dw_unwind(&unwinder, &registers, walked.frames, MAX_FRAMES, &walked.complete);
    if (!stepped.in_kernel++)
        memcpy(&stepped.caller, (void *)(uintptr_t)registers.sp, sizeof stepped.caller);
    stepped.wrong +=
        !walked.complete || has_guess(&walked) || walked.frames[1].pc != stepped.caller;
}

static void do_nothing(void)
{
}

/* The red zone may be in use here: it is left alone. */
static void step_through(const struct kernel *kernel)
{
    __asm__ volatile("sub $128, %%rsp\n pushfq\n orq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
                     :
                     : "i"(TRAP_FLAG)
                     : "memory", "cc");
    kernel->caller(do_nothing);
    __asm__ volatile("sub $128, %%rsp\n pushfq\n andq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
                     :
                     : "i"(~TRAP_FLAG)
                     : "memory", "cc");
}

/* Prologue, loop and epilogue: at every instruction that is executed. */
static void test_made_rules_hold_at_each_instruction(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    for (size_t i = 0; i < COUNT_OF(kernels); i++) {
        struct dw_code_book book = {0};
        memset(&stepped, 0, sizeof stepped);
        stepped.kernel = &kernels[i];
        learn(&kernels[i], &book);
        step_through(&kernels[i]);
        assert_true(stepped.in_kernel > 10000);
        assert_int_equal(stepped.wrong, 0);
        forget(&book);
    }
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    on_signal(number, info, context);
    ucontext_t *interrupted = context;
    greg_t *registers = interrupted->uc_mcontext.gregs;
    memcpy(&registers[REG_RIP], (void *)(uintptr_t)registers[REG_RSP], sizeof(greg_t));
    registers[REG_RSP] += 8;
}

static void test_call_through_a_null_pointer(void **state)
{
    (void)state;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    in_handler.count = 0;
    dw_chain_call(NULL);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(in_handler.frames[0].pc, 0);
    assert_int_equal(in_handler.frames[1].how, DW_UNWIND_SCAN);
    assert_int_equal(frame_in(&in_handler, "dw_chain_call"), 1);
    assert_true(in_handler.complete);
}

static void *run_in_thread(void *chain)
{
    uint64_t stack_end = unwinder.stack_end;
    unwinder.stack_end = stack_end_of(pthread_self());
    int (*function)(dw_then);
    memcpy(&function, &chain, sizeof function);
    function(interrupt);
    unwinder.stack_end = stack_end;
    return NULL;
}

static void test_stack_of_a_thread_ends_where_it_began(void **state)
{
    (void)state;
    pthread_t thread;
    int (*function)(dw_then) = dw_chain_outer;
    void *argument;
    memcpy(&argument, &function, sizeof argument);
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(in_handler.complete);
    assert_false(has_guess(&in_handler));
    assert_agrees_with_libgcc(&in_handler);
    assert_true(frame_in(&in_handler, "dw_chain_outer") > 0);
    assert_int_equal(frame_in(&in_handler, "main"), -1);
}

static pthread_mutex_t sleeper_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int sleeper_id;

static void sleep_on_lock(void)
{
    sleeper_id = (int)syscall(SYS_gettid);
    pthread_mutex_lock(&sleeper_lock);
    pthread_mutex_unlock(&sleeper_lock);
}

static void *sleep_in_thread(void *argument)
{
    (void)argument;
    dw_chain_outer(sleep_on_lock);
    return NULL;
}

/* "NUMBER arguments sp pc" of a thread that waits in a system call, "running" otherwise. */
static bool read_waiting_registers(int id, struct dw_registers *registers)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    *registers = (struct dw_registers){0};
    return size > 0 &&
           sscanf(text, "%*d %*s %*s %*s %*s %*s %*s %lx %lx", &registers->sp, &registers->pc) == 2;
}

static void test_stack_of_a_thread_that_sleeps(void **state)
{
    (void)state;
    pthread_t thread;
    struct dw_registers registers;
    struct walked walked;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", syscall(SYS_gettid));
    if (access(path, R_OK))
        skip();
    pthread_mutex_lock(&sleeper_lock);
    sleeper_id = 0;
    assert_int_equal(pthread_create(&thread, NULL, sleep_in_thread, NULL), 0);
    struct dw_unwinder other = unwinder;
    other.stack_end = stack_end_of(thread);
    do {
        sched_yield();
        walked.count = 0;
        if (sleeper_id && read_waiting_registers(sleeper_id, &registers))
            walked.count =
                dw_unwind(&other, &registers, walked.frames, MAX_FRAMES, &walked.complete);
    } while (frame_in(&walked, "pthread_mutex_lock") < 0);
    pthread_mutex_unlock(&sleeper_lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(walked.complete);
    assert_true(frame_in(&walked, "dw_chain_outer") > frame_in(&walked, "pthread_mutex_lock"));
}

/* Unwind information with errors in it, read only where it is. */
static struct {
    uint8_t *bytes;
    uint64_t start, size, reads;
} damaged;

static bool read_damaged(void *context, uint64_t address, void *to, size_t size)
{
    (void)context;
    damaged.reads++;
    uint64_t offset = address - damaged.start;
    if (offset > damaged.size || size > damaged.size - offset)
        return false;
    memcpy(to, damaged.bytes + offset, size);
    return true;
}

static uint32_t random_number(void)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* Of all bytes, or of none but those of the header, one in a few. */
static void damage(const struct dw_native_module *module, uint64_t size, uint32_t one_in)
{
    dw_memory_own.read(NULL, module->info_start, damaged.bytes, damaged.size);
    uint64_t first = module->hdr - module->info_start;
    for (uint64_t i = first + random_number() % one_in; i < first + size;
         i += 1 + random_number() % (2 * one_in))
        damaged.bytes[i] ^= (uint8_t)(1u << random_number() % 8);
}

__attribute__((noinline)) static void walk_damaged(const struct dw_unwinder *with,
                                                   struct walked *walked)
{
    ucontext_t context;
    struct dw_registers registers;
    assert_int_equal(getcontext(&context), 0);
    dw_registers_of_context(&context, &registers);
    damaged.reads = 0;
    walked->count = dw_unwind(with, &registers, walked->frames, MAX_FRAMES, &walked->complete);
    assert_true(walked->count > 0 && walked->count <= MAX_FRAMES);
    assert_true(damaged.reads < 100000);
    assert_frames_grow(walked);
}

static void walk_by_damaged_tables(void)
{
    struct walked walked;
    struct dw_unwinder other = unwinder;
    const struct dw_native_module *module =
        dw_native_modules_find(&modules, (uint64_t)(uintptr_t)damage);
    damaged.start = module->info_start;
    damaged.size = module->info_end - module->info_start;
    damaged.bytes = malloc(damaged.size);
    other.code = other.doubt = (struct dw_memory){read_damaged, NULL};
    uint64_t whole = module->info_end - module->hdr;
    uint32_t complete_count = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        damage(module, i % 4 ? whole : module->hdr_size, 1u << i % 12);
        for (int twice = 0; twice < 2; twice++)
            walk_damaged(&other, &walked);
        complete_count += walked.complete;
        other.epoch++;
    }
    assert_true(complete_count > 0 && complete_count < 1000);
    free(damaged.bytes);
}

static void test_damaged_tables_end_the_walk(void **state)
{
    (void)state;
    dw_chain_outer(walk_by_damaged_tables);
}

#define RANDOM_WORDS 2048

static bool read_words(void *context, uint64_t address, void *to, size_t size)
{
    uint64_t start = (uint64_t)(uintptr_t)context;
    assert_true(address >= start && address + size <= start + RANDOM_WORDS * sizeof(uint64_t));
    memcpy(to, (void *)(uintptr_t)address, size);
    return true;
}

static uint64_t random_word(const uint64_t *words)
{
    const struct dw_native_module *module = &modules.modules[random_number() % modules.count];
    switch (random_number() % 4) {
    case 0: return module->start + random_number() % (module->end - module->start);
    case 1: return (uint64_t)(uintptr_t)&words[random_number() % RANDOM_WORDS];
    case 2: return (uint64_t)random_number() << 32 | random_number();
    default: return random_number() % 64;
    }
}

static void test_random_stacks_end_the_walk(void **state)
{
    (void)state;
    static uint64_t words[RANDOM_WORDS];
    struct walked walked;
    struct dw_unwinder other = unwinder;
    other.stack = (struct dw_memory){read_words, words};
    other.stack_end = (uint64_t)(uintptr_t)(words + RANDOM_WORDS);
    for (uint32_t i = 0; i < 300; i++) {
        for (uint32_t k = 0; k < RANDOM_WORDS; k++)
            words[k] = random_word(words);
        struct dw_registers registers = {.pc = random_word(words),
                                         .sp = (uint64_t)(uintptr_t)words,
                                         .fp = random_word(words),
                                         .rbx = random_word(words)};
        walked.count = dw_unwind(&other, &registers, walked.frames, MAX_FRAMES, &walked.complete);
        assert_true(walked.count > 0 && walked.count <= MAX_FRAMES);
        assert_frames_grow(&walked);
    }
}

static void test_loaded_and_unloaded_object(void **state)
{
    (void)state;
    struct walked walked;
    uint64_t before = dw_native_modules_generation();
    void *plugin = dlopen(UNWIND_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(plugin);
    assert_true(dw_native_modules_generation() != before);
    refresh_modules();
    void *symbol = dlsym(plugin, "dw_chain_sort");
    void (*sort)(dw_then);
    memcpy(&sort, &symbol, sizeof sort);
    sort(interrupt);
    assert_right(&in_handler, "dw_chain_sort");
    before = dw_native_modules_generation();
    dlclose(plugin);
    assert_true(dw_native_modules_generation() != before);
    /* The list is out of date now: its tables are not there any more. */
    unwinder.epoch++;
    struct dw_unwinder careful = unwinder;
    careful.code = dw_memory_own_checked;
    struct dw_registers registers = {.pc = (uint64_t)(uintptr_t)symbol,
                                     .sp = in_handler.frames[0].sp};
    walked.count = dw_unwind(&careful, &registers, walked.frames, MAX_FRAMES, &walked.complete);
    assert_true(walked.count == 1 || walked.frames[1].how != DW_UNWIND_TABLE);
    refresh_modules();
    assert_null(dw_native_modules_find(&modules, (uint64_t)(uintptr_t)symbol));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupted_code_with_all_kinds_of_frames),
        cmocka_unit_test(test_handler_is_walked_through),
        cmocka_unit_test(test_errno_is_left_alone),
        cmocka_unit_test(test_undescribed_code_is_guessed_and_marked),
        cmocka_unit_test(test_undescribed_code_is_walked_by_rules_made_of_it),
        cmocka_unit_test(test_made_rules_hold_at_each_instruction),
        cmocka_unit_test(test_call_through_a_null_pointer),
        cmocka_unit_test(test_stack_of_a_thread_ends_where_it_began),
        cmocka_unit_test(test_stack_of_a_thread_that_sleeps),
        cmocka_unit_test(test_damaged_tables_end_the_walk),
        cmocka_unit_test(test_random_stacks_end_the_walk),
        cmocka_unit_test(test_loaded_and_unloaded_object),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
