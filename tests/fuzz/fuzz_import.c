/* SPDX-License-Identifier: MIT
 * Any bytes as the profile of another tool: READER, whatever they look like, then one view. */
#include "fuzz_log.h"

#include "views.h"

#include "base/crc32c.h"
#include "import/foreign.h"

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
    uint32_t hash = dw_crc32c(0, bytes, size), views = view_count();
    if (!view_prepare(profile))
        view_profile(profile, hash % views, hash / views);
    dw_profile_free(profile);
    return 0;
}
