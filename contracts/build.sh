#!/usr/bin/env bash
# Makes the contract modules again, from source.
#
#   contracts/build.sh           builds and writes contracts/modules/
#   contracts/build.sh --check   builds in a scratch folder and compares with contracts/modules/; changes nothing there
#
# Needs Debian's rustc-web and rust-web-src, any other Rust tool chain with cargo for the host, and rust-lld, which that
# tool chain brings. Why rustc-web: concordium-std needs the target wasm32v1-none, whose core library is built here from
# source (the chain refuses what wasm32-unknown-unknown emits), so the compiler must come with its sources.
#
# The same compiler makes the same bytes in any folder. Another compiler need not, so --check compares only when this
# machine has the compiler written down in modules.json; without it, it says so and succeeds.
set -euo pipefail

mode=write
case "${1-}" in
    '') ;;
    --check) mode=check ;;
    *)
        echo "usage: $0 [--check]" >&2
        exit 2
        ;;
esac

contracts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
modules="$contracts/modules"
names=(cis8004-registry cis8-registry)
cd "$contracts"

# The compiler with its library sources: the first on PATH whose sysroot has them and is not rustup's, since rustup's
# knows stable versions that are not the one written down.
find_compiler() {
    local candidate sysroot
    while read -r candidate; do
        sysroot=$("$candidate" --print sysroot 2>/dev/null) || continue
        [[ $sysroot == */toolchains/* ]] && continue
        [[ -f $sysroot/lib/rustlib/src/rust/library/Cargo.toml ]] || continue
        echo "$candidate"
        return
    done < <(type -ap rustc)
}

# rust-lld comes with the host's tool chain; its wasm flavour links.
find_linker() {
    local candidate sysroot found
    while read -r candidate; do
        sysroot=$("$candidate" --print sysroot 2>/dev/null) || continue
        for found in "$sysroot"/lib/rustlib/*/bin/rust-lld; do
            [[ -x $found ]] && echo "$found" && return
        done
    done < <(type -ap rustc)
    type -P rust-lld || true
}

recorded() { # the value of a string field at the top level of modules.json
    sed -n "s/^  \"$1\": \"\(.*\)\",\$/\1/p" "$modules/modules.json"
}

compiler=$(find_compiler)
linker=$(find_linker)
if [[ -z $compiler || -z $linker ]]; then
    missing=${compiler:+rust-lld}
    missing=${missing:-rustc-web with rust-web-src}
    if [[ $mode == check ]]; then
        echo "tool chain not present: skipped ($missing not found)"
        exit 0
    fi
    echo "tool chain not present: $missing not found" >&2
    exit 1
fi
compiler_version=$("$compiler" --version)
linker_version=$("$linker" -flavor wasm --version)
linker_version=${linker_version%% (*}
cargo_version=$(cargo --version)
if [[ $mode == check && $compiler_version != "$(recorded compiler)" ]]; then
    echo "tool chain not present: skipped (the modules were made with $(recorded compiler), here is $compiler_version)"
    exit 0
fi

# The program that joins code and schema runs here, so the host's own compiler makes it.
echo "building embed-schema" >&2
cargo build --quiet --locked --release -p embed-schema --target-dir build/host

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build_wasm() { # $1: folder, then more arguments for cargo
    local folder=$1 sources
    shift
    sources=$(readlink -f "$("$compiler" --print sysroot)/lib/rustlib/src/rust")
    RUSTC="$compiler" \
        RUSTC_BOOTSTRAP=1 \
        CARGO_UNSTABLE_BUILD_STD=core,alloc \
        CARGO_TARGET_WASM32V1_NONE_LINKER="$linker" \
        CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f%s\x1f%s' \
            "--remap-path-prefix=$contracts=/contracts" \
            "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
            "--remap-path-prefix=$sources=/rust") \
        cargo build --quiet --locked --release --target wasm32v1-none --target-dir "$folder" \
        "${names[@]/#/--package=}" "$@"
}

echo "building the contracts" >&2
build_wasm "$scratch/base"
echo "building the contracts with their schema" >&2
build_wasm "$scratch/schema" --features concordium-std/build-schema

out=$scratch/modules
mkdir "$out"
entries=()
for name in "${names[@]}"; do
    wasm=wasm32v1-none/release/${name//-/_}.wasm
    file=$name.wasm.v1
    read -r reference bytes schema_sha256 schema_bytes < <(
        build/host/release/embed-schema "$scratch/base/$wasm" "$scratch/schema/$wasm" "$out/$file"
    )
    sha256=$(sha256sum "$out/$file" | cut -d' ' -f1)
    entries+=("$(printf '    {\n      "file": "%s",\n      "bytes": %s,\n      "sha256": "%s",\n      "module_reference": "%s",\n      "schema_bytes": %s,\n      "schema_sha256": "%s"\n    }' \
        "$file" "$bytes" "$sha256" "$reference" "$schema_bytes" "$schema_sha256")")
done
{
    printf '{\n'
    printf '  "about": "%s",\n' "Written by contracts/build.sh. A module reference is the SHA-256 of the whole .wasm.v1 file: 00000001, the length of the wasm as 4 bytes big-endian, the wasm with its schema section."
    printf '  "compiler": "%s",\n' "$compiler_version"
    printf '  "linker": "%s",\n' "$linker_version"
    printf '  "cargo": "%s",\n' "$cargo_version"
    printf '  "modules": [\n%s,\n%s\n  ]\n}\n' "${entries[@]}"
} >"$out/modules.json"

if [[ $mode == write ]]; then
    mkdir -p "$modules"
    cp "$out"/* "$modules/"
    cat "$modules/modules.json"
    exit 0
fi

differs=0
for name in "${names[@]}"; do
    cmp "$out/$name.wasm.v1" "$modules/$name.wasm.v1" || differs=1
done
# Linker and cargo are written down to explain a difference, they are not themselves one.
without_tools() { grep -vE '^  "(linker|cargo)"' "$1"; }
diff <(without_tools "$modules/modules.json") <(without_tools "$out/modules.json") || differs=1
if ((differs)); then
    echo "the modules are not what this source makes; they were made with $(recorded linker) and $(recorded cargo)," \
        "here are $linker_version and $cargo_version" >&2
    exit 1
fi
echo "the modules are what this source makes"
