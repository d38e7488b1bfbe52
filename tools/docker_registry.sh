#!/bin/sh
# Make .tools/docker/docker-registry: Debian's image registry, for the tests that push. Needs apt.
# It is taken out of its package, not installed: installed, it is a service of the machine.
set -eu
cd "$(dirname "$0")/.."

if ! command -v apt-get >/dev/null; then
    echo "error: the Docker tests need docker-registry, and there is no apt-get to get it" >&2
    exit 1
fi
mkdir -p .tools/docker
part=$(mktemp -d .tools/docker/registry-XXXXXX)
trap 'rm -rf "$part"' EXIT

# As oneself: apt's own user cannot write here.
download() { (cd "$part" && apt-get download -qq -o APT::Sandbox::User="$(id -un)" docker-registry) }
echo "Docker tests: getting docker-registry"
download 2>/dev/null || { apt-get update -qq && download; }
dpkg-deb --extract "$part"/*.deb "$part/root"
mv "$part/root/usr/bin/docker-registry" .tools/docker/docker-registry
# Its date is the package's, which is older than this script.
touch .tools/docker/docker-registry
