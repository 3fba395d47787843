#!/bin/sh
# Tests of the rotator port speak with Hamlib's rotctl and rotctld. Install Debian's where we may, and
# otherwise fail, naming the line to type. Tests are never skipped for want of them.
set -eu

there() {
    command -v rotctl >/dev/null 2>&1 && command -v rotctld >/dev/null 2>&1
}

there && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing libhamlib-utils, which the tests of rotators need"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libhamlib-utils; } \
        >/dev/null || true
    there && exit 0
fi

echo "rotctl is needed, and there is none here; type: sudo apt-get install -y libhamlib-utils" >&2
exit 1
