"""CPU time and memory of a process, from /proc."""

import os
import pathlib

MIB = 1024 * 1024


def cpu_s(pid):
    """Returns the CPU seconds since the process started."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_ended(pid):
    """Returns true also for a process that is exiting or a zombie: it has no memory."""
    try:
        return "\nVmRSS:" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def memory_bytes(pid, name="VmRSS"):
    """VmRSS: resident memory; VmHWM: its peak; VmSize: address space."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name + ":")).split()[1]) * 1024
