// Bounds of the request fields that chats and completions share. Sources: OVMS's documentation of
// /v3/completions, OpenAI API 2.3.0, vLLM's sampling parameters. A value out of bounds is refused with the
// field's name, on each path.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

enum class BoundPaths { all, openai, ovms, completions, chats };

/// Accepted and refused values of one field, as JSON.
struct FieldBounds {
    std::string_view field;
    std::vector<std::string> accepted;
    std::vector<std::string> refused;
    BoundPaths paths = BoundPaths::all;
    std::string_view others = {}; ///< other fields that it requires
};

constexpr std::string_view beam_fields = R"("use_beam_search": true, "best_of": 4)";

/// A list of `count` strings.
std::string string_list(int count) {
    Json list = Json::array();
    for (int i = 0; i < count; ++i)
        list.push_back(std::to_string(i));
    return etna::dump_json(list);
}

const std::vector<FieldBounds>& field_bounds() {
    static const std::vector<FieldBounds> all = {
        // Lengths and stops.
        {"max_tokens", {"1", "2147483647", "-1", "-2", "null"}, {"-3", "2147483648", "1.5", "-1.5", "\"5\""}},
        {"max_tokens", {"0"}, {}, BoundPaths::completions}, // the prompt only
        {"max_tokens", {}, {"0"}, BoundPaths::chats},
        {"max_completion_tokens", {"1", "2147483647", "-1", "-2", "null"}, {"0", "-3", "2147483648", "true"}},
        {"min_tokens", {"0", "2", "3"}, {"-1", "4", "1.5", "\"1\""}, BoundPaths::all, R"("max_tokens": 3)"},
        {"stop_token_ids", {"[]", "[0]", "[511]"}, {"[512]", "[-1]", "[\"a\"]", "5", "[1.5]"}},
        {"stop", {"\"a\"", R"(["a", "b", "c", "d", "e"])", string_list(32)}, {string_list(33), "\"\"", "5"}},
        {"ignore_eos", {"true", "false"}, {"1", "\"true\""}},
        {"truncate_prompt_tokens", {"-1", "1"}, {"0", "-2", "0.5"}},
        {"priority", {"0", "-2147483648", "2147483647"}, {"-2147483649", "2147483648", "1.5", "\"1\""}},
        // Sampling.
        {"temperature", {"0", "0.01", "2"}, {"-0.01", "2.01", "\"1\"", "true"}},
        {"top_p", {"0.000001", "0.5", "1"}, {"-0.01", "1.01", "\"1\""}},
        {"top_p", {"0"}, {}, BoundPaths::openai},
        {"top_p", {}, {"0"}, BoundPaths::ovms},
        {"top_k", {"-1", "0", "1", "40", "513", "2147483647"}, {"-2", "2147483648", "1.5", "\"4\""}},
        {"min_p", {"0", "0.05", "0.999"}, {"-0.01", "1.01", "\"0\""}},
        {"min_p", {"1"}, {}, BoundPaths::openai},
        {"min_p", {}, {"1"}, BoundPaths::ovms},
        {"repetition_penalty", {"0.01", "1", "2", "100"}, {"0", "-1", "100.1", "\"1\""}},
        {"frequency_penalty", {"-2", "0", "2"}, {"-2.01", "2.01", "\"0\""}},
        {"presence_penalty", {"-2", "0", "2"}, {"-2.01", "2.01", "[0]"}},
        {"seed",
         {"0", "-1", "4294967296", "9223372036854775807", "-9223372036854775808"},
         {"9223372036854775808", "-9223372036854775809", "0.5", "\"1\""}},
        // Several answers and beams.
        {"n", {"1", "4"}, {"0", "-1", "129", "1.5", "\"2\""}},
        {"best_of", {"2", "20"}, {"0", "1", "-1", "21", "2.5", "\"4\""}, BoundPaths::all, R"("n": 2)"},
        {"num_return_sequences", {"2"}, {"0", "1", "3", "1.5", "\"2\""}, BoundPaths::all, R"("n": 2)"},
        {"num_beams", {"2", "20"}, {"0", "1", "21", "2.5", "\"4\""}, BoundPaths::all, R"("n": 2)"},
        {"use_beam_search", {"true", "false"}, {"1", "\"yes\""}},
        {"num_beam_groups", {"1", "2", "4"}, {"0", "3", "5", "1.5", "\"2\""}, BoundPaths::all, beam_fields},
        {"diversity_penalty",
         {"0", "1.0", "100"},
         {"-0.1", "100.1", "\"1\"", "true"},
         BoundPaths::all,
         beam_fields},
        {"length_penalty",
         {"-10", "0", "1.0", "10"},
         {"-10.1", "10.1", "\"1\""},
         BoundPaths::all,
         beam_fields},
        {"early_stopping", {"true", "false", "\"never\""}, {"\"soon\"", "1"}, BoundPaths::all, beam_fields},
        // Drafts.
        {"num_assistant_tokens", {"0", "1", "5", "32"}, {"-1", "33", "2.5", "\"5\""}},
        {"assistant_confidence_threshold", {"0", "0.4", "1"}, {"-0.01", "1.01", "\"0.5\""}},
        {"assistant_confidence_threshold", {}, {"0.5"}, BoundPaths::all, R"("num_assistant_tokens": 3)"},
        {"max_ngram_size", {"0", "1", "3", "16"}, {"-1", "17", "1.5", "\"3\""}},
        // Log-probabilities.
        {"logprobs", {"0", "1", "6", "20"}, {"-1", "21", "true", "1.5", "\"1\""}, BoundPaths::completions},
        {"logprobs", {"true", "false"}, {"1", "\"true\""}, BoundPaths::chats},
        {"top_logprobs", {"0", "20"}, {"-1", "21", "1.5", "true"}, BoundPaths::chats, R"("logprobs": true)"},
        {"prompt_logprobs", {"0", "1", "20"}, {"-1", "21", "true", "1.5"}},
        {"echo", {"true", "false"}, {"1", "\"x\""}, BoundPaths::completions},
        {"detokenize", {"true"}, {"1"}},
        {"skip_special_tokens", {"true", "false"}, {"1"}},
        {"spaces_between_special_tokens", {"true", "false"}, {"1"}},
        {"logit_bias", {"{}", R"({"5": -100, "511": 100})"}, {R"({"512": 1})", R"({"5": 100.1})", "[1]"}},
    };
    return all;
}

bool is_chat_path(std::string_view path) {
    return path.find("chat") != std::string_view::npos;
}

bool applies_to(const FieldBounds& row, std::string_view path) {
    const bool is_ovms = path.starts_with("/v3");
    switch (row.paths) {
    case BoundPaths::all:
        return true;
    case BoundPaths::openai:
        return !is_ovms;
    case BoundPaths::ovms:
        return is_ovms;
    case BoundPaths::completions:
        return !is_chat_path(path);
    case BoundPaths::chats:
        return is_chat_path(path);
    }
    return false;
}

std::string bounds_body(const FieldBounds& row, std::string_view path, const std::string& value) {
    Json body = etna::parse_json("{" + std::string(row.others) + "}");
    // Few tokens: the fields are read before generation.
    body.emplace("max_tokens", 3);
    body.emplace("temperature", 1);
    if (is_chat_path(path)) {
        body["messages"] = Json::array({{{"role", "user"}, {"content", "Once"}}});
    } else {
        body["prompt"] = "Once";
    }
    body[std::string(row.field)] = etna::parse_json(value);
    return etna::dump_json(body);
}

} // namespace

TEST_CASE("fields are accepted within their bounds and refused by name outside, on every path") {
    FakeService service({.chat_template = plain_template, .says = "there was a dog"});
    int values = 0;
    for (const char* path :
         {"/v1/completions", "/v1/chat/completions", "/v3/completions", "/v3/chat/completions"}) {
        for (const FieldBounds& row : field_bounds()) {
            if (!applies_to(row, path))
                continue;
            for (const std::string& value : row.accepted) {
                const FakeAnswer answer = service.post(path, bounds_body(row, path, value));
                CAPTURE(path, row.field, value, answer.body);
                CHECK(answer.status == 200);
                CHECK(!answer.headers.contains("etna-ignored"));
                ++values;
            }
            for (const std::string& value : row.refused) {
                const FakeAnswer answer = service.post(path, bounds_body(row, path, value));
                CAPTURE(path, row.field, value, answer.body);
                CHECK(answer.status == 400);
                CHECK(etna::parse_json(answer.body).at("error").value("param", Json()) == row.field);
                ++values;
            }
        }
    }
    CHECK(values > 800);
}

TEST_CASE("best_of and beams are bounded by the limits of choices and answers") {
    server::ServiceOptions options;
    options.limits.choices_max = 2;
    options.limits.answers_max = 6;
    FakeService service({.service = options});
    const auto problem = [&](const std::string& more) {
        const FakeAnswer answer = service.post("/v1/completions", R"({"max_tokens": 2, )" + more + "}");
        CAPTURE(more, answer.body);
        CHECK(answer.status == 400);
        const Json error = etna::parse_json(answer.body).value("error", Json::object());
        return error.value("param", "") + ": " + error.value("message", "");
    };
    const auto status = [&](const std::string& more) {
        return service.post("/v1/completions", R"({"max_tokens": 2, )" + more + "}").status;
    };
    const std::string one = R"("prompt": "a", )";
    CHECK(status(one + R"("best_of": 2)") == 200);
    CHECK(status(one + R"("best_of": 2, "use_beam_search": true)") == 200);
    CHECK(problem(one + R"("best_of": 3)") == "best_of: `best_of` must be from 1 to 2");
    CHECK(problem(one + R"("best_of": 3, "use_beam_search": true)") ==
          "best_of: `best_of` must be from 1 to 2");
    CHECK(problem(one + R"("num_beams": 3)") == "num_beams: `num_beams` must be from 1 to 2");
    const std::string three = R"("prompt": ["a", "b", "c"], )";
    const std::string four = R"("prompt": ["a", "b", "c", "d"], )";
    CHECK(status(three + R"("best_of": 2)") == 200);
    const std::string too_many = "` requires 8 sequences for 4 prompts; at most 6 are allowed";
    CHECK(problem(four + R"("best_of": 2)") == "best_of: `best_of" + too_many);
    CHECK(problem(four + R"("best_of": 2, "use_beam_search": true)") == "best_of: `best_of" + too_many);
    CHECK(problem(four + R"("num_beams": 2)") == "num_beams: `num_beams" + too_many);
    CHECK(problem(four + R"("n": 2)") ==
          "prompt: `prompt` requests 8 answers with `n`; at most 6 are allowed");
}
