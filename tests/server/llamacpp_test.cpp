// llama.cpp's own API: completions, infill, properties, slots and models.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* completion_path = "/completion";

/// A greedy request; `more` continues the object.
std::string body(const std::string& prompt, const std::string& more = "") {
    return R"({"temperature": 0, "n_predict": 12, "seed": 1, "prompt": )" + etna::dump_json(prompt) + more +
           "}";
}

/// The error's message; checks status and shape.
std::string message_of(const FakeAnswer& answer, int status, const std::string& type) {
    CAPTURE(answer.body);
    CHECK(answer.status == status);
    const Json error = etna::parse_json(answer.body)["error"];
    CHECK(error.size() == 3);
    CHECK(error["code"] == status);
    CHECK(error["type"] == type);
    return error.value("message", "");
}

std::string refusal(FakeService& service, const std::string& more) {
    return message_of(service.post(completion_path, body("Once", more)), 400, "invalid_request_error");
}

/// Returns the events of a stream; it has no event names and no final [DONE].
std::vector<Json> events(const std::string& stream) {
    std::vector<Json> all;
    for (std::size_t begin = 0; begin < stream.size();) {
        const std::size_t end = stream.find("\n\n", begin);
        REQUIRE(end != std::string::npos);
        const std::string frame = stream.substr(begin, end - begin);
        if (frame.starts_with("data: "))
            all.push_back(etna::parse_json(frame.substr(6)));
        begin = end + 2;
    }
    return all;
}

std::vector<Json> streamed(FakeService& service, const std::string& body) {
    const FakeAnswer answer = service.post(completion_path, body);
    REQUIRE(answer.status == 200);
    CHECK(header_of(answer, "content-type").empty());
    return events(answer.body);
}

Json complete(FakeService& service, const std::string& body) {
    return post_json(service, completion_path, body);
}

/// The text of a stream's pieces, by index.
std::map<int, std::string> texts(const std::vector<Json>& events) {
    std::map<int, std::string> all;
    for (const Json& event : events)
        all[event["index"].get<int>()] += event["content"].get<std::string>();
    return all;
}

/// Removes members that differ between two answers to one request.
Json without_times(Json answer) {
    for (const char* const name : {"timings", "tokens_cached"})
        answer.erase(name);
    answer["generation_settings"].erase("stream");
    return answer;
}

} // namespace

TEST_CASE("a completion has llama.cpp's members") {
    FakeService service({.says = "Hello there.\nAnd more"});
    const Json answer = complete(service, body("Once", R"(, "n_predict": 100, "seed": 7)"));
    CHECK(answer["content"] == " Hello there.\nAnd more");
    CHECK((answer["stop"] == true && answer["stop_type"] == "eos" && answer["stopping_word"] == ""));
    CHECK((answer["index"] == 0 && answer["model"] == "stories" && answer["id_slot"] == -1));
    CHECK((answer["has_new_line"] == true && answer["truncated"] == false));
    CHECK(answer["prompt"] == "<s> Once");
    CHECK(answer["tokens"] == Json::array());
    const Json& timings = answer["timings"];
    CHECK(timings["prompt_n"].get<int>() + timings["cache_n"].get<int>() == answer["tokens_evaluated"]);
    CHECK(timings["predicted_n"] == answer["tokens_predicted"]);
    for (const char* const name : {"prompt_ms", "prompt_per_token_ms", "prompt_per_second", "predicted_ms",
                                   "predicted_per_token_ms", "predicted_per_second"})
        CHECK(timings[name].get<double>() >= 0);
    const Json& settings = answer["generation_settings"];
    CHECK((settings["n_predict"] == 100 && settings["max_tokens"] == 100 && settings["seed"] == 7));
    CHECK((settings["temperature"] == 0 && settings["top_k"] == 40 && settings["top_p"] == 0.95));
    CHECK((settings["repeat_last_n"] == 64 && settings["stream"] == false));
}

TEST_CASE("a completion without a length limit ends at an end token or a full context") {
    FakeService service({.says = ""});
    const Json answer =
        complete(service, R"({"prompt": "Once", "n_predict": -1, "ignore_eos": true, "seed": 1})");
    CHECK((answer["stop_type"] == "limit" && answer["truncated"] == true));
    CHECK(answer["tokens_evaluated"].get<int>() + answer["tokens_predicted"].get<int>() == 512);
    const Json short_one = complete(service, R"({"prompt": "Once", "n_predict": 5, "ignore_eos": true})");
    CHECK((short_one["stop_type"] == "limit" && short_one["truncated"] == false));
    CHECK(short_one["tokens_predicted"] == 5);
    const Json none = complete(service, R"({"prompt": "Once", "n_predict": 0})");
    CHECK((none["content"] == "" && none["tokens_predicted"] == 0 && none["stop_type"] == "limit"));
}

TEST_CASE("a completion names the stop string that ended it") {
    FakeService service({.says = "One, two, three"});
    const Json answer = complete(service, body("Count", R"(, "n_predict": 100, "stop": ["", ", three"])"));
    CHECK(answer["content"] == " One, two");
    CHECK((answer["stop_type"] == "word" && answer["stopping_word"] == ", three"));
    CHECK(answer["generation_settings"]["stop"] == Json::array({", three"}));
}

TEST_CASE("a streamed completion equals an unstreamed one") {
    FakeService service({.says = "Hello there.\nAnd caf\xC3\xA9 more"});
    for (const std::string more :
         {"", R"(, "stop": [" more"])", R"(, "n_probs": 3)", R"(, "n_predict": 3)"}) {
        CAPTURE(more);
        const std::string options = R"(, "n_predict": 100, "return_tokens": true)" + more;
        const Json whole = complete(service, body("Once", options));
        const auto all = streamed(service, body("Once", options + R"(, "stream": true)"));
        CHECK(Json(texts(all)[0]) == whole["content"]);
        Json tokens = Json::array();
        Json probabilities = Json::array();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const bool is_last = i + 1 == all.size();
            CHECK(all[i]["stop"] == is_last);
            for (const Json& token : all[i]["tokens"])
                tokens.push_back(token);
            for (const Json& one : all[i].value("completion_probabilities", Json::array()))
                probabilities.push_back(one);
            if (!is_last)
                CHECK(!all[i].contains("timings"));
        }
        Json last = without_times(all.back());
        Json expected = without_times(whole);
        last.erase("content");
        last.erase("tokens");
        expected.erase("content");
        CHECK(probabilities == expected.value("completion_probabilities", Json::array()));
        expected.erase("completion_probabilities");
        if (whole["stop_type"] != "word") // the tokens of a stop string have no piece
            CHECK(tokens == whole["tokens"]);
        expected.erase("tokens");
        CHECK(last == expected);
    }
}

TEST_CASE("a prompt is a text or tokens or a mix or an object or a list of these") {
    FakeService service({.says = ""});
    const std::string text = "Once upon a time";
    const Json tokens =
        post_json(service, "/tokenize", R"({"add_special": true, "content": "Once upon a time"})")["tokens"];
    const std::string ids = etna::dump_json(tokens);
    const auto answer = [&](const std::string& prompt) {
        return complete(service, R"({"temperature": 0, "n_predict": 4, "ignore_eos": true, "prompt": )" +
                                     prompt + "}");
    };
    const Json plain = answer("\"" + text + "\"");
    CHECK(plain["tokens_evaluated"] == tokens.size());
    for (const std::string& prompt :
         std::vector<std::string>{ids, R"({"prompt_string": "Once upon a time"})",
                                  R"({"prompt_string": "Once upon a time", "multimodal_data": []})"}) {
        CAPTURE(prompt);
        CHECK(answer(prompt)["content"] == plain["content"]);
    }
    const Json list = answer("[\"" + text + "\", " + ids + ", {\"prompt_string\": \"" + text + "\"}]");
    REQUIRE((list.is_array() && list.size() == 3));
    for (int i = 0; i < 3; ++i)
        CHECK((list[i]["index"] == i && list[i]["content"] == plain["content"]));
    CHECK(answer("[\"" + text + "\"]").is_array());
    const Json mixed = answer(R"([1, 2, "Once", 7, "upon"])");
    const auto count = [&](const std::string& piece) {
        return post_json(service, "/tokenize", R"({"content": ")" + piece + "\"}")["tokens"].size();
    };
    CHECK(mixed["tokens_evaluated"] == 3 + count("Once") + count("upon"));
    CHECK(answer(R"(["Once", 7])")["tokens_evaluated"] == 2 + count("Once")); // includes the begin token
}

TEST_CASE("several prompts and choices are streamed with their index") {
    FakeService service({.says = "Yes"});
    const auto all = streamed(
        service, R"({"prompt": ["a", "b"], "n_cmpl": 2, "n_predict": 9, "stream": true, "temperature": 0})");
    CHECK(texts(all) == std::map<int, std::string>{{0, " Yes"}, {1, " Yes"}, {2, " Yes"}, {3, " Yes"}});
    CHECK(complete(service, body("a", R"(, "n": 3)")).size() == 3);
}

TEST_CASE("prompts of other shapes are refused") {
    FakeService service({});
    for (const char* const prompt :
         {"[]", "3", "[\"a\", [1, -1]]", "[1000000]", "[1.5]", "true", "[[]]", "[null]", "{}",
          R"({"prompt_string": 1})", R"({"prompt_string": "a", "multimodal_data": ["x"]})"}) {
        CAPTURE(prompt);
        const FakeAnswer answer = service.post(completion_path, std::string(R"({"prompt": )") + prompt + "}");
        CHECK(message_of(answer, 400, "invalid_request_error").find("`prompt") != std::string::npos);
    }
    message_of(service.post(completion_path, "{}"), 400, "invalid_request_error");
    message_of(service.post(completion_path, "{"), 400, "invalid_request_error");
}

TEST_CASE("probabilities name each token and the likeliest ones") {
    FakeService service({.says = "Hello"});
    const Json answer = complete(service, body("Once", R"(, "n_probs": 4, "return_tokens": true)"));
    const Json& all = answer["completion_probabilities"];
    REQUIRE(all.size() == answer["tokens"].size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(all[i]["id"] == answer["tokens"][i]);
        CHECK(all[i]["logprob"].get<double>() <= 0);
        CHECK(all[i]["top_logprobs"].size() == 4);
        CHECK(all[i]["top_logprobs"][0]["id"] == all[i]["id"]); // greedy
        const auto bytes = all[i]["bytes"].get<std::vector<unsigned char>>();
        CHECK(Json(std::string(bytes.begin(), bytes.end())) == all[i]["token"]);
    }
    CHECK(complete(service, body("Once", R"(, "logprobs": 2)"))["completion_probabilities"].size() > 0);
    CHECK(!complete(service, body("Once")).contains("completion_probabilities"));
}

TEST_CASE("response_fields selects members by their paths") {
    FakeService service({.says = "Hello"});
    const Json answer = complete(
        service,
        body("Once",
             R"(, "response_fields": ["content", "generation_settings/n_predict", "x/y", "stop/z"])"));
    CHECK(answer == etna::parse_json(R"({"content": " Hello", "generation_settings/n_predict": 12})"));
    CHECK(complete(service, body("Once", R"(, "response_fields": [])")).size() > 10);
}

TEST_CASE("cache_prompt false computes the entire prompt") {
    FakeService service({.says = "Hello"});
    const std::string long_prompt =
        "Once upon a time there was a little girl who liked to play in the garden "
        "with a ball and a dog and a cat every day of the year.";
    complete(service, body(long_prompt));
    CHECK(complete(service, body(long_prompt))["timings"]["cache_n"].get<int>() > 0);
    const Json fresh = complete(service, body(long_prompt, R"(, "cache_prompt": false)"));
    CHECK((fresh["timings"]["cache_n"] == 0 && fresh["timings"]["prompt_n"] == fresh["tokens_evaluated"]));
}

TEST_CASE("the pieces of a stream have timings and progress on request") {
    FakeService service({.prepare =
                             [](FakeOptions& options, int) {
                                 options.limits.batch_rows_max = 16;
                                 options.step_delay = std::chrono::milliseconds(30);
                             },
                         .says = "Hello there."});
    std::string prompt;
    for (int i = 0; i < 40; ++i)
        prompt += "Once upon a time. ";
    const auto all = streamed(
        service, body(prompt, R"(, "stream": true, "timings_per_token": true, "return_progress": true)"));
    std::vector<int> processed;
    for (const Json& event : all) {
        if (event.contains("prompt_progress")) {
            const Json& progress = event["prompt_progress"];
            CHECK(progress["total"] == event["tokens_evaluated"]);
            CHECK(progress["cache"].get<int>() <= progress["processed"].get<int>());
            processed.push_back(progress["processed"].get<int>());
            CHECK((event["content"] == "" && event["stop"] == false));
        } else {
            const Json& timings = event["timings"];
            CHECK(timings["prompt_n"].get<int>() + timings["cache_n"].get<int>() ==
                  event["tokens_evaluated"]);
            CHECK(timings["predicted_n"].get<int>() > 0);
        }
    }
    REQUIRE(processed.size() > 2);
    CHECK(std::is_sorted(processed.begin(), processed.end()));
    CHECK(processed.back() == all.back()["tokens_evaluated"]);
}

TEST_CASE("t_max_predict_ms ends an answer after a line") {
    FakeService service(
        {.prepare = [](FakeOptions& options, int) { options.step_delay = std::chrono::milliseconds(5); },
         .says = "a\nb c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i j k l m n"});
    const Json ended = complete(service, body("Once", R"(, "n_predict": 400, "t_max_predict_ms": 20)"));
    CHECK(ended["stop_type"] == "limit");
    CHECK(ended["content"].get<std::string>().starts_with(" a\n"));
    CHECK(ended["tokens_predicted"].get<int>() < 60);
    const Json whole = complete(service, body("Once", R"(, "n_predict": 400, "t_max_predict_ms": 0)"));
    CHECK(whole["stop_type"] == "eos");
    FakeService flat(
        {.prepare = [](FakeOptions& options, int) { options.step_delay = std::chrono::milliseconds(5); },
         .says = "a b c d e f g h i j k l m n o p"});
    CHECK(complete(flat, body("Once", R"(, "n_predict": 400, "t_max_predict_ms": 1)"))["stop_type"] == "eos");
}

TEST_CASE("samplers set their parameters within bounds") {
    FakeService service({.says = "Hello"});
    const auto settings = [&](const std::string& more) {
        return complete(service, body("Once", more))["generation_settings"];
    };
    CHECK(settings(R"(, "temperature": -1)")["temperature"] == 0);
    CHECK(settings(R"(, "top_k": 0)")["top_k"] == 0);
    CHECK(settings(R"(, "top_k": -1)")["top_k"] == 0);
    CHECK(settings(R"(, "top_n_sigma": -1)")["top_n_sigma"] == -1);
    CHECK(settings(R"(, "top_n_sigma": 1.5)")["top_n_sigma"] == 1.5);
    CHECK(settings(R"(, "repeat_last_n": -1)")["repeat_last_n"] == -1);
    CHECK(settings(R"(, "dry_base": 0.5)")["dry_base"] == 1.75);
    CHECK(settings(R"(, "dry_base": 2)")["dry_base"] == 2);
    CHECK(settings(R"(, "seed": -1)")["seed"] != -1);
    CHECK(settings(R"(, "dry_sequence_breakers": ["x"])")["dry_sequence_breakers"] == Json::array({"x"}));
    for (const auto& [name, low, high] : std::vector<std::tuple<std::string, std::string, std::string>>{
             {"top_p", "-0.1", "1.1"},
             {"min_p", "-0.1", "1.1"},
             {"typical_p", "-0.1", "1.1"},
             {"xtc_probability", "-0.1", "1.1"},
             {"xtc_threshold", "-0.1", "1.1"},
             {"min_keep", "-1", "2147483648"},
             {"repeat_penalty", "0", "100.1"},
             {"repeat_last_n", "-2", "2147483648"},
             {"presence_penalty", "-100.1", "100.1"},
             {"frequency_penalty", "-100.1", "100.1"},
             {"dry_multiplier", "-0.1", "100.1"},
             {"dry_allowed_length", "0", "2147483648"},
             {"dry_penalty_last_n", "-2", "2147483648"},
             {"mirostat", "-1", "3"},
             {"seed", "-2", "4294967296"},
             {"n_predict", "-3", "2147483648"},
             {"n_probs", "-1", "21"},
             {"n_keep", "-2", "2147483648"},
             {"n_discard", "-1", "2147483648"},
             {"n_cmpl", "0", "129"},
             {"t_max_predict_ms", "-2", "2147483648"},
             {"id_slot", "-2", "2147483648"}}) {
        CAPTURE(name);
        CHECK(refusal(service, ", \"" + name + "\": " + low).starts_with("`" + name + "`"));
        CHECK(refusal(service, ", \"" + name + "\": " + high).starts_with("`" + name + "`"));
        CHECK(refusal(service, ", \"" + name + "\": \"a\"").starts_with("`" + name + "`"));
    }
}

TEST_CASE("omitted samplers have no effect and another order is refused") {
    FakeService service({.says = "Hello"});
    const auto settings = [&](const std::string& samplers) {
        return complete(service, body("Once", R"(, "top_k": 5, "min_p": 0.5, "samplers": )" +
                                                  samplers))["generation_settings"];
    };
    const Json some = settings(R"(["top_k", "temperature"])");
    CHECK((some["top_k"] == 5 && some["min_p"] == 0 && some["top_p"] == 1));
    CHECK(some["samplers"] == Json::array({"top_k", "temperature"}));
    CHECK(settings(R"("kt")") == some);
    const Json none = settings("[]");
    CHECK((none["top_k"] == 0 && none["temperature"] == 1));
    for (const char* const samplers : {R"(["temperature", "top_k"])", R"(["top_k", "top_k"])",
                                       R"(["mirostat"])", R"("tk")", R"("z")", "3"})
        CHECK(refusal(service, std::string(R"(, "samplers": )") + samplers).starts_with("`samplers`"));
}

TEST_CASE("logit_bias accepts ids and texts as pairs and as an object") {
    FakeService service({.says = "Hello"});
    const auto biases = [&](const std::string& bias) {
        return complete(service,
                        body("Once", R"(, "logit_bias": )" + bias))["generation_settings"]["logit_bias"];
    };
    const Json two = etna::parse_json(R"([{"token": 5, "bias": 1.5}, {"token": 6, "bias": null}])");
    CHECK(biases("[[5, 1.5], [6, false]]") == two);
    CHECK(biases(R"({"5": 1.5, "6": false})") == two);
    const Json tokens = post_json(service, "/tokenize", R"({"content": "girl"})")["tokens"];
    const Json named = biases(R"([["girl", -2]])");
    REQUIRE(named.size() == tokens.size());
    CHECK(named[0]["token"] == tokens[0]);
    CHECK(biases(R"({"girl": -2})") == named);
    for (const char* const bias : {"3", "[5]", "[[5]]", "[[5, \"a\"]]", "[[5, true]]", "[[-1, 1]]",
                                   "[[100000, 1]]", "[[1.5, 1]]", R"({"5": "a"})", "[[5, 1e300]]"}) {
        CAPTURE(bias);
        CHECK(refusal(service, std::string(R"(, "logit_bias": )") + bias).starts_with("`logit_bias`"));
    }
    CHECK(refusal(service, R"(, "logit_bias": [[")" + std::string(5000, 'a') + R"(", 1]])")
              .starts_with("`logit_bias`"));
}

TEST_CASE("a ban of a token takes effect") {
    FakeService service({.says = "Hello"});
    const Json first = complete(service, body("Once", R"(, "return_tokens": true, "n_predict": 1)"));
    const std::string token = etna::dump_json(first["tokens"][0]);
    const Json other =
        complete(service, body("Once", R"(, "return_tokens": true, "n_predict": 1, "logit_bias": [[)" +
                                           token + ", false]]"));
    CHECK(other["tokens"] != first["tokens"]);
}

TEST_CASE("grammars and schemas constrain a completion") {
    FakeService service({.says = ""});
    const Json word =
        complete(service, body("Once", R"(, "grammar": "root ::= \"yes\" | \"no\"", "seed": 3)"));
    CHECK((word["content"] == "yes" || word["content"] == "no"));
    CHECK(word["generation_settings"]["grammar"] == "root ::= \"yes\" | \"no\"");
    const Json number = complete(service, body("Once", R"(, "json_schema": {"const": 42}, "grammar": "")"));
    CHECK(number["content"] == "42");
    const Json both =
        complete(service, body("Once", R"(, "json_schema": {"const": 42}, "grammar": "root ::= \"a\"")"));
    CHECK(both["content"] == "a");
    CHECK(refusal(service, R"(, "grammar": "root ::= (")").find("grammar") != std::string::npos);
    CHECK(refusal(service, R"(, "json_schema": {"type": "strin"})").find("json_schema") != std::string::npos);
}

TEST_CASE("unsupported members are refused if they would change the answer and reported otherwise") {
    FakeService service({.says = "Hello"});
    for (const char* const member :
         {R"("mirostat": 2)", R"("dynatemp_range": 0.5)", R"("adaptive_target": 0.5)", R"("n_indent": 2)",
          R"("lora": [{"id": 0, "scale": 1}])", R"("post_sampling_probs": true)",
          R"("grammar_lazy": true)"}) {
        CAPTURE(member);
        CHECK(refusal(service, std::string(", ") + member).find("is not supported") != std::string::npos);
    }
    const FakeAnswer neutral = service.post(
        completion_path,
        body("Once", R"(, "mirostat": 0, "mirostat_tau": 5, "dynatemp_range": 0, "n_indent": 0, "lora": [],
                        "post_sampling_probs": false, "grammar_lazy": false, "id_slot": -1, "n_keep": 0, "cache_prompt": true,
                        "n_discard": 0, "n_cache_reuse": 0, "adaptive_target": -1, "samplers": null)"));
    json_of(neutral);
    CHECK(ignored_fields(neutral) == "");
    const FakeAnswer ignored = service.post(
        completion_path, body("Once", R"(, "id_slot": 1, "n_keep": 3, "n_cache_reuse": 256, "thing": 1)"));
    json_of(ignored);
    for (const char* const name : {"id_slot", "n_keep", "n_cache_reuse", "thing"})
        CHECK(ignored_fields(ignored).find(name) != std::string::npos);
    CHECK(message_of(post_strictly(service, completion_path, body("Once", R"(, "thing": 1)")), 400,
                     "invalid_request_error")
              .find("thing") != std::string::npos);
}

TEST_CASE("errors have llama.cpp's shape and types") {
    FakeService service({});
    CHECK(message_of(service.post(completion_path, body("Once", R"(, "model": "other")")), 404,
                     "not_found_error")
              .find("other") != std::string::npos);
    std::string long_prompt;
    for (int i = 0; i < 600; ++i)
        long_prompt += "word ";
    message_of(service.post(completion_path, body(long_prompt)), 400, "exceed_context_size_error");
    FakeService::Options keyed;
    keyed.service.access.api_keys = {"key"};
    FakeService guarded(keyed);
    message_of(guarded.post(completion_path, body("Once")), 401, "authentication_error");
    FakeService broken({.load_error = Error{ErrorKind::out_of_memory, "no memory"}});
    message_of(broken.post(completion_path, body("Once")), 503, "unavailable_error");
    FakeService lost({.prepare = [](FakeOptions& options, int) { options.lost_at_step = 1; }});
    message_of(lost.post(completion_path, body("Once")), 503, "unavailable_error");
    const auto all = streamed(lost, body("Once", R"(, "stream": true)"));
    CHECK(all.back()["error"]["type"] == "unavailable_error");
}

TEST_CASE("the operator limits ignore_eos of a completion by the member that the client sent") {
    FakeService::Options limited;
    limited.service.limits.ignore_eos_max_tokens = 10;
    FakeService service(limited);
    CHECK(refusal(service, R"(, "ignore_eos": true)").starts_with("`n_predict`"));
    CHECK(
        message_of(service.post(completion_path, R"({"prompt": "a", "max_tokens": 11, "ignore_eos": true})"),
                   400, "invalid_request_error")
            .starts_with("`max_tokens`"));
}

TEST_CASE("infill requires a model with infill tokens") {
    FakeService service({});
    const std::string gap = R"({"input_prefix": "a", "input_suffix": "b"})";
    CHECK(message_of(service.post("/infill", gap), 501, "not_supported_error").find("infill") !=
          std::string::npos);
}

TEST_CASE("properties describe a model without loading it") {
    FakeService service({.chat_template = marked_template});
    const Json asleep = json_of(service.get("/props"));
    CHECK((asleep["is_sleeping"] == true && service.loads() == 0));
    CHECK((asleep["model_alias"] == "stories" && asleep["model_path"] == "stories"));
    complete(service, body("Once"));
    const Json awake = json_of(service.get("/props?model=stories"));
    CHECK(awake["is_sleeping"] == false);
    CHECK(awake["chat_template"] == marked_template);
    CHECK((awake["bos_token"] == "<s>" && awake["eos_token"] == "</s>"));
    CHECK(awake["total_slots"].get<int>() > 0);
    const Json& defaults = awake["default_generation_settings"];
    CHECK((defaults["n_ctx"] == 512 && defaults["params"]["n_predict"] == -1));
    CHECK(defaults["params"]["seed"] == 4294967295);
    CHECK((defaults["params"]["temperature"] == 0.8 && defaults["params"]["samplers"].size() == 9));
    CHECK(awake["build_info"].get<std::string>().starts_with("etna-"));
    message_of(service.get("/props?model=other"), 404, "not_found_error");
    message_of(service.post("/props", "{}"), 501, "not_supported_error");
}

TEST_CASE("slots are shown if the operator allows it") {
    FakeService closed({});
    message_of(closed.get("/slots"), 501, "not_supported_error");
    FakeService::Options open;
    open.service.shows_slots = true;
    open.prepare = [](FakeOptions& options, int) {
        options.limits.sequences_max = 2;
        options.step_delay = std::chrono::milliseconds(10);
    };
    FakeService service(open);
    complete(service, body("Once"));
    const Json idle = json_of(service.get("/slots"));
    CHECK(idle == etna::parse_json(R"([{"id": 0, "n_ctx": 512, "speculative": false, "is_processing": false},
                                       {"id": 1, "n_ctx": 512, "speculative": false, "is_processing": false}])"));
    CHECK(service.get("/slots?fail_on_no_slot=1").status == 200);
    const char* const three_answers =
        R"({"prompt": ["a", "b", "c"], "n_predict": 40, "ignore_eos": true, "top_k": 7, "seed": 1})";
    int status = 0;
    std::thread asking([&] { status = service.post(completion_path, three_answers).status; });
    Json busy;
    (void)test::eventually([&] {
        busy = json_of(service.get("/slots"));
        return busy.size() == 3 && busy[0]["next_token"]["n_decoded"].get<int>() > 2;
    });
    const FakeAnswer full = service.get("/slots?fail_on_no_slot=1");
    asking.join();
    CHECK(status == 200);
    REQUIRE(busy.size() == 3);
    CHECK((busy[0]["is_processing"] == true && busy[2]["is_processing"] == false)); // the third waits
    CHECK(busy[0]["params"]["top_k"] == 7);
    CHECK(busy[0]["next_token"]["n_remain"].get<int>() + busy[0]["next_token"]["n_decoded"].get<int>() == 40);
    CHECK((busy[0]["n_prompt_tokens"] == 2 && busy[0]["n_prompt_tokens_processed"] == 2));
    message_of(full, 503, "unavailable_error");
    CHECK(json_of(service.get("/slots")).size() == 2);
    message_of(service.post("/slots/0", "{}"), 501, "not_supported_error");
}

TEST_CASE("models are loaded and unloaded by name") {
    FakeService service({});
    const auto state = [&] { return json_of(service.get("/models"))["data"][0]["status"]["value"]; };
    CHECK(state() == "unloaded");
    CHECK(post_json(service, "/models/load", R"({"model": "stories"})")["success"] == true);
    CHECK((state() == "loaded" && service.loads() == 1));
    CHECK(post_json(service, "/models/load", R"({"model": "stories"})")["success"] == true);
    CHECK(service.loads() == 1);
    CHECK(post_json(service, "/models/unload", R"({"model": "stories"})")["success"] == true);
    CHECK(state() == "unloaded");
    for (const char* const path : {"/models/load", "/models/unload"}) {
        message_of(service.post(path, R"({"model": "other"})"), 404, "not_found_error");
        message_of(service.post(path, "{}"), 400, "invalid_request_error");
    }
}

TEST_CASE("the list of adapters is empty and changes are refused") {
    FakeService service({});
    CHECK(json_of(service.get("/lora-adapters")) == Json::array());
    message_of(service.post("/lora-adapters", R"({"id": 0})"), 501, "not_supported_error");
}

TEST_CASE("OpenAI's answers have timings only on request") {
    FakeService service({.chat_template = plain_template, .says = "Hello there."});
    const std::string chat = R"({"messages": [{"role": "user", "content": "Hi"}], "temperature": 0)";
    const Json whole = post_json(service, chats_path, chat + R"(, "timings_per_token": true})");
    CHECK(whole["timings"]["predicted_n"].get<int>() > 0);
    CHECK(whole["timings"]["prompt_n"].get<int>() + whole["timings"]["cache_n"].get<int>() ==
          whole["usage"]["prompt_tokens"]);
    CHECK(!post_json(service, chats_path, chat + "}").contains("timings"));
    const auto chunks = chunks_of(service.post(
        chats_path,
        chat + R"(, "timings_per_token": true, "stream": true, "stream_options": {"include_usage": true}})"));
    CHECK(!chunks.front().contains("timings")); // the role
    CHECK(chunks[chunks.size() - 2]["timings"]["predicted_n"] == whole["timings"]["predicted_n"]);
    CHECK(chunks.back()["timings"]["predicted_n"] == whole["timings"]["predicted_n"]);
    for (const Json& chunk : chunks_of(service.post(chats_path, chat + R"(, "stream": true})")))
        CHECK(!chunk.contains("timings"));
    const Json text = post_json(service, completions_path, R"({"prompt": "Hi", "timings_per_token": true})");
    CHECK(text["timings"]["predicted_n"].get<int>() > 0);
}

TEST_CASE("embeddings are lists of rows, with the client's normalisation") {
    FakeService service({});
    const auto rows = [&](const std::string& path, const std::string& body) {
        return post_json(service, path, body);
    };
    const auto values = [](const Json& one) {
        REQUIRE(one["embedding"].size() == 1); // pooled
        return one["embedding"][0].get<std::vector<double>>();
    };
    const Json two = rows("/embedding", R"({"input": ["Once", [1, 5, 9]]})");
    REQUIRE((two.size() == 2 && two[0]["index"] == 0 && two[1]["index"] == 1));
    const auto unit = values(rows("/embedding", R"({"content": "Once"})")[0]);
    CHECK(unit == values(two[0]));
    const auto raw = values(rows("/embedding", R"({"content": "Once", "embd_normalize": -1})")[0]);
    REQUIRE(raw.size() == unit.size());
    const auto norm = [&](double p) {
        double sum = 0;
        for (const double value : raw)
            sum += std::pow(std::abs(value), p);
        return std::pow(sum, 1 / p);
    };
    double largest = 0;
    for (const double value : raw)
        largest = std::max(largest, std::abs(value));
    for (const auto& [number, length] : std::vector<std::pair<int, double>>{
             {0, largest / 32760}, {1, norm(1)}, {2, norm(2)}, {3, norm(3)}}) {
        CAPTURE(number);
        const auto scaled = values(rows("/embedding", R"({"content": "Once", "embd_normalize": )" +
                                                          std::to_string(number) + "}")[0]);
        for (std::size_t i = 0; i < raw.size(); ++i)
            CHECK(scaled[i] == Approx(raw[i] / length).epsilon(1e-5));
    }
    for (const char* const body :
         {"{}", R"({"input": []})", R"({"input": 3})", R"({"input": [3, "a"]})",
          R"({"input": "a", "embd_normalize": -2})", R"({"input": "a", "embd_normalize": 101})",
          R"({"input": "a", "encoding_format": "base64"})", R"({"input": [1000000]})"})
        message_of(service.post("/embedding", body), 400, "invalid_request_error");
}

TEST_CASE("a completion continues in a shifted context if the operator allows it") {
    FakeService::Options options;
    options.service.shifts_context = true;
    FakeService service(options);
    const std::string long_answer =
        R"(, "n_predict": 700, "ignore_eos": true, "n_keep": 3, "n_discard": 100)";
    const FakeAnswer answer = service.post(completion_path, body("Once", long_answer));
    const Json whole = json_of(answer);
    CHECK((whole["tokens_predicted"] == 700 && whole["truncated"] == true && whole["stop_type"] == "limit"));
    CHECK(ignored_fields(answer) == "");
    auto shifted = texts(streamed(service, body("Once", long_answer + R"(, "stream": true)")));
    CHECK(Json(shifted[0]) == whole["content"]);
    std::string long_prompt;
    for (int i = 0; i < 600; ++i)
        long_prompt += "word ";
    const Json shortened = complete(service, body(long_prompt));
    CHECK((shortened["truncated"] == true && shortened["tokens_evaluated"].get<int>() < 512));
    CHECK(complete(service, body("Once"))["truncated"] == false);
    FakeService plain({});
    const FakeAnswer ignored =
        plain.post(completion_path, body("Once", R"(, "n_keep": 3, "n_discard": 100)"));
    CHECK(ignored_fields(ignored) == "n_keep, n_discard");
}
