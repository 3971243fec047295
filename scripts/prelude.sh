# shellcheck shell=bash
# Sourced by the other scripts: strict mode, the project's root as working folder, and shared functions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Progress goes to stderr; stdout is for results.
say() { printf '== %s\n' "$*" >&2; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# The archive of this release's main section, from apt's own sources; empty if unknown. (Debian sid has the name of
# the next release.)
debian_archive() {
    # shellcheck source=/dev/null
    . /etc/os-release
    apt-get indextargets --format '$(RELEASE) $(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
        awk -v name="$VERSION_CODENAME" '($1 == name || $2 == name || $2 == "sid") && $3 == "main" && !found++ { print $4 }'
}

# The archive of security updates, from the same sources; empty if unknown.
security_archive() {
    apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 ~ /-security$/ && !found++ { print $2 }'
}

# separate_apt FOLDER TYPES SUITE: an apt with separate lists, state and cache in FOLDER, for the main section of a suite
# of the archive of this machine's sources, with Debian's signatures. Afterwards `apt` runs it. Needs no root.
separate_apt() {
    local folder=$1 types=$2 suite=$3 archive keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    archive=$(debian_archive)
    if [[ -z $archive ]] && ((EUID == 0)); then # apt knows no targets before its first update
        apt-get -qq update >&2
        archive=$(debian_archive)
    fi
    [[ -n $archive ]] || fail "apt's sources name no archive of this release; run \`apt-get update\` first"
    mkdir -p "$folder"/{sources,state/lists/partial,cache/archives/partial}
    touch "$folder/status"
    {
        printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\n' "$types" "$archive" "$suite"
        [[ ! -e $keyring ]] || echo "Signed-By: $keyring"
    } >"$folder/sources/$suite.sources"
    apt_options=(-o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$folder/sources"
        -o "Dir::State=$folder/state" -o "Dir::State::status=$folder/status" -o "Dir::Cache=$folder/cache"
        -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Retries=2" -o "Acquire::http::Timeout=30")
    apt() { apt-get -qq "${apt_options[@]}" "$@"; }
}

# Concurrent compilers: one per core, but no more than fit in free memory at about 1 GiB each.
compile_jobs() {
    local cores memory_gib
    cores=$(nproc)
    memory_gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
    if ((memory_gib < 1)); then memory_gib=1; fi
    echo $((cores < memory_gib ? cores : memory_gib))
}

# configure_and_build PRESET [-DNAME=VALUE...] [TARGET...] builds build/PRESET. The output of cmake's configuration goes to a file and is shown
# on failure; lines about parts left out of the build are always shown.
configure_and_build() {
    local preset=$1 log=build/$1/configure.log options=()
    shift
    while [[ ${1:-} == -D* ]]; do
        options+=("$1")
        shift
    done
    mkdir -p "build/$preset"
    say "building build/$preset"
    if ! cmake --preset "$preset" "${options[@]}" >"$log" 2>&1; then
        cat "$log" >&2
        fail "cmake could not configure the preset '$preset'"
    fi
    grep -i 'left out' "$log" >&2 || true
    # A terminal gets one line of progress; a log gets errors, and a line for each tenth of the steps.
    if [[ -t 2 ]]; then
        cmake --build "build/$preset" --parallel "$(compile_jobs)" ${@:+--target "$@"} >&2
        return
    fi
    cmake --build "build/$preset" --parallel "$(compile_jobs)" ${@:+--target "$@"} 2>&1 | awk '
        /^\[[0-9]+\/[0-9]+\]/ {
            split(substr($1, 2), step, "[/\\]]")
            tenth = int(10 * step[1] / step[2])
            if (tenth > last && step[2] >= 20) { printf "== %d of %d steps\n", step[1], step[2]; fflush(); last = tenth }
            next
        }
        /^ninja: (Entering|no work)/ { next }
        { print; fflush() }' >&2
}
