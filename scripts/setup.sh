# Sourced by the other scripts: installs what is missing, configures, builds.
#
#   install_missing package...   Debian packages, by apt, if not there yet
#   build PRESET [target...]     configure once, then build
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
  libgtest-dev libgmock-dev libbenchmark-dev zlib1g-dev
)

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
  # ninja has nothing to say when there is nothing to do.
  if ! ninja -C "build/$preset" -n "$@" 2>/dev/null | grep -q 'no work to do'; then
    say "building ($preset); the first time takes some minutes"
    cmake --build "build/$preset" ${1:+--target "$@"} >&2 ||
      die "the $preset build failed"
  fi
}
