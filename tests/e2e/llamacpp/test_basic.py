"""After test_basic.py, test_tokenize.py and test_ignore_eos.py."""

from harness import SEED, Case, start


class Basic(Case):
    def test_server_start_simple(self):
        self.good("GET", "/health")

    def test_server_props(self):
        self.complete(prompt="Hello", n_predict=1)  # loads the model
        props = self.good("GET", "/props")
        self.assertEqual(props["model_path"], "tinyllama-2")  # names of files are not for clients
        self.assertEqual(props["total_slots"], self.PARALLEL)
        defaults = props["default_generation_settings"]
        self.assertEqual((defaults["n_ctx"], defaults["params"]["seed"]), (self.CONTEXT, 4294967295))

    def test_server_models(self):
        models = self.good("GET", "/models")["data"]
        self.assertEqual([model["id"] for model in models], ["tinyllama-2"])

    def test_server_slots(self):
        status, answer = self.ask("GET", "/slots")
        self.assertEqual((status, answer["error"]["type"]), (501, "not_supported_error"))
        server = start("--slots")
        try:
            self.complete(server, prompt="Hello", n_predict=1)
            slots = self.good("GET", "/slots", server=server)
            self.assertEqual((len(slots), slots[0]["n_ctx"]), (self.PARALLEL, self.CONTEXT))
            self.assertNotIn("params", slots[0])
        finally:
            server.stop()

    def test_no_webui(self):
        self.assertIn("<!doctype html>", self.good("GET", "/"))


class Tokenize(Case):
    def test_tokenize_detokenize(self):
        content = "What is the capital of France ?"
        tokens = self.good("POST", "/tokenize", {"content": content})["tokens"]
        self.assertGreater(len(tokens), 5)
        self.assertEqual(self.good("POST", "/detokenize", {"tokens": tokens})["content"].strip(), content)

    def test_tokenize_with_bos(self):
        tokens = self.good("POST", "/tokenize", {"content": "What is the capital of France ?", "add_special": True})["tokens"]
        self.assertEqual(tokens[0], 1)

    def test_tokenize_with_pieces(self):
        content = "This is a test string with unicode 媽 and emoji 🤗"
        for token in self.good("POST", "/tokenize", {"content": content, "with_pieces": True})["tokens"]:
            self.assertGreater(token["id"], 0)
            self.assertGreater(len(token["piece"]), 0)


class IgnoreEos(Case):
    def test_ignore_eos_populates_logit_bias(self):
        answer = self.complete(prompt="Once upon a time", n_predict=8, ignore_eos=True, temperature=0)
        biases = answer["generation_settings"]["logit_bias"]
        self.assertGreater(len(biases), 0)
        self.assertEqual({one["bias"] for one in biases}, {None})

    def test_ignore_eos_false_no_logit_bias(self):
        answer = self.complete(prompt="Once upon a time", n_predict=8, ignore_eos=False, temperature=0, seed=SEED)
        self.assertEqual(answer["generation_settings"]["logit_bias"], [])
