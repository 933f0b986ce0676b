/* SPDX-License-Identifier: MIT
 * Native code without a symbol, in an extension module of Python: it is called by the name that
 * Python code imports, "pandas._libs.lib", and not by its file. */
#ifndef DW_MODEL_EXTENSION_NAMES_H
#define DW_MODEL_EXTENSION_NAMES_H

#include "model/profile.h"

#define DW_EXTENSION_NAME_MAX 256

/* The dotted name of the module in the file, by the directory of modules or the packages that the
 * file is in; false for a plain shared library, which is not an extension module. */
bool dw_extension_name(const char *path, char name[DW_EXTENSION_NAME_MAX]);
/* Whether the name may be that of the module in the file, by its last part. */
bool dw_extension_has_name(const char *path, const char *name);

/* Gives the places of samples such names, where they have that of their object: "[lib.so]". */
int dw_samples_name_extensions(struct dw_profile *profile);

#endif
