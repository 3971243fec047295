#!/usr/bin/env python3
"""How server/page/embed.py cuts, compresses and names the page's files. Usage: embed_test.py EMBED"""

import gzip
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

KEPT = ["bash", "cpp", "cs", "css", "diff", "go", "ini", "java", "javascript", "json", "kotlin", "lua", "makefile", "markdown",
        "objectivec", "perl", "php", "python", "r", "ruby", "rust", "shell", "sql", "swift", "typescript", "xml", "yaml"]  # fmt: skip
MARKED = 'exports.Lexer=class{};exports.marked="a parser";'


def version_9(languages):
    return "var hljs=function(e){return e}({});" + "".join(
        f'hljs.registerLanguage("{name}",function(hljs){{return"{name}"}});' for name in languages)


def version_10(languages):
    return "var hljs={}\n;\"object\"==typeof exports&&(module.exports=hljs);\n" + "\n".join(
        f'(()=>{{var e=(()=>"{name}")();hljs.registerLanguage("{name}",e)\n}})();' for name in languages)


class Embed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("index.html", '<script src="page/@HASH@/main.js"></script>')
        self.write("main.js", "start()")
        self.write("worker.js", 'const version = "@HASH@"')
        self.marked, self.highlight = MARKED, version_9(KEPT + ["matlab"])

    def write(self, name, text):
        (self.root / name).write_text(text)

    def embed(self, code=0, output="out"):
        """Returns the files by name, or the error."""
        for name, text in (("marked.lib", self.marked), ("highlight.lib", self.highlight)):
            self.write(name, text)
        files = sorted(path for path in self.root.iterdir() if path.suffix in (".html", ".js", ".css"))
        run = subprocess.run([sys.executable, "-B", EMBED, "--marked", self.root / "marked.lib", "--highlight", self.root / "highlight.lib",
                              "--source", self.root, "--output", self.root / output, *files], capture_output=True, text=True)
        self.assertEqual(run.returncode, code, run.stderr)
        if code:
            return run.stderr
        content = (self.root / output / "page.bytes").read_bytes()
        found = {}
        table = (self.root / output / "page_files.cpp").read_text()
        part = r"etna_page_bytes \+ (\d+), (\d+)\}"
        for name, *numbers in re.findall(r'\.name = "([^"]+)".*?' + part + ".*?" + part, table, re.DOTALL):
            plain_at, plain_bytes, gzip_at, gzip_bytes = map(int, numbers)
            plain = content[plain_at:plain_at + plain_bytes]
            self.assertEqual(gzip.decompress(content[gzip_at:gzip_at + gzip_bytes]), plain)
            found[name] = plain.decode()
        self.version = re.search(r'return "([0-9a-f]{16})"', table)[1]
        return found

    def test_the_document_names_every_module(self):
        self.write("index.html", "<!-- modules --><script src=page/@HASH@/main.js></script>")
        self.write("chat.js", "")
        links = re.findall(r'rel="modulepreload" href="page/([0-9a-f]{16})/([^"]+)"', self.embed()["index.html"])
        self.assertEqual(links, [(self.version, name) for name in ("chat.js", "lib/highlight.js", "lib/marked.js")])

    def test_both_forms_of_highlight_js_are_cut_to_the_kept_languages(self):
        for form in (version_9, version_10):
            self.highlight = form(["matlab", *KEPT, "zephir"])
            cut = self.embed()["lib/highlight.js"]
            self.assertEqual(re.findall(r'registerLanguage\("(\w+)"', cut), KEPT)
            self.assertNotIn("zephir", cut)
            self.assertTrue(cut.endswith("export default library;\n"))

    def test_another_form_or_a_missing_language_is_an_error_that_names_the_file(self):
        for text, message in (("var hljs={};", "cannot cut it"), (version_9(KEPT).replace("function(hljs)", "hljs=>", 1), "cannot cut it"),
                              (version_9(KEPT[:5]), "cannot cut it"),
                              (version_9([name.replace("python", "cobol") for name in KEPT]), "has no grammar of python"),
                              (version_10([name.replace("rust", "cobol") for name in KEPT]), "has no grammar of rust")):
            self.highlight = text
            error = self.embed(1)
            self.assertIn(message, error)
            self.assertIn("highlight.lib", error)
        self.highlight, self.marked = version_9(KEPT), "nothing"
        self.assertIn("marked.lib", self.embed(1))

    def test_equal_files_make_equal_bytes_and_any_change_another_version(self):
        first = self.embed(output="one")
        version = self.version
        self.embed(output="two")
        self.assertEqual(self.version, version)
        for name in ("page.bytes", "page_files.cpp"):
            self.assertEqual((self.root / "one" / name).read_bytes(), (self.root / "two" / name).read_bytes())
        self.assertEqual(first["index.html"], f'<script src="page/{version}/main.js"></script>')
        self.assertEqual(first["worker.js"], f'const version = "{version}"')
        self.write("main.js", "start(1)")
        self.embed()
        self.assertNotEqual(self.version, version)
        version = self.version
        self.highlight = version_9(KEPT).replace("return e", "return (e)")
        self.embed()
        self.assertNotEqual(self.version, version)

    def test_a_page_over_the_limit_is_an_error(self):
        self.write("large.js", "".join(random.Random(1).choices("0123456789abcdef", k=400_000)))
        self.assertRegex(self.embed(1), r"the page has \d{6} bytes compressed; at most 150000 are allowed")

    def test_a_document_without_the_mark_is_an_error(self):
        self.write("index.html", '<script src="page/main.js"></script>')
        self.assertIn("does not name @HASH@", self.embed(1))


if __name__ == "__main__":
    EMBED = sys.argv.pop(1)
    unittest.main()
