#!/bin/sh
# Cross the native borders under Valgrind, which tells of every read and write outside of what was
# allocated, or after it was freed:  sh scripts/valgrind.sh [PYTHON ARGUMENT ...]
# Python's own allocator is off, so that every object is seen. Uninitialized values are not looked
# at, since Python and NumPy copy them around. Valgrind knows AVX2 but not AVX-512; LLVM, which asks
# the processor, then writes code for AVX2 into a cache of its own.
set -eu
command -v valgrind >/dev/null || { echo "Valgrind is missing: apt install valgrind" >&2; exit 1; }
[ $# -gt 0 ] || set -- -m scripts.native_borders
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
PYTHONMALLOC=malloc LINKWRIGHT_CACHE_DIR=$cache OPENBLAS_NUM_THREADS=1 \
    valgrind --error-exitcode=9 --undef-value-errors=no --leak-check=no --num-callers=25 \
    --suppressions="$(dirname "$0")/valgrind.supp" "${PYTHON:-.venv/bin/python}" "$@"
