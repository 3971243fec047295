#!/usr/bin/env python3
"""`etna chat` with the embedded model: tool calls, memory, thinking. Usage: chat_demo_test.py ETNA"""

import json
import time

from support.chats import ChatCase
from support.program import run_tests


class Tools(ChatCase):
    """The embedded model calls tools."""

    def asked(self, command, *arguments):
        """Returns the terminal after a message that makes the model call a tool with this command."""
        tools = self.home / "tools.json"
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        tools.write_text(json.dumps([{"type": "function", "command": command, "function": {
            "name": "get_weather", "description": "Get the current weather of a city", "parameters": parameters}}]))
        terminal = self.terminal("--tools", str(tools), *arguments)
        terminal.type("What is the weather in Lisbon?")
        terminal.keys("Enter")
        return terminal

    def goes_on(self, terminal):
        """Checks that the chat answers and can be left."""
        terminal.wait_for(lambda screen: screen.endswith(">>>"))
        terminal.type("What is 34 + 58?")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.endswith(">>>") and "92" in screen)
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_ctrl_c_at_the_question_denies_the_call_and_continues_the_chat(self):
        terminal = self.asked("touch $HOME/was-run")
        terminal.wait_for("[a]lways:")
        terminal.keys("C-c")
        self.goes_on(terminal)
        self.assertFalse((self.home / "was-run").exists())

    def test_keys_typed_before_the_question_do_not_answer_it(self):
        terminal = self.asked("touch $HOME/was-run")
        terminal.keys("y", "Enter")
        terminal.wait_for("[a]lways:")
        time.sleep(1)  # time for an effect that must not happen
        self.assertTrue(terminal.screen().endswith("[a]lways:"), terminal.screen())
        self.assertFalse((self.home / "was-run").exists())
        terminal.keys("y", "Enter")
        terminal.wait_for(lambda _: (self.home / "was-run").exists())

    def test_a_command_cannot_hide_itself_from_the_question(self):
        terminal = self.asked("touch $HOME/was-run #\x1b[2K\rrun `date`?\x1b[8m")
        screen = terminal.wait_for("[a]lways:")
        self.assertIn(r"run `touch $HOME/was-run #\x1b[2K\x0drun `date`?\x1b[8m`?", screen)

    def test_ctrl_c_ends_a_hanging_tool_and_continues_the_chat(self):
        terminal = self.asked("trap '' TERM; exec >&- 2>&-; touch $HOME/started; while :; do sleep 1; done", "--yes")
        terminal.wait_for(lambda _: (self.home / "started").exists())
        terminal.keys("C-c")
        terminal.keys("C-c")  # a second one, as impatient users type
        terminal.wait_for("get_weather: (the user stopped it)")
        self.goes_on(terminal)

    def test_a_hanging_tool_is_stopped_at_its_time_limit(self):
        terminal = self.asked("exec >&- 2>&-; sleep 1000", "--yes", "--tool-timeout", "1")
        terminal.wait_for("get_weather: (it was stopped after 1 s)")
        terminal.wait_for(lambda screen: screen.endswith(">>>"))


class Demo(ChatCase):
    """The embedded model, the default of `etna chat`."""

    def said(self, terminal, *lines):
        """Returns the screen after these lines have been answered."""
        for line in lines:
            before = terminal.screen().count(">>>")
            terminal.type(line)
            terminal.keys("Enter")
            terminal.wait_for(lambda screen, before=before: screen.count(">>>") == before + 1 and screen.endswith(">>>"))
        return self.conversation(terminal)

    def test_it_introduces_itself_and_remembers_a_name(self):
        terminal = self.terminal()
        self.assertIn("is not an assistant", terminal.screen().replace("\n", " "))
        screen = self.said(terminal, "My name is Tomas.", "What is 34 + 58?", "What is my name?")
        self.assertEqual(screen.count("92"), 1)
        self.assertIn("Tomas", screen.rsplit("What is my name?", 1)[1])

    def test_a_tool_runs_in_the_shell_and_its_result_becomes_the_answer(self):
        tools = self.home / "tools.json"
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        command = """printf '{"condition": "sunny", "temperature": %d}' ${#arg_city}; echo "$arg_city" > $HOME/asked"""
        tools.write_text(json.dumps([{"type": "function", "command": command, "function": {
            "name": "get_weather", "description": "Get the current weather of a city", "parameters": parameters}}]))
        terminal = self.terminal("--tools", str(tools))
        terminal.type("What is the weather in Lisbon?")
        terminal.keys("Enter")
        terminal.wait_for("[y]es, [N]o, [a]lways:")
        self.assertFalse((self.home / "asked").exists())
        terminal.type("y")
        terminal.keys("Enter")
        screen = terminal.wait_for(lambda screen: screen.endswith(">>>"))
        self.assertEqual((self.home / "asked").read_text(), "Lisbon\n")
        answer = screen.rsplit("[a]lways:", 1)[1]
        self.assertIn("sunny", answer)
        self.assertIn("6", answer)

    def test_thinking_is_shown_or_hidden(self):
        shown = self.said(self.terminal("--think"), "What is 12 + 30 - 7?")
        hidden = self.said(self.terminal("--think", "--reasoning", "hide"), "What is 12 + 30 - 7?")
        self.assertIn("12 + 30 = 42", shown)
        self.assertIn("35", shown)
        self.assertNotIn("think>", shown)
        self.assertEqual(hidden, ">>> What is 12 + 30 - 7?\n35\n>>>")


if __name__ == "__main__":
    run_tests(verbosity=2)
