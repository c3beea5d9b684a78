#!/usr/bin/env bash
# Makes the files of a release in target/release-files: the binary, man pages, completions, an archive, a .deb, an
# .rpm, licences, a bill of materials (CycloneDX) and checksums.
#
# To try it, at the root of the source tree; after `cargo fetch` no network is used:
#
#   examples/release/build.sh
#   (cd target/release-files && sha256sum -c SHA256SUMS)
#   dpkg-deb -x target/release-files/*.deb /tmp/xdscope && /tmp/xdscope/usr/bin/xdscope demo
#
# The binary is static if the target musl is installed (`rustup target add x86_64-unknown-linux-musl`, Debian:
# package musl-tools), else it is for this system. Steps whose tool is missing are skipped, and said.
#
# --binary FILE  packs this binary in place of building one
# --output DIR   writes the files there
# --quick        compresses little, for tests
#
# The same commit gives the same files: times are those of the commit, or of SOURCE_DATE_EPOCH.
set -euo pipefail
umask 022
root=$(cd "$(dirname "$0")/../.." && pwd)

binary='' output=$root/target/release-files gzip_level=-9 deb_options=() rpm_options=()
while [ $# -gt 0 ]; do
    case $1 in
    --binary | --output)
        [ $# -ge 2 ] || { echo "$1 needs a value" >&2; exit 2; }
        path=$(realpath -m "$2")
        if [ "$1" = --binary ]; then binary=$path; else output=$path; fi
        shift
        ;;
    --quick) gzip_level=-1 deb_options=(-Znone) rpm_options=(--payload-compress none) ;;
    *)
        echo "usage: examples/release/build.sh [--binary FILE] [--output DIR] [--quick]" >&2
        exit 2
        ;;
    esac
    shift
done
cd "$root"

skip() { echo "skipped: $*" >&2; }
has() { command -v "$1" >/dev/null; }
# Copies a file of the source tree into the tree of the packages: MODE SOURCE DESTINATION.
put() { install -D -m "$1" "$2" "$tree$3"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

# The binary.
host=$(rustc -vV | sed -n 's/^host: //p')
arch=${host%%-*}
target=$host
if [ -n "$binary" ]; then
    # A static program has no libraries to list.
    case $(ldd "$binary" 2>&1 || true) in *libc.so*) ;; *) target=$arch-unknown-linux-musl ;; esac
else
    musl=$arch-unknown-linux-musl
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$musl" ]; then
        skip "static binary: rustup target add $musl"
    elif [ "$host" != "$musl" ] && ! has musl-gcc; then
        skip "static binary: musl-gcc is missing (Debian: apt-get install musl-tools)"
    else
        target=$musl
    fi
    cargo build --release --locked --offline --bin xdscope --target "$target"
    binary=${CARGO_TARGET_DIR:-target}/$target/release/xdscope
fi
cargo metadata --locked --offline --format-version 1 --filter-platform "$target" >"$work/metadata.json"
version=$(python3 -c 'import json, sys; m = json.load(sys.stdin); print(next(
    p["version"] for p in m["packages"] if p["id"] == m["resolve"]["root"]))' <"$work/metadata.json")
name=xdscope-$version-$target

mkdir -p "$output"
rm -rf "${output:?}"/{man,completions,SHA256SUMS} "$output"/xdscope[-_]*
install -m 0755 "$binary" "$output/$name"
xdscope=$output/$name

# Manual pages, completions, licences, bill of materials.
"$xdscope" man --output "$output/man"
chmod 0644 "$output"/man/*
mkdir "$output/completions"
"$xdscope" completions bash >"$output/completions/xdscope.bash"
"$xdscope" completions zsh >"$output/completions/_xdscope"
"$xdscope" completions fish >"$output/completions/xdscope.fish"
licences=$output/xdscope-$version-licences.txt
examples/release/dependencies.py "$work/metadata.json" "$licences" "$output/xdscope-$version.cdx.json"

# The archive, for every system.
archive=$work/$name
mkdir "$archive"
cp -r "$xdscope" "$output/man" "$output/completions" "$archive"
mv "$archive/$name" "$archive/xdscope"
cp LICENSE README.md CHANGELOG.md "$archive"
cp "$licences" "$archive/licences.txt"
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
    --directory="$work" "$name" | gzip -n "$gzip_level" >"$output/$name.tar.gz"

# The tree of the packages.
put 0755 "$xdscope" /usr/bin/xdscope
for page in "$output"/man/*.1; do
    put 0644 "$page" "/usr/share/man/man1/$(basename "$page")"
done
gzip -n "$gzip_level" "$tree"/usr/share/man/man1/*
put 0644 "$output/completions/xdscope.bash" /usr/share/bash-completion/completions/xdscope
put 0644 "$output/completions/_xdscope" /usr/share/zsh/site-functions/_xdscope
put 0644 "$output/completions/xdscope.fish" /usr/share/fish/vendor_completions.d/xdscope.fish
put 0644 examples/systemd/xdscope-tap.service /usr/lib/systemd/system/xdscope-tap.service
put 0644 examples/config/xdscope.toml /etc/xdscope/xdscope.toml
doc=/usr/share/doc/xdscope
put 0644 LICENSE $doc/copyright
put 0644 "$licences" $doc/licences.txt
put 0644 CHANGELOG.md $doc/changelog
gzip -n "$gzip_level" "$tree$doc/licences.txt" "$tree$doc/changelog"
for example in prometheus/alerts.yml grafana/dashboard.json; do
    put 0644 "examples/$example" "$doc/examples/$example"
done

# Debian.
if has dpkg-deb; then
    case $arch in x86_64) deb_arch=amd64 ;; aarch64) deb_arch=arm64 ;; *) deb_arch=$arch ;; esac
    depends=''
    case $target in
    *-gnu*) depends="Depends: libc6 (>= $(getconf GNU_LIBC_VERSION | cut -d' ' -f2)), libgcc-s1" ;;
    esac
    control=$tree/DEBIAN
    mkdir "$control"
    echo /etc/xdscope/xdscope.toml >"$control/conffiles"
    (cd "$tree" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$control/md5sums"
    sed '/^$/d' >"$control/control" <<CONTROL
Package: xdscope
Version: $version-1
Architecture: $deb_arch
Maintainer: ${XDSCOPE_MAINTAINER:-xdscope maintainers <xdscope@localhost>}
Installed-Size: $(du -sk "$tree" | cut -f1)
$depends
Section: net
Priority: optional
Description: interactive debugger for xDS
 xdscope taps, records and shows what an xDS control plane tells Envoy, gRPC
 and service meshes, and which clients refused or never answered it.
CONTROL
    dpkg-deb "${deb_options[@]}" --root-owner-group --build "$tree" "$output/xdscope_$version-1_$deb_arch.deb" >/dev/null
    rm -r "$control"
else
    skip ".deb: dpkg-deb is missing"
fi

# Fedora, openSUSE and others: every file of the tree, by the metadata of Cargo.toml.
if has cargo-generate-rpm; then
    assets=''
    while read -r file; do
        mode=$(stat -c %a "$tree/$file")
        config=''
        case $file in etc/*) config=', config = "noreplace"' ;; esac
        assets+="{ source = \"$tree/$file\", dest = \"/$file\", mode = \"$mode\"$config }, "
    done < <(cd "$tree" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)
    cargo generate-rpm "${rpm_options[@]}" --arch "$arch" --set-metadata "assets = [$assets]" \
        --output "$output/xdscope-$version-1.$arch.rpm" >/dev/null
else
    skip ".rpm: cargo install cargo-generate-rpm"
fi

(cd "$output" && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | LC_ALL=C sort | xargs sha256sum >"$work/sums")
mv "$work/sums" "$output/SHA256SUMS"
echo "$(wc -l <"$output/SHA256SUMS") files in $output"
