/* SPDX-License-Identifier: MIT
 * dwell for C: mark regions in native code, and read profiles.
 *
 * Regions marked here stand in the same tree as those of the Python code that
 * calls it. When nothing records, a region costs a load and a branch.
 *
 *     #include <dwell.h>
 *
 *     void parse(void)
 *     {
 *         DW_REGION("parse");        // until the end of the block
 *         ...
 *     }
 */
#ifndef DWELL_H
#define DWELL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A region's name, registered once; never 0. Any thread may call it, at any time. */
typedef uint32_t dw_region_id;
dw_region_id dw_region_register(const char *name);

/* An entry into a region, to be given to dw_region_exit in the same thread. */
typedef struct dw_region_entry {
    void *span;
} dw_region_entry;

dw_region_entry dw_region_enter(dw_region_id region);
void dw_region_exit(dw_region_entry entry);

/* Adds to a counter, or marks a point in time. */
void dw_count(const char *name, int64_t amount);
void dw_instant(const char *name);

/* Recording without Python. Returns 0, or a negative error for dw_error_text. */
enum { DW_RECORD_TIMELINE = 1, DW_RECORD_CPU = 2 };
int dw_record_start(const char *log_file, unsigned flags);
int dw_record_stop(void);

/* Reading: open one or more logs into a profile, and write it through a lens
 * ("table", "json", "chrome", ...) to a descriptor. */
struct dw_profile;
int dw_profile_open(const char *const *log_files, int count, struct dw_profile **profile);
int dw_profile_write(const struct dw_profile *profile, const char *lens, int fd);
void dw_profile_free(struct dw_profile *profile);

const char *dw_error_text(int error);

#if defined(__GNUC__)
static inline void dw_region_exit_at(dw_region_entry *entry)
{
    dw_region_exit(*entry);
}
#define DW_JOIN_(a, b) a##b
#define DW_JOIN(a, b) DW_JOIN_(a, b)
/* A region from here to the end of the enclosing block. `name` is a string literal. */
#define DW_REGION(name)                                                                            \
    static dw_region_id DW_JOIN(dw_id_, __LINE__);                                                 \
    if (!__atomic_load_n(&DW_JOIN(dw_id_, __LINE__), __ATOMIC_RELAXED))                            \
        __atomic_store_n(&DW_JOIN(dw_id_, __LINE__), dw_region_register(name), __ATOMIC_RELAXED);  \
    dw_region_entry DW_JOIN(dw_entry_, __LINE__) __attribute__((cleanup(dw_region_exit_at))) =     \
        dw_region_enter(DW_JOIN(dw_id_, __LINE__))
#endif

#ifdef __cplusplus
}
#endif
#endif
