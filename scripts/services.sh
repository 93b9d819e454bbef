#!/bin/sh
# The programs that tests start beside Python: PostgreSQL with PostGIS, mosquitto, nats-server, Chromium,
# systemd-analyze, which reads the shipped units, and GDAL's ogrinfo, which reads maps.
#
# When all are there, it says nothing. Root on Debian installs what is missing; no service is started, now or at boot:
# tests start their own, in folders and on ports of their own. Anywhere else it lists what is missing and stops.
set -eu

has() { command -v "$1" > /dev/null 2>&1; }

has_file() {
  for found in "$@"; do
    if [ -e "$found" ]; then return 0; fi
  done
  return 1
}

has_postgres() { has_file /usr/lib/postgresql/*/bin/postgres || has postgres; }

has_postgis() {
  has_file /usr/share/postgresql/*/extension/postgis.control && return 0
  has pg_config && [ -e "$(pg_config --sharedir)/extension/postgis.control" ]
}

has_browser() { has chromium-headless-shell || has chromium || has chromium-browser || has google-chrome; }

missing=""
has_postgres || missing="$missing postgresql"
has_postgis || missing="$missing postgresql-postgis"
has mosquitto || has_file /usr/sbin/mosquitto || missing="$missing mosquitto"
has nats-server || missing="$missing nats-server"
has_browser || missing="$missing chromium-headless-shell"
has systemd-analyze || missing="$missing systemd"
has ogrinfo || missing="$missing gdal-bin"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" != 0 ] || [ ! -e /etc/debian_version ] || ! has apt-get; then
  echo "these programs are missing, under Debian's names:$missing" >&2
  echo "install them with your system's tools, or run 'make services' as root on Debian" >&2
  exit 1
fi

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
fi

echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq -o DPkg::Lock::Timeout=600 update
# $missing is a list of words
# shellcheck disable=SC2086
apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 install --yes --no-install-recommends $missing > /dev/null

if has systemctl; then
  for service in postgresql mosquitto nats-server; do
    case " $missing " in *" $service "*) systemctl --quiet disable "$service" > /dev/null 2>&1 || true ;; esac
  done
fi
