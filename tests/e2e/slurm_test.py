#!/usr/bin/env python3
"""scripts/slurm/etna-batch.sbatch on a cluster of Slurm: a controller and five nodes in namespaces, one of which dies and returns.
Usage: slurm_test.py ETNA [--long]

Needs root, and Debian's slurmctld, slurmd, slurm-client, munge and iproute2; it says so and passes without them. With --long 10,000
lines over 16 tasks."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from support.cases import HomeCase
from support.program import executable, is_long, run_tests
from support.waiting import wait_until

LINES, TASKS, LIMIT_S = (10_000, 16, 1200) if is_long() else (400, 4, 120)
PARALLEL = 64 if is_long() else 1  # answers at once per task: the last lines of a shard are far behind its first
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "munged", "ip", "unshare", "nsenter")
NAMESPACES = ["unshare", "--net", "--uts", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/slurm/etna-batch.sbatch"
NODES = ("n1", "n2", "n3", "n4", "n5")  # one is free to take a task of a node that dies
TASK_SPACE = "10.77.0"

CONFIGURATION = """
ClusterName=etna
SlurmctldHost=controller({space}.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool-%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SlurmdTimeout=10
MessageTimeout=10
KillWait=5
ReturnToService=2
MpiDefault=none
GresTypes=gpu
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S, **more).stdout


class Cluster:
    """One controller in the namespaces of this process, and nodes in separate namespaces, connected by a bridge."""

    def __init__(self, root):
        self.root, self.nodes, self.daemons = root, {}, []
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "etna", "type", "bridge")
        run("ip", "address", "add", f"{TASK_SPACE}.1/24", "dev", "etna")
        run("ip", "link", "set", "etna", "up")
        run("hostname", "controller")
        nodes = "\n".join(f"NodeName={name} NodeHostname={name} NodeAddr={self.address(name)} CPUs=1 Gres=gpu:1 State=UNKNOWN"
                          for name in NODES)
        (root / "slurm.conf").write_text(CONFIGURATION.format(space=TASK_SPACE, root=root, nodes=nodes))
        (root / "gres.conf").write_text("Name=gpu File=/dev/null\n")
        os.environ["SLURM_CONF"] = str(root / "slurm.conf")
        (root / "state").mkdir()
        key = root / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.start("munged", "--foreground", "--force", "--key-file", str(key), "--socket", str(root / "munge.socket"),
                   "--pid-file", str(root / "munged.pid"), "--seed-file", str(root / "munge.seed"), "--log-file", str(root / "munge.log"))
        self.wait_for(lambda: (root / "munge.socket").exists(), "munge")
        self.start("slurmctld", "-D")
        for name in NODES:
            self.start_node(name)
        self.wait_for(lambda: run("sinfo", "--noheader", "--format=%T %D").strip() == f"idle {len(NODES)}", "the nodes")

    @staticmethod
    def address(name):
        return f"{TASK_SPACE}.1{name[1:]}"

    @staticmethod
    def wait_for(condition, what, limit_s=LIMIT_S):
        def value():
            try:
                return condition()
            except subprocess.CalledProcessError:
                return None

        return wait_until(value, what, limit_s, interval_s=0.2)

    def start(self, *command):
        self.daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def start_node(self, name):
        (self.root / f"spool-{name}").mkdir(exist_ok=True)
        node = subprocess.Popen([*NAMESPACES, "sh", "-c", f"hostname {name}; read go; slurmd -D -N {name} & wait"], stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        inside = ["nsenter", f"--net=/proc/{node.pid}/ns/net"]
        self.wait_for(lambda: os.readlink(f"/proc/{node.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "a namespace")
        run("ip", "link", "add", f"v{name}", "type", "veth", "peer", "name", "eth0", "netns", str(node.pid))
        run("ip", "link", "set", f"v{name}", "master", "etna", "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        run(*inside, "ip", "address", "add", f"{self.address(name)}/24", "dev", "eth0")
        run(*inside, "ip", "link", "set", "eth0", "up")
        node.stdin.write(b"go\n")
        node.stdin.flush()
        self.nodes[name] = node

    def kill_node(self, name):
        """Simulates a power loss: kills every process of the node at once."""
        node = self.nodes.pop(name)
        node.kill()
        node.wait()
        node.stdin.close()

    def close(self):
        for name in list(self.nodes):
            self.kill_node(name)
        for daemon in self.daemons:
            daemon.kill()
            daemon.wait()


class Slurm(HomeCase):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster(self.root)
        self.addCleanup(self.cluster.close)
        self.input = self.root / "in.jsonl"
        self.input.write_text("".join(json.dumps(
            {"custom_id": f"line-{i}", "method": "POST", "url": "/v1/chat/completions",
             "body": {"model": "demo", "temperature": 0, "max_tokens": 12,
                      "messages": [{"role": "user", "content": f"What is {i % 97} + {i * 7 % 89}?"}]}}) + "\n" for i in range(LINES)))

    def etna(self, *arguments):
        return run(executable(), *arguments, env=self.environment())

    @staticmethod
    def texts(file):
        found = {}
        for line in file.read_text().splitlines():
            record = json.loads(line)
            assert record["custom_id"] not in found, record["custom_id"]
            found[record["custom_id"]] = record["response"]["body"]["choices"][0]["message"]["content"]
        return found

    @staticmethod
    def tasks(*arguments):
        """State, node and array index of each task that the queue has."""
        lines = run("squeue", "--noheader", "--array", "--format=%T|%N|%K", *arguments).splitlines()
        return [line.split("|") for line in lines]

    @staticmethod
    def records(out, task="*"):
        return sum(file.read_bytes().count(b"\n") for file in out.glob(f"results-{task}-of-*.jsonl"))

    def half_done_task(self, out, but=None):
        """Node and index of a running task that has recorded some lines of its shard, at most half of them."""
        for state, node, index in self.tasks():
            if state == "RUNNING" and index != but and 0 < self.records(out, index) <= LINES // TASKS // 2:
                return node, index
        return None

    def start_held_tasks(self):
        """Slurm holds a requeued task for two minutes."""
        for task in run("squeue", "--noheader", "--array", "--states=PENDING", "--format=%i").split():
            run("scontrol", "update", f"JobId={task}", "StartTime=now")

    def is_taken_from(self, node, index):
        """Whether another node runs the task, or has run it."""
        self.start_held_tasks()
        seen = [state == "RUNNING" and other != node for state, other, other_index in self.tasks() if other_index == index]
        return all(seen) and (seen or self.records(self.root / "out", index) >= LINES // TASKS)

    answers_without_tasks = 0

    def is_done(self):
        """To be polled: between two states, a requeued task may be missing in one answer of the controller."""
        self.start_held_tasks()
        self.answers_without_tasks = 0 if self.tasks() else self.answers_without_tasks + 1
        return self.answers_without_tasks == 5

    def test_a_batch_over_an_array_survives_a_node(self):
        alone, out = self.root / "alone", self.root / "out"
        self.etna("batch", str(self.input), "-o", str(alone), "--model", "demo")
        self.etna("batch", "merge", str(alone))
        programs = self.root / "programs"
        programs.mkdir()
        (programs / "etna").write_text(f'#!/bin/sh\nexec {executable()} "$@" --parallel {PARALLEL}\n')
        (programs / "etna").chmod(0o755)
        environment = self.environment(PATH=f"{programs}:{os.environ['PATH']}")
        run("sbatch", f"--array=0-{TASKS - 1}", f"--chdir={self.root}", str(SCRIPT), "demo", str(self.input), str(out), env=environment)
        started = time.monotonic()
        node, index = Cluster.wait_for(lambda: self.half_done_task(out), "a task with some of its lines recorded")
        self.cluster.kill_node(node)
        before = self.records(out, index)
        self.assertLess(before, LINES // TASKS)
        _, stopped = Cluster.wait_for(lambda: self.half_done_task(out, but=index), "another such task")
        run("scancel", "--full", "--signal=TERM", f"1_{stopped}")  # reaches every process, as a kill by the controller does
        # The controller kills what it thinks the dead node still runs as soon as that returns. It would kill the requeued task, too.
        Cluster.wait_for(lambda: self.is_taken_from(node, index), "another node to take the task")
        self.cluster.start_node(node)
        Cluster.wait_for(self.is_done, "the array", limit_s=LIMIT_S * 12)
        took = time.monotonic() - started
        print(f"{LINES} lines, {TASKS} tasks, {took:.0f} s; task {index} had {before} records when {node} died; task {stopped} was stopped", file=sys.stderr)
        self.assertIn("not complete; requeued", (self.root / f"etna-batch-1-{stopped}.log").read_text())
        logs = "\n".join(f"{log.name}:\n{log.read_text()}" for log in sorted(self.root.glob("etna-batch-1-*.log")))
        self.assertEqual(self.records(out), LINES, logs)
        merged = self.etna("batch", "merge", str(out))
        self.assertEqual(self.texts(out / "results.jsonl"), self.texts(alone / "results.jsonl"), merged)
        self.assertEqual(len(self.texts(out / "results.jsonl")), LINES)


if __name__ == "__main__":
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        sys.exit(print(f"not run: it needs root{', and ' + ', '.join(missing) if missing else ''}"))
    if "ETNA_SLURM_INSIDE" not in os.environ:
        network = "ip link add one type bridge && ip link add two type veth peer name three"
        if subprocess.run([*NAMESPACES, "sh", "-c", network], capture_output=True).returncode != 0:
            sys.exit(print("not run: this machine makes no namespaces, or no networks in them"))
        os.environ["ETNA_SLURM_INSIDE"] = "1"
        os.execvp(NAMESPACES[0], [*NAMESPACES, sys.executable, *sys.argv])
    run_tests()
