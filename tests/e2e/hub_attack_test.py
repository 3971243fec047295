#!/usr/bin/env python3
"""`etna pull` against a hub that never ends, lies, or redirects inwards. Usage: hub_attack_test.py ETNA"""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

from support.program import executable, run_tests

LIMIT_S = 100
CONTENT = b"GGUF" + bytes(range(256)) * 900
SUM = "0" * 64
PUBLIC = "203.0.113.7"  # for documentation only (RFC 5737): reached by a proxy that is part of the test


class Peer:
    """An HTTP server of one function, which gets the path and a connection, and closes it. Records the paths."""

    def __init__(self, answer, host="127.0.0.1"):
        self.answer, self.paths = answer, []
        self.listener = socket.create_server((host, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                head = b""
                while b"\r\n\r\n" not in head and (piece := connection.recv(65536)):
                    head += piece
                if head:
                    path = head.split()[1].decode()
                    self.paths.append(path)
                    self.answer(path, connection)
            except OSError:
                pass  # the client has enough

    def close(self):
        self.listener.close()


def reply(connection, status, body=b"", **headers):
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close",
             *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def endless(connection, head, piece=b"x" * 65536):
    """Sends until the client closes the connection."""
    connection.sendall(head.replace("\n", "\r\n").encode())
    while True:
        connection.sendall(piece)


def own_address():
    """An address of this machine in a network; None if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


class Attacks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etna-hub-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def peer(self, answer, host="127.0.0.1"):
        peer = Peer(answer, host)
        self.addCleanup(peer.close)
        return peer

    def pull(self, name, **variables):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("ETNA_", "XDG_", "HF_")) and "proxy" not in key.lower()}
        environment = {**kept, "HOME": str(self.root), "ETNA_MODELS": str(self.root / "models"), **variables}
        return subprocess.run([executable(), "pull", name, "--retries", "0"], capture_output=True, text=True, timeout=LIMIT_S,
                              stdin=subprocess.DEVNULL, env=environment)

    def refused(self, result, pattern):
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stderr, pattern)
        stored = self.root / "models" / "manifests"
        self.assertEqual(list(stored.iterdir()) if stored.exists() else [], [])
        return result.stderr


class Endless(Attacks):
    def test_a_body_without_end_after_206(self):
        head = f"HTTP/1.1 206 X\nContent-Range: bytes 0-0/{len(CONTENT)}\nETag: \"a\"\n\n"
        hub = self.peer(lambda path, connection: endless(connection, head))
        self.refused(self.pull(f"http://127.0.0.1:{hub.port}/m.gguf"), r"error: .*(more bytes than|asked for)")

    def test_a_body_without_end_after_each_error(self):
        for status in (404, 500, 302):
            hub = self.peer(lambda path, connection: endless(connection, f"HTTP/1.1 {status} X\nLocation: /m.gguf\n\n"))
            self.refused(self.pull(f"http://127.0.0.1:{hub.port}/m.gguf"), r"error: .*(answers|redirects more than)")

    def test_a_listing_without_end(self):
        hub = self.peer(lambda path, connection: endless(connection, "HTTP/1.1 200 X\n\n[", b" " * 65536))
        self.refused(self.pull("hf.co/u/r", HF_ENDPOINT=f"http://127.0.0.1:{hub.port}"), "a page has more than")

    def test_pages_without_end(self):
        def answer(path, connection):
            reply(connection, 200, b"[]", Link=f'<http://127.0.0.1:{hub.port}{path}>; rel="next"')
        hub = self.peer(answer)
        self.refused(self.pull("hf.co/u/r", HF_ENDPOINT=f"http://127.0.0.1:{hub.port}"), "more than 100 pages")
        self.assertLessEqual(len(hub.paths), 100)

    def test_headers_without_end(self):
        line = f"X-Linked-Etag: {'x' * 1000}\r\n".encode()
        for head, piece in (("HTTP/1.1 200 X\n", line), ("", b"HTTP/1.1 100 Continue\r\n\r\n"),
                            ("", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")):
            hub = self.peer(lambda path, connection: endless(connection, head, piece))
            self.refused(self.pull(f"http://127.0.0.1:{hub.port}/m.gguf"), "error: .*header")


class Redirects(Attacks):
    INWARDS = ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0.0.0.0",
               "169.254.169.254", "10.0.0.1", "192.168.0.1", "[fd00::1]", "[fe80::1]")

    def test_a_public_hub_does_not_lead_inwards_through_a_proxy(self):
        for host in self.INWARDS:
            def answer(path, connection):
                reply(connection, 302, Location=f"http://{host}:9/secret.gguf")
            proxy = self.peer(answer)
            with self.subTest(host=host):
                error = self.refused(self.pull(f"http://{PUBLIC}/m.gguf", http_proxy=f"http://127.0.0.1:{proxy.port}"),
                                     "private network or to this machine")
                self.assertNotIn("SECRET", error)
                self.assertEqual(proxy.paths, [f"http://{PUBLIC}/m.gguf"])

    def test_a_hub_in_a_network_does_not_lead_to_this_machine(self):
        address = own_address()
        if address is None:
            self.skipTest("this machine has no address in a network")
        inner = self.peer(lambda path, connection: reply(connection, 404, X_Error_Message="SECRET"))
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            def answer(path, connection):
                reply(connection, 307, Location=f"http://{host}:{inner.port}/secret.gguf")
            hub = self.peer(answer, address)
            self.refused(self.pull(f"http://{address}:{hub.port}/m.gguf"), "private network or to this machine")
        self.assertEqual(inner.paths, [])

    def test_other_schemes_are_refused(self):
        for location in ("file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "dict://127.0.0.1/x"):
            hub = self.peer(lambda path, connection: reply(connection, 302, Location=location))
            with self.subTest(location=location):
                error = self.refused(self.pull(f"http://127.0.0.1:{hub.port}/m.gguf"), r"error: .*redirects to an")
                self.assertNotIn("root:", error)

    def test_a_proxy_on_this_machine_stays_possible(self):
        proxy = self.peer(lambda path, connection: reply(connection, 404, X_Error_Message="no such file"))
        self.refused(self.pull(f"http://{PUBLIC}/m.gguf", http_proxy=f"http://127.0.0.1:{proxy.port}"), "no such file")


class Words(Attacks):
    def test_the_words_of_the_hub_are_shown_in_bounds(self):
        words = "Access is restricted. " * 150
        hub = self.peer(lambda path, connection: reply(connection, 403, X_Error_Message=words + "\x1b[31m"))
        error = self.refused(self.pull(f"http://127.0.0.1:{hub.port}/m.gguf"), "Access is restricted")
        self.assertLess(len(error), 1000)
        self.assertNotIn("\x1b", error)

    def test_the_words_of_the_server_behind_a_redirect_are_not_shown(self):
        inner = self.peer(lambda path, connection: reply(connection, 404, b"SECRET", X_Error_Message="SECRET"))
        hub = self.peer(lambda path, connection: reply(connection, 302, Location=f"http://127.0.0.1:{inner.port}/x"))
        error = self.refused(self.pull(f"http://127.0.0.1:{hub.port}/m.gguf"), "answers 404")
        self.assertEqual(inner.paths, ["/x"])
        self.assertNotIn("SECRET", error)


class Names(Attacks):
    def test_a_name_that_is_too_long_is_found_before_the_download(self):
        for path in ("x" * 250 + ".gguf", "/".join("x" * 60 for _ in range(4)) + ".gguf"):
            listing = [{"type": "file", "path": path, "size": len(CONTENT),
                        "lfs": {"oid": SUM, "size": len(CONTENT), "pointerSize": 1}}]

            def answer(path, connection):
                if path.startswith("/api/"):
                    reply(connection, 200, json.dumps(listing).encode())
                else:
                    reply(connection, 206, CONTENT[:1], Content_Range=f"bytes 0-0/{len(CONTENT)}",
                          X_Linked_Etag=f'"{SUM}"')
            hub = self.peer(answer)
            self.refused(self.pull("hf.co/u/r", HF_ENDPOINT=f"http://127.0.0.1:{hub.port}"), "as a file's name this has")
            self.assertLessEqual(len(hub.paths), 2)
            self.assertEqual(list((self.root / "models").rglob("*.part")), [])


if __name__ == "__main__":
    run_tests(verbosity=2)
