#!/usr/bin/env python3
"""`etna pull` through TLS and proxies, against a stand-in hub. Usage: pull_network_test.py ETNA"""

import os
import pathlib
import subprocess
import tempfile
import unittest

from support.forward_proxy import ForwardProxy
from support.program import executable, run_tests
from support.stand_in_hub import StandInHub

LIMIT_S = 60
CONTENT = b"GGUF" + bytes(range(256)) * 9000  # more than one range


class Network(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="etna-pull-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def hub(self, **options):
        hub = StandInHub(**options)
        self.addCleanup(hub.close)
        hub.add("u/r", {"m-Q8_0.gguf": CONTENT})
        return hub

    def proxy(self):
        proxy = ForwardProxy()
        self.addCleanup(proxy.close)
        return proxy

    def certificate(self):
        """Returns the paths of a certificate for both hosts of a stand-in hub, and of its key."""
        paths = self.root / "certificate.pem", self.root / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", paths[1], "-out", paths[0]], check=True, capture_output=True, timeout=LIMIT_S)
        return paths

    def pull(self, hub, **variables):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("ETNA_", "XDG_", "HF_", "SSL_", "CURL_")) and "proxy" not in key.lower()}
        environment = {**kept, "HOME": str(self.root), "ETNA_MODELS": str(self.root / "models"), "HF_ENDPOINT": hub.url, **variables}
        return subprocess.run([executable(), "pull", "hf.co/u/r:Q8_0", "--retries", "0"], capture_output=True, text=True, timeout=LIMIT_S,
                              stdin=subprocess.DEVNULL, env=environment)

    def assert_pulled(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(pathlib.Path(result.stdout.strip()).read_bytes(), CONTENT)

    def test_a_certificate_that_is_trusted_by_name_is_enough(self):
        certificate = self.certificate()
        hub = self.hub(certificate=certificate)
        self.assertTrue(hub.url.startswith("https://"))
        self.assert_pulled(self.pull(hub, SSL_CERT_FILE=str(certificate[0])))

    def test_an_untrusted_certificate_is_refused_before_the_token_is_sent(self):
        hub = self.hub(certificate=self.certificate())
        result = self.pull(hub, HF_TOKEN="hf_secret")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"error: .*certificate.*\nhint: .*SSL_CERT_FILE")
        self.assertEqual(hub.requests(), [])

    def test_a_redirect_from_https_to_http_is_refused(self):
        certificate = self.certificate()
        hub, plain = self.hub(certificate=certificate), self.hub()
        hub.add("u/r", {"m-Q8_0.gguf": CONTENT}, location=f"{plain.cdn_url}/u/r/m-Q8_0.gguf")
        result = self.pull(hub, SSL_CERT_FILE=str(certificate[0]))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"error: .*http.*\nhint: ")
        self.assertEqual(plain.requests(), [])

    def test_http_goes_through_http_proxy(self):
        hub, proxy = self.hub(), self.proxy()
        self.assert_pulled(self.pull(hub, http_proxy=proxy.url))
        hosts = {host for method, host in proxy.asked if method == "GET"}
        self.assertEqual(hosts, {hub.url.removeprefix("http://"), hub.cdn_url.removeprefix("http://")})

    def test_https_goes_through_a_tunnel(self):
        certificate = self.certificate()
        hub, proxy = self.hub(certificate=certificate), self.proxy()
        self.assert_pulled(self.pull(hub, SSL_CERT_FILE=str(certificate[0]), HTTPS_PROXY=proxy.url))
        self.assertEqual({host for method, host in proxy.asked if method == "CONNECT"},
                         {hub.url.removeprefix("https://"), hub.cdn_url.removeprefix("https://")})

    def test_no_proxy_names_hosts_that_are_reached_directly(self):
        hub, proxy = self.hub(), self.proxy()
        self.assert_pulled(self.pull(hub, ALL_PROXY=proxy.url, NO_PROXY="localhost"))
        self.assertEqual({host for _, host in proxy.asked}, {hub.url.removeprefix("http://")})

    def test_a_proxy_that_does_not_answer_is_named(self):
        hub, proxy = self.hub(), self.proxy()
        proxy.close()
        result = self.pull(hub, http_proxy=proxy.url)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"error: .+\nhint: .*proxy")
        self.assertEqual(hub.requests(), [])


if __name__ == "__main__":
    run_tests(verbosity=2)
