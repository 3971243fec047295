"""An HTTP proxy that forwards GET requests and opens tunnels (CONNECT), and records its requests."""

import http.client
import http.server
import select
import socket
import threading
import urllib.parse


class ForwardProxy:
    """Runs in a thread until close()."""

    def __init__(self):
        self.asked = []  # (method, host and port)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), make_handler(self))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def make_handler(proxy):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            proxy.asked.append(("GET", url.netloc))
            origin = http.client.HTTPConnection(url.netloc)
            kept = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
            origin.request("GET", url._replace(scheme="", netloc="").geturl(), headers=kept)
            response = origin.getresponse()
            body = response.read()
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in ("server", "date"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            origin.close()

        def do_CONNECT(self):
            proxy.asked.append(("CONNECT", self.path))
            host, port = self.path.rsplit(":", 1)
            with socket.create_connection((host, int(port))) as origin:
                self.send_response(200)
                self.end_headers()
                relay(self.connection, origin)
            self.close_connection = True

    return Handler


def relay(one, other):
    """Copies bytes both ways until one side closes."""
    while True:
        for source in select.select([one, other], [], [])[0]:
            piece = source.recv(65536)
            if not piece:
                return
            (other if source is one else one).sendall(piece)
