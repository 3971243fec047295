#!/usr/bin/env python3
"""Grammars written to block a model for all clients. Usage: grammar_attack_test.py ETNA [ROUNDS]"""

import http.client
import json
import sys
import threading
import time

from support.cases import ServerCase
from support.client import QUESTION
from support.processes import MIB, cpu_s, memory_bytes
from support.program import number_option, run_tests
from support.waiting import LIMIT_S

ROUNDS = number_option(1)
ATTACKERS = 4
CPU_MAX_S = 1  # per refused grammar, on a machine that runs the yardstick in YARDSTICK_S
YARDSTICK_S = 0.3
CHAIN, ITEMS = 30_000, 5_000


def hostile_grammars():
    chain = "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(CHAIN))
    ends = "root ::= r0\n" + "".join(f'r{i} ::= r{i + 1} "a"\n' for i in range(CHAIN))
    items = "".join(f"(x{i})?" for i in range(ITEMS))
    schema = {"type": "string", "pattern": f"^{items}$"}
    return {
        "a chain of 30,000 rules": {"structured_outputs": {"grammar": chain + f'r{CHAIN} ::= "b"'}},
        "a chain of 30,000 rules with ends": {"structured_outputs": {"grammar": ends + f'r{CHAIN} ::= "b"'}},
        "a pattern of 5,000 items": {"structured_outputs": {"regex": items}},
        "a schema with it": {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}},
        "Lark of 68 KB": {"structured_outputs": {"grammar": "start:" + "".join(f' "x{i}"?' for i in range(6500))}},
        "GBNF alternatives of 127 KB": {"structured_outputs": {"grammar": 'root ::= "x"' + "".join(f' | "x{i}"' for i in range(12_500))}},
        "GBNF of strings that may be empty": {"structured_outputs": {"grammar": "root ::=" + "".join(f' ("x{i}" | "")' for i in range(7000))}},
    }


def yardstick_s():
    """Returns the CPU seconds of fixed work on scattered memory, a measure of this machine at this moment."""
    begin = time.process_time()
    numbers = {i * 2_654_435_761 % (1 << 32): [i] for i in range(200_000)}
    sum(numbers[key][0] for key in sorted(numbers))
    return time.process_time() - begin


def peak_mib(pid):
    return memory_bytes(pid, "VmHWM") / MIB


class Attack(ServerCase):
    def hostile(self, grammar, limit_s=LIMIT_S):
        """Returns the status of an answer with a hostile grammar; None if the client left first."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=limit_s)
        try:
            body = {**QUESTION, "max_tokens": 24, "ignore_eos": True, "reasoning_effort": "none", **grammar}
            connection.request("POST", "/v1/chat/completions", json.dumps(body))
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except TimeoutError:
            return None
        finally:
            connection.close()

    def honest(self):
        """Returns the tokens of an unrelated answer, and the longest gap between them."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=LIMIT_S)
        body = {**QUESTION, "temperature": 0, "max_tokens": 120, "ignore_eos": True, "stream": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        text, longest, last = "", 0, time.monotonic()
        for line in connection.getresponse():
            if line.startswith(b"data: {"):
                text += "".join(choice["delta"].get("content") or "" for choice in json.loads(line[6:])["choices"])
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
        connection.close()
        return text, longest

    def test_each_costs_about_a_second_at_most(self):
        self.assertEqual(self.server.ask()[0], 200)  # the model is loaded
        pid = self.server.process.pid
        for name, grammar in hostile_grammars().items():
            before = cpu_s(pid)
            status = self.hostile(grammar)
            first, before = cpu_s(pid) - before, cpu_s(pid)
            self.assertIn(status, (200, 400), name)
            # Results of one text stay cached for others: a grammar that was too expensive at first may succeed later.
            self.assertIn(self.hostile(grammar), (status, 200), name)
            again = cpu_s(pid) - before
            most = CPU_MAX_S * max(1, yardstick_s() / YARDSTICK_S)
            print(f"{name}: {status}, {first:.2f} s of a processor of {most:.2f}, {again:.2f} s again; {peak_mib(pid):.0f} MiB at most", file=sys.stderr)
            if status == 400:
                self.assertLess(first, most, name)

    def test_other_clients_are_not_slowed(self):
        alone, alone_s = self.honest()
        grammars = list(hostile_grammars().values())
        begin, cpu_before = time.monotonic(), cpu_s(self.server.process.pid)
        statuses, under_attack = [], []
        for _ in range(ROUNDS):
            attackers = [threading.Thread(target=lambda number=number: statuses.extend(
                self.hostile(grammars[(number + i) % len(grammars)]) for i in range(len(grammars)))) for number in range(ATTACKERS)]
            for attacker in attackers:
                attacker.start()
            while any(attacker.is_alive() for attacker in attackers):
                under_attack.append(self.honest())
            for attacker in attackers:
                attacker.join()
        spent = cpu_s(self.server.process.pid) - cpu_before
        print(f"{len(statuses)} hostile grammars, {len(under_attack)} other answers in {time.monotonic() - begin:.1f} s: longest wait for a token "
              f"{max(wait for _, wait in under_attack):.2f} s (alone {alone_s:.2f} s); {spent:.1f} s of a processor, "
              f"{peak_mib(self.server.process.pid):.0f} MiB at most", file=sys.stderr)
        self.assertEqual(set(statuses) - {200, 400}, set())
        self.assertEqual({text for text, _ in under_attack}, {alone})

    def test_work_ends_when_the_client_leaves(self):
        self.assertEqual(self.server.ask()[0], 200)
        pid = self.server.process.pid
        for grammar in hostile_grammars().values():
            self.hostile(grammar, limit_s=0.05)
        before = cpu_s(pid)
        time.sleep(3)  # the processor time of a given time is compared
        self.assertLess(cpu_s(pid) - before, 2.5)  # no abandoned work continues
        self.server.wait_until_idle()


if __name__ == "__main__":
    run_tests()
