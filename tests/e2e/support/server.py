"""A process of `etna serve`."""

import os
import pathlib
import signal
import subprocess

from support.client import Client
from support.homes import new_home
from support.program import executable
from support.waiting import LIMIT_S


class Server(Client):
    """A server on a free port, with an empty home, and a client of it."""

    def __init__(self, *arguments, before=(), home=None, wait=True):
        """`before`: a command that starts it. `home`: the home of another server. Without `wait` the caller runs read_address()."""
        super().__init__()
        self.home = new_home("etna-serve-")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ETNA_", "XDG_"))}
        self.errors = open(pathlib.Path(self.home.name) / "stderr", "w+b")
        self.process = subprocess.Popen([*before, executable(), "serve", "--port", "0", *arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.errors, env={**kept, "HOME": home or self.home.name})
        if wait:
            self.read_address()

    def read_address(self):
        """Waits until the server accepts requests."""
        self.address = self.process.stdout.readline().decode().strip()
        self.port = int(self.address.rsplit(":", 1)[1])

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.wait()

    def wait(self, keep_home=False):
        code = self.process.wait(LIMIT_S)
        self.process.stdout.close()
        self.errors.close()
        if not keep_home:
            self.home.cleanup()
        return code

    def log_text(self):
        self.errors.flush()
        return pathlib.Path(self.errors.name).read_text()
