/* SPDX-License-Identifier: MIT
 * The rule of an address comes from the cache, from unwind information or from rules that were
 * made. The stack pointer only grows from frame to frame, so a walk ends. */
#include "native/unwind/unwind_step.h"

#include "native/unwind/cfi.h"
#include "native/unwind/cfi_x86_64.h"
#include "native/unwind/unwind_cache.h"

#include <string.h>

#define NO_RULE 2                     /* in the cache; rules have the lowest bit set */
#define EFFORT_FOR_RULE 8             /* when unwind information is not a copy */
#define BLOCK_KEY (UINT64_C(1) << 62) /* apart from the keys of rules, which are addresses */
#define BLOCK_BYTES 256

const struct dw_unwind_module *dw_unwind_module_at(const struct dw_unwind_modules *modules,
                                                   uint64_t address)
{
    uint32_t low = 0, high = modules->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (modules->modules[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct dw_unwind_module *module = &modules->modules[low];
    return low < modules->count && module->start <= address ? module : NULL;
}

/* Most addresses of a block belong to the function that was found for one of them before. That
 * saves the search, which is most of the reads. */
static bool find_record(struct dw_unwind_walk *walk, const struct dw_cfi_source *source,
                        const struct dw_unwind_module *module, uint64_t address,
                        struct dw_eh_record *record)
{
    struct dw_unwind_cache *cache = walk->with->cache;
    uint64_t key = dw_unwind_cache_key(walk->with, address / BLOCK_BYTES | BLOCK_KEY), fde;
    if (dw_unwind_cache_get(cache, key, &fde) && dw_eh_read(source, module, fde, address, record))
        return true;
    if (!dw_eh_search(source, module, address, &fde) ||
        !dw_eh_read(source, module, fde, address, record))
        return false;
    dw_unwind_cache_put(cache, key, fde);
    return true;
}

static bool read_copy(void *context, uint64_t address, void *to, size_t size)
{
    const struct dw_unwind_module *module = context;
    memcpy(to, module->copy + (address - module->hdr), size);
    return true;
}

static bool look_up_rule(struct dw_unwind_walk *walk, const struct dw_unwind_module *module,
                         uint64_t address, bool is_guessed, struct dw_cfi_rule *rule)
{
    struct dw_eh_record record;
    const struct dw_unwinder *with = walk->with;
    if (!module || !module->hdr)
        return false;
    struct dw_memory copy = {read_copy, (void *)(uintptr_t)module};
    struct dw_cfi_source source = {.known = module->copy ? &copy
                                            : is_guessed ? &with->doubt
                                                         : &with->code,
                                   .doubt = &with->doubt,
                                   .start = module->copy ? module->hdr : module->info_start,
                                   .end = module->info_end};
    return find_record(walk, &source, module, address, &record) &&
           dw_cfi_run(&record, address, rule);
}

/* The rule of a return address is that of its call: the call may be the last instruction of a
 * function, and then the address belongs to the next one. Rules are made after samples were taken,
 * so the cache holds only what modules say. */
bool dw_unwind_find_rule(struct dw_unwind_walk *walk, const struct dw_unwind_at *at,
                         struct dw_cfi_rule *rule)
{
    uint64_t address = at->after_call ? at->pc - 1 : at->pc, word;
    uint64_t key = dw_unwind_cache_key(walk->with, address);
    if (dw_unwind_cache_get(walk->with->cache, key, &word)) {
        dw_cfi_unpack(word, rule);
        return word != NO_RULE || dw_code_rule_find(&walk->with->made, address, rule);
    }
    const struct dw_unwind_module *module = dw_unwind_module_at(&walk->with->modules, address);
    uint32_t effort = module && module->hdr && !module->copy ? EFFORT_FOR_RULE : 1;
    if (at->is_guessed && !dw_unwind_spend(walk, effort))
        return false;
    bool found = look_up_rule(walk, module, address, at->is_guessed, rule);
    word = found ? dw_cfi_pack(rule) : NO_RULE;
    if (word)
        dw_unwind_cache_put(walk->with->cache, key, word);
    return found || dw_code_rule_find(&walk->with->made, address, rule);
}

bool dw_unwind_read_stack(struct dw_unwind_walk *walk, uint64_t address, void *to, size_t size)
{
    const struct dw_unwinder *with = walk->with;
    bool is_doubtful = walk->has_guessed && with->stack_doubt.read;
    const struct dw_memory *memory = is_doubtful ? &with->stack_doubt : &with->stack;
    return memory->read(memory->context, address, to, size);
}

bool dw_unwind_read_word(struct dw_unwind_walk *walk, uint64_t lowest, uint64_t address,
                         uint64_t *word)
{
    return address >= lowest && address < walk->with->stack_end &&
           walk->with->stack_end - address >= DW_WORD_BYTES && address % DW_WORD_BYTES == 0 &&
           dw_unwind_read_stack(walk, address, word, sizeof *word);
}

/* Registers that callees need not keep are known in the first frame only. */
static bool register_value(const struct dw_unwind_at *at, uint8_t number, uint64_t *value)
{
    switch (number) {
    case DW_REGISTER_SP: *value = at->sp; break;
    case DW_REGISTER_FP: *value = at->fp; break;
    case DW_REGISTER_RBX: *value = at->rbx; break;
    default: *value = at->others ? at->others[number] : 0; break;
    }
    return *value;
}

static uint64_t slot_address(const struct dw_unwind_at *at, uint64_t cfa, struct dw_cfi_slot slot)
{
    uint64_t from = slot.where == DW_CFI_AT_CFA  ? cfa
                    : slot.where == DW_CFI_AT_SP ? at->sp
                                                 : at->fp;
    return from + (uint64_t)(int64_t)slot.offset;
}

/* Compilers do not describe every restore in an epilogue. A register whose slot is not between the
 * stack pointer and the caller's frame has been restored. */
static bool saved_value(struct dw_unwind_walk *walk, const struct dw_unwind_at *at, uint64_t cfa,
                        struct dw_cfi_slot slot, uint64_t *value)
{
    if (slot.where == DW_CFI_SAME)
        return true;
    if (slot.where == DW_CFI_LOST) {
        *value = 0;
        return true;
    }
    uint64_t address = slot_address(at, cfa, slot);
    return address < at->sp || address >= cfa || dw_unwind_read_word(walk, at->sp, address, value);
}

bool dw_unwind_follow(struct dw_unwind_walk *walk, const struct dw_cfi_rule *rule,
                      struct dw_unwind_at *at, uint64_t *slot)
{
    uint64_t base, pc, sp = at->sp, fp = at->fp, rbx = at->rbx;
    if (!register_value(at, rule->base, &base))
        return false;
    uint64_t cfa = base + (uint64_t)(int64_t)rule->offset;
    if (rule->is_indirect) {
        if (!dw_unwind_read_word(walk, sp, cfa, &cfa))
            return false;
        cfa += (uint64_t)(int64_t)rule->beyond;
    }
    *slot = slot_address(at, cfa, rule->pc);
    if (cfa <= sp || cfa > walk->with->stack_end || cfa % DW_WORD_BYTES ||
        !dw_unwind_read_word(walk, sp, *slot, &pc) || !saved_value(walk, at, cfa, rule->fp, &fp) ||
        !saved_value(walk, at, cfa, rule->rbx, &rbx))
        return false;
    at->pc = pc;
    at->sp = cfa;
    at->fp = fp;
    at->rbx = rbx;
    at->others = NULL;
    at->after_call = !rule->is_signal;
    return true;
}
