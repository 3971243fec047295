#include "core/base/file_reader.hpp"
#include "core/gguf/file.hpp"
#include "core/store/embedded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <algorithm>
#include <string>

using namespace etna;

namespace {

gguf::File parsed(std::string_view name) {
    return gguf::File::parse(store::embedded_model(name)->bytes, std::string(name)).value();
}

std::vector<std::string_view> words(const gguf::File& file, std::string_view key) {
    return std::get<std::vector<std::string_view>>(std::get<gguf::Array>(*file.find(key)).items);
}

} // namespace

TEST_CASE("an embedded model equals its source file, byte for byte") {
    REQUIRE(store::embedded_models().size() == 3);
    for (const store::EmbeddedModel& model : store::embedded_models()) {
        const std::string name(model.name);
        CAPTURE(name);
        const auto file = FileReader::open(ETNA_SOURCE_DIR "/core/store/demo/" + name + ".gguf");
        REQUIRE(file.has_value());
        REQUIRE(model.bytes.size() == file->bytes());
        std::vector<std::byte> content(file->bytes());
        REQUIRE(file->read(0, content));
        REQUIRE(std::equal(model.bytes.begin(), model.bytes.end(), content.begin()));
        REQUIRE(reinterpret_cast<std::uintptr_t>(model.bytes.data()) % 64 == 0);
        REQUIRE(store::embedded_model(name) == &model);
    }
    REQUIRE(store::embedded_model("dem") == nullptr);
}

TEST_CASE("the embedded models are within their size limits, and share a vocabulary") {
    REQUIRE(store::embedded_model("demo")->bytes.size() < 4'000'000);
    REQUIRE(store::embedded_model("demo-draft")->bytes.size() <= 500'000);
    REQUIRE(store::embedded_model("demo-embed")->bytes.size() <= 600'000);
    const gguf::File demo = parsed("demo");
    const gguf::File draft = parsed("demo-draft");
    const gguf::File embedder = parsed("demo-embed");
    for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
        CAPTURE(key);
        REQUIRE(words(demo, key).size() > 1000);
        REQUIRE(words(demo, key) == words(draft, key));
        REQUIRE(words(demo, key) == words(embedder, key));
    }
    for (const char* key : {"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template"}) {
        CAPTURE(key);
        REQUIRE(demo.text(key).has_value());
        REQUIRE(demo.text(key) == draft.text(key));
    }
    REQUIRE(demo.unsigned_integer("tokenizer.ggml.eos_token_id").has_value());
    REQUIRE(demo.unsigned_integer("tokenizer.ggml.eos_token_id") ==
            draft.unsigned_integer("tokenizer.ggml.eos_token_id"));
}
