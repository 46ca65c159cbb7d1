"""Nothing talks to the network that was not asked to."""

import os
import subprocess
import sys
from pathlib import Path

import slabfield

BLOCKED = """
import socket, sys

def refuse(self, *arguments):
    raise SystemExit(f"the network was asked for: {arguments}")

socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse
socket.getaddrinfo = socket.create_connection = lambda *a, **k: refuse(None, *a)

def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind"):
        family = getattr(arguments[0], "family", None)
        if family != getattr(socket, "AF_UNIX", None):
            print(event, arguments, file=sys.stderr)
            sys.stderr.flush()
            __import__("os")._exit(3)

sys.addaudithook(watch)
"""

FIT = """
import slabfield
from slabfield import SpikeSlabMRF, baselines, datasets, evaluate, plots, report
import slabfield.cli.app
rows = datasets.make_block(60, random_state=1).rows[:, :3]
model = SpikeSlabMRF(n_draws=20, n_warmup=10, n_chains=2, n_jobs=1, random_state=0).fit(rows)
model.score(rows)
model.posterior_.save("posterior.nc")
slabfield.load_posterior("posterior.nc")
report.write_report(model.posterior_, "report.html")
print("done")
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    source = str(Path(slabfield.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": source},
    )


def test_fit_save_and_report_without_a_network(tmp_path: Path) -> None:
    done = run(FIT, tmp_path)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout.strip().endswith("done")


def test_the_watch_would_have_noticed(tmp_path: Path) -> None:
    code = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')\n"
    assert run(code, tmp_path).returncode != 0
    code = "import socket; socket.getaddrinfo('localhost', 80)\n"
    assert "the network was asked for" in run(code, tmp_path).stderr
