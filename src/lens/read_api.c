/* SPDX-License-Identifier: MIT
 * The reading half of include/dwell.h. */
#include "dwell.h"

#include "base/error.h"
#include "lens/lens.h"
#include "log/reader.h"
#include "model/prepare/prepare.h"

int dw_profile_open(const char *const *log_files, int count, struct dw_profile **result)
{
    struct dw_profile *profile;
    int error = dw_profile_new(&profile);
    if (error)
        return error;
    for (int i = 0; i < count && !error; i++)
        error = dw_log_read_file(log_files[i], DW_READ_EVENTS, profile);
    if (!error)
        error = dw_profile_prepare(profile, false);
    if (error)
        dw_profile_free(profile);
    else
        *result = profile;
    return error;
}

int dw_profile_write(const struct dw_profile *profile, const char *name, int fd)
{
    const struct dw_lens *lens = dw_lens_find(name);
    if (!lens)
        return DW_ERR_ARGUMENT;
    struct dw_out out;
    struct dw_lens_options options = {0};
    dw_out_init_fd(&out, fd);
    int error = lens->write(profile, &options, &out);
    int closed = dw_out_close(&out);
    return error ? error : closed;
}
