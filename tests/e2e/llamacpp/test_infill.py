"""After test_infill.py, with numbers of rare tokens as infill tokens of the same model."""

import pathlib
import tempfile

from harness import SEED, STORIES, Case, with_numbers

GAP = {"input_prefix": "#include <cstdio>\n#include \"llama.h\"\n\nint main() {\n", "prompt": "    int n_threads = llama_",
       "input_suffix": "}\n", "seed": SEED, "n_predict": 32}
FIM = {"prefix": 300, "suffix": 301, "middle": 302}


class Infill(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        numbers = {f"tokenizer.ggml.fim_{name[:3]}_token_id": number for name, number in FIM.items()}
        cls.MODEL = with_numbers(STORIES, pathlib.Path(cls.folder.name) / "infill.gguf", numbers)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def tokens(self, text):
        return self.good("POST", "/tokenize", {"content": text, "parse_special": False})["tokens"]

    def prompt_tokens(self, answer):
        return answer["timings"]["prompt_n"] + answer["timings"]["cache_n"]

    def test_infill_without_input_extra(self):
        answer = self.good("POST", "/infill", GAP)
        self.assertTrue(answer["content"])
        texts = [GAP["input_prefix"], GAP["prompt"], GAP["input_suffix"]]
        self.assertEqual(self.prompt_tokens(answer), 1 + 3 + sum(len(self.tokens(text)) for text in texts))

    def test_infill_with_input_extra(self):
        extra = "LLAMA_API int32_t llama_n_threads();\n"
        plain = self.good("POST", "/infill", GAP)
        answer = self.good("POST", "/infill", {**GAP, "input_extra": [{"filename": "llama.h", "text": extra}]})
        added = self.prompt_tokens(answer) - self.prompt_tokens(plain)
        self.assertEqual(added, len(self.tokens("\n\n--- snippet ---\n\n")) + len(self.tokens(extra)))
        self.assertIn(extra, answer["prompt"])
        long = self.good("POST", "/infill", {**GAP, "input_extra": [{"text": extra * 100}]})
        self.assertEqual(self.prompt_tokens(long), self.CONTEXT - 1)  # the start of the extra text is dropped

    def test_invalid_input_extra_req(self):
        for extra in ({}, {"filename": "ok"}, {"filename": 123}, {"filename": 123, "text": "abc"}, {"filename": 123, "text": 456}):
            status, answer = self.ask("POST", "/infill", {**GAP, "input_extra": [extra]})
            self.assertEqual(status, 400)
            self.assertIn("input_extra[0]", answer["error"]["message"])
