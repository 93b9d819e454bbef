#!/bin/sh
# Run the quick tests (no servers, no browser) with every supported Python that is on this machine, each in a .venv-3.X
# of its own; one that is not here is left out, with a line that says so. `make test-pythons`.
set -eu
cd "$(dirname "$0")/.."
quick="tests/test_epsilon.py tests/test_errors.py tests/test_given.py tests/test_messages.py tests/space tests/privacy
 tests/owner tests/provider tests/secure tests/user tests/storage tests/data tests/federation tests/identity
 tests/house/test_front_door.py"

found() {  # the interpreter of a version: by its name, or where pyenv keeps it
    for one in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        "$one" -c 'import sys, venv; print(sys.executable)' 2>/dev/null && return
    done
    return 1
}

for version in ${PYTHONS:-3.11 3.12 3.13}; do
    if ! python=$(found "$version"); then
        echo "Python $version: not on this machine, left out"
        continue
    fi
    venv=".venv-$version"
    if [ ! -e "$venv/.everything" ] || [ pyproject.toml -nt "$venv/.everything" ]; then
        "$python" -m venv "$venv"
        echo '*' > "$venv/.gitignore"
        install="$venv/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt"
        $install pip
        $install --editable '.[basemap,frames,maps,opendp,cluster,live,serve,silos,page]' --group dev
        touch "$venv/.everything"
    fi
    echo "Python $version:"
    # shellcheck disable=SC2086
    "$venv/bin/python" -m pytest -n 2 $quick
done
