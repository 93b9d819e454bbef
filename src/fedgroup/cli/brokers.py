"""`fedgroup broker`: the configuration of a broker of one's own, mosquitto or NATS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
_NATS_PORT, _CLUSTER_PORT = 4222, 6222

_Owners = Annotated[
    list[str] | None,
    option(OPTIONS, "--owner", "nats: an owner's name, once for each, in place of all in the register", "NAME"),
]
_Nodes = Annotated[
    list[str] | None,
    option(OPTIONS, "--node", "nats: a host of a cluster, once for each; its certificate names it", "HOST"),
]


@grouped
def broker(
    kind: Annotated[str, argument("mosquitto or nats", "KIND")],
    out: Annotated[Path, option(OPTIONS, "--out", "the folder to write into", "FOLDER")],
    output: OutputOptions,
    identity: Annotated[
        Path, option(OPTIONS, "--identity", "the folder with the broker's certificate and key", "FOLDER")
    ] = Path("broker"),
    authority: Annotated[
        Path,
        option(
            OPTIONS, "--authority", "the folder with ca.pem and revoked.pem; nats: and a copy of register.db", "FOLDER"
        ),
    ] = Path("authority"),
    bind: Annotated[str, option(OPTIONS, "--bind", "the address to listen on", "ADDRESS")] = "127.0.0.1",
    port: Annotated[int, option(OPTIONS, "--port", "the port of MQTT over TLS", "PORT")] = 8883,
    owner: _Owners = None,
    node: _Nodes = None,
    replace: Annotated[bool, flag(OPTIONS, "--replace", "write anew what is there already")] = False,
) -> None:
    """Write the configuration of a broker that knows everybody by certificate and keeps everybody to its topics.

    NATS reads no revocations: its files name the owners, and leave out those that were revoked. Write them anew
    (--replace) after every revocation and for every new owner, and reload the servers.
    """
    from fedgroup.identity.trust import Trust
    from fedgroup.transport.topics import Topics

    if kind not in KINDS:
        raise InvalidInput(f"a broker is {' or '.join(KINDS)}, got {kind!r}")
    if kind == "mosquitto" and (owner or node):
        raise InvalidInput("mosquitto needs no --owner and has no --node: its rules hold for all owners")
    trust = Trust.load(authority.absolute())
    topics, listening = Topics(trust.federation), _listening(identity.absolute(), trust.folder, bind, port)
    facts: dict[str, Any] = {"kind": kind, "federation": topics.federation}
    if kind == "mosquitto":
        texts = _mosquitto(listening, topics, out.absolute())
    else:
        owners, left_out = _let_in(trust, owner or ())
        texts = _nats(listening, topics, out.absolute(), owners, node or ())
        facts |= {"owners": owners, "left_out": {name: f"{until:%Y-%m-%d}" for name, until in left_out.items()}}
    _write(out, texts, replace=replace)
    files = [str(out / name) for name in texts]
    if output.json:
        print_json(facts | {"files": files})
        return
    result.print("\n".join(files))
    notice("set embedded = false, host and port in the [broker] table of the provider's file, host and port in owners'")


def _listening(identity: Path, authority: Path, bind: str, port: int) -> Listening:
    from fedgroup.identity.own import CERTIFICATE_FILE, TLS_KEY_FILE
    from fedgroup.identity.trust import AUTHORITY_FILE, REVOKED_FILE
    from fedgroup.transport.listening import Listening

    files = (authority / AUTHORITY_FILE, identity / CERTIFICATE_FILE, identity / TLS_KEY_FILE)
    for file in files:
        if not file.is_file():
            raise InvalidInput(f"there is no {file}; see 'fedgroup certificates --help'")
    return Listening(bind, port, *files, revoked=authority / REVOKED_FILE)


def _mosquitto(listening: Listening, topics: Topics, folder: Path) -> dict[str, str]:
    from fedgroup.transport.acl import mosquitto, mosquitto_acl

    rules = "mosquitto.acl"
    return {"mosquitto.conf": mosquitto(listening, acl_file=folder / rules), rules: mosquitto_acl(topics)}


def _let_in(trust: Trust, named: Sequence[str]) -> tuple[list[str], dict[str, datetime]]:
    """Return the owners that NATS is told of, and those left out: until then a revoked certificate has their name."""
    from fedgroup.identity.admitted import admitted
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
    listening: Listening, topics: Topics, folder: Path, owners: Sequence[str], hosts: Sequence[str]
) -> dict[str, str]:
    from fedgroup.transport.acl import NatsNode, nats, nats_cluster

    if not hosts:
        return {"nats.conf": nats(NatsNode("nats", listening, _NATS_PORT, folder / "nats-data"), topics, owners)}
    nodes = [
        NatsNode(host, listening, _NATS_PORT, folder / "nats-data", cluster_port=_CLUSTER_PORT, host=host)
        for host in hosts
    ]
    return {f"{name}.conf": text for name, text in nats_cluster(nodes, topics, owners).items()}


def _write(folder: Path, texts: dict[str, str], *, replace: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    there = [name for name in texts if (folder / name).exists()]
    if there and not replace:
        raise InvalidInput(f"{folder / there[0]} is there already; --replace writes it anew")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
