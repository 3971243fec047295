#!/usr/bin/env python3
"""scripts/install.sh with a small archive in place of a release: from a folder, over HTTP, damaged, twice, and removed. Usage:
install_script_test.py"""

import functools
import hashlib
import http.server
import os
import pathlib
import platform
import shutil
import stat
import subprocess
import tarfile
import tempfile
import threading
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "install.sh"
LIMIT_S = 60
TOOLS = ["sh", "tar", "gzip", "sha256sum", "curl", "sed", "sort", "head", "grep", "find", "mktemp", "mkdir", "rm", "rmdir", "cp", "uname",
         "id", "getconf", "cut", "dirname", "ldconfig"]


class InstallScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etna-install-script-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.home = self.root / "home"
        self.prefix = self.home / ".local"
        self.home.mkdir()
        self.release = self.root / "release with a blank"
        self.make_release("0.2.0", {"share/man/man1/etna.1": "a page\n"})

    def make_release(self, version, more_files):
        """A release with a shell script as the executable."""
        shutil.rmtree(self.release, ignore_errors=True)
        self.release.mkdir()
        name = f"etna-{version}-linux-{platform.machine()}"
        files = {"bin/etna": f"#!/bin/sh\necho etna {version}\n", "share/etna/install.sh": SCRIPT.read_text(), **more_files}
        tree = self.root / name
        for path, text in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
            (tree / path).chmod(0o755 if path == "bin/etna" else 0o644)
        self.archive = self.release / f"{name}.tar.gz"
        with tarfile.open(self.archive, "w:gz") as archive:
            archive.add(tree, name)
        shutil.rmtree(tree)
        sums = f"{'0' * 64}  etna_{version}_amd64.deb\n{hashlib.sha256(self.archive.read_bytes()).hexdigest()}  {self.archive.name}\n"
        (self.release / "SHA256SUMS").write_text(sums)

    def run_script(self, *arguments, script=SCRIPT, **variables):
        """Returns the exit code, and stderr; stdout is empty."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "ETNA_PREFIX": str(self.prefix), **variables}
        done = subprocess.run(["sh", str(script), *map(str, arguments)], env=environment, capture_output=True, text=True,
                              timeout=LIMIT_S, cwd=self.root)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def files_of_home(self):
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*"))

    def test_installs_from_a_folder_prints_the_first_command_and_removes_everything(self):
        code, text = self.run_script("--from", self.release)
        self.assertEqual(code, 0, text)
        self.assertIn(f"installed etna 0.2.0 in {self.prefix}", text)
        self.assertIn(f"note: {self.prefix}/bin is not on PATH", text)
        self.assertIn(f'try: {self.prefix}/bin/etna run demo "What is 34 + 58?"', text)
        self.assertEqual(stat.S_IMODE((self.prefix / "bin/etna").stat().st_mode), 0o755)
        self.assertEqual((self.prefix / "share/man/man1/etna.1").read_text(), "a page\n")
        code, text = self.run_script("--uninstall", script=self.prefix / "share/etna/install.sh")
        self.assertEqual((code, self.files_of_home()), (0, []), text)

    def test_what_was_there_before_stays(self):
        for path in ("bin/other", "share/etna/models/m.gguf", "share/man/man1/other.1"):
            (self.prefix / path).parent.mkdir(parents=True, exist_ok=True)
            (self.prefix / path).write_text("other")
        (self.prefix / "share/doc").mkdir()
        before = self.files_of_home()
        code, text = self.run_script("--from", self.release)
        self.assertEqual(code, 0, text)
        code, text = self.run_script("--uninstall")
        self.assertEqual((code, self.files_of_home()), (0, before), text)

    def test_the_installed_copy_knows_its_prefix(self):
        other = self.home / "elsewhere"
        self.run_script("--from", self.release, f"--prefix={other}")
        code, text = self.run_script("--uninstall", script=other / "share/etna/install.sh", ETNA_PREFIX="")
        self.assertEqual((code, self.files_of_home()), (0, []), text)

    def test_folders_that_are_links_stay_links(self):
        (self.home / "dotfiles").mkdir()
        self.prefix.mkdir()
        (self.prefix / "bin").symlink_to(self.home / "dotfiles")
        before = self.files_of_home()
        code, text = self.run_script("--from", self.release)
        self.assertEqual(code, 0, text)
        self.assertTrue((self.prefix / "bin").is_symlink())
        self.assertTrue((self.home / "dotfiles/etna").exists())
        self.run_script("--uninstall")
        self.assertEqual(self.files_of_home(), before)

    def test_an_installation_that_is_cut_short_leaves_nothing(self):
        programs = self.root / "programs"
        programs.mkdir()
        tar = shutil.which("tar")
        (programs / "tar").write_text(f"""#!/bin/sh
case $* in
*--keep-directory-symlink*) mkdir -p {self.prefix}/bin && echo half >{self.prefix}/bin/etna && exit 2 ;;
esac
exec {tar} "$@"
""")
        (programs / "tar").chmod(0o755)
        code, text = self.run_script("--from", self.release, PATH=f"{programs}:{os.environ['PATH']}")
        self.assertEqual((code, self.files_of_home()), (1, []), text)
        self.assertIn(f"error: {self.prefix} could not be written to the end", text)

    def test_an_executable_of_another_origin_is_not_replaced(self):
        (self.prefix / "bin").mkdir(parents=True)
        (self.prefix / "bin/etna").write_text("other")
        code, text = self.run_script("--from", self.release)
        self.assertEqual(code, 1)
        self.assertIn("this script did not install it", text)
        self.assertEqual((self.prefix / "bin/etna").read_text(), "other")

    def test_an_upgrade_removes_files_that_the_next_release_lacks(self):
        self.run_script("--from", self.release)
        self.make_release("0.3.0", {"share/man/man7/etna-api.7": "a page\n"})
        code, text = self.run_script("--from", self.release)
        self.assertEqual(code, 0, text)
        self.assertIn("installed etna 0.3.0", text)
        self.assertFalse((self.prefix / "share/man/man1").exists())
        self.assertTrue((self.prefix / "share/man/man7/etna-api.7").exists())
        self.run_script("--uninstall")
        self.assertEqual(self.files_of_home(), [])

    def test_installs_through_a_pipe_from_an_address(self):
        handler = functools.partial(QuietHandler, directory=self.release)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {"PATH": f"{self.prefix}/bin:{os.environ['PATH']}", "HOME": str(self.home), "ETNA_PREFIX": str(self.prefix),
                       "ETNA_FROM": f"http://127.0.0.1:{server.server_port}/", "no_proxy": "*"}
        done = subprocess.run(["sh"], input=SCRIPT.read_text(), env=environment, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('try: etna run demo "What is 34 + 58?"', done.stderr)
        self.assertNotIn("is not on PATH", done.stderr)

    def test_half_a_script_from_a_pipe_does_nothing(self):
        text = SCRIPT.read_text()
        done = subprocess.run(["sh"], input=text[:text.rindex("main ")], capture_output=True, text=True, timeout=LIMIT_S,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.home), "ETNA_FROM": str(self.release)})
        self.assertEqual((done.returncode, done.stderr, self.files_of_home()), (0, "", []))

    def test_a_damaged_archive_is_not_unpacked(self):
        content = bytearray(self.archive.read_bytes())
        content[len(content) // 2] ^= 1
        self.archive.write_bytes(content)
        code, text = self.run_script("--from", self.release)
        self.assertEqual(code, 1)
        self.assertIn(f"error: {self.archive.name} does not have the hash in SHA256SUMS", text)
        self.assertEqual(self.files_of_home(), [])

    def test_a_missing_tool_is_named_with_its_package(self):
        for tool, package in (("tar", "tar"), ("sha256sum", "coreutils"), ("curl", "curl")):
            tools = self.root / f"without-{tool}"
            tools.mkdir()
            for name in TOOLS:
                if name != tool and (found := shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")):
                    (tools / name).symlink_to(found)
            code, text = self.run_script("--from", "http://127.0.0.1:9", PATH=str(tools))
            self.assertEqual(code, 1, text)
            self.assertIn(f"error: {tool} is missing", text)
            self.assertRegex(text, rf"hint: .*install {package}|hint: pacman -S {package}")

    def test_errors_name_what_is_wrong(self):
        for arguments, error in (((), "no release is named"), (("--from",), "--from needs a value"), (("--form", "x"), "unknown argument"),
                                 (("--from", self.root / "nothing"), "has no SHA256SUMS"), (("--uninstall",), "etna is not installed in")):
            code, text = self.run_script(*arguments)
            self.assertEqual(code, 1, text)
            self.assertIn(error, text)
            self.assertIn("hint: ", text)
        (self.release / "SHA256SUMS").write_text(f"{'0' * 64}  etna-0.2.0-linux-other.tar.gz\n")
        code, text = self.run_script("--from", self.release)
        self.assertEqual(code, 1)
        self.assertIn(f"error: the release has no archive for {platform.machine()}", text)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    unittest.main()
