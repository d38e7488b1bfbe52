#!/bin/sh
# Make .tools/docker/base.tar: a small Debian with python3, the base image of the tests, without any image registry.
# Installs Debian's Docker daemon and debootstrap where they are missing. Needs root and apt.
set -eu
cd "$(dirname "$0")/.."

missing=""
for need in dockerd:docker.io debootstrap:debootstrap ip:iproute2 iptables:iptables; do
    command -v "${need%%:*}" >/dev/null || missing="$missing ${need##*:}"
done
if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null; then
        echo "error: the Docker tests need$missing, and there is no apt-get to install it" >&2
        exit 1
    fi
    echo "Docker tests: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    apt-get install -qq -y --no-install-recommends $missing >/dev/null
fi

mkdir -p .tools/docker
root=.tools/docker/root
rm -rf "$root"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
echo "Docker tests: making a base image of Debian $suite with python3"
# It mounts /proc in the new system: in a mount namespace of its own this ends with it, even when it is interrupted.
if ! unshare --mount debootstrap --variant=minbase --include=python3 "$suite" "$root" \
    >.tools/docker/debootstrap.log 2>&1; then
    echo "error: debootstrap failed:" >&2
    tail -n 20 .tools/docker/debootstrap.log >&2
    exit 1
fi
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/doc "$root"/usr/share/locale
tar -C "$root" -cf .tools/docker/base.tar.part .
rm -rf "$root"
mv .tools/docker/base.tar.part .tools/docker/base.tar
