"""The command as its own process: streams, signals and pipes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

PATIENCE_S = 120.0
COMMAND = [sys.executable, "-c", "from fedgroup.cli.main import main; main()"]
ASK = ["--near", "10000,10000", "--within", "3000", "--epsilon", "0.3"]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_json_is_alone_on_stdout_and_talk_is_on_stderr(city):
    ran = run("count", city, *ASK, "--json")
    assert ran.returncode == 0
    assert set(json.loads(ran.stdout)) > {"value", "interval"}
    assert all(line.startswith("note: ") for line in ran.stderr.splitlines())


def test_an_error_is_one_line_without_a_traceback(city):
    ran = run("count", city, *ASK, "--domain", "nowhere")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "fedgroup: --domain takes W,S,E,N, got 'nowhere'\n"


def test_version_and_help_succeed():
    for asked in ("--version", "--help", "-h"):
        ran = run(asked)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert "fedgroup" in ran.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
def test_an_interrupt_exits_with_130_and_one_line(tmp_path):
    demo = [*COMMAND, "demo", "--out", str(tmp_path / "pictures")]
    usual = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # whoever started the tests may have ignored it
    with subprocess.Popen(demo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=usual) as process:
        while not (tmp_path / "pictures").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (130, "", "fedgroup: interrupted\n")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes work differently there")
def test_a_reader_that_leaves_is_not_complained_about(city):
    ask = [*COMMAND, "count", str(city), *ASK, "--json"]
    with subprocess.Popen(ask, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert all(line.startswith("note: ") for line in said.splitlines())
