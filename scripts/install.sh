#!/bin/sh
# Installs etna from a release: checks the archive against SHA256SUMS, and unpacks it to /usr/local as root, otherwise to
# ~/.local.
#
#     sh install.sh --from URL-OR-FOLDER       of the folder with SHA256SUMS; by default, the folder of this script
#     sh install.sh --prefix FOLDER            installs there
#     sh install.sh --uninstall                removes what it installed, and nothing else
#     sh PREFIX/share/etna/install.sh --uninstall       the same; the installed copy knows its prefix
#
# ETNA_FROM and ETNA_PREFIX are the same as options, for a script from a pipe. The installed copy is
# PREFIX/share/etna/install.sh. Models, answers and settings stay: they are in ~/.local/share/etna, ~/.local/state/etna and
# ~/.config/etna.
set -eu

say() { printf '%s\n' "$*" >&2; }

# fail ERROR HINT
fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# by_distribution DEBIAN FEDORA ARCH OPENSUSE OTHER: prints the argument for this system.
by_distribution() {
    family=$( (. /etc/os-release && echo "${ID:-} ${ID_LIKE:-}") 2>/dev/null || true)
    case " $family " in
    *' debian '* | *' ubuntu '*) echo "$1" ;;
    *' fedora '* | *' rhel '*) echo "$2" ;;
    *' arch '*) echo "$3" ;;
    *suse*) echo "$4" ;;
    *) echo "$5" ;;
    esac
}

install_command() { by_distribution "apt install $1" "dnf install $1" "pacman -S $1" "zypper install $1" "install $1"; }

need() {
    has "$1" || fail "$1 is missing" "$(install_command "$2")"
}

# fetch NAME: gets a file of the release into the folder $work.
fetch() {
    case $from in
    http://* | https://*)
        if has curl; then
            curl --fail --location --show-error --silent --output "$work/$1" "$from/$1"
        else
            wget --quiet --output-document "$work/$1" "$from/$1"
        fi || fail "$from/$1 could not be fetched" "check the address of --from, and the network"
        ;;
    *)
        [ -f "$from/$1" ] || fail "$from has no $1" "--from names the folder of a release, with SHA256SUMS"
        cp "$from/$1" "$work/$1"
        ;;
    esac
}

# uninstall: removes the files of PREFIX/share/etna/installed, and the folders that the installation made.
uninstall() {
    list=$prefix/share/etna/installed
    [ -f "$list" ] || fail "etna is not installed in $prefix" "--prefix names another folder"
    # Folders come after their contents.
    while IFS= read -r path; do
        case $path in
        ./) rmdir "$prefix" 2>/dev/null || true ;;
        */) rmdir "$prefix/$path" 2>/dev/null || true ;;
        *) rm -f "$prefix/$path" ;;
        esac
    done <"$list"
}

check_system() {
    [ "$(uname -s)" = Linux ] || fail "etna runs on Linux, and this is $(uname -s)" "there is no release for it yet"
    glibc=$( (getconf GNU_LIBC_VERSION || ldd --version) 2>/dev/null | sed -nE '1s/.*[^0-9.]([0-9]+\.[0-9]+)$/\1/p')
    [ -n "$glibc" ] || fail "this system has no glibc, which the release needs" "build etna from its sources"
    [ "$(printf '%s\n' 2.36 "$glibc" | sort -t . -k 1,1n -k 2,2n | head -n 1)" = 2.36 ] ||
        fail "glibc 2.36 is needed, and this system has $glibc" \
            "use Debian 12, Ubuntu 23.04, Fedora 37 or later, or build etna from its sources"
    need tar tar
    need gzip gzip
    need sha256sum coreutils
    case $from in
    http://* | https://*) has wget || need curl curl ;;
    esac
}

# unpack: checks and unpacks the archive of this machine's architecture; replaces an earlier installation.
unpack() {
    fetch SHA256SUMS
    machine=$(uname -m)
    archive=$(sed -nE "s/^[0-9a-f]{64}  (etna-[0-9.]+-linux-$machine\.tar\.gz)\$/\1/p" "$work/SHA256SUMS" | head -n 1)
    [ -n "$archive" ] || fail "the release has no archive for $machine" "build etna from its sources"
    say "fetching $archive"
    fetch "$archive"
    grep -F "  $archive" "$work/SHA256SUMS" >"$work/sum"
    (cd "$work" && sha256sum -c sum >/dev/null 2>&1) ||
        fail "$archive does not have the hash in SHA256SUMS" "fetch it again; if that does not help, do not run it"
    mkdir "$work/files"
    tar -xzf "$work/$archive" -C "$work/files" --strip-components=1 --no-same-owner
    if [ -f "$prefix/share/etna/installed" ]; then
        uninstall
    elif [ -e "$prefix/bin/etna" ]; then
        fail "$prefix/bin/etna exists, and this script did not install it" "remove it, or name another folder with --prefix"
    fi

    # What is new here, and so is removed again: the files, and the folders that do not exist yet, deepest first.
    (cd "$work/files" && find . ! -type d | sed 's|^\./||' | sort) >"$work/list"
    echo share/etna/installed >>"$work/list"
    (cd "$work/files" && find . -type d | sort -r) | while IFS= read -r path; do
        [ -d "$prefix/$path" ] || echo "$path/"
    done >>"$work/list"
    mkdir -p "$prefix/share/etna" 2>/dev/null || fail "$prefix cannot be written" "--prefix names another folder"
    # The list comes first, so that --uninstall also removes an installation that a full disk cut short.
    if ! { cp "$work/list" "$prefix/share/etna/installed" &&
        (cd "$work/files" && tar -cf - .) | tar -xf - -C "$prefix" --no-same-owner --keep-directory-symlink; }; then
        uninstall
        fail "$prefix could not be written to the end" "make room there; nothing of etna is left in it"
    fi
}

warn_of_missing_driver() {
    packages=$(by_distribution 'libvulkan1 mesa-vulkan-drivers' 'vulkan-loader mesa-vulkan-drivers' \
        'vulkan-icd-loader vulkan-swrast' 'libvulkan1 libvulkan_lvp' 'a Vulkan loader and driver')
    hint=$(install_command "$packages")
    if ! { PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null || true; } | grep -q 'libvulkan\.so\.1'; then
        say "warning: there is no Vulkan loader, which etna needs: $hint"
        return
    fi
    [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || return 0
    for file in /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json /usr/local/share/vulkan/icd.d/*.json \
        "${XDG_DATA_HOME:-$HOME/.local/share}"/vulkan/icd.d/*.json; do
        [ ! -f "$file" ] || return 0
    done
    say "warning: there is no Vulkan driver, which etna needs: the GPU's own, or $hint"
}

main() {
    prefix=${ETNA_PREFIX:-} from=${ETNA_FROM:-} action=install
    while [ $# -gt 0 ]; do
        case $1 in
        --from | --prefix)
            [ $# -gt 1 ] || fail "$1 needs a value" "see --help"
            if [ "$1" = --from ]; then from=$2; else prefix=$2; fi
            shift
            ;;
        --from=*) from=${1#*=} ;;
        --prefix=*) prefix=${1#*=} ;;
        --uninstall) action=uninstall ;;
        -h | --help)
            say "usage: install.sh [--from URL-OR-FOLDER] [--prefix FOLDER] [--uninstall]
  --from        the release: a folder, or its address, with SHA256SUMS and the archives; default: this script's folder
  --prefix      where to install; default: /usr/local as root, otherwise ~/.local
  --uninstall   removes what it installed"
            exit
            ;;
        *) fail "unknown argument '$1'" "see --help" ;;
        esac
        shift
    done
    own=$(dirname "$0")
    if [ -z "$prefix" ] && [ "${0##*/}" = install.sh ] && [ -f "$own/installed" ]; then # this is the installed copy
        prefix=$(cd "$own/../.." && pwd)
    fi
    if [ -z "$prefix" ]; then
        if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
    fi
    if [ "$action" = uninstall ]; then
        uninstall
        say "removed etna from $prefix"
        exit
    fi

    from=${from%/}
    if [ -z "$from" ] && [ -f "$0" ] && [ -f "$(dirname "$0")/SHA256SUMS" ]; then from=$(dirname "$0"); fi
    [ -n "$from" ] || fail "no release is named" "use --from URL-OR-FOLDER, or set ETNA_FROM"
    check_system
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    unpack
    "$prefix/bin/etna" --version >/dev/null || fail "$prefix/bin/etna does not run" "report it with the output above"
    say "installed $("$prefix/bin/etna" --version) in $prefix; to remove it: sh $prefix/share/etna/install.sh --uninstall"
    warn_of_missing_driver
    command=etna
    case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *)
        command=$prefix/bin/etna
        say "note: $prefix/bin is not on PATH; for this shell: export PATH=\"$prefix/bin:\$PATH\""
        ;;
    esac
    say "try: $command run demo \"What is 34 + 58?\""
}

main "$@" # at the end, so that half a script does nothing
