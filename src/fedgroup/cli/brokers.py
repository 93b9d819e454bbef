"""`fedgroup broker`: the configuration of a broker of one's own, mosquitto or NATS."""

from __future__ import annotations

from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.broker_files import runs_as, write_files
from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, argument, flag, option
from fedgroup.cli.output import notice, print_json, result
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from fedgroup.identity.trust import Trust
    from fedgroup.transport.listening import Listening
    from fedgroup.transport.topics import Topics

KINDS = ("mosquitto", "nats")
ADDRESS = "Where it listens"
MOSQUITTO = "For mosquitto"
NATS = "For NATS"
_NATS_PORT, _CLUSTER_PORT = 4222, 6222
_COPIED = ("authority", "certificate", "key", "revoked")

_Identities = Annotated[
    list[Path] | None,
    option(
        OPTIONS,
        "--identity",
        "the folder with the broker's certificate and key; of a cluster, once for each node that is set up here; "
        "default: broker",
        "FOLDER",
    ),
]
_Bind = Annotated[
    str | None,
    option(ADDRESS, "--bind", "the address to listen on; default: 127.0.0.1, with --node 0.0.0.0", "ADDRESS"),
]
_User = Annotated[
    str | None,
    option(MOSQUITTO, "--user", "by root: the user it runs as, who gets the files; default: mosquitto", "NAME"),
]
_Owners = Annotated[
    list[str] | None,
    option(NATS, "--owner", "an owner's name, once for each, in place of all in the register", "NAME"),
]
_Nodes = Annotated[
    list[str] | None,
    option(NATS, "--node", "a host of a cluster, once for each; a certificate of its own names it", "HOST"),
]


@grouped
def broker(
    kind: Annotated[str, argument("mosquitto or nats", "KIND")],
    out: Annotated[Path, option(OPTIONS, "--out", "the folder to write into", "FOLDER")],
    output: OutputOptions,
    identity: _Identities = None,
    authority: Annotated[
        Path,
        option(
            OPTIONS, "--authority", "the folder with ca.pem and revoked.pem; nats: and a copy of register.db", "FOLDER"
        ),
    ] = Path("authority"),
    bind: _Bind = None,
    port: Annotated[int, option(ADDRESS, "--port", "the port of MQTT over TLS", "PORT")] = 8883,
    owner: _Owners = None,
    node: _Nodes = None,
    user: _User = None,
    replace: Annotated[bool, flag(OPTIONS, "--replace", "write anew what is there already")] = False,
) -> None:
    """Write the configuration of a broker that knows everybody by certificate and keeps everybody to its topics.

    mosquitto gets copies of its certificate, its key and the list of revocations beside its configuration, for the user
    that it runs as. Write them anew (--replace) after every revocation, and reload it.

    NATS reads no revocations: its files name the owners, and leave out those that were revoked. Write them anew
    (--replace) after every revocation and for every new owner, and reload the servers.
    """
    from fedgroup.identity.trust import Trust
    from fedgroup.transport.topics import Topics

    if kind not in KINDS:
        raise InvalidInput(f"a broker is {' or '.join(KINDS)}, got {kind!r}")
    if kind == "mosquitto" and (owner or node):
        raise InvalidInput("mosquitto needs no --owner and has no --node: its rules hold for all owners")
    if kind == "nats" and user:
        raise InvalidInput("nats-server runs as whoever starts it; --user is mosquitto's")
    trust = Trust.load(authority.absolute())
    topics, nodes = Topics(trust.federation), tuple(node or ())
    folders = [folder.absolute() for folder in identity or (Path("broker"),)]
    listening = [_listening(folder, trust, bind or ("0.0.0.0" if nodes else "127.0.0.1"), port) for folder in folders]  # noqa: S104
    if len(folders) > 1 and not nodes:
        raise InvalidInput("one broker has one certificate; the nodes of a cluster are named by --node")
    facts: dict[str, Any] = {"kind": kind, "federation": topics.federation}
    if kind == "mosquitto":
        files = _mosquitto(listening[0], topics, out, user, replace=replace)
    else:
        owners, left_out = _let_in(trust, owner or ())
        texts = _nats(dict(zip(folders, listening, strict=True)), topics, out.absolute(), owners, nodes)
        files = write_files(out, {name: text.encode() for name, text in texts.items()}, {}, replace=replace)
        facts |= {"owners": owners, "left_out": {name: f"{until:%Y-%m-%d}" for name, until in left_out.items()}}
    if output.json:
        print_json(facts | {"files": files})
        return
    result.print("\n".join(files))
    notice("set embedded = false, host and port in the [broker] table of the provider's file, host and port in owners'")


def _listening(identity: Path, trust: Trust, bind: str, port: int) -> Listening:
    from fedgroup.identity.naming import SERVING
    from fedgroup.identity.own import CERTIFICATE_FILE, TLS_KEY_FILE, certificate_in
    from fedgroup.transport.listening import Listening

    files = (trust.authority_file, identity / CERTIFICATE_FILE, identity / TLS_KEY_FILE)
    for file in files:
        if not file.is_file():
            raise InvalidInput(f"there is no {file}; see 'fedgroup certificates --help'")
    found = certificate_in(files[1])
    if found.role not in SERVING:
        raise InvalidInput(f"{files[1]} is of an owner, and owners do not serve; request one with --role broker")
    return Listening(bind, port, *files, revoked=trust.revoked_file)


def _mosquitto(listening: Listening, topics: Topics, folder: Path, user: str | None, *, replace: bool) -> list[str]:
    """Write what mosquitto reads into one folder; it reads all of it as the user it runs as, not as root."""
    from fedgroup.identity.files import read_private
    from fedgroup.transport.acl import mosquitto, mosquitto_acl

    if listening.revoked is None:
        raise InvalidInput("mosquitto is told what was revoked; the authority's folder has no list")
    account = runs_as(user, usual="mosquitto")
    originals = (listening.authority, listening.certificate, listening.revoked)
    place = folder.absolute()
    copied = replaced(listening, **{name: place / getattr(listening, name).name for name in _COPIED})
    rules = "mosquitto.acl"
    text = mosquitto(copied, acl_file=place / rules, user=None if account is None else account.name)
    public = {"mosquitto.conf": text.encode()} | {file.name: file.read_bytes() for file in originals}
    # later versions of mosquitto refuse rules that others can read
    secret = {rules: mosquitto_acl(topics).encode(), listening.key.name: read_private(listening.key)}
    return write_files(folder, public, secret, replace=replace, account=account)


def _let_in(trust: Trust, named: Sequence[str]) -> tuple[list[str], dict[str, datetime]]:
    """Return the owners that NATS is told of, and those left out: until then a revoked certificate has their name."""
    from fedgroup.identity.trust import admitted
    from fedgroup.transport.topics import PROVIDER

    found, providers = admitted(trust, "owner"), admitted(trust, "provider")
    if found is None or providers is None:
        if not named:
            raise InvalidInput(
                f"name the owners (--owner), or put a copy of the authority's register into {trust.folder}"
            )
        notice(f"there is no register.db in {trust.folder}: leave revoked owners out yourself, for NATS cannot tell")
        return sorted(set(named)), {}
    left_out = {name: until for name, until in found.barred.items() if not named or name in named}
    for name, until in left_out.items():
        notice(f"{name} is left out until {until:%Y-%m-%d}: NATS would let the revoked certificate of that name in")
    if PROVIDER in providers.barred:
        until = providers.barred[PROVIDER]
        notice(f"a certificate of the {PROVIDER} was revoked, and NATS lets it in until {until:%Y-%m-%d}")
    return sorted(set(named or found.names) - set(left_out)), left_out


def _nats(
    identities: dict[Path, Listening], topics: Topics, folder: Path, owners: Sequence[str], hosts: Sequence[str]
) -> dict[str, str]:
    """Return the files of those servers whose certificates are here."""
    from fedgroup.transport.acl import NatsNode, nats, nats_cluster

    if not hosts:
        (listening,) = identities.values()
        return {"nats.conf": nats(NatsNode("nats", listening, _NATS_PORT, folder / "nats-data"), topics, owners)}
    here = {_node_of(identity, hosts): listening for identity, listening in identities.items()}
    if len(here) < len(identities):
        raise InvalidInput("every node has one certificate of its own; two of these name the same node")
    anywhere = next(iter(identities.values()))
    nodes = [
        NatsNode(host, here.get(host, anywhere), _NATS_PORT, folder / "nats-data" / host, _CLUSTER_PORT, host)
        for host in hosts
    ]
    return {f"{name}.conf": text for name, text in nats_cluster(nodes, topics, owners).items() if name in here}


def _node_of(identity: Path, hosts: Sequence[str]) -> str:
    """Return the node that the certificate in a folder is for: the only one that it names."""
    from fedgroup.identity.own import CERTIFICATE_FILE, certificate_in

    file = identity / CERTIFICATE_FILE
    named = [host for host in hosts if host in certificate_in(file).hosts]
    if len(named) != 1:
        raise InvalidInput(
            f"{file} names {' and '.join(named) or 'no node'}; a node has a certificate for its own name, made with "
            f"'fedgroup certificates request NAME --role broker --host HOST', HOST as with --node"
        )
    return named[0]
