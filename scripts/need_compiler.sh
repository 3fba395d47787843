#!/bin/sh
# The tests compile generated C. Make sure that a C compiler with its headers works: install gcc
# where we may, and otherwise fail, naming the line to type. Tests are never skipped for want of it.
set -eu

works() {
    folder=$(mktemp -d)
    printf '#include <math.h>\nint main(int n, char **v) { (void)v; return sin(n) > 2.0; }\n' \
        >"$folder/probe.c"
    status=0
    "${CC:-cc}" "$folder/probe.c" -o "$folder/probe" -lm >/dev/null 2>&1 || status=1
    rm -rf "$folder"
    return "$status"
}

remedy() {
    if [ "$(uname -s)" = Darwin ]; then
        echo "xcode-select --install"
    elif command -v apt-get >/dev/null 2>&1; then
        echo "sudo apt-get install -y gcc libc6-dev"
    elif command -v dnf >/dev/null 2>&1; then
        echo "sudo dnf install -y gcc"
    else
        echo "make test CC=/path/to/your/compiler"
    fi
}

works && exit 0

if [ "$(id -u)" = 0 ] && [ -z "${CC:-}" ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing gcc, which the tests of generated C need"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc libc6-dev; } \
        >/dev/null || true
    works && exit 0
fi

echo "make test needs a C compiler, and '${CC:-cc}' does not work here; type: $(remedy)" >&2
exit 1
