"""After test_security.py."""

from harness import MEANING, Case

KEY = "sk-this-is-the-secret-key"


class Security(Case):
    OPTIONS = ("--api-key", KEY)

    def test_access_public_endpoint(self):
        self.good("GET", "/health")
        self.assertEqual(self.ask("GET", "/models")[0], 401)  # theirs is public

    def test_access_static_assets_without_api_key(self):
        self.good("GET", "/")

    def test_incorrect_api_key(self):
        for headers in ({}, {"authorization": "Bearer invalid-key"}):
            status, answer = self.ask("POST", "/completion", {"prompt": MEANING}, **headers)
            self.assertEqual((status, answer["error"]["type"]), (401, "authentication_error"))

    def test_correct_api_key(self):
        answer = self.good("POST", "/completion", {"prompt": MEANING, "n_predict": 4}, authorization=f"Bearer {KEY}")
        self.assertIn("content", answer)

    def test_correct_api_key_anthropic_header(self):
        answer = self.good("POST", "/completion", {"prompt": MEANING, "n_predict": 4}, x_api_key=KEY)
        self.assertIn("content", answer)

    def test_openai_library_correct_api_key(self):
        answer = self.good("POST", "/chat/completions", {"max_tokens": 4, "messages": [
            {"role": "system", "content": "You are a chatbot."}, {"role": "user", "content": "What is the meaning of life?"}]},
            authorization=f"Bearer {KEY}")
        self.assertEqual(len(answer["choices"]), 1)
