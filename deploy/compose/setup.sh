#!/bin/sh
# Make a federation to try, in the folder FOLDER: sh setup.sh FOLDER
# An authority, everybody's keys and files, mosquitto's folder, the tables of PostGIS, a user. Whoever runs this has seen all
# keys and passwords: for real, everybody makes its own, and the federation holds the authority.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
to=${1:?sh setup.sh FOLDER}
mkdir -p "$to"
if [ -e "$to/authority" ]; then
  echo "$to holds a federation already; remove it, or name another folder" >&2
  exit 1
fi
umask 077

secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

certificate() { # NAME ROLE FOLDER [--host HOST]...
  name=$1 role=$2 folder=$3
  shift 3
  fedgroup certificates issue "$to/authority" --name "$name" --role "$role" --out "$folder" "$@"
}

fedgroup certificates init "$to/authority" --federation city
certificate provider provider "$to/provider/identity" --host provider --host localhost --host 127.0.0.1
certificate broker broker "$to/broker" --host mosquitto
fedgroup broker mosquitto --out "$to/mosquitto" --identity "$to/broker" --authority "$to/authority" --bind 0.0.0.0
cp "$here/provider.toml" "$to/provider/provider.toml"

mkdir -p "$to/postgis/data" "$to/user"
secret > "$to/postgis/superuser"
cp "$here/fleet.sql" "$to/postgis/fleet.sql"
for owner in taxi-a taxi-b taxi-c; do
  certificate "$owner" owner "$to/$owner/identity"
  role=$(echo "$owner" | tr - _)
  sed "s/taxi_a/$role/g" "$here/owner.toml" > "$to/$owner/owner.toml"
  password=$(secret)
  echo "postgis:*:fleet:$role:$password" > "$to/$owner/pgpass"
  echo "ALTER ROLE $role PASSWORD '$password';" >> "$to/postgis/fleet.sql"
done

cp "$to/authority/ca.pem" "$to/user/ca.pem"
fedgroup users add ann --allowance 10 --state "$to/provider/provider.db" > "$to/user/token"
