"""Requests to a server of etna."""

import http.client
import json
import socket

from support.waiting import LIMIT_S, wait_until

QUESTION = {"messages": [{"role": "user", "content": "What is 34 + 58?"}]}
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Get the current weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


class Client:
    """Requests to the server at a local port, each over a connection of its own. `port` may be set after construction."""

    def __init__(self, port=None):
        self.port = port

    def request(self, method, path, body=None, **headers):
        """(status, headers, text)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            sent = json.dumps(body) if isinstance(body, dict) else body
            connection.request(method, path, sent, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def endless(self, stream):
        """Returns a socket with an endless request."""
        body = json.dumps({**QUESTION, "stream": stream, "ignore_eos": True, "max_tokens": 1900})
        sent = socket.create_connection(("127.0.0.1", self.port))
        sent.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        return sent

    def in_flight(self):
        lines = self.request("GET", "/metrics")[2].splitlines()
        return sum(int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("etna_requests_in_flight"))

    def wait_until_busy(self):
        wait_until(lambda: self.in_flight() > 0, "no request is in flight")

    def wait_until_idle(self):
        wait_until(lambda: self.in_flight() == 0, "a request is in flight")

    def wait_until_draining(self):
        wait_until(lambda: "draining" in self.request("GET", "/health")[2], "the server does not drain")

    def ask(self, path="/v1/chat/completions", **body):
        status, _, text = self.request("POST", path, {**QUESTION, **body})
        return status, json.loads(text)

    def stream(self, **body):
        """Returns the data of every event of a stream; checks that the last is [DONE]."""
        status, headers, text = self.request("POST", "/v1/chat/completions", {**QUESTION, "stream": True, **body})
        if status != 200 or not headers["content-type"].startswith("text/event-stream"):
            raise AssertionError((status, headers, text))
        blocks = text.split("\n\n")
        data = [line[6:] for block in blocks for line in block.split("\n") if line.startswith("data: ")]
        if data[-1] != "[DONE]":
            raise AssertionError(text)
        return [json.loads(one) for one in data[:-1]]
