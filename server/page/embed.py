#!/usr/bin/env python3
"""embed.py --marked FILE --highlight FILE --source FOLDER --output FOLDER FILE...: writes the page's files and its two
libraries as page.bytes, each plain and compressed, and their table as page_files.cpp. The same input makes the same output.

gzip alone: brotli would save a seventh, once for each version of etna and browser, and needs a compressor in every build."""

import argparse
import gzip
import hashlib
import pathlib
import re
import sys

GZIP_BYTES_MAX = 150_000

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}

# The files at stable addresses: they name the address of the others, which contains the hash.
HASH_MARK = b"@HASH@"
FILES_WITH_HASH = ("index.html", "worker.js")

# Where index.html names the modules that main.js imports, so that a browser asks for all at once.
MODULES_MARK = b"<!-- modules -->"

# The grammars that are kept: the names of one language in the versions of highlight.js.
LANGUAGES = (
    "bash", "c", "cpp", "cs|csharp", "css", "diff", "dockerfile", "go", "ini", "java", "javascript", "json", "kotlin", "lua",
    "makefile", "markdown", "objectivec", "perl", "php", "python", "r", "ruby", "rust", "scala", "shell", "sql", "swift",
    "typescript", "xml", "yaml",
)  # fmt: skip
# Version 9 reads C with the grammar of C++; version 10 leaves rare languages out of its one file.
OPTIONAL_LANGUAGES = {"c", "dockerfile", "scala"}

# A library that defines a variable or fills `exports`, as a module.
MODULE = """// {notice}
const module = {{ exports: {{}} }};
const library = (function (exports) {{
{text}
return typeof {name} === "undefined" ? exports : {name};
}}).call(globalThis, module.exports);
{after}export default library;
"""

# Version 9 takes the language before the code, later ones also after it; and it advertises them on the console.
OLD_HIGHLIGHT = """library.configure({ hideUpgradeWarningAcceptNoSupportOrSecurityUpdates: true });
const highlight = library.highlight;
library.highlight = (first, second, ...rest) => typeof second === "string" ? highlight(first, second, ...rest)
  : highlight(second.language, first, second.ignoreIllegals);
"""


def fail(message):
    sys.exit(f"error: {message}")


def as_module(name, notice, text, after=""):
    return MODULE.format(name=name, notice=notice, text=text.strip(), after=after)


def statements(text):
    """Version 9: the core, and `hljs.registerLanguage("NAME",function(hljs){...});` for each grammar."""
    core, *grammars = re.split(r'(?=hljs\.registerLanguage\(")', text.strip())
    for grammar in grammars:
        if not re.fullmatch(r'hljs\.registerLanguage\("[^"]+",function( \w+)?\(hljs\)\{.*\}\);', grammar, re.DOTALL):
            return None
    return core, {grammar.split('"')[1]: grammar for grammar in grammars}


def functions(text):
    """From version 10 on: the core, and `(()=>{...;hljs.registerLanguage("NAME",e)})();` for each grammar."""
    exported = re.search(r"\(module\.exports=hljs\);", text)
    if not exported:
        return None
    core, grammars, begin = text[: exported.end()], {}, exported.end()
    for end in re.finditer(r'hljs\.registerLanguage\("([^"]+)",\w+\)\s*\}\)\(\);?', text):
        grammar = text[begin : end.end()]
        if not re.match(r"(\s|/\*.*?\*/)*\(\(\)=>\{", grammar, re.DOTALL):
            return None
        grammars[end[1]] = grammar
        begin = end.end()
    return core, grammars


def highlight_module(path):
    text = path.read_text(encoding="utf-8")
    is_old = "(module.exports=hljs);" not in text
    parts = statements(text) if is_old else functions(text)
    if not parts or len(parts[1]) < len(LANGUAGES) - len(OPTIONAL_LANGUAGES):
        fail(f"{path} is not the one file of highlight.js 9, 10 or 11 with its grammars; embed.py cannot cut it")
    core, grammars = parts
    kept = []
    for names in LANGUAGES:
        found = [grammars[name] for name in names.split("|") if name in grammars]
        if not found and names not in OPTIONAL_LANGUAGES:
            fail(f"{path} has no grammar of {names}")
        kept += found
    notice = "highlight.js: BSD-3-Clause, Copyright (c) 2006 Ivan Sagalaev and others; some grammars are left out"
    return as_module("hljs", notice, core + "\n" + "\n".join(kept), OLD_HIGHLIGHT if is_old else "")


def marked_module(path):
    text = path.read_text(encoding="utf-8")
    if "marked" not in text or "Lexer" not in text:
        fail(f"{path} is not marked's UMD file")
    return as_module("marked", "marked: MIT, Copyright (c) 2011 Christopher Jeffrey and others", text)


def read_files(arguments):
    """The content by name: paths relative to the source folder, in order."""
    files = {path.relative_to(arguments.source).as_posix(): path.read_bytes() for path in arguments.files}
    if "index.html" not in files or HASH_MARK not in files["index.html"]:
        fail(f"{arguments.source}/index.html is missing, or does not name {HASH_MARK.decode()}")
    files["lib/marked.js"] = marked_module(arguments.marked).encode()
    files["lib/highlight.js"] = highlight_module(arguments.highlight).encode()
    modules = sorted(name for name in files if name.endswith(".js") and name not in ("main.js", "worker.js"))
    links = "\n".join(f'<link rel="modulepreload" href="page/{HASH_MARK.decode()}/{name}">' for name in modules)
    files["index.html"] = files["index.html"].replace(MODULES_MARK, links.encode())
    return dict(sorted(files.items()))


def hash_of(content):
    return hashlib.sha256(content).hexdigest()[:16]


def hash_of_all(files):
    return hash_of(b"".join(f"{name} {len(content)}\n".encode() + content for name, content in files.items()))


def write(folder, files, version):
    """page.bytes: the plain and the compressed content of each file, in order. Returns the compressed size of all."""
    content, rows, gzip_bytes = bytearray(), [], 0
    for name, plain in files.items():
        kind = CONTENT_TYPES.get(pathlib.PurePosixPath(name).suffix) or fail(f"{name}: a file of an unknown type")
        compressed = gzip.compress(plain, 9, mtime=0)
        gzip_bytes += len(compressed)
        rows.append(
            f'        PageFile{{.name = "{name}", .content_type = "{kind}", .hash = "{hash_of(plain)}",\n'
            f"                 .plain = {{etna_page_bytes + {len(content)}, {len(plain)}}},\n"
            f"                 .gzip = {{etna_page_bytes + {len(content) + len(plain)}, {len(compressed)}}}}},\n"
        )
        content += plain + compressed
    (folder / "page.bytes").write_bytes(content)
    (folder / "page_files.cpp").write_text(
        "// Written by server/page/embed.py.\n"
        '#include "server/page/page_files.hpp"\n\n#include <array>\n\n'
        'extern "C" const char etna_page_bytes[]; // page_files.S\n\n'
        "namespace etna::server::page {\n\n"
        f'std::string_view page_hash() {{\n    return "{version}";\n}}\n\n'
        "std::span<const PageFile> page_files() {\n    static const std::array files = {\n"
        + "".join(rows)
        + "    };\n    return files;\n}\n\n} // namespace etna::server::page\n"
    )
    return gzip_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("marked", "highlight", "source", "output"):
        parser.add_argument(f"--{option}", type=pathlib.Path, required=True)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    files = read_files(arguments)
    version = hash_of_all(files)
    for name in FILES_WITH_HASH:
        if name in files:
            files[name] = files[name].replace(HASH_MARK, version.encode())
    arguments.output.mkdir(parents=True, exist_ok=True)
    gzip_bytes = write(arguments.output, files, version)
    if gzip_bytes > GZIP_BYTES_MAX:
        fail(f"the page has {gzip_bytes} bytes compressed; at most {GZIP_BYTES_MAX} are allowed")


main()
