# Sourced by ./start and ./check in the project's folder.

fail() {
    echo "$0: $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# is_new PYTHON: it starts and is 3.11 or newer.
is_new() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# The first Python on the path that is new enough, the system's own before others.
find_python() {
    for python in python3 python3.15 python3.14 python3.13 python3.12 python3.11; do
        if is_new "$python"; then
            echo "$python"
            return
        fi
    done
}

# .venv has a Python that is new enough and of the version whose packages it holds: an upgrade may have replaced it.
is_whole() {
    is_new .venv/bin/python || return 1
    made=$(sed -n 's/^version\(_info\)\{0,1\} *= *\([0-9]*\.[0-9]*\).*/\2/p' .venv/pyvenv.cfg 2>/dev/null)
    [ -z "$made" ] || [ "$made" = "$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')" ]
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
    if [ -e "$stamp" ] && is_whole; then
        return
    fi
    python=$(find_python)
    [ -n "$python" ] || fail "Python 3.11 or newer is missing: install it and run this again"
    echo "Installing what $1 lists into .venv; this happens once."
    is_whole || "$python" -m venv --clear --without-pip .venv
    fill "$1" "$python"
    # machine code of the kernels is kept on disk: made now, nobody waits for it at a first run
    .venv/bin/python cli.py run allreduce.ring --machine switch:ranks=64 --size 1GiB --unfolded \
        --fault slow_link:src=GPU0,dst=SW,start=1us >/dev/null || unwell
    .venv/bin/python cli.py run allreduce.rabenseifner --machine switch:ranks=256 --size 1GiB --unfolded >/dev/null || unwell
    .venv/bin/python cli.py run allreduce.ring --machine switch:ranks=4096 --size 1GiB >/dev/null || unwell
    .venv/bin/python cli.py run allreduce.double_binary_tree --machine switch:ranks=32767 --size 1GiB >/dev/null || unwell
    touch "$stamp"
}

unwell() {
    fail "the first run failed, its message is above: remove .venv and run this again; report the message if it comes again"
}
