"""A real terminal for tests: tmux runs the screen, the test types and reads."""

import pathlib
import shlex
import subprocess

from support.processes import has_ended
from support.waiting import wait_until

WAIT_S = 60
COLUMNS, LINES = 80, 24


class Terminal:
    """Runs `command` (a list) in a new terminal, in an environment of only `variables`."""

    count = 0

    def __init__(self, command, variables):
        Terminal.count += 1
        self.socket = f"etna-test-{id(self)}-{Terminal.count}"
        inner = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), "TERM=screen", *command]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES),
                  f"{shlex.join(inner)}; echo exit code $?; exec cat")

    def tmux(self, *arguments, text=None):
        # -u: independent of the caller's locale.
        done = subprocess.run(["tmux", "-u", "-L", self.socket, *arguments], capture_output=True, encoding="utf-8", input=text,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tmux {arguments[0]}: {done.stderr}")
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Waits for processes that still run, because they may write files that the test is about to remove."""
        running = self.processes()
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, check=False)
        wait_until(lambda: all(has_ended(process) for process in running), "the program has not ended", WAIT_S)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def keys(self, *names):
        """Sends keys by tmux's names: Enter, Left, C-c, Tab, ..."""
        self.tmux("send-keys", *names)

    def paste(self, text):
        """Pastes text, bracketed if the program has enabled that."""
        self.tmux("load-buffer", "-", text=text)
        self.tmux("paste-buffer", "-p")

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def processes(self):
        """Returns the ids of the shell's children: the program, while it runs."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return [int(child) for child in pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()]

    def process(self):
        """The id of the program."""
        return self.processes()[0]

    def lines(self):
        """Returns the screen without trailing empty lines, with wrapped lines joined."""
        return self.tmux("capture-pane", "-p", "-J").rstrip().split("\n")

    def screen(self):
        return "\n".join(line.rstrip() for line in self.lines())

    def keys_until(self, expected, *names):
        """Sends keys repeatedly, because earlier input may still take effect after them."""
        sent = False

        def have_effect():
            nonlocal sent
            if sent and expected(self.screen()):
                return True
            self.keys(*names)
            sent = True
            return False

        wait_until(have_effect, lambda: self.screen_without(expected), WAIT_S, interval_s=0.5)

    def wait_for(self, expected):
        """Waits until `expected` is on the screen, or returns true for its text."""
        found = lambda screen: expected(screen) if callable(expected) else expected in screen  # noqa: E731
        return wait_until(lambda: [screen for screen in [self.screen()] if found(screen)], lambda: self.screen_without(expected), WAIT_S, 0.05)[0]

    def screen_without(self, expected):
        return f"{expected!r} is not on the screen:\n{self.screen()}"
