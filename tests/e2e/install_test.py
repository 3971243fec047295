#!/usr/bin/env python3
"""The files of `cmake --install`, and completion in bash, zsh and fish. Usage: install_test.py ETNA BUILD

Shells that are not installed are reported as skipped."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from support.program import executable, options, run_tests
from support.terminal import Terminal
from support.waiting import LIMIT_S

BUILD = os.path.abspath(options()[0])
SHELLS = {
    "bash": ("share/bash-completion/completions/etna", ["bash", "--norc", "--noprofile"]),
    "zsh": ("share/zsh/site-functions/_etna", ["zsh", "-f"]),
    "fish": ("share/fish/vendor_completions.d/etna.fish", ["fish", "--no-config"]),
}


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="etna-install-")
        cls.root = pathlib.Path(cls.folder.name)
        cls.prefix = cls.root / "usr"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True, timeout=LIMIT_S)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Files(Installation):
    def test_program_and_man_pages_are_there(self):
        installed = [str(self.prefix / "bin" / "etna"), "--version"]
        self.assertIn(b"etna ", subprocess.run(installed, check=True, capture_output=True, timeout=LIMIT_S).stdout)
        checked_in = {page.name for page in (pathlib.Path(__file__).resolve().parents[2] / "man").iterdir()}
        installed = {page.name for section in (1, 7) for page in (self.prefix / f"share/man/man{section}").glob(f"*.{section}")}
        self.assertEqual(installed, checked_in)

    def test_a_build_of_the_target_etna_alone_creates_every_installed_file(self):
        build = pathlib.Path(BUILD)
        if not (build / "build.ninja").exists():
            self.skipTest("the build is not ninja's")
        scripts = "".join(script.read_text() for script in build.rglob("cmake_install.cmake"))
        named = " ".join(re.findall(r"file\(INSTALL [^)]* FILES ([^)]*)\)", scripts))
        made = [path for path in map(pathlib.Path, re.findall(r'"([^"]*)"', named)) if path.is_relative_to(build)]
        self.assertEqual({path.name for path in made}, {"etna", "etna.bash", "etna.zsh", "etna.fish"})
        # The command that links etna, with its post-build steps; it contains no dependency of another target.
        command = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", "etna"], check=True, capture_output=True, text=True,
                                 timeout=LIMIT_S).stdout.split()
        for path in made:
            self.assertTrue({str(path), str(path.relative_to(build))} & set(command), f"{path} is not built with etna")

    def test_completions_are_those_of_the_program(self):
        for shell, (place, _) in SHELLS.items():
            with self.subTest(shell=shell):
                script = subprocess.run([executable(), "completion", shell], check=True, capture_output=True, timeout=LIMIT_S).stdout
                self.assertEqual((self.prefix / place).read_bytes(), script)


class Completing(Installation):
    """A shell in a terminal, with a stored model, and a folder with a model, another file and a folder."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home = cls.root / "home"
        for file in ("home/.local/share/etna/models/stored.gguf", "work/local.gguf", "work/notes.txt", "work/weights/inner.gguf"):
            (cls.root / file).parent.mkdir(parents=True, exist_ok=True)
            (cls.root / file).write_bytes(b"")
        cls.variables = {"PATH": f"{cls.prefix}/bin:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "PS1": "$ ",
                         "XDG_DATA_DIRS": str(cls.prefix / "share")}

    def shell(self, name, start=None):
        """Returns a shell with completions: the installed ones, unless it starts with another command."""
        place, command = SHELLS[name]
        if shutil.which(name) is None:
            self.skipTest(f"{name} is not installed")
        terminal = Terminal(["sh", "-c", f"cd {self.root}/work && exec {' '.join(command)}"], self.variables)
        terminal.wait_for(lambda screen: screen.strip())  # the prompt: keys typed before it may be lost
        script = self.prefix / place
        ready = "function fish_prompt; echo 'ready '; end" if name == "fish" else "PS1='ready '"
        installed = {"bash": f"source {script}",
                     "zsh": f"fpath=({script.parent} $fpath); autoload -Uz compinit; compinit -u -D",
                     "fish": f"source {script}"}
        terminal.type(f"{start or installed[name]}; {ready}")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.rstrip().endswith("ready"))
        terminal.keys("C-l")
        return terminal

    def offered(self, shell, line, *expected, unexpected=(), start=None):
        """Returns the screen after Tab, twice, as bash needs it."""
        with self.shell(shell, start) as terminal:
            terminal.type(line)
            terminal.wait_for(line.rstrip())
            terminal.keys("Tab", "Tab")
            screen = terminal.wait_for(lambda text: all(word in text for word in expected))
            for word in unexpected:
                self.assertNotIn(word, screen)

    def test_commands(self):
        for shell in SHELLS:
            with self.subTest(shell=shell):
                self.offered(shell, "etna ", "run", "chat", "serve", "devices", "bench", "plan", "completion", unexpected=["notes.txt"])

    def test_models_are_stored_names_and_files(self):
        for shell in SHELLS:
            for command in ("run", "chat", "serve", "tokenize"):
                with self.subTest(shell=shell, command=command):
                    self.offered(shell, f"etna {command} ", "demo", "stored", "local.gguf", "weights", unexpected=["notes.txt"])

    def test_sourced_scripts(self):
        # zsh with and without its completion system loaded; without the installed file there is no other completion.
        for shell, start in (("bash", "source <(etna completion bash)"), ("fish", "etna completion fish | source"),
                             ("zsh", "source <(etna completion zsh)"),
                             ("zsh", "autoload -Uz compinit; compinit -u -D; source <(etna completion zsh)"),
                             ("zsh", 'eval "$(etna completion zsh)"')):
            with self.subTest(shell=shell, start=start):
                self.offered(shell, "etna ", "run", "chat", "serve", unexpected=["notes.txt"], start=start)
                self.offered(shell, "etna run ", "demo", "stored", "local.gguf", unexpected=["notes.txt"], start=start)

    def test_bash_completes_names_with_colons_and_leaves_the_word_breaks_unchanged(self):
        manifests = self.root / "home/.local/share/etna/models/manifests"
        manifests.mkdir(exist_ok=True)
        self.addCleanup(shutil.rmtree, manifests)
        for name in ("qwen3:0.6b", "qwen3:4b"):
            (manifests / f"{name}.json").write_text("{}")
        for breaks in (r"COMP_WORDBREAKS=$' \t\n\"\'><=;|&(:'", r"COMP_WORDBREAKS=$' \t\n\"\'><=;|&('"):
            with self.subTest(breaks=breaks), self.shell("bash", f"{breaks}; before=$COMP_WORDBREAKS; source <(etna completion bash)") as terminal:
                for line, expected in (("etna run qw", "etna run qwen3:"), ("etna run qwen3:0", "etna run qwen3:0.6b"),
                                       ("etna run qwen3:4", "etna run qwen3:4b"), ("etna run --draft qwen3:4", "--draft qwen3:4b")):
                    terminal.type(line)
                    terminal.keys("Tab")
                    terminal.wait_for(expected)
                    terminal.keys("C-u")
                terminal.type("etna run qwen3:")
                terminal.keys("Tab", "Tab")
                terminal.wait_for(lambda screen: "0.6b" in screen and "4b" in screen)
                terminal.keys("C-u")
                terminal.type('[[ $COMP_WORDBREAKS == "$before" ]] && echo the breaks are "same"')
                terminal.keys("Enter")
                terminal.wait_for("the breaks are same")

    def test_an_autoloaded_function_of_zsh_completes_again(self):
        with self.shell("zsh") as terminal:
            for line, expected in (("etna completion b", "etna completion bash"), ("etna completion z", "etna completion zsh")):
                terminal.type(line)
                terminal.keys("Tab")
                terminal.wait_for(expected)
                terminal.keys("C-u")

    def test_a_folder_completes_to_its_models(self):
        for shell in SHELLS:
            with self.subTest(shell=shell):
                self.offered(shell, "etna run weights/", "inner.gguf")

    def test_values_of_options(self):
        for shell in SHELLS:
            with self.subTest(shell=shell):
                self.offered(shell, "etna run demo --kv-type ", "f16", "q8_0", unexpected=["notes.txt"])
                self.offered(shell, "etna run demo --draft ", "stored", "local.gguf", unexpected=["notes.txt"])
                self.offered(shell, "etna run demo --file ", "notes.txt")


if __name__ == "__main__":
    run_tests(options()[1:], verbosity=2)
