"""The files of the project, C++ text without comments and literals, and the prose in a file."""

import os
import re
import subprocess
from dataclasses import dataclass, field

NEVER_OURS = {"build", ".git", ".cache", "__pycache__", "node_modules"}


@dataclass(frozen=True)
class Finding:
    """One broken rule, in the form that editors jump to."""

    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


@dataclass
class File:
    content: bytes
    executable: bool = False

    @property
    def text(self):
        return self.content.decode("utf-8", errors="replace")


@dataclass
class Tree:
    """Paths are relative to the root, with slashes."""

    files: dict[str, File] = field(default_factory=dict)

    @staticmethod
    def of_texts(texts, executable=()):
        return Tree({path: File(text.encode(), path in executable) for path, text in texts.items()})

    @staticmethod
    def of_folder(root):
        tree = Tree()
        for path in list_paths(root):
            full = os.path.join(root, path)
            if os.path.isfile(full):
                with open(full, "rb") as stream:
                    tree.files[path] = File(stream.read(), os.access(full, os.X_OK))
        return tree

    def matching(self, pattern):
        """(path, text) of each file whose complete path matches the regular expression, sorted."""
        for path in sorted(self.files):
            if re.fullmatch(pattern, path):
                yield path, self.files[path].text


def list_paths(root):
    """Paths of the files that git would commit; without git, of all but build folders."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        output = subprocess.run(command, capture_output=True, check=True).stdout
        return [path for path in output.decode().split("\0") if path]
    except (OSError, subprocess.CalledProcessError):
        paths = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in NEVER_OURS]
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
        return paths


TOKENS = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw>     R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)" )
  | (?P<string>  "(?:\\.|[^"\\\n])*" )
  | (?P<letter>  (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL,
)


def without(text, kinds):
    """The text with every token of these kinds replaced by blanks; line numbers stay."""

    def blank(match):
        if match.lastgroup == "delimiter" or match.group("raw") is not None:
            kind = "raw"
        else:
            kind = match.lastgroup
        return re.sub(r"[^\n]", " ", match.group()) if kind in kinds else match.group()

    return TOKENS.sub(blank, text)


def code_of(text):
    """C++ without comments and literals."""
    return without(text, {"comment", "raw", "string", "letter"})


def includes_of(text):
    """(line, name) of each #include, for both the quoted and the angled form."""
    for number, line in enumerate(without(text, {"comment", "raw"}).split("\n"), start=1):
        match = re.match(r"\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", line)
        if match:
            yield number, match.group(1)


SCRIPT = re.compile(r"scripts/[^/.]+|scripts/demo-model/[^/.]+|\.ci/.*|.*\.(py|sh|cmake)|(.*/)?CMakeLists\.txt")
STRINGS = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*')
TEST_NAMES = re.compile(r'(?:TEST_CASE|SECTION)\(\s*("[^\n]*?"(?:\s*"[^\n]*?")*)\s*[,)]|\b(?:it|describe)\(([\'"`])(.*?)\2|def test_(\w+)')


IDENTIFIERS = re.compile(r"`[^`\n]*`|\w+::\w+")  # in a comment


def prose_of(path, text):
    """(offset, prose) of each document, comment, docstring, test name and, outside of tests, string. A block of comment lines is one."""
    if re.search(r"\.(md|[1-9])$", path):
        yield 0, text
        return
    if SCRIPT.fullmatch(path):
        kinds = [r'"""(?:.*?)"""', r"(?:^[ \t]*#(?!!)[^\n]*\n?)+", r"(?<=[ \t])# [^\n]*"]
        bare, code = text, re.sub(r"(?m)^[ \t]*#[^\n]*", lambda match: " " * len(match.group()), text)
    else:
        kinds = [r"(?:^[ \t]*//[^\n]*\n?)+", r"(?<!:)//[^\n]*", r"/\*.*?\*/"]
        bare, code = without(text, {"raw", "string", "letter"}), without(text, {"comment"})
    for match in re.finditer("|".join(kinds), bare, re.MULTILINE | re.DOTALL):
        yield match.start(), IDENTIFIERS.sub(lambda name: " " * len(name.group()), re.sub(r"[/#*\"<]", " ", match.group()))
    if path.endswith(".py") and not path.startswith("tests/"):
        code = re.sub(r'"""(?:.*?)"""', lambda match: re.sub(r"[^\n]", " ", match.group()), code, flags=re.DOTALL)
    names = path.startswith("tests/")
    for match in (TEST_NAMES if names else STRINGS).finditer(code):
        group = next((i for i in (1, 3, 4) if names and match.group(i)), 0)
        yield match.start(group), re.sub(r'["_]' if group else '"', " ", match.group(group))
