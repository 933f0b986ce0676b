#!/bin/sh
# Compiles native.c for the Python given (default: python3) into the directory given (default: here).
set -eu
here=$(dirname "$0")
python=${1:-python3}
out=${2:-$here}
include=$("$python" -c 'import dwell; print(dwell.get_include())')
library=$("$python" -c 'import dwell; print(dwell.get_library_dir())')
python_include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
"${CC:-cc}" -O2 -fPIC -shared -I"$include" -I"$python_include" "$here/native.c" \
  -L"$library" -ldwell -Wl,-rpath,"$library" -o "$out/native.so"
