/* SPDX-License-Identifier: MIT
 * Any bytes as the profile of another tool: READER, whatever they look like, then some lenses. */
#include "fuzz_log.h"

#include "base/error.h"
#include "import/foreign.h"
#include "lens/lens.h"
#include "model/sample_fold.h"

static void show(struct dw_profile *profile)
{
    static const char *const names[] = {"table", "html", "pprof", "collapsed", "speedscope"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dw_out out;
        dw_out_init_memory(&out);
        dw_lens_find(names[i])->write(profile, &(struct dw_lens_options){.by = DW_BY_THREAD}, &out);
        dw_out_close(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct dw_profile *profile;
    if (!size || dw_profile_new(&profile))
        return 0;
    struct dw_foreign foreign = {
        .profile = profile, .name = "fuzz", .written_ns = 1, .identity = 1};
    READER(&foreign, (struct dw_string){(const char *)bytes, size});
    dw_map_release(&foreign.process_index);
    dw_map_release(&foreign.thread_index);
    if (!dw_samples_fold(profile))
        show(profile);
    dw_profile_free(profile);
    return 0;
}
