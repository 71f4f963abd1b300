#!/usr/bin/env bash
# Fetches the source of the installed libprotobuf through apt into FOLDER, without touching the system's package lists.
# Debian's libprotobuf-lite.a is not position-independent, so it cannot go into our shared libraries; we compile it ourselves.
#
#   protobuf_source.sh FOLDER
set -euo pipefail
folder=$1
version=$(dpkg-query -W -f '${Version}' libprotobuf-dev)
mirror=$(apt-get --print-uris download libprotobuf-dev 2>/dev/null | head -1 | cut -d"'" -f2 | sed 's#/pool/.*##')
[ -n "$mirror" ] || { echo "protobuf_source.sh: apt knows no mirror for libprotobuf-dev: run apt-get update" >&2; exit 1; }
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
echo "deb-src $mirror $suite main" >"$work/sources.list"
options=(-qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/nonexistent
  -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update
(cd "$work" && apt-get "${options[@]}" source --download-only "protobuf=$version")

rm -rf "$folder"
mkdir -p "$folder"
tar -xzf "$work"/protobuf_*.orig.tar.gz -C "$folder" --strip-components=1 --wildcards '*/src/google/protobuf/*' '*/LICENSE'
