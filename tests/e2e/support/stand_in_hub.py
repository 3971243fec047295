"""A stand-in for the Hugging Face hub and its CDN: the same HTTP, and the faults that real ones have.

The hub listens on 127.0.0.1 and redirects a file to the CDN at localhost on another port, so that the two are different
hosts. A repository's `faults` choose what goes wrong."""

import hashlib
import http.server
import json
import socket
import ssl
import threading
import time
import urllib.parse

REVISION = "0123456789abcdef0123456789abcdef01234567"
PAGE_ENTRIES = 3


class Repository:
    """Files of one repository, by path, and its faults: a dictionary from a fault's name to its argument.

    Of every request: `token` (the only one that is let in).
    Of the listing: `html`, `listing` (this text), `listing_status`, `listed_bytes`, `listed_sha256`.
    Of the redirect: `location` (this one, with {port} of the CDN), `loop`, `portal` (a sign-in page with this status in
    place of the file, as of a network that asks its users to sign in).
    Of the file, the first N times: `status` and `times`, `retry_after`; `truncate` (bytes of each body);
    `corrupt`; `ignore_range`; `wrong_total`; `bytes_per_s`; `one_byte`; `surplus`; `change_after` (requests)."""

    def __init__(self, files, **faults):
        self.files, self.faults, self.requests = files, faults, 0


class StandInHub:
    """Runs the two servers in threads until close(). They speak https with a certificate: the paths of it and its key."""

    def __init__(self, certificate=None):
        self.scheme = "https" if certificate else "http"
        self.repositories = {}
        self.log = []  # (server's name, path, Authorization, Range)
        self.lock = threading.Lock()
        self.servers = {}
        for name, host in (("hub", "127.0.0.1"), ("cdn", "localhost")):
            server = Server((host, 0), make_handler(self, name))
            if certificate:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*certificate)
                server.socket = context.wrap_socket(server.socket, server_side=True)
            self.servers[name] = server
            threading.Thread(target=server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.servers['hub'].server_port}"

    @property
    def cdn_url(self):
        return f"{self.scheme}://localhost:{self.servers['cdn'].server_port}"

    def add(self, name, files, **faults):
        self.repositories[name] = Repository(files, **faults)
        return self.repositories[name]

    def requests(self, server=None, part=""):
        with self.lock:
            return [entry for entry in self.log if server in (None, entry[0]) and part in entry[1]]

    def forget(self):
        with self.lock:
            self.log.clear()

    def close(self):
        for server in self.servers.values():
            server.shutdown()
            server.server_close()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # a client that was killed


def make_handler(hub, server_name):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def reply(self, status, body=b"", **headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            with hub.lock:
                hub.log.append((server_name, self.path, self.headers.get("Authorization"), self.headers.get("Range")))
            path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
            parts = path.strip("/").split("/")
            try:
                if server_name == "hub" and parts[:2] == ["api", "models"] and len(parts) >= 6:
                    self.list_files("/".join(parts[2:4]))
                elif server_name == "hub" and len(parts) >= 5 and parts[2] == "resolve":
                    self.redirect("/".join(parts[:2]), "/".join(parts[4:]))
                elif server_name == "cdn" and len(parts) >= 3:
                    self.send_file("/".join(parts[:2]), "/".join(parts[2:]))
                else:
                    self.reply(404)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def repository(self, name):
            """Returns the repository, or replies and returns None."""
            repository = hub.repositories.get(name)
            token = repository and repository.faults.get("token")
            if repository is None:
                self.reply(401, X_Error_Code="RepoNotFound", X_Error_Message="Repository not found")
                return None
            if token and self.headers.get("Authorization") != f"Bearer {token}":
                status = 403 if self.headers.get("Authorization") else 401
                self.reply(status, X_Error_Code="GatedRepo", X_Error_Message="Access to this model is restricted")
                return None
            return repository

        def list_files(self, name):
            repository = self.repository(name)
            if repository is None:
                return
            faults = repository.faults
            if "listing_status" in faults and faults["listing_status"]:
                return self.reply(faults["listing_status"].pop(0), Retry_After="0")
            if "html" in faults:
                return self.reply(200, b"<!doctype html><html>Welcome to our network</html>", Content_Type="text/html")
            if "listing" in faults:
                return self.reply(200, faults["listing"].encode())
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
            begin = int(query.get("cursor", 0))
            paths = sorted(repository.files)
            entries = [self.entry(repository, path) for path in paths[begin:begin + PAGE_ENTRIES]]
            headers = {}
            if begin + PAGE_ENTRIES < len(paths):
                url = f"{hub.url}/api/models/{name}/tree/main?recursive=true&cursor={begin + PAGE_ENTRIES}"
                headers["Link"] = f'<{url}>; rel="next"'
            self.reply(200, json.dumps(entries).encode(), **headers)

        def entry(self, repository, path):
            content = repository.files[path]
            if not path.endswith(".gguf"):
                return {"type": "file", "path": path, "size": len(content), "oid": "0" * 40}
            size = repository.faults.get("listed_bytes", len(content))
            sha256 = repository.faults.get("listed_sha256", hashlib.sha256(content).hexdigest())
            return {"type": "file", "path": path, "size": size, "oid": "0" * 40,
                    "lfs": {"oid": sha256, "size": size, "pointerSize": 134}}

        def redirect(self, name, path):
            repository = self.repository(name)
            if repository is None:
                return
            if path not in repository.files:
                return self.reply(404, X_Error_Code="EntryNotFound")
            content, faults = repository.files[path], repository.faults
            location = f"{hub.cdn_url}/{name}/{urllib.parse.quote(path)}?Signature=SECRET"
            if "portal" in faults:
                return self.reply(faults["portal"], b"<html>Sign in to our network</html>", Content_Type="text/html; charset=utf-8")
            if "location" in faults:
                location = faults["location"].format(cdn=hub.cdn_url)
            if "loop" in faults:
                location = f"{hub.url}{self.path}"
            sha256 = faults.get("listed_sha256", hashlib.sha256(content).hexdigest())
            self.reply(302, Location=location, X_Repo_Commit=REVISION, X_Linked_Size=str(len(content)),
                       X_Linked_Etag=f'"{sha256}"')

        def send_file(self, name, path):
            repository = hub.repositories[name]
            faults, content = repository.faults, repository.files[path]
            with hub.lock:
                repository.requests += 1
                count = repository.requests
            if faults.get("times", 0) > 0 and count > 1:  # the first request is the client's look at the file
                faults["times"] -= 1
                return self.reply(faults["status"], Retry_After=str(faults.get("retry_after", 0)))
            if "corrupt" in faults:
                content = content[:-1] + bytes([content[-1] ^ 1])
            entity = '"changed"' if count > faults.get("change_after", count) else f'"{path}"'
            begin, end, total = 0, len(content), len(content)
            text = self.headers.get("Range")
            if text and "ignore_range" not in faults:
                first, last = text.removeprefix("bytes=").split("-")
                begin, end = int(first), min(int(last) + 1, len(content))
                if begin >= total:
                    return self.reply(416)
                self.send_response(206)
                shown = total + 1 if "wrong_total" in faults and count > 1 else total
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{shown}")
            else:
                self.send_response(200)
            body = content[begin:end] + (b"x" * 1000 if "surplus" in faults and count > 1 else b"")
            self.send_header("ETag", entity)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if "truncate" in faults and len(body) > faults["truncate"] and count > 1:
                self.wfile.write(body[:faults["truncate"]])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            self.send_body(body, faults)

        def send_body(self, body, faults):
            step = 1 if "one_byte" in faults else 16384 if "bytes_per_s" in faults else max(len(body), 1)
            for at in range(0, len(body), step):
                self.wfile.write(body[at:at + step])
                if "bytes_per_s" in faults:
                    time.sleep(step / faults["bytes_per_s"])  # the rate of a slow network

    return Handler
