#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles the extension for an interpreter, into a directory: build.sh PYTHON DIRECTORY
set -eu
ask() { "$1" -c "import sysconfig; print(sysconfig.$2)"; }
suffix=$(ask "$1" 'get_config_var("EXT_SUFFIX")')
${CXX:-c++} -O2 -g -shared -fPIC "-I$(ask "$1" 'get_path("include")')" \
  "$(dirname "$0")/scatter.cc" -o "$2/scatter$suffix"
