/* SPDX-License-Identifier: MIT
 * Losses are told in words for people and in numbers for programs. How samples were taken is in
 * sampling_notes.c. */
#include "lens/view/notes.h"

#include "lens/view/roster.h"

#include <inttypes.h>

#define NAMED_MAX 5

uint64_t dw_notes_dropped(const struct dw_profile *profile)
{
    uint64_t dropped = 0;
    for (uint32_t i = 0; i < profile->process_count; i++)
        dropped += profile->processes[i].dropped;
    return dropped;
}

/* Who they are, as far as they are few. */
static void put_unended(struct dw_out *out, const struct dw_profile *profile)
{
    uint32_t named = 0;
    for (uint32_t i = 0; i < profile->process_count && named < NAMED_MAX; i++) {
        if (profile->processes[i].ended)
            continue;
        dw_out_text(out, named++ ? ", " : ": ");
        dw_roster_put_process(out, profile, i);
    }
    dw_out_text(out, named < profile->losses.cut_files ? ", ...\n" : "\n");
}

static void put_cut(struct dw_out *out, const struct dw_profile *profile, const char *prefix)
{
    uint64_t cut = profile->losses.cut_files;
    if (cut == 1 && profile->process_count == 1)
        dw_out_printf(
            out, "%sthe program did not close this log: the last moments may be missing\n", prefix);
    else if (cut) {
        dw_out_printf(out,
                      "%s%" PRIu64 " of %" PRIu32 " processes did not close their log: "
                      "their last moments may be missing",
                      prefix, cut, profile->process_count);
        put_unended(out, profile);
    }
}

void dw_notes_put_losses(struct dw_out *out, const struct dw_profile *profile, const char *prefix)
{
    const struct dw_losses *losses = &profile->losses;
    uint64_t dropped = dw_notes_dropped(profile);
    if (losses->damaged_chunks)
        dw_out_printf(out, "%s%" PRIu64 " damaged part%s (%" PRIu64 " bytes) %s skipped\n", prefix,
                      losses->damaged_chunks, losses->damaged_chunks == 1 ? "" : "s",
                      losses->damaged_bytes, losses->damaged_chunks == 1 ? "was" : "were");
    put_cut(out, profile, prefix);
    if (dropped)
        dw_out_printf(out, "%s%" PRIu64 " event%s dropped\n", prefix, dropped,
                      dropped == 1 ? " was" : "s were");
}

void dw_notes_put_json_losses(struct dw_out *out, const struct dw_profile *profile)
{
    const struct dw_losses *losses = &profile->losses;
    dw_out_printf(out,
                  ",\n  \"losses\": {\"damaged_parts\": %" PRIu64 ", \"damaged_bytes\": %" PRIu64
                  ", \"cut_processes\": %" PRIu64 ", \"dropped_events\": %" PRIu64 "}",
                  losses->damaged_chunks, losses->damaged_bytes, losses->cut_files,
                  dw_notes_dropped(profile));
}
