/* SPDX-License-Identifier: MIT
 * Candidates are a checked frame pointer and words on the stack that are return addresses. What
 * speaks for each is weighed, and every look is paid from the walk's effort, so a guess cannot take
 * long. */
#include "native/unwind/unwind_guess.h"

#include "native/unwind/call_site_x86_64.h"
#include "native/unwind/unwind_cache.h"

#define SCAN_WORDS 2048 /* assembler of matrix products has buffers of up to 8 KiB on the stack */
#define READ_WORDS 16
#define WORDS_FOR_EFFORT 128 /* looking at so many takes as long as a read by the kernel */
#define MAX_STEPS 16
#define CALL_KEY (UINT64_C(1) << 63) /* apart from the keys of rules, which are addresses */
#define MAX_TRIES 32
#define MAX_FUNCTION_BYTES 2048
#define CONFIRMING_STEPS 2

static bool read_is_call(struct dw_unwind_walk *walk, const struct dw_unwind_module *module,
                         uint64_t address)
{
    uint8_t code[DW_CALL_MAX_BYTES];
    return address - module->start >= sizeof code &&
           walk->with->doubt.read(walk->with->doubt.context, address - sizeof code, code,
                                  sizeof code) &&
           dw_call_ends(code);
}

static bool is_after_call(struct dw_unwind_walk *walk, uint64_t address)
{
    const struct dw_unwind_module *module = dw_unwind_module_at(&walk->with->modules, address - 1);
    if (!module)
        return false;
    uint64_t key = dw_unwind_cache_key(walk->with, address | CALL_KEY), word;
    if (!dw_unwind_cache_get(walk->with->cache, key, &word)) {
        if (!dw_unwind_spend(walk, 1))
            return false;
        word = read_is_call(walk, module, address);
        dw_unwind_cache_put(walk->with->cache, key, word);
    }
    return word;
}

/* Whether the call before that address is one of the function that holds pc. Code without a
 * description is short, as are the distances in it. */
static bool calls_function_of(struct dw_unwind_walk *walk, uint64_t address, uint64_t pc)
{
    uint8_t code[DW_DIRECT_CALL_BYTES];
    uint64_t target;
    return dw_unwind_spend(walk, 1) &&
           walk->with->doubt.read(walk->with->doubt.context, address - sizeof code, code,
                                  sizeof code) &&
           dw_call_target(code, address, &target) && target <= pc &&
           pc - target < MAX_FUNCTION_BYTES;
}

/* Whether a walk could go on there: the address is after a call, in a function that is described or
 * in an object that describes none. */
static bool is_return_address(struct dw_unwind_walk *walk, uint64_t address)
{
    struct dw_cfi_rule rule;
    struct dw_unwind_at at = {.pc = address, .after_call = true, .is_guessed = true};
    if (!is_after_call(walk, address))
        return false;
    const struct dw_unwind_module *module = dw_unwind_module_at(&walk->with->modules, address - 1);
    return !module->hdr || dw_unwind_find_rule(walk, &at, &rule);
}

/* A frame pointer points to the caller's, with the return address above it. The caller's value need
 * not be a frame pointer: it may use the register for something else. */
static bool is_frame_pointer(struct dw_unwind_walk *walk, uint64_t lowest, uint64_t fp)
{
    uint64_t address;
    return fp >= lowest && dw_unwind_read_word(walk, lowest, fp + DW_WORD_BYTES, &address) &&
           is_return_address(walk, address);
}

enum step { STEP_NONE, STEP_DONE, STEP_END };

static enum step step_by_table(struct dw_unwind_walk *walk, struct dw_unwind_at *at, uint64_t *slot)
{
    struct dw_cfi_rule rule;
    if (!dw_unwind_find_rule(walk, at, &rule))
        return STEP_NONE;
    if (rule.is_end)
        return STEP_END;
    return dw_unwind_follow(walk, &rule, at, slot) ? STEP_DONE : STEP_NONE;
}

/* Whether tables lead from there to the return address in the word at `goal`. */
static bool leads_to(struct dw_unwind_walk *walk, struct dw_unwind_at at, uint64_t goal)
{
    uint64_t slot = 0;
    for (uint32_t i = 0; i < MAX_STEPS && slot < goal; i++)
        if (step_by_table(walk, &at, &slot) != STEP_DONE)
            return false;
    return slot == goal;
}

/* Whether tables lead from there to calls, or to the end of the stack. The return address of
 * the frame was in the word at *slot. */
static bool goes_on(struct dw_unwind_walk *walk, struct dw_unwind_at at, uint64_t *slot)
{
    uint64_t next_slot;
    enum step step = step_by_table(walk, &at, slot);
    for (uint32_t i = 1; step == STEP_DONE && i < CONFIRMING_STEPS; i++) {
        if (!is_return_address(walk, at.pc))
            return false;
        step = step_by_table(walk, &at, &next_slot);
    }
    return step == STEP_END || (step == STEP_DONE && is_return_address(walk, at.pc));
}

/* What a function that uses the frame pointer for something else has saved between its stack
 * pointer and its return address; else what is in the register. */
static uint64_t saved_frame_pointer(struct dw_unwind_walk *walk, const struct dw_unwind_at *at,
                                    uint64_t slot)
{
    uint64_t word;
    for (uint64_t place = at->sp; place < slot; place += DW_WORD_BYTES)
        if (dw_unwind_read_word(walk, at->sp, place, &word) && word > slot &&
            is_frame_pointer(walk, slot + DW_WORD_BYTES, word))
            return word;
    return at->fp;
}

/* How much evidence there is that a word is the return address. */
enum evidence {
    EVIDENCE_NONE,
    EVIDENCE_WEAK,      /* it is after a call */
    EVIDENCE_CONFIRMED, /* and tables lead on from there */
    EVIDENCE_CERTAIN,   /* or that call is one of this very function */
};

struct search {
    uint64_t goal; /* where a return address is for sure; 0: nowhere */
    uint64_t end;  /* of the words to look at */
    uint32_t tries;
    enum evidence evidence;
    struct dw_unwind_at best;
};

static enum evidence judge(struct dw_unwind_walk *walk, const struct dw_unwind_at *next,
                           uint64_t pc, struct search *search)
{
    uint64_t slot = search->end;
    if (calls_function_of(walk, next->pc, pc))
        return EVIDENCE_CERTAIN;
    if (search->evidence == EVIDENCE_CONFIRMED || !is_return_address(walk, next->pc))
        return EVIDENCE_NONE;
    if (search->goal ? !leads_to(walk, *next, search->goal) : !goes_on(walk, *next, &slot))
        return EVIDENCE_WEAK;
    search->end = slot < search->end ? slot : search->end;
    return EVIDENCE_CONFIRMED;
}

static void try_word(struct dw_unwind_walk *walk, const struct dw_unwind_at *at, uint64_t word,
                     uint64_t slot, struct search *search)
{
    if (!is_after_call(walk, word))
        return;
    search->tries++;
    struct dw_unwind_at next = {.pc = word,
                                .sp = slot + DW_WORD_BYTES,
                                .fp = search->goal ? at->fp : saved_frame_pointer(walk, at, slot),
                                .rbx = at->rbx,
                                .after_call = true,
                                .is_guessed = true};
    enum evidence evidence = judge(walk, &next, at->pc, search);
    if (evidence <= search->evidence)
        return;
    search->evidence = evidence;
    search->best = next;
}

/* Stale return addresses are on the stack too, and tables may lead from them to the frames that
 * are real. So the words up to the next frame are searched for one that is certain. */
static void scan(struct dw_unwind_walk *walk, const struct dw_unwind_at *at, struct search *search)
{
    uint64_t words[READ_WORDS];
    for (uint64_t place = at->sp; place < search->end; place += sizeof words) {
        uint64_t left = search->end - place;
        size_t size = left < sizeof words ? (size_t)left : sizeof words;
        bool is_free = (place - at->sp) % (WORDS_FOR_EFFORT * DW_WORD_BYTES);
        if (!(is_free || dw_unwind_spend(walk, 1)) ||
            !dw_unwind_read_stack(walk, place, words, size))
            return;
        for (size_t i = 0; i < size / DW_WORD_BYTES; i++) {
            try_word(walk, at, words[i], place + i * DW_WORD_BYTES, search);
            if (search->evidence == EVIDENCE_CERTAIN || search->tries == MAX_TRIES)
                return;
        }
    }
}

static bool follow_frame_pointer(struct dw_unwind_walk *walk, struct dw_unwind_at *at)
{
    struct dw_unwind_at next = {
        .sp = at->fp + 2 * DW_WORD_BYTES, .rbx = at->rbx, .after_call = true, .is_guessed = true};
    if (!dw_unwind_read_word(walk, at->sp, at->fp, &next.fp) ||
        !dw_unwind_read_word(walk, at->sp, at->fp + DW_WORD_BYTES, &next.pc))
        return false;
    *at = next;
    return true;
}

static uint64_t scan_end(struct dw_unwind_walk *walk, uint64_t sp, uint64_t goal)
{
    uint64_t end = goal ? goal : walk->with->stack_end & ~(uint64_t)(DW_WORD_BYTES - 1);
    return end - sp < SCAN_WORDS * DW_WORD_BYTES ? end : sp + SCAN_WORDS * DW_WORD_BYTES;
}

/* The frame pointer may belong to a function farther out: then there are return addresses below it,
 * and tables lead from them to the frame that it points to. */
bool dw_unwind_guess(struct dw_unwind_walk *walk, struct dw_unwind_at *at, enum dw_unwind_how *how)
{
    struct search search = {0};
    walk->has_guessed = true;
    if (at->sp % DW_WORD_BYTES || at->sp >= walk->with->stack_end)
        return false;
    if (is_frame_pointer(walk, at->sp, at->fp))
        search.goal = at->fp + DW_WORD_BYTES;
    search.end = scan_end(walk, at->sp, search.goal);
    scan(walk, at, &search);
    if (search.goal && search.evidence < EVIDENCE_CONFIRMED) {
        *how = DW_UNWIND_POINTER;
        return follow_frame_pointer(walk, at);
    }
    *how = DW_UNWIND_SCAN;
    if (search.evidence)
        *at = search.best;
    return search.evidence;
}
