#!/bin/sh
# Tests of pages open them in Chromium. Install Debian's where we may, and otherwise fail, naming the
# line to type. Tests are never skipped for want of it.
set -eu

there() {
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
        command -v google-chrome >/dev/null 2>&1
}

there && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing chromium, which the tests of pages need"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } \
        >/dev/null || true
    there && exit 0
fi

echo "Chromium is needed, and there is none here; type: sudo apt-get install -y chromium" >&2
exit 1
