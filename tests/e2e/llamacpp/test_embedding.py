"""After test_embedding.py, with the same model as the other tests, whose pooling is that of its last token."""

import base64
import struct

from harness import MEANING, Case

TEXTS = [MEANING, "Write a joke about AI from a very long prompt which will not be truncated", "This is a test", "This is another test"]


class Embedding(Case):
    def embed(self, given, path="/v1/embeddings", **body):
        return self.good("POST", path, {"input": given, **body})

    def vectors(self, given, **body):
        return [one["embedding"] for one in self.embed(given, **body)["data"]]

    def test_embedding_single(self):
        vector, = self.vectors(MEANING)
        self.assertGreater(len(vector), 1)
        self.assertAlmostEqual(sum(value * value for value in vector), 1, delta=1e-3)

    def test_embedding_multiple(self):
        self.assertEqual(len({tuple(vector) for vector in self.vectors(TEXTS)}), 4)

    def test_embedding_mixed_input(self):
        for given, count in (("string", 1), ([12, 34, 56], 1), (["string1", "string2"], 2), (["string1", [12, 34, 56]], 2),
                             ([[12, 34, 56], [12, 34, 56]], 2)):
            self.assertEqual(len(self.vectors(given)), count)
        for given in ([], {"content": "string"}, [12, "string"]):
            self.assertEqual(self.ask("POST", "/v1/embeddings", {"input": given})[0], 400)

    def test_embedding_own_shape(self):
        """For test_embedding_pooling_none, whose rows for each token etna does not have."""
        one, = self.embed("hello hello hello", "/embedding")
        self.assertEqual((one["index"], len(one["embedding"])), (0, 1))
        self.assertEqual(one["embedding"], self.vectors("hello hello hello"))

    def test_embedding_error_prompt_too_long(self):
        status, answer = self.ask("POST", "/v1/embeddings", {"input": "This is a test " * 512})
        self.assertEqual((status, answer["error"]["code"]), (400, "context_length_exceeded"))

    def test_same_prompt_give_same_result(self):
        self.assertEqual(len({tuple(vector) for vector in self.vectors([MEANING] * 5)}), 1)

    def test_embedding_usage(self):
        """For test_embedding_usage_single and test_embedding_usage_multiple."""
        for given, count in ((MEANING, 1), ([MEANING, MEANING], 2)):
            usage = self.embed(given)["usage"]
            self.assertEqual(usage, {"prompt_tokens": 18 * count, "total_tokens": 18 * count})

    def test_embedding_openai_library_base64(self):
        numbers, = self.vectors(MEANING)
        text, = self.vectors(MEANING, encoding_format="base64")
        self.assertEqual(len(numbers), len(base64.b64decode(text)) // 4)
        for number, decoded in zip(numbers, struct.unpack(f"{len(numbers)}f", base64.b64decode(text))):
            self.assertAlmostEqual(number, decoded, delta=1e-3)
