#!/bin/sh
# Make or update .venv: tools/venv.sh PIP-REQUIREMENT...
# PYTHON names the interpreter; without it the first on PATH that is new enough.
set -eu
cd "$(dirname "$0")/.."

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# A virtual environment whose Python has gone, or is too old, is of no use.
if ! new_enough .venv/bin/python; then
    python=""
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if new_enough "$candidate"; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        found=$("${PYTHON:-python3}" --version 2>/dev/null || echo "missing")
        echo "error: Python 3.11 or newer is needed; ${PYTHON:-python3} is $found" >&2
        echo "  \`make PYTHON=/path/to/python3.11 ...\` names another one" >&2
        exit 1
    fi
    rm -rf .venv
    if ! "$python" -m venv .venv; then
        rm -rf .venv
        echo "error: $python cannot make a virtual environment; on Debian and Ubuntu the package python3-venv is missing" >&2
        exit 1
    fi
fi

echo "Python: installing into .venv ($(.venv/bin/python --version)); a minute or two the first time"
# Dependency groups need pip 25.1.
.venv/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
.venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"
