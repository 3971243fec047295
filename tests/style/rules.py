"""Rules that need no compiler. Each takes a Tree and yields Findings."""

import pathlib
import re
import statistics

from tree import Finding, code_of, prose_of, without

LINES_MAX = 700
FILE_BYTES_MAX = 2_000_000

# Files over LINES_MAX: path -> the reason.
LONG_FILES = {
    "core/output/syntaxes.cpp": "one table: the families of models",
}

# Files over FILE_BYTES_MAX: path -> the reason.
LARGE_FILES = {"core/store/demo/demo.gguf": "the embedded model"}

TOP_LEVEL = {
    "cli", "core", "shaders", "server", "tests", "scripts", "man", ".ci",
    "CMakeLists.txt", "CMakePresets.json", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "NOTICE",
    ".clang-format", ".clang-tidy", ".gitignore",
}  # fmt: skip

SOURCES = r"(.*/)?(CMakeLists\.txt|[^/]+\.(cpp|hpp|comp|glsl|py|cmake|sh))|scripts/[^/]+"

# Forbidden in core/: (pattern over code without comments and literals, description).
NEVER_IN_CORE = [
    (r"\bstd::(cout|cerr|clog)\b", "prints"),
    (r"(?<![\w.>])(std::)?(v?f?printf|puts|fputs|putchar|fputc|perror)\s*\(", "prints"),
    (r"\b(fmt|std)::(print|println|vprint)\s*\(", "prints"),
    (r"(?<![\w.>])(std::|::)?(_?exit|_Exit|quick_exit|abort|terminate)\s*\(", "ends the process"),
    (r"(?<![\w.>])(std::|::)?(secure_)?getenv\s*\(|\benviron\b", "reads the environment"),
]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def check_top_level(tree):
    for entry in sorted({path.split("/")[0] for path in tree.files} - TOP_LEVEL):
        yield Finding(entry, 1, "not in the fixed list of top-level entries")


def check_core_is_silent(tree):
    for path, text in tree.matching(r"core/.*\.(cpp|hpp)"):
        code = code_of(text)
        for pattern, verb in NEVER_IN_CORE:
            for match in re.finditer(pattern, code):
                yield Finding(path, line_of(code, match.start()), f"core/ never {verb}: {match.group().strip()}")


def check_headers(tree):
    for path, text in tree.matching(r".*\.hpp"):
        bare = without(text, {"comment"}).strip()
        if not bare.startswith("#pragma once"):
            yield Finding(path, 1, "a header begins with #pragma once")
        if not re.search(r"//|/\*", text):
            yield Finding(path, 1, "a header has a comment about its purpose")


def check_shader_headers(tree):
    """A shader opens with a comment; a kernel's gives formula, shapes and the grid of workgroups."""
    for path, text in tree.matching(r"shaders/.*\.(comp|glsl)"):
        match = re.match(r"\s*(?:#version[^\n]*\n\s*)?((?://[^\n]*\n?)+|/\*.*?\*/)", text, re.DOTALL)
        if not match:
            yield Finding(path, 1, "a shader begins with a comment")
        elif path.endswith(".comp"):
            for word, pattern in (("the grid", r"(?i)\bgrid\b"), ("shapes as [rows, columns]", r"\[[^\]\n]+\]")):
                if not re.search(pattern, match.group(1)):
                    yield Finding(path, 1, f"a kernel's first comment gives {word}")


def check_sizes(tree):
    for path, text in tree.matching(SOURCES):
        lines = text.count("\n")
        if lines > LINES_MAX and path not in LONG_FILES:
            yield Finding(path, lines, f"{lines} lines; {LINES_MAX} is the limit without a reason in tests/style/rules.py")
    for path, file in sorted(tree.files.items()):
        if len(file.content) > FILE_BYTES_MAX and path not in LARGE_FILES:
            yield Finding(path, 1, f"{len(file.content)} bytes; {FILE_BYTES_MAX} is the limit")
    for path in sorted(set(LONG_FILES) - {p for p, t in tree.matching(SOURCES) if t.count("\n") > LINES_MAX}):
        yield Finding("tests/style/rules.py", 1, f"{path} is in LONG_FILES, but not long")


def size_summary(tree):
    """Returns one line about the C++ files."""
    counts = [text.count("\n") for _, text in tree.matching(r"(core|cli|server|tests)/.*\.(cpp|hpp)")]
    if not counts:
        return "no C++ files"
    return f"{len(counts)} C++ files: median {statistics.median(counts):.0f} lines, longest {max(counts)}"


# Folders of one machine, and hosts of package registries, by the shape of their names.
MACHINE_PATH = re.compile(r"(?<![\w.~$})-])/(work|home|root|Users|mnt|srv)/[\w.]")
OUTSIDE_DATA = re.compile(r"\.\./shared\b")
REGISTRY_HOST = re.compile(
    r"\b(deb|ftp|archive|security|snapshot|ports|mirrors?|registry|packages|pkgs?|proxy|index|files|static)"
    r"\.([a-z0-9-]+\.)+(org|com|net|io|dev)\b"
)


def check_addresses(tree):
    for path, file in sorted(tree.files.items()):
        if path.startswith("tests/data/") and not path.endswith(".md") or b"\0" in file.content:
            continue
        for number, line in enumerate(file.text.split("\n"), start=1):
            if MACHINE_PATH.search(line):
                yield Finding(path, number, "a path of one machine")
            if REGISTRY_HOST.search(line):
                yield Finding(path, number, "a package registry's host, which belongs to the machine's configuration")
            if OUTSIDE_DATA.search(line) and path != ".ci/run":
                yield Finding(path, number, "only .ci/run may refer to folders next to the checkout")


# What would make markup or code of text, load something from elsewhere, or need a tool of npm.
PAGE_FORBIDDEN = {
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc": "makes markup of text",
    r"\beval\(|new Function|setTimeout\(['\"`]": "makes code of text",
    r"""\bon\w+="|\bstyle="|<script(?![^>]*\bsrc=)""": "is inline, which the page's policy refuses",
    r"""["'(](https?:)?//(?!www\.w3\.org/2000/svg")""": "is an address of another host",
    r"""\bfrom ["'](?!\.{1,2}/)|\brequire\(""": "imports a package; files are imported by relative addresses",
}


def check_page(tree):
    for path, text in tree.matching(r"server/page/.*\.(js|css|html)"):
        for number, line in enumerate(text.split("\n"), start=1):
            for pattern, reason in PAGE_FORBIDDEN.items():
                if found := re.search(pattern, line):
                    yield Finding(path, number, f"'{found[0]}' {reason}")


def check_scripts(tree):
    for path, text in tree.matching(r"scripts/[^/]+|\.ci/[^/]+"):
        if re.search(r"\.\w+$", path.rsplit("/", 1)[1]):
            continue  # sourced, or run by its interpreter
        if not tree.files[path].executable:
            yield Finding(path, 1, "has no run bit")
        if not text.startswith("#!/usr/bin/env "):
            yield Finding(path, 1, "has no '#!/usr/bin/env' line")
        if not re.search(r"^(set -euo pipefail|source .*prelude\.sh.*)$", text, re.MULTILINE) and "python3" not in text[:40]:
            yield Finding(path, 1, "neither sets -euo pipefail nor sources prelude.sh")


# The functions that wait for something: every other sleep says why time must pass.
WAITING = {"tests/e2e/support/waiting.py", "tests/support/eventually.hpp"}


def check_tests(tree):
    for path, text in tree.matching(r"tests/e2e/(.*/)?[^/]+\.py"):
        for match in re.finditer(r"^\s*(import|from) (\w+_test)\b", text, re.MULTILINE):
            yield Finding(path, line_of(text, match.start(2)), f"imports the program {match[2]}; what programs share is in tests/e2e/support")
    for path, text in tree.matching(r"tests/(?!style/).*\.(cpp|hpp|py)"):
        for number, line in enumerate(text.split("\n"), start=1):
            if path not in WAITING and re.search(r"\btime\.sleep\(|::sleep_(for|until)\(", line) and not re.search(r" (#|//) ", line):
                yield Finding(path, number, "a sleep without a comment; wait with wait_until() or eventually(), or say why time must pass")


FIRST_SCREEN_LINES = 24
FIRST_COMMANDS = ("scripts/quickstart", "scripts/test")


def check_first_screen(tree):
    """README's first screen names the commands that build etna and test it."""
    for path, text in tree.matching(r"README\.md"):
        screen = "\n".join(text.split("\n")[:FIRST_SCREEN_LINES])
        for command in FIRST_COMMANDS:
            if not re.search(rf"`{command}`", screen):
                yield Finding(path, 1, f"does not name `{command}` in its first {FIRST_SCREEN_LINES} lines")


# The folders and files to which phrases.txt applies.
PROSE_ROOMS = {
    "core", "server", "cli", "shaders", "tests", "scripts", "man", ".ci",
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
}  # fmt: skip

# Files that contain the phrases as data: path -> the reason.
PROSE_DATA = {
    "tests/style/style_test.py": "its cases",
    "scripts/demo-model/README.md": "quotes stories of the model",
    "tests/data/templates/language.py": "templates with tests of Jinja such as `is none`",
}


def phrases():
    """(pattern, better) of each line of phrases.txt."""
    for line in (pathlib.Path(__file__).parent / "phrases.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            phrase, better = line.split(" -> ")
            yield re.compile(rf"\b({phrase})\b".replace(" ", r"\s+")), better


def check_prose(tree):
    """Comments, documents, test names and the product's strings are in the field's English."""
    patterns = list(phrases())
    rooms = "|".join(re.escape(room) + ("" if room.endswith(".md") else "/.*") for room in sorted(PROSE_ROOMS))
    for path, text in tree.matching(rooms):
        if path in PROSE_DATA or not re.search(r"(^|/)[^/.]+$|\.(cpp|hpp|py|mjs|sh|md|comp|glsl|[1-9])$|CMakeLists\.txt$", path):
            continue
        if "/corpus/" in path:
            continue
        for offset, prose in prose_of(path, text):
            for pattern, better in patterns:
                for match in pattern.finditer(prose.lower()):
                    words = " ".join(match.group().split())
                    yield Finding(path, line_of(text, offset + match.start()), f"'{words}': better {better}")
