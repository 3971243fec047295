#!/usr/bin/env python3
"""`etna chat` in a terminal, as users run it, and through a pipe, as scripts do. Usage: chat_test.py ETNA

ETNA_TEST_ROUNDS is the number of rounds of resizing, typing, interrupting and leaving; default 3."""

import json
import os
import random
import signal
import subprocess

from support.chats import GREEDY, STORIES, ChatCase, end_token, piped, variables
from support.program import executable, run_tests
from support.waiting import LIMIT_S

ROUNDS = int(os.environ.get("ETNA_TEST_ROUNDS", "3"))


class Typing(ChatCase):
    def test_a_conversation_looks_as_it_should(self):
        first, second = self.answers("Hello", "And then?")
        terminal = self.terminal(*GREEDY)
        terminal.type("Hello")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.type("And then?")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 3)
        self.assertEqual(self.conversation(terminal), f">>> Hello\n{first}\n>>> And then?\n{second}\n>>>")
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_a_line_can_be_edited_and_recalled(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("Helö wurld")
        terminal.keys("Left", "Left", "Left", "BSpace", "o", "End", "!", "Home")
        terminal.keys("C-f", "C-f", "C-f", "BSpace", "l", "l")
        terminal.wait_for(">>> Hellö world!")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.keys("Up")
        terminal.wait_for(lambda screen: screen.count("Hellö world!") == 2)
        terminal.keys("C-c")
        terminal.wait_for(lambda screen: screen.count(">>>") == 3)
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")
        self.assertEqual((self.home / ".local/state/etna/history").stat().st_mode & 0o777, 0o600)
        again = self.terminal(*GREEDY)
        again.keys("Up")
        again.wait_for(">>> Hellö world!")

    def test_no_history_stores_nothing(self):
        terminal = self.terminal(*GREEDY, "--no-history")
        terminal.type("secret")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")
        self.assertFalse((self.home / ".local/state").exists())

    def test_tab_completes_commands(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("/und")
        terminal.keys("Tab")
        terminal.wait_for(">>> /undo")
        terminal.keys("C-c")
        terminal.type("/s")
        terminal.keys("Tab")
        terminal.wait_for("/set  /show  /system  /save  /stats")

    def test_pasted_or_quoted_text_is_one_message(self):
        terminal = self.terminal(*GREEDY)
        terminal.paste("first line\nsecond line")
        terminal.wait_for("second line")
        self.assertEqual(terminal.screen().count(">>>"), 1)  # nothing is sent before Enter
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.type('"""third')
        terminal.keys("Enter")
        terminal.wait_for("...")
        terminal.type('fourth"""')
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 3)
        terminal.type("/show messages")
        terminal.keys("Enter")
        screen = terminal.wait_for("user      fourth")
        for line in ("user      first line\nuser      second line\n", "user      third\nuser      fourth\n"):
            self.assertIn(line, screen)


    def test_a_file_name_with_spaces_is_completed(self):
        (self.home / "my notes.txt").write_text("The name is Bob.\n")
        terminal = self.terminal(*GREEDY)
        terminal.type("/file ~/my")
        terminal.keys("Tab")
        terminal.wait_for(">>> /file ~/my notes.txt")
        terminal.keys("Enter")
        terminal.wait_for("my notes.txt (17 bytes) is attached to your next message")

    def test_two_chats_share_one_history(self):
        first, second = self.terminal(*GREEDY), self.terminal(*GREEDY)
        for terminal, message in ((first, "said in the first"), (second, "said in the second"), (first, "and again")):
            before = terminal.screen().count(">>>")
            terminal.type(message)
            terminal.keys("Enter")
            terminal.wait_for(lambda screen, before=before: screen.count(">>>") == before + 1)
        for terminal in (first, second):
            terminal.keys("C-d")
            terminal.wait_for("exit code 0")
        again = self.terminal(*GREEDY)
        for message in ("and again", "said in the second", "said in the first"):
            again.keys("Up")
            again.wait_for(f">>> {message}")


class BrokenPastes(ChatCase):
    """A paste without its end marker."""

    def pasted(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("\x1b[200~hello")
        return terminal

    def leaves(self, terminal):
        terminal.wait_for(lambda screen: screen.count(">>>") == 2 and screen.endswith(">>>"))
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_a_pause_ends_it_and_keeps_the_text(self):
        terminal = self.pasted()
        terminal.wait_for(">>> hello")
        terminal.type(" there")
        terminal.keys("Home", "O", "C-d")
        terminal.wait_for(">>> Oello there")
        terminal.keys("C-c")
        self.leaves(terminal)

    def test_ctrl_c_discards_it(self):
        terminal = self.pasted()
        terminal.keys("C-c")
        self.leaves(terminal)

    def test_sigint_discards_it(self):
        terminal = self.pasted()
        os.kill(terminal.process(), signal.SIGINT)
        self.leaves(terminal)

    def test_an_end_signal_ends_the_chat(self):
        terminal = self.pasted()
        os.kill(terminal.process(), signal.SIGTERM)
        terminal.wait_for("exit code 143")


class Stopping(ChatCase):
    def test_ctrl_c_stops_an_answer_and_continues_the_chat(self):
        # The model never ends, so that there is an answer to stop.
        terminal = self.terminal(STORIES, "--chat-template", "vicuna", "--temp", "0", "--logit-bias", f"{end_token()}=-inf")
        terminal.type("Tell me more")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: len(screen.splitlines()) > 5)
        terminal.keys("C-c")
        terminal.wait_for(lambda screen: screen.rstrip().endswith(">>>"))
        terminal.type("/stats")
        terminal.keys("Enter")
        terminal.wait_for("answer ")
        terminal.type("/set max-tokens 3")
        terminal.keys("Enter")
        terminal.type("Hello")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.rstrip().endswith(">>>") and ">>> Hello" in screen)
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_ctrl_c_discards_a_line(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("not this")
        terminal.keys("C-c")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.type("/show messages")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 3)
        self.assertNotIn("user", self.conversation(terminal))


class Commands(ChatCase):
    def test_undo_save_and_load(self):
        first, _ = self.answers("Hello", "And then?")
        saved = self.home / "saved.json"
        terminal = self.terminal(*GREEDY)
        for number, line in enumerate(("Hello", "And then?", "/undo", f"/save {saved}"), start=2):
            terminal.type(line)
            terminal.keys("Enter")
            terminal.wait_for(lambda screen, number=number: screen.count(">>>") == number)
        self.assertIn("note: removed: `And then?`", terminal.screen())
        self.assertEqual(json.loads(saved.read_text()), {"messages": [{"role": "user", "content": "Hello"},
                                                                      {"role": "assistant", "content": first}],
                                                         "etna": {"settings": {"max-tokens": ["12"], "temp": ["0"]}}})
        terminal.type("/bye")
        terminal.keys("Enter")
        terminal.wait_for("exit code 0")
        again = self.terminal(*GREEDY)
        again.type(f"/load {saved}")
        again.keys("Enter")
        again.wait_for(": 1 user messages")
        again.type("/show messages")
        again.keys("Enter")
        again.wait_for("user      Hello")

    def test_a_tool_asks_before_it_runs(self):
        tools = self.home / "tools.json"
        tools.write_text(json.dumps([{"name": "mark", "parameters": {}, "command": "touch $HOME/was-run"}]))
        terminal = self.terminal(*GREEDY, "--tools", str(tools))
        terminal.type("/show tools")
        terminal.keys("Enter")
        terminal.wait_for("touch $HOME/was-run")
        self.assertFalse((self.home / "was-run").exists())


    def test_save_asks_before_it_creates_a_folder(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("/save ~/new/chat.json")
        for answer, message in (("n", "note: not saved; folder"), ("y", "note: saved to")):
            terminal.keys("Enter")
            terminal.wait_for("/new? [y]es, [N]o:")
            terminal.type(answer)
            terminal.keys("Enter")
            terminal.wait_for(message)
            self.assertEqual((self.home / "new" / "chat.json").exists(), answer == "y")
            terminal.keys("C-l", "Up")
            terminal.wait_for(lambda screen: screen.endswith(">>> /save ~/new/chat.json"))

    def test_paths_may_start_with_a_tilde(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("/save ~/saved.json")
        terminal.keys("Enter")
        terminal.wait_for("saved.json\n>>>")
        self.assertTrue((self.home / "saved.json").exists())


class Signals(ChatCase):
    def test_signals_end_a_pipe_between_answers(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with subprocess.Popen([executable(), "chat", *GREEDY], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env=variables(self.home)) as chat:
                chat.stdin.write(b"Hello\n")
                chat.stdin.flush()
                chat.stdout.readline()  # the answer is complete, and the pipe is still open
                chat.send_signal(number)
                self.assertEqual(chat.wait(LIMIT_S), code)

    def test_signals_end_a_pipe_within_an_answer(self):
        endless = (STORIES, "--chat-template", "vicuna", "--temp", "0", "--logit-bias", f"{end_token()}=-inf", "-c", "100000")
        with subprocess.Popen([executable(), "chat", *endless], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=variables(self.home)) as chat:
            chat.stdin.write(b"Hello\nnever answered\n")
            chat.stdin.flush()
            chat.stdout.read(20)
            chat.send_signal(signal.SIGTERM)
            self.assertEqual(chat.wait(LIMIT_S), 143)

    def test_ctrl_c_ends_a_pipe_that_waits_for_a_line(self):
        with subprocess.Popen([executable(), "chat", *GREEDY], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env=variables(self.home)) as chat:
            chat.stdin.write(b"Hello\n/show nothing\n")
            chat.stdin.flush()
            while b"/show has no" not in (line := chat.stderr.readline()):  # the answer is complete
                self.assertTrue(line, "standard error has ended")
            chat.send_signal(signal.SIGINT)
            self.assertEqual(chat.wait(LIMIT_S), -signal.SIGINT)

    def test_signals_end_a_terminal_chat_and_restore_the_terminal(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            terminal = self.terminal(*GREEDY)
            terminal.type("half a line")
            terminal.wait_for("half a line")
            os.kill(terminal.process(), number)
            terminal.wait_for(f"exit code {code}")
            terminal.type("echoed")  # echoed by the terminal, to cat
            terminal.keys("Enter")
            terminal.wait_for("echoed\nechoed")

    def test_a_stopped_program_resumes(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("half a line")
        terminal.wait_for("half a line")
        process = terminal.process()
        os.kill(process, signal.SIGSTOP)
        os.kill(process, signal.SIGCONT)
        terminal.type(" and the rest")
        terminal.wait_for(">>> half a line and the rest")


class Rows(ChatCase):
    """Lines of several rows."""

    def test_ctrl_c_leaves_a_wrapped_line_as_it_is(self):
        for text, keys in (("a" * 76, ()), ("b" * 80, ("Home",)), ("c" * 77, ("Left", "Left"))):
            terminal = self.terminal(*GREEDY)
            terminal.type(text)
            terminal.wait_for(text)
            terminal.keys(*keys, "C-c")
            terminal.wait_for(lambda screen: screen.count(">>>") == 2)
            self.assertEqual(self.conversation(terminal), f">>> {text}\n>>>")

    def test_up_and_down_move_within_a_pasted_text(self):
        terminal = self.terminal(*GREEDY)
        terminal.type("earlier")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        terminal.paste("one\ntwo and more\nthree")
        terminal.keys("Up", "x", "Down", "y", "Up", "Up", "z")
        terminal.wait_for(">>> onez\ntwo axnd more\nthreey")
        terminal.keys("Up")
        terminal.wait_for(lambda screen: screen.count(">>> earlier") == 2)

    def test_keys_typed_during_an_answer_begin_the_next_line(self):
        terminal = self.terminal(STORIES, "--chat-template", "vicuna", "--temp", "0", "-n", "200")
        terminal.type("Hello")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.rstrip().count("\n") > screen[:screen.index(">>> Hello")].count("\n") + 1)
        terminal.type("typed ahead")
        terminal.wait_for(lambda screen: screen.endswith(">>> typed ahead"))
        self.assertEqual(terminal.screen().count("typed ahead"), 1)


class Resizing(ChatCase):
    def test_a_line_that_rewraps_is_drawn_once(self):
        terminal = self.terminal(*GREEDY)
        text = "some text that is typed, and more of it"
        terminal.type(text)
        for columns in (20, 120, 17, 60, 80):
            terminal.resize(columns, 24)
            terminal.wait_for(lambda screen: screen.count(">>>") == 1)
        terminal.type("!")
        terminal.wait_for(f">>> {text}!")
        self.assertEqual(terminal.screen().count(">>>"), 1)

    def test_a_line_adapts_to_the_terminal_size(self):
        terminal = self.terminal(*GREEDY)
        text = "a line that is long enough to need two rows of a narrow terminal"
        terminal.type(text)
        terminal.wait_for(text)
        terminal.resize(40, 10)
        terminal.type("!")
        terminal.wait_for(lambda screen: screen.replace("\n", "").endswith(text + "!"))
        terminal.resize(100, 30)
        terminal.keys("Home", "A")
        terminal.wait_for(f">>> A{text}!")
        terminal.keys("C-c")
        terminal.wait_for(lambda screen: screen.endswith(">>>"))
        terminal.keys("C-d")
        terminal.wait_for("exit code 0")

    def test_many_resizes_during_line_editing_never_crash(self):
        chance = random.Random(1)
        for _ in range(ROUNDS):
            terminal = self.terminal(*GREEDY)
            process = terminal.process()
            terminal.type("wörds and more wörds " * 6)
            for _ in range(20):
                terminal.resize(chance.randint(10, 200), chance.randint(2, 50))
                terminal.keys("Home", "x", "End", "BSpace", "Up", "Down")
                for _ in range(200):
                    os.kill(process, signal.SIGWINCH)
            terminal.resize(80, 24)
            terminal.keys("C-c")
            terminal.wait_for(lambda screen: screen.endswith(">>>"))
            terminal.keys("C-d")
            terminal.wait_for("exit code 0")

    def test_resizing_typing_stopping_and_leaving_never_crash(self):
        chance = random.Random(5)
        for _ in range(ROUNDS):
            terminal = self.terminal(STORIES, "--chat-template", "vicuna", "--logit-bias", f"{end_token()}=-inf")
            for _ in range(3):
                for _ in range(8):
                    terminal.resize(chance.randint(10, 200), chance.randint(2, 50))
                    terminal.type("wörds " * chance.randint(1, 6))
                    terminal.keys(*chance.choices(("Home", "End", "Left", "BSpace", "Up", "Down", "C-k", "C-y", "C-r"), k=4))
                terminal.resize(80, 24)
                terminal.keys("C-g", "C-c")
                terminal.type("continue")
                terminal.keys("Enter")
                terminal.resize(chance.randint(10, 200), chance.randint(2, 50))
                terminal.keys("C-c")
            terminal.resize(80, 24)
            terminal.keys_until(lambda screen: screen.endswith(">>>"), "C-g", "C-c")
            terminal.keys("C-d")
            terminal.wait_for("exit code 0")


class Lines(ChatCase):
    """A grammar fixes the model's text, so that its line breaks are known."""

    WORDS = " ".join(f"w{number}" + "x" * (number % 7) for number in range(40))

    def rows(self, *arguments, columns=80):
        terminal = self.terminal(STORIES, "--chat-template", "vicuna", "--regex", self.WORDS, *arguments)
        terminal.resize(columns, 30)
        terminal.type("Continue")
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2 and "w39" in screen.replace("\n", ""))
        screen = terminal.tmux("capture-pane", "-p").rstrip()  # rows without joining
        return [row.rstrip() for row in screen[screen.index("Continue"):].split("\n")[1:-1]]

    def test_lines_break_between_words(self):
        for columns in (80, 33):
            with self.subTest(columns=columns):
                rows = self.rows(columns=columns)
                self.assertEqual(" ".join(rows), self.WORDS)
                self.assertGreater(len(rows), 1)
                self.assertLessEqual(max(map(len, rows)), columns)

    def test_no_wrap_leaves_line_breaks_to_the_terminal(self):
        rows = self.rows("--no-wrap", columns=33)
        self.assertEqual("".join(row.ljust(33) for row in rows).rstrip(), self.WORDS)

    def rows_after(self, typed, *arguments, columns=40):
        """Returns the rows after a typed line."""
        terminal = self.terminal(*GREEDY, *arguments)
        terminal.resize(columns, 60)
        terminal.type(typed)
        terminal.keys("Enter")
        terminal.wait_for(lambda screen: screen.count(">>>") == 2)
        screen = terminal.tmux("capture-pane", "-p").rstrip()
        return [row.rstrip() for row in screen.partition(f">>> {typed}")[2].split("\n")[1:-1]]

    def test_notes_errors_and_hints_break_between_words(self):
        self.assertEqual(self.rows_after("/system"), ["note: the system message is removed"])
        self.assertEqual(self.rows_after("/set"), ["max-tokens 12", "temp 0"])
        self.assertEqual(self.rows_after("/load"), ["error: /load needs an argument", "hint: /load PATH: continue a", "conversation from a file"])
        self.assertEqual(self.rows_after("/load", columns=24), ["error: /load needs an", "argument", "hint: /load PATH:", "continue a conversation", "from a file"])
        self.assertEqual(self.rows_after("/load", "--no-wrap", columns=24), ["error: /load needs an ar", "gument", "hint: /load PATH: contin",
                                                                       "ue a conversation from a", " file"])

    def test_help_breaks_between_words_within_its_columns(self):
        for columns in (80, 50):
            with self.subTest(columns=columns):
                rows = self.rows_after("/help", columns=columns)
                self.assertLessEqual(max(map(len, rows)), columns)
                self.assertGreater(len(rows), 16)
                for row in rows:
                    self.assertRegex(row, r'^(/|"""|Ctrl-C| {19}\S)')
        self.assertIn("/undo              remove the last message and its", rows)
        self.assertIn("                   answer", rows)

    def test_a_pipe_gets_unbroken_lines(self):
        text, _ = piped(self.home, "Continue\n", STORIES, "--chat-template", "vicuna", "--regex", self.WORDS)
        self.assertEqual(text, self.WORDS + "\n")


class Pipes(ChatCase):
    def test_each_line_is_answered(self):
        text, error = piped(self.home, "hi\nhow are you\n", *GREEDY)
        self.assertEqual(len(self.answers("hi", "how are you")), 2)
        self.assertTrue(text.endswith("\n"))
        self.assertNotIn("error", error)

    def test_a_line_of_100_mb_is_skipped_and_takes_no_memory(self):
        typed, messages = self.home / "typed", self.home / "messages"
        typed.write_bytes(b"x" * 100_000_000 + b"\nhi\n")
        with open(typed, "rb") as source, open(messages, "wb") as error:
            chat = subprocess.Popen([executable(), "chat", *GREEDY], stdin=source, stdout=subprocess.PIPE, stderr=error,
                                    env=variables(self.home))
            with chat.stdout:
                answer = chat.stdout.read()
            _, status, usage = os.wait4(chat.pid, 0)
        chat.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(chat.returncode, 1)
        self.assertIn("error: a message is longer than 64 MiB and was skipped", messages.read_text())
        self.assertEqual(answer.decode(), self.answers("hi")[0] + "\n")
        print(f"{usage.ru_maxrss // 1024} MiB at most")
        self.assertLess(usage.ru_maxrss, 1 << 20)  # KiB

    def test_a_command_that_fails_is_a_failure(self):
        done = subprocess.run([executable(), "chat", *GREEDY], input=b"/load missing.json\n", capture_output=True, timeout=LIMIT_S,
                              env=variables(self.home), check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"error: ", done.stderr)

    def test_the_second_turn_computes_only_new_tokens(self):
        _, messages = piped(self.home, "hi\n/stats\nhow are you\n/stats\n", *GREEDY)
        prompts = [line for line in messages.splitlines() if line.startswith("prompt")]
        self.assertEqual(len(prompts), 2)
        words = prompts[1].split()
        self.assertGreater(int(words[3]), int(words[1]) // 2, prompts)


if __name__ == "__main__":
    run_tests(verbosity=2)
