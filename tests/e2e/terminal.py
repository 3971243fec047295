"""A real terminal for tests: tmux holds the screen, the test types and reads."""

import pathlib
import shlex
import subprocess
import time

from processes import has_ended

WAIT_S = 60
COLUMNS, LINES = 80, 24


class Terminal:
    """`command` (a list) in a terminal of its own, in an environment that holds nothing but `variables`."""

    count = 0

    def __init__(self, command, variables):
        Terminal.count += 1
        self.socket = f"etna-test-{id(self)}-{Terminal.count}"
        inner = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), "TERM=screen", *command]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES),
                  f"{shlex.join(inner)}; echo exit code $?; exec cat")

    def tmux(self, *arguments, text=None):
        # -u: whatever the locale of who runs the test.
        done = subprocess.run(["tmux", "-u", "-L", self.socket, *arguments], capture_output=True, encoding="utf-8", input=text,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tmux {arguments[0]}: {done.stderr}")
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Waits for processes that still run: they may write files, which the test removes next."""
        running = self.processes()
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, check=False)
        end = time.monotonic() + WAIT_S
        while not all(has_ended(process) for process in running) and time.monotonic() < end:
            time.sleep(0.02)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def keys(self, *names):
        """Names as tmux has them: Enter, Left, C-c, Tab, ..."""
        self.tmux("send-keys", *names)

    def paste(self, text):
        """As a person pastes: bracketed where the program asked for it."""
        self.tmux("load-buffer", "-", text=text)
        self.tmux("paste-buffer", "-p")

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def processes(self):
        """The ids of the shell's children: of the program, until it ends."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return [int(child) for child in pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()]

    def process(self):
        """The id of the program."""
        return self.processes()[0]

    def lines(self):
        """The screen without empty lines at its end; a line that the terminal broke is joined again."""
        return self.tmux("capture-pane", "-p", "-J").rstrip().split("\n")

    def screen(self):
        return "\n".join(line.rstrip() for line in self.lines())

    def keys_until(self, wanted, *names):
        """Types keys again and again, for what is typed ahead may still have its effect after them."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            self.keys(*names)
            time.sleep(0.5)
            if wanted(self.screen()):
                return
        self.wait_for(wanted)

    def wait_for(self, wanted):
        """Until `wanted` stands on the screen, or is true of its text."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            screen = self.screen()
            if wanted(screen) if callable(wanted) else wanted in screen:
                return screen
            time.sleep(0.05)
        raise AssertionError(f"waited {WAIT_S} s for {wanted!r}; the screen:\n{self.screen()}")
