#!/bin/sh
# QGIS for `make test-qgis`: Debian's python3-qgis, which brings the libraries and no desktop (about 1 GB).
#
# When it is there, this says nothing. Root on Debian installs it; anywhere else it is told what is missing.
set -eu

QGIS_PYTHON="${QGIS_PYTHON:-/usr/bin/python3}"
"$QGIS_PYTHON" -c 'import qgis.core, qgis.gui' > /dev/null 2>&1 && exit 0

if [ "$(id -u)" != 0 ] || [ ! -e /etc/debian_version ] || ! command -v apt-get > /dev/null 2>&1; then
  echo "QGIS is missing for $QGIS_PYTHON: install Debian's python3-qgis, or name a Python that has it: QGIS_PYTHON=..." >&2
  exit 1
fi

echo "installing: python3-qgis"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq -o DPkg::Lock::Timeout=600 update
apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 install --yes --no-install-recommends python3-qgis > /dev/null
