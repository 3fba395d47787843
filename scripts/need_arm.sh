#!/bin/sh
# A test compiles firmware for Cortex-M. Install Debian's cross compiler where we may; where we may
# not, say so: that test is then skipped, and only that one.
set -eu

there() {
    command -v arm-none-eabi-gcc >/dev/null 2>&1
}

there && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing gcc-arm-none-eabi, for which a test compiles firmware"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends gcc-arm-none-eabi libnewlib-arm-none-eabi; } >/dev/null || true
    there && exit 0
fi

echo "no arm-none-eabi-gcc here: firmware is not compiled for Cortex-M in this run; to do so," \
    "type: sudo apt-get install -y gcc-arm-none-eabi libnewlib-arm-none-eabi" >&2
