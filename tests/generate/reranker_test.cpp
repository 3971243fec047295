// Complete rerankers of random weights on a device, against twins in double precision.
#include "core/generate/embedding.hpp"
#include "core/runtime/runtime.hpp"
#include "tests/reference/decode.hpp"
#include "tests/reference/encoder.hpp"
#include "tests/reference/model.hpp"
#include "tests/reference/operations.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_reranker.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

using WordTokens = std::vector<TokenId>;

constexpr uint64_t seed = 3;

/// A reranker, loaded as the program loads it.
class LoadedReranker {
public:
    explicit LoadedReranker(Bytes bytes)
        : bytes_(std::move(bytes)), file_(gguf::File::parse(bytes_, "reranker").value()),
          model_(load(bytes_)) {}

    [[nodiscard]] const generate::Model& model() const { return model_; }

    /// Scores of all documents, computed together.
    [[nodiscard]] std::vector<float> scores(const std::string& query,
                                            const std::vector<std::string>& documents) const {
        generate::Embedder embedder(model_);
        for (const std::string& document : documents) {
            REQUIRE(embedder.add(
                {.input = model_.file()
                              .pair_format
                              .encode(model_.file().tokenizer, {.query = query, .document = document}, {})
                              .value()}));
        }
        std::vector<float> scores;
        while (embedder.pending() > 0) {
            const auto embedding = embedder.next();
            REQUIRE(embedding);
            REQUIRE(embedding->values.size() == 1);
            scores.push_back(embedding->values[0]);
        }
        return scores;
    }

    [[nodiscard]] reference::Matrix matrix(const std::string& name) const {
        const gguf::Tensor& tensor = *file_.find_tensor(name);
        std::vector<std::byte> content(tensor.bytes);
        REQUIRE(file_.read(tensor, 0, content));
        return reference::decode_matrix(tensor, content);
    }

private:
    static generate::Model load(const Bytes& bytes) {
        runtime::Runtime runtime(runtime::Checks::on);
        generate::LoadOptions options;
        options.executor.key_type = runtime::KvType::f32;
        options.executor.value_type = runtime::KvType::f32;
        options.executor.sequences_max = 4;
        return generate::Model::load({.name = "reranker", .path = {}, .bytes = bytes}, options,
                                     [&](const gguf::File& file, const runtime::ExecutorOptions& executor) {
                                         return runtime.load(file, executor);
                                     })
            .value();
    }

    Bytes bytes_;
    gguf::File file_;
    generate::Model model_;
};

/// "w5 w9 ..." of `count` words, and their tokens.
std::string words(uint32_t first, uint32_t count, WordTokens& tokens) {
    std::string text;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t word = 5 + (first + 7 * i) % 190;
        text += (i > 0 ? " w" : "w") + std::to_string(word);
        tokens.push_back(word);
    }
    return text;
}

} // namespace

TEST_CASE("a BERT reranker scores pairs as its twin does", "[device]") {
    const LoadedReranker reranker(random_reranker(RandomReranker::bert, seed));
    const Bytes body =
        random_reranker(RandomReranker::bert, seed, RerankerHead::without); // all that the twin knows
    const auto twin = reference::ReferenceEncoder::load(gguf::File::parse(body, "twin").value()).value();
    WordTokens query_tokens;
    const std::string query = words(1, 6, query_tokens);
    std::vector<std::string> documents;
    std::vector<double> expected;
    for (const uint32_t count : {1U, 3U, 40U, 100U, 17U}) {
        WordTokens tokens{2}; // [CLS]
        tokens.insert(tokens.end(), query_tokens.begin(), query_tokens.end());
        tokens.push_back(3); // [SEP]
        documents.push_back(words(count, count, tokens));
        tokens.push_back(3);
        reference::Vector inner =
            reference::add(reference::linear(reranker.matrix("cls.weight"), twin.hidden(tokens)[0]),
                           reranker.matrix("cls.bias").values);
        for (double& value : inner)
            value = std::tanh(value);
        expected.push_back(reference::linear(reranker.matrix("cls.output.weight"), inner)[0] +
                           reranker.matrix("cls.output.bias").values[0]);
    }
    const std::vector<float> scores = reranker.scores(query, documents);
    REQUIRE(scores.size() == expected.size());
    for (std::size_t i = 0; i < scores.size(); ++i)
        CHECK(double{scores[i]} == Approx(expected[i]).margin(1e-4));
    CHECK(std::fabs(expected[0] - expected[3]) > 0.01); // the document matters
    CHECK(!reranker.model().file().embedding_head.gives_probability());
}

TEST_CASE("a Qwen3 reranker gives the probability of yes as its twin does", "[device]") {
    const LoadedReranker reranker(random_reranker(RandomReranker::qwen3, seed));
    const Bytes body = random_reranker(RandomReranker::qwen3, seed, RerankerHead::without);
    const auto twin = reference::ReferenceModel::load(gguf::File::parse(body, "twin").value()).value();
    const std::string query = "the end of the day";
    const std::vector<std::string> documents{"the dog", "a", "the the the and then the other thing is there"};
    const std::vector<float> scores = reranker.scores(query, documents);
    REQUIRE(scores.size() == documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
        std::string text(random_rerank_template);
        text.replace(text.find("{query}"), 7, query);
        text.replace(text.find("{document}"), 10, documents[i]);
        const WordTokens tokens = reranker.model().file().tokenizer.encode(text, {}).value();
        reference::Cache cache = twin.make_cache();
        reference::Vector last;
        for (uint32_t position = 0; position < tokens.size(); ++position)
            last = twin.hidden(tokens[position], position, position, cache);
        const reference::Vector choice =
            reference::softmax(reference::linear(reranker.matrix("cls.output.weight"), last));
        CHECK(double{scores[i]} == Approx(choice[0]).margin(1e-4));
        CHECK((choice[0] > 0.001 && choice[0] < 0.999)); // not saturated
    }
    CHECK(scores[0] != scores[1]);
    CHECK(reranker.model().file().embedding_head.gives_probability());
}
