# shellcheck shell=bash
# What ./demo and ./test share: Python, Debian's and Ubuntu's packages, and .venv. Sourced.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
SLURM_PACKAGES=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)
PYTHON=${PYTHON:-python3}
venv=$root/.venv

# The daemons of Debian's packages lie where an ordinary user's PATH does not look.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf '==> %s\n' "$*"; }

# die EXIT_CODE SENTENCE
die() {
  printf '%s: %s\n' "${0##*/}" "$2" >&2
  exit "$1"
}

have() { command -v "$1" >/dev/null; }

check_python() {
  have "$PYTHON" || die 3 "$PYTHON cannot be found: install Python 3.10 or newer, or name one: PYTHON=/path/to/python3 $0"
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    die 3 "$("$PYTHON" --version) is too old: Python 3.10 or newer is needed. Name one: PYTHON=/path/to/python3 $0"
}

venv_works() { [[ -x $venv/bin/python ]] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }

# The names of packages that are missing, one a line. Arguments: programs that are needed besides, PROGRAM or
# PROGRAM:PACKAGE.
missing_packages() {
  local program
  for program in munged slurmctld slurmd sbatch srun scancel scontrol sinfo squeue; do
    if ! have "$program"; then
      printf '%s\n' "${SLURM_PACKAGES[@]}"
      break
    fi
  done
  for program in "$@"; do
    have "${program%%:*}" || printf '%s\n' "${program##*:}"
  done
  if ! venv_works && ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
    printf '%s\n' python3-venv
  fi
}

# Install what missing_packages names: as root, through sudo, or by saying the one line to run.
install_packages() {
  local packages=() as_root=() size
  mapfile -t packages < <(missing_packages "$@")
  ((${#packages[@]})) || return 0
  have apt-get || die 3 "These are needed and missing here (names of Debian's packages): ${packages[*]}"
  if ((EUID != 0)); then
    if have sudo && { sudo -n true 2>/dev/null || [[ -t 0 && -t 1 ]]; }; then
      as_root=(sudo)
    else
      die 3 "These packages are missing; run this, then ${0##*/} again: \
sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages[*]}"
    fi
  fi
  say "Reading the distribution's package lists (10 to 60 MB when they are not there yet)"
  "${as_root[@]}" apt-get update -qq || say "The package lists could not be refreshed; going on with those that are here"
  size=$(LC_ALL=C apt-get install --print-uris -y --no-install-recommends "${packages[@]}" | sed -n 's/^Need to get \(.*\) of archives.*/\1/p')
  say "Installing ${packages[*]} and what they need (download: ${size:-nothing})"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}

# Make .venv hold the project and the extras named as arguments. Returns at once where it does already.
make_venv() {
  local stamp=$venv/installed key extra
  key="$(sha256sum <"$root/pyproject.toml") $*"
  if [[ -f $stamp ]] && grep -qxF -- "$key" "$stamp" && venv_works; then
    return 0
  fi
  if ! venv_works; then
    local options=(--clear)
    if "$PYTHON" -c 'import torch' 2>/dev/null; then
      say "Making .venv on top of $PYTHON, whose PyTorch is used"
      options+=(--system-site-packages)
    else
      say "Making .venv"
    fi
    "$PYTHON" -m venv "${options[@]}" "$venv" || die 1 "$PYTHON cannot make a virtual environment in $venv."
  fi
  for extra in "" "$@"; do
    case $extra in
      "") say "Installing the console and its libraries from the package index (about 10 MB)" ;;
      dev) say "Installing the tools that check and test it (about 40 MB)" ;;
      train)
        if "$venv/bin/python" -c 'import torch' 2>/dev/null; then
          say "PyTorch is there already and is used"
          continue
        fi
        say "Installing PyTorch (about 190 MB for a CPU build; about 3 GB with CUDA, which PyPI serves on x86-64)"
        ;;
    esac
    pip_install "$extra"
  done
  printf '%s\n' "$key" >>"$stamp"
}

# Only a person who waits for gigabytes sees pip's own progress.
pip_install() {
  local quiet=(--quiet)
  [[ $1 == train && -t 1 ]] && quiet=()
  PIP_ROOT_USER_ACTION=ignore "$venv/bin/python" -m pip install "${quiet[@]}" --disable-pip-version-check --editable "$root${1:+[$1]}" ||
    die 1 "pip could not install the project's libraries; what it said is above. Run ${0##*/} again once that is mended."
}
