# Sourced by ./start and ./check in the project's folder.

fail() {
    echo "$0: $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# The first Python on the path that is new enough.
find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}

# Debian's Python may lack ensurepip, so the environment is made without pip and filled from outside.
fill() {
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
    if .venv/bin/python -m pip --version >/dev/null 2>&1; then
        .venv/bin/python -m pip install --quiet -r "$1"
    elif "$2" -m pip --version >/dev/null 2>&1; then
        "$2" -m pip --python .venv/bin/python install --quiet -r "$1"
    elif .venv/bin/python -m ensurepip >/dev/null 2>&1; then
        .venv/bin/python -m pip install --quiet -r "$1"
    else
        fail "pip is missing: install it (on Debian: apt-get install python3-pip) and run this again"
    fi
}

# environment FILE: .venv holds what FILE lists; nothing is done when it already does.
environment() {
    stamp=".venv/.$1.$(cat requirements*.txt | sha256sum | cut -c1-16)"
    if [ -e "$stamp" ] && .venv/bin/python -c '' 2>/dev/null; then
        return
    fi
    python=$(find_python)
    [ -n "$python" ] || fail "Python 3.11 or newer is missing: install it and run this again"
    echo "Installing what $1 lists into .venv; this happens once."
    .venv/bin/python -c '' 2>/dev/null || "$python" -m venv --clear --without-pip .venv
    fill "$1" "$python"
    # machine code of the kernels is kept on disk: made now, nobody waits for it at a first run
    .venv/bin/python cli.py run allreduce.ring --machine switch:ranks=64 --size 1GiB --unfolded \
        --trouble slow_link:src=GPU0,dst=SW,start=1us >/dev/null || true
    .venv/bin/python cli.py run allreduce.rabenseifner --machine switch:ranks=256 --size 1GiB --unfolded >/dev/null || true
    .venv/bin/python cli.py run allreduce.ring --machine switch:ranks=4096 --size 1GiB >/dev/null || true
    .venv/bin/python cli.py run allreduce.double_binary_tree --machine switch:ranks=32767 --size 1GiB >/dev/null || true
    touch "$stamp"
}
