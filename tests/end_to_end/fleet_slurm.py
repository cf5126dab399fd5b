#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fleet on the simulated GPU: three nodes of two boards each, by hand and under a Slurm
cluster on the loopback. CBANK names the program (default build/cbank); the nodes run
build/tests/simulated/cbank, settings by the node's name."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from common import ROOT, Scratch, kept_folder, read_bytes, read_json

SIMULATED, SCRIPT = (
    os.path.join(ROOT, name) for name in ("build/tests/simulated/cbank", "scripts/fleet_run.sh")
)
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
MISSING = [
    tool
    for tool in ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "sinfo", "squeue")
    if not shutil.which(tool, path=PATH)
]
NODES = ("n1", "n2", "n3")
GAP_SECONDS = 3  # between two nights
PLAN = [
    "--path",
    "constant,global",
    "--pattern",
    "per_warp,per_thread",
    "--elements",
    "4096",
    "--counters",
    "none",
    "--sample-us",
    "50",
    "--max-samples",
    "40",
]
LONG = [*PLAN[:6], "--sample-us", "2000", "--max-seconds", "1", "--max-noise", "0.001"]

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid

SlurmctldPort={port}
SlurmdTimeout=2
MessageTimeout=3
TCPTimeout=1
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
NodeName=n[1-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=1
PartitionName=all Nodes=n[1-3] Default=YES MaxTime=10 State=UP
"""


def free_ports(count):
    """So many neighbouring ports that nobody listens to."""
    for first in range(20000 + os.getpid() % 10000, 60000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as tried:
                    tried.bind(("127.0.0.1", port))
            return first
        except OSError:
            pass
    raise AssertionError("no free ports")


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.05)
    return found


class Cluster:
    """munged, slurmctld and a slurmd for each node, of this user, in one folder."""

    def __init__(self, folder):
        self.folder, self.daemons = folder, {}
        for name in ("state", *(f"spool/{node}" for node in NODES)):
            os.makedirs(self.path(name))
        self.environment = {
            **{key: value for key, value in os.environ.items() if key != "CBANK"},
            "SLURM_CONF": self.path("slurm.conf"),
            "PATH": PATH,
        }
        port = free_ports(1 + len(NODES))
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as file:
            file.write(
                CONFIGURATION.format(
                    host=socket.gethostname().split(".")[0],
                    folder=folder,
                    port=port,
                    first=port + 1,
                    last=port + len(NODES),
                    user=subprocess.getoutput("id -un"),
                )
            )
        with open(os.open(self.path("munge.key"), os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
            file.write(os.urandom(1024))

    def start(self):
        self.daemon(
            "munged",
            "--foreground",
            "--force",
            *(
                f"--{name}={self.path(f'munge.{ending}')}"
                for name, ending in (
                    ("key-file", "key"),
                    ("socket", "socket"),
                    ("pid-file", "pid"),
                    ("log-file", "log"),
                    ("seed-file", "seed"),
                )
            ),
        )
        wait_for(lambda: os.path.exists(self.path("munge.socket")))
        self.daemon("slurmctld", "-D", "-i")
        for node in NODES:
            self.daemon("slurmd", "-D", "-N", node, name=node)
        wait_for(
            lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D", check=False).stdout.strip()
            == str(len(NODES))
        )

    def path(self, name):
        return os.path.join(self.folder, name)

    def daemon(self, *command, name=None):
        with open(self.path(f"{name or command[0]}.out"), "wb") as out:
            self.daemons[name or command[0]] = subprocess.Popen(
                command,
                env=self.environment,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def stop(self):
        for daemon in self.daemons.values():
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def run(self, *command, check=True, **environment):
        done = subprocess.run(
            command,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{command} exited {done.returncode}: {done.stdout}{done.stderr}")
        return done


class Case(Scratch):
    """Nodes of two boards each, with a program whose settings go by the name of the node."""

    def setUp(self):
        super().setUp()
        self.program = self.executable(
            "cbank",
            (
                f"CBANK_SIMULATED=$(cat {self.folder}/node-$SLURMD_NODENAME 2>/dev/null)\nexport"
                ' CBANK_SIMULATED\n[ "$1" = run ] && set -- "$@" $SMALL_PLAN\nexec'
                f' {SIMULATED} "$@"\n'
            ),
        )
        for number, node in enumerate(NODES):
            self.write(f"node-{node}", f"devices=2,host={number},seed={number + 1}")
        self.night = self.path("night")

    def executable(self, name, text):
        os.chmod(self.write(name, f"#!/bin/sh\n{text}"), 0o755)
        return self.path(name)

    def script(self, *words, status=0, **environment):
        """Runs fleet_run.sh. An empty variable is left out."""
        found = {
            key: value
            for key, value in {**os.environ, "CBANK": self.program, **environment}.items()
            if value
        }
        done = subprocess.run(
            [SCRIPT, *words], env=found, capture_output=True, text=True, timeout=120, check=False
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def node(self, name, **environment):
        self.script("node", self.night, *PLAN, SLURMD_NODENAME=name, **environment)

    def files(self, node):
        """Results of a node that something was written to."""
        return [
            path
            for path in sorted(glob.glob(os.path.join(self.night, node, "cbank-*.json")))
            if os.path.getsize(path)
        ]

    def results(self, *nodes):
        return [read_json(path) for node in nodes for path in self.files(node)]

    def check_boards(self, *nodes):
        """Each node has whole results of two boards, all of them different."""
        self.assertEqual([len(self.files(node)) for node in nodes], [2] * len(nodes))
        self.assertEqual({result["complete"] for result in self.results(*nodes)}, {True})
        self.assertEqual(
            len({result["device"]["uuid"] for result in self.results(*nodes)}), 2 * len(nodes)
        )


class Nodes(Case):
    """fleet_run.sh by hand."""

    def test_a_node_that_is_done_is_left_alone_and_one_that_is_not_goes_on(self):
        """A fresh night lists no devices, which would start CUDA once more."""
        spy = self.executable(
            "spy", f'echo "$1 $2" >>{self.folder}/asked\nexec {self.program} "$@"\n'
        )

        def asked():
            self.node("n1", CBANK=spy)
            lines = read_bytes(self.path("asked")).decode().splitlines()
            os.remove(self.path("asked"))
            return set(lines)

        self.assertEqual(asked(), {"run --engine"})
        self.node("n2")
        self.check_boards("n1", "n2")
        before = self.results("n1")
        self.write("asked", "")
        self.assertEqual((asked(), self.results("n1")), ({"list devices"}, before))
        os.remove(self.files("n1")[0])
        os.remove(os.path.join(self.night, "n1/status"))
        self.assertEqual(asked(), {"list devices", "run --resume", "run --engine"})
        self.check_boards("n1", "n2")

    def test_a_run_that_is_killed(self):
        """A killed run is resumed. A file name that was reserved alone is not in the way."""
        self.write("node-n1", "devices=2,pace=1")
        with subprocess.Popen(
            [SCRIPT, "node", self.night, *PLAN, *LONG[6:]],
            start_new_session=True,
            env={**os.environ, "CBANK": self.program, "SLURMD_NODENAME": "n1"},
        ) as process:
            wait_for(lambda: len(self.files("n1")) == 2)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for one in processes_with("SLURMD_NODENAME=n1"):
            os.kill(one, signal.SIGKILL)
        before = self.results("n1")
        self.assertIn(False, [result["complete"] for result in before])
        self.assertFalse(os.path.exists(os.path.join(self.night, "n1/status")))
        self.write("night/n1/cbank-cuda-reserved.json", "")
        self.write("node-n1", "devices=2")
        self.node("n1")
        self.check_boards("n1")
        self.assertEqual(
            {result["device"]["uuid"] for result in self.results("n1")},
            {result["device"]["uuid"] for result in before},
        )

    def test_what_nodes_left_half_done(self):
        """A reserved name counts as nothing, and a damaged file is named. Both leave the verdict
        on the others. A night without results has no verdict: that on the night before would be
        taken for it."""
        store = self.path("store.db")
        self.node("n1")
        self.write("night/n2/cbank-cuda-reserved.json", "")
        done = self.script("end", self.night, store, "n1", "n2", "n3", status=1)
        self.assertEqual(done.stderr, "")
        self.assertRegex(
            done.stdout,
            (
                "(?s)node n2 did not end.*node n3 did not answer.*2 new, 0 known, 0 refused.*2 of 2"
                " GPUs answered"
            ),
        )
        self.write("night/n2/cbank-cuda-cut.json", "{")
        done = self.script("end", self.night, store, "n1", "n2", status=2)
        self.assertRegex(done.stderr, r"n2/cbank-cuda-cut\.json:1:1: unexpected text")
        self.assertRegex(done.stdout, "(?s)0 new, 2 known, 1 refused.*2 of 2 GPUs answered")
        os.makedirs(self.path("another/n1"))
        done = self.script("end", self.path("another"), store, "n1", status=2)
        self.assertEqual(done.stdout, "node n1 did not end\n")
        self.assertIn("has no .json file", done.stderr)

    def test_nodes_of_one_name(self):
        """Each measures its own GPUs. One that measures nothing, or sees no GPU, never exits
        with 0."""
        self.node("n1")
        self.assertEqual(len(self.files("n1")), 2)
        self.write("node-n1", "devices=2,host=1,seed=8")
        self.node("n1")
        self.assertEqual(len({result["device"]["uuid"] for result in self.results("n1")}), 4)
        self.write("node-n1", "fail=cudaGetDeviceCount:1:unknown:sticky")
        self.script("node", self.night, *PLAN, SLURMD_NODENAME="n1", status=3)
        done = self.script("node", self.night, "--help", SLURMD_NODENAME="n2", status=3)
        self.assertIn("node n2 measured nothing", done.stderr)

    def test_usage(self):
        """A node without a name of its own measures nothing: in a shared folder, all such nodes
        would be one."""
        for words in ([], ["neither"], ["node"], ["end", self.night]):
            self.assertIn("usage: fleet_run.sh node FOLDER", self.script(*words, status=2).stderr)
        self.assertIn(
            f"no folder {self.night}",
            self.script("end", self.night, self.path("store.db"), status=2).stderr,
        )
        for name in ("", "localhost.localdomain", "..", "a/b", "-n", "a b"):
            self.executable("uname", f"echo '{name}'")
            done = self.script(
                "node",
                self.night,
                *PLAN,
                status=2,
                SLURMD_NODENAME="",
                PATH=f"{self.folder}:{PATH}",
            )
            self.assertIn("set SLURMD_NODENAME", done.stderr)
        self.assertFalse(os.path.exists(self.night))


def processes_with(variable, program=""):
    """Numbers of the processes whose environment has it, of a program or all."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            if (
                os.fsencode(variable) in read_bytes(path).split(b"\0")
                and program in read_bytes(path.replace("environ", "comm")).decode()
            ):
                found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


@unittest.skipIf(MISSING, "no " + ", ".join(MISSING) + " on this machine")
@unittest.skipUnless(os.geteuid() == 0, "the daemons of a cluster run as root")
class Slurm(Case):
    """The same under Slurm: fleet.sbatch, three nodes on the loopback."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(os.path.join(kept_folder(cls), "cluster"))
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def submit(self, *options):
        """The job, which runs then."""
        scripts = self.path("my 'odd' scripts;")
        os.makedirs(scripts, exist_ok=True)
        for name in ("fleet.sbatch", "fleet_run.sh"):
            shutil.copy(os.path.join(ROOT, "scripts", name), scripts)
        submitted = self.cluster.run(
            "sbatch",
            "--parsable",
            "-N3",
            "-o",
            self.path("%j.out"),
            os.path.join(scripts, "fleet.sbatch"),
            self.path("nights"),
            self.path("fleet.db"),
            *(options or PLAN),
            CBANK=self.program,
            CBANK_FLEET=f"--gap {GAP_SECONDS / 3600}",
        )
        job = submitted.stdout.strip()
        self.night = self.path(f"nights/{job}")
        return job

    def ended(self, job, status):
        """The output of a job that ends with that exit code."""
        ends = re.compile(r"JobState=(?:COMPLETED|FAILED)(?s:.*)ExitCode=(\d+):")
        code = wait_for(
            lambda: ends.search(self.cluster.run("scontrol", "show", "job", job).stdout), 60
        )[1]
        said = read_bytes(self.path(f"{job}.out")).decode()
        self.assertEqual(int(code), status, said)
        return said

    def test_nights(self):
        """A quiet night, and one in which a GPU does not answer and a board was swapped."""
        self.ended(self.submit(), 0)
        self.check_boards(*NODES)
        time.sleep(GAP_SECONDS + 1)
        self.write("node-n2", "devices=1,host=1,seed=8")
        self.write("node-n3", "devices=2,host=2,seed=9,swapped=1")
        said = self.ended(self.submit(), 1)
        self.assertIn("5 of 6 GPUs answered, 2 findings", said)
        self.assertRegex(said, r"missing +n2:11:00\.0 GPU-19111111")
        self.assertRegex(said, r"replaced +n3:11:00\.0 GPU-21121111")

    def test_what_the_page_types(self):
        """The blocks of docs/fleet.md, the shared folder being another one; by ssh, which is a
        shell here; and by srun alone."""
        page = read_bytes(os.path.join(ROOT, "docs/fleet.md")).decode()
        first, second = re.findall(
            r"```sh\n(.*?)```", page.split("## From nothing to a nightly verdict")[1], re.DOTALL
        )[:2]
        shared = self.path("shared")
        os.mkdir(shared)
        self.executable("ssh", 'SLURMD_NODENAME=$1\nexport SLURMD_NODENAME\nshift\nexec "$@"\n')
        installed, path, submitted, shown = first.splitlines()
        script = "\n".join(
            [
                "set -e",
                installed,
                f"cp {self.program} /shared/cbank/bin/cbank",
                path,
                submitted,
                "while squeue -h | grep -q .; do sleep 0.1; done",
                shown,
                "sleep 1",
                second,
            ]
        )
        done = self.cluster.run(
            "bash",
            "-c",
            f"cd {ROOT}\n"
            + script.replace("/shared/", shared + "/").replace("=/shared", "=" + shared),
            SMALL_PLAN=" ".join(PLAN),
            PATH=f"{self.folder}:{PATH}",
        )
        self.assertEqual(done.stdout.count("6 of 6 GPUs answered"), 2, done.stdout)
        self.cluster.run(
            *re.search(r"`(srun [^`]*) SCRIPT node [^`]*`", page).group(1).split(),
            SCRIPT,
            "node",
            self.night,
            *PLAN,
            CBANK=self.program,
        )
        self.check_boards(*NODES)

    def test_when_a_node_dies_and_a_run_is_killed(self):
        """Last, since the node stays dead."""
        for node in NODES:
            self.write(f"node-{node}", f"devices=2,host={node[1]},pace=1")
        job = self.submit(*LONG)
        wait_for(lambda: all(len(self.files(node)) == 2 for node in NODES))
        # As if its power went: the daemon, its tasks and who looks after them.
        daemon = self.cluster.daemons.pop("n3")
        daemon.kill()
        daemon.wait()
        tasks = processes_with("SLURMD_NODENAME=n3")
        keepers = {
            int(read_bytes(f"/proc/{task}/stat").decode().rsplit(")", 1)[1].split()[1])
            for task in tasks
        } - {1}
        for process in (*keepers, *tasks, *processes_with("SLURMD_NODENAME=n2", "cbank")):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        said = self.ended(job, 1)
        self.assertIn("node n2 exited 137", said)
        self.assertIn("node n3 did not end", said)
        self.assertNotIn("node n1", said)
        for node in ("n2", "n3"):  # by hand, once they are back
            self.write(f"node-{node}", f"devices=2,host={node[1]}")
            self.node(node)
        self.check_boards(*NODES)


if __name__ == "__main__":
    unittest.main()
