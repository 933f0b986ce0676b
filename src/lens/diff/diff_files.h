/* SPDX-License-Identifier: MIT
 * Which files of two profiles are the same one: those of one name, and those that
 * two checkouts or two installations have in different directories. */
#ifndef DW_LENS_DIFF_DIFF_FILES_H
#define DW_LENS_DIFF_DIFF_FILES_H

#include "base/room.h"
#include "model/profile.h"

enum dw_side { DW_OLD, DW_NEW, DW_SIDES };

#define DW_DIFF_NONE UINT32_MAX

struct dw_diff_files {
    uint32_t *of_string[DW_SIDES]; /* of each string: the file it names, or DW_DIFF_NONE */
    struct dw_diff_file {
        struct dw_string paths[DW_SIDES];
        bool is_in[DW_SIDES];
    } * files; /* file 0 stands for no file */
    uint32_t count;
    struct dw_room room;
};

/* Files are those that frames name. */
int dw_diff_files_make(const struct dw_profile *const profiles[DW_SIDES],
                       struct dw_diff_files *files);
void dw_diff_files_release(struct dw_diff_files *files);

#endif
