#include "core/generate/embedding.hpp"
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;
using generate::Embedder;
using generate::Embedding;
using generate::EmbeddingRequest;
using generate::Normalisation;
using generate::Pooling;

namespace {

Embedding embed(const generate::Model& model, const EmbeddingRequest& request) {
    Embedder embedder(model);
    REQUIRE(embedder.add(request));
    CHECK(embedder.pending() == 1);
    auto embedding = embedder.next();
    REQUIRE(embedding);
    CHECK(embedder.pending() == 0);
    return *embedding;
}

double length(const std::vector<float>& values) {
    double squares = 0;
    for (const float value : values)
        squares += double{value} * double{value};
    return std::sqrt(squares);
}

/// Reads the pooling of a `llama` file with pooling_type `number`.
Result<Pooling> pooling_of(uint32_t number) {
    GgufWriter writer;
    writer.add("general.architecture", std::string("llama"));
    writer.add("llama.pooling_type", number);
    const Bytes bytes = writer.bytes();
    const auto file = gguf::File::parse(bytes, "test");
    REQUIRE(file);
    return generate::read_pooling(*file, Pooling::last);
}

} // namespace

TEST_CASE("an embedding is the pooled hidden state, divided by its length") {
    const generate::Model model = model_that_says(story);
    const std::string text = "there was a dog";
    const Embedding last = embed(model, {.input = text});
    CHECK(last.values.size() == model.engine().limits().width);
    CHECK(length(last.values) == Approx(1));
    CHECK(last.tokens == model.file().tokenizer.encode(text, {})->size());
    CHECK(embed(model, {.input = text, .pooling = Pooling::last}).values == last.values);
    const Embedding mean = embed(model, {.input = text, .pooling = Pooling::mean});
    const Embedding first = embed(model, {.input = text, .pooling = Pooling::cls});
    CHECK(mean.values != last.values);
    CHECK(first.values != last.values);
    CHECK(embed(model, {.input = "there is no dog", .pooling = Pooling::cls}).values == first.values);

    const Embedding raw = embed(model, {.input = text, .normalisation = Normalisation::none});
    std::vector<float> normalised = raw.values;
    generate::normalise(normalised);
    CHECK(normalised == last.values);
    const auto short_one =
        embed(model, {.input = text, .dimensions = 2, .normalisation = Normalisation::none});
    CHECK(short_one.values == std::vector<float>(raw.values.begin(), raw.values.begin() + 2));
}

TEST_CASE("embeddings arrive in the order of their texts and equal those of the texts alone") {
    const generate::Model model = model_that_says(story, {}, 64);
    std::vector<EmbeddingRequest> requests;
    std::vector<Embedding> alone;
    for (uint32_t i = 0; i < 60; ++i) {
        std::string text = "dog";
        for (uint32_t word = 0; word < i % 13; ++word)
            text += word % 3 == i % 3 ? " big" : " cat";
        requests.push_back({.input = text, .pooling = i % 2 == 0 ? Pooling::mean : Pooling::last});
        alone.push_back(embed(model, requests.back()));
    }
    Embedder embedder(model);
    std::size_t read = 0;
    for (const EmbeddingRequest& request : requests) {
        REQUIRE(embedder.add(request));
        if (embedder.is_full())
            CHECK(embedder.next()->values == alone[read++].values);
    }
    CHECK(read > 0);
    while (embedder.pending() > 0)
        CHECK(embedder.next()->values == alone[read++].values);
    CHECK(read == requests.size());
}

TEST_CASE("a text that cannot be embedded is refused") {
    const generate::Model model = model_that_says(story, {}, 16);
    Embedder embedder(model);
    const auto refusal = [&](const EmbeddingRequest& request) {
        const Status status = embedder.add(request);
        return status ? std::string() : status.error().message;
    };
    CHECK(refusal({.input = std::vector<TokenId>(16, 5)}).empty());
    CHECK(refusal({.input = std::vector<TokenId>(17, 5)}) ==
          "the text has 17 tokens; the longest that fits has 16");
    CHECK(refusal({.input = std::vector<TokenId>()}) ==
          "the text is empty, and the model adds no tokens to it");
    CHECK(refusal({.input = "a", .dimensions = 4}) == "4 dimensions; the model has 3");
    CHECK(embedder.next());
    REQUIRE(embedder.add({.input = "a"}));
    CHECK(embedder.next([] { return true; }).error().kind == ErrorKind::cancelled);
}

TEST_CASE("pooling_type sets the pooling of a file") {
    CHECK(pooling_of(0).value() == Pooling::last);
    CHECK(pooling_of(1).value() == Pooling::mean);
    CHECK(pooling_of(2).value() == Pooling::cls);
    CHECK(pooling_of(3).value() == Pooling::last);
    CHECK(pooling_of(4).value() == Pooling::rank);
    CHECK(pooling_of(9).error().kind == ErrorKind::corrupt);
}
