#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fleet on the simulated GPU: three nodes of two boards each, under a Slurm cluster on the loopback. CBANK names the
program (default build/cbank); the nodes run build/tests/simulated/cbank, settings by the node's name."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from common import ROOT, Scratch, kept_folder, read_json

SIMULATED = os.path.join(ROOT, "build/tests/simulated/cbank")
TOOLS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "sinfo", "squeue")
MISSING = [tool for tool in TOOLS if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
NODES = ("n1", "n2", "n3")
GAP_SECONDS = 3  # between two nights
PLAN = ["--path", "constant,global", "--pattern", "per_warp,per_thread", "--elements", "4096", "--counters", "none",
        "--sample-us", "50", "--max-samples", "40"]

CONFIGURATION = (
    "ClusterName=test",
    "SlurmctldHost={host}(127.0.0.1)",
    "AuthType=auth/munge",
    "AuthInfo=socket={folder}/munge.socket",
    "CredType=cred/munge",
    "SlurmUser={user}",
    "SlurmdUser={user}",
    "StateSaveLocation={folder}/state",
    "SlurmdSpoolDir={folder}/spool/%n",
    "SlurmctldPidFile={folder}/slurmctld.pid",
    "SlurmdPidFile={folder}/%n.pid",
    "SlurmctldLogFile={folder}/slurmctld.log",
    "SlurmdLogFile={folder}/%n.log",
    "SlurmctldPort={port}",
    "SlurmdTimeout=2",
    "MessageTimeout=3",
    "TCPTimeout=1",
    "ProctrackType=proctrack/linuxproc",
    "TaskPlugin=task/none",
    "SelectType=select/linear",
    "MpiDefault=none",
    "ReturnToService=2",
    "SchedulerParameters=sched_interval=1,batch_sched_delay=0",
    "SlurmdParameters=config_overrides",
    "NodeName=n[1-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=1",
    "PartitionName=all Nodes=n[1-3] Default=YES MaxTime=10 State=UP",
)


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
        self.folder = folder
        self.daemons = {}
        os.mkdir(folder)
        for name in ("state", *(f"spool/{node}" for node in NODES)):
            os.makedirs(os.path.join(folder, name))
        port = free_ports(1 + len(NODES))
        self.environment = {**{key: value for key, value in os.environ.items() if key != "CBANK"}, "SLURM_CONF": self.path("slurm.conf"),
                            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as file:
            file.write("\n".join((*CONFIGURATION, "")).format(host=socket.gethostname().split(".")[0], folder=folder, port=port,
                                            first=port + 1, last=port + len(NODES),
                                            user=subprocess.getoutput("id -un")))
        with open(os.open(self.path("munge.key"), os.O_WRONLY | os.O_CREAT, 0o400), "wb") as file:
            file.write(os.urandom(1024))

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self):
        self.daemon("munged", "--foreground", "--force", "--key-file", self.path("munge.key"), "--socket",
                    self.path("munge.socket"), "--pid-file", self.path("munged.pid"), "--log-file",
                    self.path("munged.log"), "--seed-file", self.path("munge.seed"))
        wait_for(lambda: os.path.exists(self.path("munge.socket")))
        self.daemon("slurmctld", "-D", "-i")
        for node in NODES:
            self.daemon("slurmd", "-D", "-N", node, name=node)
        wait_for(lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D", check=False).stdout.strip() == str(len(NODES)))

    def daemon(self, *command, name=None):
        with open(self.path(f"{name or command[0]}.out"), "wb") as out:
            self.daemons[name or command[0]] = subprocess.Popen(command, env=self.environment, stdout=out, stderr=out,
                                                                stdin=subprocess.DEVNULL, start_new_session=True)

    def kill(self, name):
        daemon = self.daemons.pop(name)
        daemon.kill()
        daemon.wait()

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
        done = subprocess.run(command, env={**self.environment, **environment}, capture_output=True, text=True,
                              timeout=120, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} exited {done.returncode}: {done.stdout}{done.stderr}")
        return done


class Case(Scratch):
    """Nodes of two boards each, with a program whose settings go by the name of the node."""

    def setUp(self):
        super().setUp()
        self.settings = {}
        self.program = self.path("cbank")
        with open(os.open(self.program, os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as file:
            # The settings of a node are what a file of its name says.
            file.write(f"#!/bin/sh\nCBANK_SIMULATED=$(cat {self.folder}/node-$SLURMD_NODENAME 2>/dev/null)\n"
                       "export CBANK_SIMULATED\n[ \"$1\" = run ] && set -- \"$@\" $SMALL_PLAN\n"
                       f"exec {SIMULATED} \"$@\"\n")
        for number, node in enumerate(NODES):
            self.set(node, f"devices=2,host={number},seed={number + 1}")
        self.night = self.path("night")

    def set(self, node, settings):
        with open(self.path(f"node-{node}"), "w", encoding="utf-8") as file:
            file.write(settings)

    def node(self, name, *options, status=0):
        done = subprocess.run([os.path.join(ROOT, "scripts/fleet_run.sh"), "node", self.night, *(options or PLAN)],
                              env={**os.environ, "CBANK": self.program, "SLURMD_NODENAME": name}, capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr + self.log(name))

    def log(self, node):
        try:
            with open(os.path.join(self.night, node, "log"), encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""

    def results(self, node):
        return [read_json(path) for path in sorted(glob.glob(os.path.join(self.night, node, "cbank-*.json")))]


class Nodes(Case):
    """fleet_run.sh by hand."""

    def test_a_node(self):
        self.node("n1")
        results = self.results("n1")
        self.assertEqual([result["complete"] for result in results], [True, True])
        self.assertEqual(len({result["device"]["uuid"] for result in results}), 2)
        log = self.log("n1")
        self.node("n1")  # it is done: nothing is measured again
        self.assertEqual((self.log("n1"), self.results("n1")), (log, results))
        self.node("n2")
        uuids = {result["device"]["uuid"] for result in results + self.results("n2")}
        self.assertEqual(len(uuids), 4)

    def test_a_fresh_night_lists_no_devices(self):
        """Which would start CUDA once more; a night that is gone on with does."""
        spy = os.path.join(self.folder, "spy")
        with open(spy, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$1 $2" >>{self.folder}/asked\nexec {self.program} "$@"\n')
        os.chmod(spy, 0o755)
        environment = {**os.environ, "CBANK": spy, "SLURMD_NODENAME": "n1"}
        for asked in ("", "list devices\n"):
            subprocess.run([os.path.join(ROOT, "scripts/fleet_run.sh"), "node", self.night, *PLAN], env=environment, check=True)
            with open(f"{self.folder}/asked", encoding="utf-8") as file:
                self.assertEqual("".join(line for line in file if not line.startswith("run ")), asked)
            results = glob.glob(os.path.join(self.night, "n1/cbank-*.json"))
            self.assertEqual(len(results), 2)
            os.remove(results[0])
            os.remove(os.path.join(self.night, "n1/status"))

    def test_a_run_that_is_killed(self):
        """A killed run is resumed. A file name that was reserved alone is not in the way."""
        self.set("n1", "devices=2,pace=1")
        with subprocess.Popen([os.path.join(ROOT, "scripts/fleet_run.sh"), "node", self.night, *PLAN, "--sample-us",
                               "2000", "--max-seconds", "0.5", "--max-noise", "0.001"], start_new_session=True,
                              env={**os.environ, "CBANK": self.program, "SLURMD_NODENAME": "n1"}) as process:
            wait_for(lambda: len([path for path in glob.glob(os.path.join(self.night, "n1/cbank-*.json"))
                                  if os.path.getsize(path)]) == 2)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        subprocess.run(["pkill", "-KILL", "-f", self.night], check=False)
        self.assertIn(False, [result["complete"] for result in self.results("n1")])
        self.assertFalse(os.path.exists(os.path.join(self.night, "n1/status")))
        uuids = {result["device"]["uuid"] for result in self.results("n1")}
        with open(os.path.join(self.night, "n1/cbank-cuda-reserved.json"), "w", encoding="utf-8"):
            pass
        self.set("n1", "devices=2")
        self.node("n1")
        self.assertEqual([result["complete"] for result in self.results("n1")], [True, True])
        self.assertEqual({result["device"]["uuid"] for result in self.results("n1")}, uuids)

    def end(self, status, *nodes):
        done = subprocess.run([os.path.join(ROOT, "scripts/fleet_run.sh"), "end", self.night, self.path("store.db"), *nodes],
                              env={**os.environ, "CBANK": self.program}, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_what_a_node_left_half_done(self):
        """A reserved name counts as nothing, and a damaged file is named. Both leave the verdict on the others."""
        self.node("n1")
        os.makedirs(os.path.join(self.night, "n2"))
        with open(os.path.join(self.night, "n2/cbank-cuda-reserved.json"), "w", encoding="utf-8"):
            pass
        done = self.end(1, "n1", "n2", "n3")
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, "(?s)node n2 did not end.*node n3 did not answer.*2 new, 0 known, 0 refused.*2 of 2 GPUs answered")
        with open(os.path.join(self.night, "n2/cbank-cuda-cut.json"), "w", encoding="utf-8") as file:
            file.write("{")
        done = self.end(2, "n1", "n2")
        self.assertRegex(done.stderr, "n2/cbank-cuda-cut.json: .*line 1 column 2")
        self.assertRegex(done.stdout, "(?s)0 new, 2 known, 1 refused.*2 of 2 GPUs answered")

    def test_a_night_without_results(self):
        """Has no verdict: that on the night before would be taken for it."""
        self.node("n1")
        self.end(0, "n1")
        self.night = self.path("another")
        os.makedirs(os.path.join(self.night, "n1"))
        done = self.end(2, "n1")
        self.assertEqual(done.stdout, "node n1 did not end\n")
        self.assertIn("has no .json file", done.stderr)

    def test_a_node_without_a_name_measures_nothing(self):
        """In a shared folder, nodes without names would be one node."""
        with open(os.open(self.path("uname"), os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
        environment = {key: value for key, value in os.environ.items() if key != "SLURMD_NODENAME"}
        done = subprocess.run([os.path.join(ROOT, "scripts/fleet_run.sh"), "node", self.night, *PLAN], capture_output=True, text=True,
                              env={**environment, "CBANK": self.program, "PATH": self.folder + ":" + os.environ["PATH"]}, check=False)
        self.assertEqual((done.returncode, os.path.exists(self.night)), (2, False))
        self.assertIn("set SLURMD_NODENAME", done.stderr)

    def test_usage(self):
        for arguments in ([], ["neither"], ["node"], ["end", self.night]):
            done = subprocess.run([os.path.join(ROOT, "scripts/fleet_run.sh"), *arguments], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("usage: fleet_run.sh node FOLDER", done.stderr)
        done = subprocess.run([os.path.join(ROOT, "scripts/fleet_run.sh"), "end", self.night, self.path("store.db")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"no folder {self.night}", done.stderr)


def processes_with(variable):
    """Numbers of the processes whose environment has it."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if os.fsencode(variable) in file.read().split(b"\0"):
                    found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def parent_of(process):
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


@unittest.skipIf(MISSING, "no " + ", ".join(MISSING) + " on this machine")
@unittest.skipUnless(os.geteuid() == 0, "the daemons of a cluster run as root")
class Slurm(Case):
    """The same under Slurm: fleet.sbatch, three nodes on the loopback."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(os.path.join(kept_folder(cls), "cluster"))
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self):
        super().setUp()
        self.store = self.path("fleet.db")

    def submit(self, *options, name="night"):
        """The job, which runs then."""
        submitted = self.cluster.run("sbatch", "--parsable", "-N3", "-o", self.path(f"{name}.out"),
                                     os.path.join(ROOT, "scripts/fleet.sbatch"), self.path("nights"), self.store,
                                     *(options or PLAN), CBANK=self.program, CBANK_FLEET=f"--gap {GAP_SECONDS / 3600}")
        job = submitted.stdout.strip()
        self.night = self.path(f"nights/{job}")
        return job

    def ended(self, job, name="night"):
        """Exit code of a job, and what it printed."""
        def code():
            said = self.cluster.run("scontrol", "show", "job", job).stdout
            if "JobState=COMPLETED" in said or "JobState=FAILED" in said:
                return re.search(r"ExitCode=(\d+):", said)
            return None

        status = int(wait_for(code, 60)[1])
        with open(self.path(f"{name}.out"), encoding="utf-8") as file:
            return status, file.read()

    def kill_node(self, node):
        """As if its power went: the daemon, its tasks and who looks after them."""
        self.cluster.kill(node)
        tasks = processes_with(f"SLURMD_NODENAME={node}")
        keepers = {parent_of(task) for task in tasks} - {1}
        for process in (*keepers, *tasks):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def test_nights(self):
        """Two quiet nights; then a slow GPU, a missing one, and a swapped board."""
        for name in ("first", "second"):
            status, said = self.ended(self.submit(name=name), name)
            time.sleep(GAP_SECONDS + 1)  # starts are known to the second
            self.assertEqual(status, 0, said)
        uuids = {node: [result["device"]["uuid"] for result in self.results(node)] for node in NODES}
        self.assertEqual([len(of) for of in uuids.values()], [2, 2, 2])
        self.set("n1", "devices=2,host=0,seed=7,slow=constant,slow_factor=1.05,slow_device=1")
        self.set("n2", "devices=1,host=1,seed=8")
        self.set("n3", "devices=2,host=2,seed=9,swapped=1")
        status, said = self.ended(self.submit(name="third"), "third")
        self.assertEqual(status, 1, said)
        self.assertIn("5 of 6 GPUs answered, 3 findings", said)
        self.assertRegex(said, r"slower +n1:11:00\.0 GPU-11111111 +\+[45]\.\d+%")
        self.assertIn("constant path", said)
        self.assertRegex(said, r"missing +n2:11:00\.0 GPU-19111111")
        self.assertRegex(said, r"replaced +n3:11:00\.0 GPU-21121111")

    def test_srun(self):
        """As the page says it, without a batch job."""
        with open(os.path.join(ROOT, "docs/fleet.md"), encoding="utf-8") as file:
            command = re.search(r"`(srun [^`]*) SCRIPT node [^`]*`", file.read()).group(1).split()
        self.cluster.run(*command, os.path.join(ROOT, "scripts/fleet_run.sh"), "node", self.night, *PLAN, CBANK=self.program)
        self.assertEqual([len(self.results(node)) for node in NODES], [2, 2, 2])
        said = self.cluster.run(os.path.join(ROOT, "scripts/fleet_run.sh"), "end", self.night, self.store, *NODES, CBANK=self.program)
        self.assertIn("6 of 6 GPUs answered", said.stdout)

    def test_what_the_page_types(self):
        """The blocks of docs/fleet.md, the shared folder being another one; by ssh, which is a shell here."""
        with open(os.path.join(ROOT, "docs/fleet.md"), encoding="utf-8") as file:
            section = file.read().split("## From nothing to a nightly verdict")[1]
        first, second = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)[:2]
        shared = self.path("shared")
        os.mkdir(shared)
        ssh = self.path("ssh")
        with open(os.open(ssh, os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nSLURMD_NODENAME=$1\nexport SLURMD_NODENAME\nshift\nexec "$@"\n')
        installed, path, submitted, shown = first.splitlines()
        script = "\n".join(["set -e", installed, f"cp {self.program} /shared/cbank/bin/cbank", path, submitted,
                            "while squeue -h | grep -q .; do sleep 0.1; done", shown, "sleep 1", second])
        done = subprocess.run(["bash", "-c", script.replace("/shared/", shared + "/").replace("=/shared", "=" + shared)],
                              cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
                              env={**self.cluster.environment, "SMALL_PLAN": " ".join(PLAN),
                                   "PATH": self.folder + ":" + self.cluster.environment["PATH"]})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("6 of 6 GPUs answered"), 2, done.stdout)

    def test_when_a_node_dies_and_a_run_is_killed(self):
        """Last, since the node stays dead."""
        for node in NODES:
            self.set(node, f"devices=2,host={node[1]},pace=1")
        job = self.submit("--sample-us", "2000", "--max-seconds", "1", "--max-noise", "0.001", *PLAN[:6])
        wait_for(lambda: all(len([path for path in glob.glob(os.path.join(self.night, node, "cbank-*.json"))
                                  if os.path.getsize(path)]) == 2 for node in NODES))
        self.kill_node("n3")
        for process in processes_with("SLURMD_NODENAME=n2"):
            with open(f"/proc/{process}/comm", encoding="utf-8") as file:
                if file.read().strip() == "cbank":
                    os.kill(process, signal.SIGKILL)
        status, said = self.ended(job)
        self.assertEqual(status, 1, said)
        self.assertIn("node n2 exited 137", said)
        self.assertIn("node n3 did not end", said)
        self.assertNotIn("node n1", said)
        for node in ("n2", "n3"):  # by hand, once they are back
            self.set(node, f"devices=2,host={node[1]}")
            self.node(node)
        self.assertEqual([len({result["device"]["uuid"] for result in self.results(node)}) for node in NODES], [2, 2, 2])
        self.assertTrue(all(result["complete"] for node in NODES for result in self.results(node)))


if __name__ == "__main__":
    unittest.main()
