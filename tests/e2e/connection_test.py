#!/usr/bin/env python3
"""The connections of `etna serve`: raw HTTP, misbehaving clients, TLS. Usage: connection_test.py ETNA"""

import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

from support.cases import ServerCase
from support.client import QUESTION
from support.program import executable, run_tests
from support.server import Server
from support.waiting import LIMIT_S, wait_until


class Http(ServerCase):
    def test_allow_has_head_where_get_is_allowed(self):
        status, headers, text = self.server.request("DELETE", "/v1/models")
        self.assertEqual((status, headers["allow"]), (405, "GET, HEAD"), text)
        status, headers, text = self.server.request("HEAD", "/v1/models")
        self.assertEqual((status, text), (200, ""))
        self.assertEqual(headers["content-length"], self.server.request("GET", "/v1/models")[1]["content-length"])

    def test_bodies_by_type_and_encoding(self):
        body = json.dumps(QUESTION)
        for kind in ("application/x-www-form-urlencoded", "application/json; charset=utf-8", "text/plain"):
            self.assertEqual(self.server.request("POST", "/v1/chat/completions", body, Content_Type=kind)[0], 200, kind)
        for named, header in (("gzip", {"Content_Encoding": "gzip"}), ("multipart/form-data", {"Content_Type": "multipart/form-data; boundary=x"})):
            status, _, text = self.server.request("POST", "/v1/chat/completions", body, **header)
            self.assertEqual(status, 415, text)
            self.assertIn(named, json.loads(text)["error"]["message"])

    def raw(self, sent):
        """Returns (status, body) of the first answer to these bytes."""
        with socket.create_connection(("127.0.0.1", self.server.port), LIMIT_S) as client:
            client.sendall(sent)
            answer = http.client.HTTPResponse(client)
            answer.begin()
            return answer.status, answer.read().decode()

    def test_malformed_requests_get_the_common_error_format(self):
        post = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
        for status, sent in ((400, post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
                             (400, post + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}"),
                             (400, post + b"Content-Length : 2\r\n\r\n{}"),
                             (400, post + b"\r\n"),  # no body, and the server does not wait for one
                             (405, b"BREW /live HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                             (413, post + b"Content-Length: 99999999999999999999999\r\n\r\n"),
                             (414, b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                             (431, b"GET /live HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 9000 + b"\r\n\r\n"),
                             (431, b"GET /live HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 20000 + b"\r\n"),
                             (501, post + b"Transfer-Encoding: gzip\r\n\r\n")):
            with self.subTest(sent=sent[:120]):
                begin = time.monotonic()
                got, text = self.raw(sent)
                self.assertEqual(got, status, text)
                self.assertEqual(sorted(json.loads(text)["error"]), ["code", "message", "param", "type"])
                self.assertLess(time.monotonic() - begin, 10)

    def test_targets_in_absolute_form_and_ranges(self):
        for lines in (b"GET http://localhost/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nRange: bytes=900000-\r\n\r\n"):
            status, text = self.raw(lines)
            self.assertEqual((status, json.loads(text)["object"]), (200, "list"))
        self.assertEqual(self.raw(b"GET http://evil.example/live HTTP/1.1\r\nHost: localhost\r\n\r\n")[0], 403)


class Misuse(unittest.TestCase):
    def test_a_client_that_is_killed_ends_its_generation(self):
        server = Server("--log-json")
        server.ask()
        for stream in (True, False):
            body = json.dumps({**QUESTION, "stream": stream, "ignore_eos": True, "max_tokens": 1900})
            client = subprocess.Popen(["curl", "-sN", f"http://127.0.0.1:{server.port}/v1/chat/completions", "-d", body],
                                      stdout=subprocess.PIPE)
            if stream:
                self.assertTrue(client.stdout.readline().startswith(b"data: "))
            server.wait_until_busy()
            client.kill()
            client.wait()
            client.stdout.close()
            server.wait_until_idle()
            self.assertEqual(server.in_flight(), 0)
        self.assertEqual(server.ask()[0], 200)
        lines = [json.loads(line) for line in server.log_text().splitlines() if '"path": "/v1/chat' in line or '"path":"/v1/chat' in line]
        self.assertEqual([line["outcome"] for line in lines], ["ok", "cancelled", "cancelled", "ok"], lines)
        self.assertEqual(server.stop(), 0)

    def test_a_full_queue_is_refused_with_retry_after(self):
        server = Server("--parallel", "1", "--queue", "1")
        server.ask()
        at_work = server.endless(True)
        text = b""
        while text.count(b'"content"') < 2:  # the first has the role, the second is sent when the request leaves the queue
            text += at_work.recv(4096)
        waiting = server.endless(True)
        self.assertIn(b" 200 ", waiting.recv(4096))
        status, headers, text = server.request("POST", "/v1/chat/completions", QUESTION)
        self.assertEqual((status, headers["retry-after"]), (429, "1"), text)
        self.assertEqual(json.loads(text)["error"]["code"], "rate_limit_exceeded")
        at_work.close()
        waiting.close()
        wait_until(lambda: server.ask(max_tokens=1)[0] != 429, "the queue stays full", interval_s=0.05)
        self.assertEqual(server.ask()[0], 200)
        server.stop()

    def test_missing_bodies_time_out_and_block_no_other_client(self):
        server = Server("--requests-max", "2", "--body-timeout", "3")
        server.ask()
        begun = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{"
        clients = [socket.create_connection(("127.0.0.1", server.port), LIMIT_S) for _ in range(600)]
        begin = time.monotonic()
        for client in clients:
            client.sendall(begun)
        self.assertEqual(server.request("GET", "/live")[0], 200)
        self.assertEqual(server.ask()[0], 200)
        clients[0].sendall(b" ")
        answer = http.client.HTTPResponse(clients[0])
        answer.begin()
        self.assertEqual((answer.status, sorted(json.loads(answer.read())["error"])), (408, ["code", "message", "param", "type"]))
        self.assertLess(time.monotonic() - begin, 30)
        for client in clients:
            client.close()
        server.stop()

    def test_a_health_check_is_answered_when_all_handlers_are_busy(self):
        server = Server("--requests-max", "1")
        server.ask()
        time.sleep(0.5)  # the handler of this answer ends after the answer
        with server.endless(True) as client:
            self.assertIn(b" 200 ", client.recv(4096))
            self.assertEqual(server.request("GET", "/v1/models")[0], 503)
            for path in ("/live", "/ready", "/health"):
                self.assertEqual(server.request("GET", path)[0], 200, path)
        server.stop()

    def test_a_drain_ends_within_its_timeout(self):
        server = Server("--drain-timeout", "1")
        server.ask()
        with server.endless(True) as client:
            self.assertIn(b" 200 ", client.recv(4096))
            begin = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - begin, 15)


class Tls(unittest.TestCase):
    """Python's TLS client with certificate checks, against a server with a self-signed certificate."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="etna-tls-")
        cls.certificate, cls.key = (str(pathlib.Path(cls.folder.name) / name) for name in ("certificate.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", cls.key, "-out", cls.certificate], check=True, capture_output=True, timeout=LIMIT_S)
        cls.server = Server("--tls-cert", cls.certificate, "--tls-key", cls.key, "--header-timeout", "1", "--body-max", "64K")
        cls.context = ssl.create_default_context(cafile=cls.certificate)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def connection(self):
        return http.client.HTTPSConnection("localhost", self.server.port, timeout=LIMIT_S, context=self.context)

    def ask(self, connection, **body):
        connection.request("POST", "/v1/chat/completions", json.dumps({**QUESTION, **body}))
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def test_answers_and_streams_share_one_connection(self):
        self.assertTrue(self.server.address.startswith("https://127.0.0.1:"), self.server.address)
        connection = self.connection()
        status, text = self.ask(connection)
        self.assertEqual((status, json.loads(text)["choices"][0]["message"]["content"]), (200, "92"))
        used = connection.sock
        status, text = self.ask(connection, stream=True)
        self.assertEqual(status, 200)
        self.assertTrue(text.endswith("data: [DONE]\n\n"), text)
        self.assertIs(connection.sock, used)
        connection.close()

    def test_tls_version_and_alpn_and_a_configured_limit(self):
        context = ssl.create_default_context(cafile=self.certificate)
        context.set_alpn_protocols(["h2", "http/1.1"])
        with socket.create_connection(("localhost", self.server.port), LIMIT_S) as plain, \
                context.wrap_socket(plain, server_hostname="localhost", suppress_ragged_eofs=False) as client:
            self.assertEqual(client.selected_alpn_protocol(), "http/1.1")
            client.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"
                           b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65537\r\n\r\n")
            text = b""
            while piece := client.recv(4096):  # raises without the server's close_notify
                text += piece
            self.assertTrue(text.startswith(b"HTTP/1.1 200 "), text)
            self.assertIn(b"HTTP/1.1 413 ", text)

    def test_a_client_without_tls_is_dropped_alone(self):
        neighbour = self.connection()
        self.assertEqual(self.ask(neighbour)[0], 200)
        for sent in (b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n", os.urandom(5000), b"\x16\x03\x01\x02\x00", b""):
            with socket.create_connection(("localhost", self.server.port), LIMIT_S) as client:
                client.sendall(sent)
                try:
                    while client.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
        self.assertEqual(self.ask(neighbour)[0], 200)
        neighbour.close()

    def refused(self, code, *arguments):
        done = subprocess.run([executable(), "serve", "--port", "0", *arguments], capture_output=True, timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)
        return done.stderr.decode()

    def test_unusable_certificate_files_are_reported(self):
        self.assertIn("without --tls-key", self.refused(2, "--tls-cert", self.certificate))
        self.assertIn("without --tls-cert", self.refused(2, "--tls-key", self.key))
        self.assertIn("is empty", self.refused(2, "--tls-cert", "", "--tls-key", ""))
        self.assertIn("--tls-cert: there is no file", self.refused(2, "--tls-cert", self.certificate + "x", "--tls-key", self.key))
        self.assertIn("no certificate in PEM", self.refused(1, "--tls-cert", self.key, "--tls-key", self.key))
        self.assertIn("no private key in PEM", self.refused(1, "--tls-cert", self.certificate, "--tls-key", self.certificate))
        self.assertIn("out of range", self.refused(2, "--header-timeout", "0"))
        self.assertIn("out of range", self.refused(2, "--body-max", "100"))


if __name__ == "__main__":
    run_tests(verbosity=2)
