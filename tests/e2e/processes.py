"""What a process takes, by /proc."""

import os
import pathlib

MIB = 1024 * 1024


def cpu_s(pid):
    """Seconds of a processor since its start."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_ended(pid):
    """True for a zombie too: it has run its last instruction, and stays listed until its parent asks for its exit code."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return True


def memory_bytes(pid, name="VmRSS"):
    """VmRSS: what is resident; VmHWM: the most of it so far; VmSize: address space."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split()[1]) * 1024
