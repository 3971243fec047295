// POST /v1/rerank, /v2/rerank, their aliases, and /v1/score: formats, ranking, usage and errors.
#include "core/base/json.hpp"
#include "core/generate/embedding.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_encoder.hpp"
#include "tests/support/random_reranker.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* rerank_path = "/v1/rerank";
constexpr const char* score_path = "/v1/score";
constexpr uint32_t model_width = 64;

/// A folder with the rerankers `bert` and `qwen` and the encoder `encoder`, removed at the end.
class RerankerFolder {
public:
    RerankerFolder()
        : path_(std::filesystem::temp_directory_path() / ("etna-rerank-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
        write("bert", random_reranker(RandomReranker::bert));
        write("qwen", random_reranker(RandomReranker::qwen3));
        write("encoder", random_encoder({.tokenizer = EncoderTokenizer::wordpiece}));
    }
    ~RerankerFolder() { std::filesystem::remove_all(path_); }
    RerankerFolder(const RerankerFolder&) = delete;
    RerankerFolder& operator=(const RerankerFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    void write(const std::string& name, const Bytes& bytes) {
        std::ofstream file(path_ / (name + ".gguf"), std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }

    std::filesystem::path path_;
};

/// A service on the fake executor, whose hidden states have the width of the files' heads.
class RerankService {
public:
    [[nodiscard]] FakeService& operator()() { return service_; }

    /// Posts a body of `model`, query "w5 w6" and four documents; `more` continues the object.
    FakeAnswer rank(const std::string& model, const std::string& more = "",
                    const std::string& path = rerank_path) {
        return service_.post(
            path, R"({"model": ")" + model +
                      R"(", "query": "w5 w6", "documents": ["w7", "w8 w9", "w10", "w11 w7"])" + more + "}");
    }
    FakeAnswer score(const std::string& members, const std::string& model = "bert") {
        return service_.post(score_path, R"({"model": ")" + model + "\", " + members + "}");
    }

private:
    RerankerFolder folder_;
    FakeService service_{{.folder = folder_.path(), .prepare = [](FakeOptions& options, int /*load*/) {
                              options.limits.width = model_width;
                          }}};
};

std::vector<double> values_of(const Json& list, const char* member) {
    std::vector<double> values;
    for (const Json& one : list)
        values.push_back(one[member].get<double>());
    return values;
}

std::vector<int> indices_of(const Json& results) {
    std::vector<int> indices;
    for (const Json& one : results)
        indices.push_back(one["index"].get<int>());
    return indices;
}

/// Returns the scores of the four documents, in order, through another endpoint.
std::vector<double> single_scores(RerankService& service, const std::string& more = "") {
    std::vector<double> scores;
    for (const char* document : {"w7", "w8 w9", "w10", "w11 w7"}) {
        const Json answer =
            json_of(service.score(R"("text_1": "w5 w6", "text_2": ")" + std::string(document) + "\"" + more));
        scores.push_back(answer["data"][0]["score"].get<double>());
    }
    return scores;
}

} // namespace

TEST_CASE("documents are ranked by the head of the model, most relevant first") {
    RerankService service;
    const Json answer = json_of(service.rank("bert"));
    CHECK((answer["object"] == "list" && answer["model"] == "bert" && answer["id"].is_string()));
    const Json& results = answer["results"];
    REQUIRE(results.size() == 4);
    const std::vector<double> ranked = values_of(results, "relevance_score");
    CHECK(std::is_sorted(ranked.rbegin(), ranked.rend()));
    CHECK((ranked.front() > ranked.back() && ranked.front() < 1 && ranked.back() > 0));
    const std::vector<double> alone = single_scores(service);
    for (const Json& result : results) {
        const auto index = result["index"].get<std::size_t>();
        CHECK(result["relevance_score"].get<double>() == Approx(alone.at(index)));
    }
    CHECK(results[0]["document"]["text"].is_string());
    // [CLS] query [SEP] document [SEP]: three more tokens than words.
    CHECK(answer["usage"]["prompt_tokens"] == 4 * (2 + 3) + 1 + 2 + 1 + 2);
    CHECK(answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"]);
    CHECK(answer["meta"]["billed_units"]["search_units"] == 1);
    CHECK(json_of(service.rank("bert", "", "/rerank"))["results"] == results);
    CHECK(json_of(service.rank("bert", "", "/v1/reranking"))["results"] == results);
    CHECK(json_of(service.rank("bert", "", "/reranking"))["results"] == results);
}

TEST_CASE("a score is a probability, or the head's output on request") {
    RerankService service;
    const Json results = json_of(service.rank("bert"))["results"];
    const Json raw = json_of(service.rank("bert", R"(, "use_activation": false)"))["results"];
    CHECK(indices_of(raw) == indices_of(results));
    for (std::size_t i = 0; i < raw.size(); ++i) {
        const double logit = raw[i]["relevance_score"].get<double>();
        CHECK(results[i]["relevance_score"].get<double>() == Approx(1 / (1 + std::exp(-logit))));
    }
    const Json choices = json_of(service.rank("qwen"))["results"];
    CHECK(choices == json_of(service.rank("qwen", R"(, "use_activation": false)"))["results"]);
    for (const double score : values_of(choices, "relevance_score"))
        CHECK((score > 0 && score < 1));
}

TEST_CASE("top_n limits the results to the best and return_documents adds their texts") {
    RerankService service;
    const Json all = json_of(service.rank("bert"))["results"];
    const Json two = json_of(service.rank("bert", R"(, "top_n": 2)"))["results"];
    REQUIRE(two.size() == 2);
    CHECK((two[0] == all[0] && two[1] == all[1]));
    CHECK(json_of(service.rank("bert", R"(, "top_n": 50)"))["results"] == all);
    const Json bare = json_of(service.rank("bert", R"(, "return_documents": false)"))["results"];
    CHECK(!bare[0].contains("document"));
    const Json objects = json_of(
        service().post(rerank_path, R"({"model": "bert", "query": "w5 w6", "documents": [{"text": "w7"},
                "w8 w9", {"text": "w10", "title": "t"}, {"text": "w11 w7"}]})"));
    CHECK(objects["results"] == all);
}

TEST_CASE("documents are truncated only on request") {
    RerankService service;
    const Json cut = json_of(service.rank("bert", R"(, "max_tokens_per_doc": 1)"));
    CHECK(cut["usage"]["prompt_tokens"] == 4 * (2 + 3 + 1));
    CHECK(cut["results"][0]["document"]["text"] !=
          cut["results"][1]["document"]["text"]); // the returned text is not truncated
    std::string words;
    for (int i = 0; i < 600; ++i)
        words += "w7 ";
    const std::string body = R"({"model": "bert", "query": "w5", "documents": ["w7", ")" + words + "\"]";
    const Json error = error_of(service().post(rerank_path, body + "}"));
    CHECK((error["param"] == "documents[1]" && error["code"] == "context_length_exceeded"));
    CHECK(json_of(service().post(rerank_path,
                                 body + R"(, "max_tokens_per_doc": 100})"))["usage"]["prompt_tokens"] ==
          (1 + 3 + 1) + (1 + 3 + 100));
}

TEST_CASE("Cohere's form has its id, billing and errors") {
    RerankService service;
    const Json answer = json_of(service.rank("bert", "", "/v2/rerank"));
    CHECK(answer["id"].is_string());
    CHECK(answer["meta"]["api_version"]["version"] == "2");
    CHECK(answer["meta"]["billed_units"]["search_units"] == 1);
    CHECK(answer["meta"]["tokens"]["input_tokens"] == 4 * (2 + 3) + 1 + 2 + 1 + 2);
    const Json jina = json_of(service.rank("bert", R"(, "return_documents": false)"))["results"];
    CHECK(answer["results"] == jina); // no texts, unless requested
    CHECK(json_of(service.rank("bert", R"(, "return_documents": true)", "/v2/rerank"))["results"] ==
          json_of(service.rank("bert"))["results"]);
    const Json error = json_of(service().post("/v2/rerank", R"({"model": "bert", "documents": ["a"]})"), 400);
    CHECK(error["message"] == "`query` is required");
    CHECK(!error.contains("error"));
    std::string many = R"({"model": "bert", "query": "w5", "documents": ["w7")";
    for (int i = 0; i < 100; ++i)
        many += R"(, "w8")";
    CHECK(json_of(service().post("/v2/rerank", many + "]}"))["meta"]["billed_units"]["search_units"] == 2);
}

TEST_CASE("`texts` selects the format of Text Embeddings Inference") {
    RerankService service;
    const auto post = [&](const std::string& more) {
        return json_of(service().post("/rerank", R"({"model": "bert", "query": "w5 w6",
            "texts": ["w7", "w8 w9", "w10", "w11 w7"])" +
                                                     more + "}"));
    };
    const Json plain = post("");
    REQUIRE((plain.is_array() && plain.size() == 4));
    const Json jina = json_of(service.rank("bert"))["results"];
    CHECK(indices_of(plain) == indices_of(jina));
    CHECK(values_of(plain, "score") == values_of(jina, "relevance_score"));
    CHECK(!plain[0].contains("text"));
    const Json raw = post(R"(, "return_text": true, "raw_scores": true)");
    CHECK(raw[0]["text"] == jina[0]["document"]["text"]);
    CHECK(values_of(raw, "score") ==
          values_of(json_of(service.rank("bert", R"(, "use_activation": false)"))["results"],
                    "relevance_score"));
}

TEST_CASE("errors of a ranking name the member in the format of the client's API") {
    RerankService service;
    const auto param = [&](const std::string& body) {
        const FakeAnswer answer = service().post(rerank_path, body);
        const Json error = error_of(answer);
        CHECK(json_of(answer, 400)["detail"] == error["message"]); // Jina's clients read this one
        return error.value("param", "none");
    };
    CHECK(param(R"({"model": "bert", "documents": ["a"]})") == "query");
    CHECK(param(R"({"model": "bert", "query": "", "documents": ["a"]})") == "query");
    CHECK(param(R"({"model": "bert", "query": 5, "documents": ["a"]})") == "query");
    CHECK(param(R"({"model": "bert", "query": "q"})") == "documents");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": "a"})") == "documents");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": []})") == "documents");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": ["a", 5]})") == "documents[1]");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": [{"body": "a"}]})") == "documents[0].text");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": [{"text": 5}]})") == "documents[0].text");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": ["a"], "top_n": 0})") == "top_n");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": ["a"], "top_n": "2"})") == "top_n");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": ["a"], "max_tokens_per_doc": 0})") ==
          "max_tokens_per_doc");
    CHECK(param(R"({"model": "bert", "query": "q", "documents": ["a"], "return_documents": 1})") ==
          "return_documents");
    CHECK(param(R"({"model": "bert", "query": "q", "texts": ["a", null]})") == "texts[1]");
    std::string many = R"({"model": "bert", "query": "q", "documents": ["a")";
    for (int i = 0; i < 2048; ++i)
        many += R"(, "a")";
    CHECK(param(many + "]}") == "documents");
    CHECK(service().loads() == 0); // a wrong body loads no model
    CHECK(error_of(service().post(rerank_path, R"({"model": "gone", "query": "q", "documents": ["a"]})"),
                   404)["code"] == "model_not_found");
    for (const char* model : {"stories", "encoder"}) {
        const Json error = error_of(service.rank(model));
        CHECK((error["param"] == "model" && error["code"] == "unsupported_model"));
        CHECK(error["message"].get<std::string>().find("pooling_type") != std::string::npos);
    }
    CHECK(ignored_fields(service.rank("bert", R"(, "odd": 1, "user": "u")")) == "odd, user");
    CHECK(post_strictly(service(), rerank_path,
                        R"({"model": "bert", "query": "q", "documents": ["a"], "odd": 1})")
              .status == 400);
}

TEST_CASE("one text is scored against many or texts are scored in pairs") {
    RerankService service;
    const Json many =
        json_of(service.score(R"("text_1": "w5 w6", "text_2": ["w7", "w8 w9", "w10", "w11 w7"])"));
    CHECK((many["object"] == "list" && many["model"] == "bert" && many["id"].is_string()));
    CHECK(many["created"].is_number_integer());
    CHECK(indices_of(many["data"]) == std::vector{0, 1, 2, 3});
    CHECK(many["data"][0]["object"] == "score");
    const std::vector<double> scores = values_of(many["data"], "score");
    const std::vector<double> alone = single_scores(service);
    for (std::size_t i = 0; i < scores.size(); ++i)
        CHECK(scores[i] == Approx(alone[i]));
    CHECK(many["usage"]["prompt_tokens"] == 4 * (2 + 3) + 1 + 2 + 1 + 2);

    const Json pairs = json_of(service.score(R"("queries": ["w5 w6", "w9"], "documents": ["w10", "w7"])"));
    REQUIRE(pairs["data"].size() == 2);
    CHECK(pairs["data"][0]["score"].get<double>() == Approx(alone[2]));
    CHECK(pairs["data"][1]["score"] ==
          json_of(service.score(R"("text_1": "w9", "text_2": "w7")"))["data"][0]["score"]);
    const std::vector<double> raw = single_scores(service, R"(, "use_activation": false)");
    CHECK(alone[0] == Approx(1 / (1 + std::exp(-raw[0]))));
    CHECK(json_of(service().post("/score", R"({"model": "bert", "text_1": "w5", "text_2": "w7"})"))["data"]
              .size() == 1);
}

TEST_CASE("an embedding model scores by cosine") {
    RerankService service;
    const Json answer = json_of(service.score(R"("text_1": "w5 w6", "text_2": ["w5 w6", "w7"])", "encoder"));
    const Json embeddings =
        post_json(service(), "/v1/embeddings", R"({"model": "encoder", "input": ["w5 w6", "w7"]})");
    const auto one = embeddings["data"][0]["embedding"].get<std::vector<double>>();
    const auto other = embeddings["data"][1]["embedding"].get<std::vector<double>>();
    double cosine = 0;
    for (std::size_t i = 0; i < one.size(); ++i)
        cosine += one[i] * other[i];
    CHECK(answer["data"][0]["score"].get<double>() == Approx(1));
    CHECK(answer["data"][1]["score"].get<double>() == Approx(cosine));
    CHECK(std::abs(cosine) < 0.999);
    CHECK(answer["usage"]["prompt_tokens"].get<int>() ==
          embeddings["usage"]["prompt_tokens"].get<int>() + 4); // plus the tokens of the query
}

TEST_CASE("errors of scores name the member that the client sent") {
    RerankService service;
    const auto param = [&](const std::string& members) {
        return error_of(service.score(members)).value("param", "none");
    };
    CHECK(param(R"("text_2": "a")") == "text_1");
    CHECK(param(R"("text_1": "a")") == "text_2");
    CHECK(param(R"("queries": "a")") == "documents");
    CHECK(param(R"("text_1": ["a", "b"], "text_2": ["a", "b", "c"])") == "text_1");
    CHECK(param(R"("queries": ["a", "b"], "documents": "a")") == "queries");
    CHECK(param(R"("text_1": "a", "text_2": ["a", 5])") == "text_2[1]");
    CHECK(param(R"("text_1": [], "text_2": "a")") == "text_1");
    CHECK(param(R"("text_1": {"text": "a"}, "text_2": "a")") == "text_1");
    CHECK(param(R"("text_1": "a", "text_2": "b", "use_activation": "yes")") == "use_activation");
    std::string words;
    for (int i = 0; i < 600; ++i)
        words += "w7 ";
    CHECK(param(R"("text_1": "w5", "text_2": ")" + words + "\"") == "text_2");
    CHECK(error_of(service.score(R"("text_1": "w5", "text_2": ["w7", ")" + words + "\"]", "encoder"))
              .value("param", "none") == "text_2[1]");
    CHECK(error_of(service.score(R"("text_1": "a", "text_2": "b")", "gone"), 404)["code"] ==
          "model_not_found");
}
