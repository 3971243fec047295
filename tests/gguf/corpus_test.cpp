// The fuzzer's seed corpus, replayed in the ordinary tests.
#include "tests/fuzz/gguf_walk.hpp"
#include "tests/gguf/examples.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/random_model.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

using namespace etna;
using namespace etna::test;
using namespace etna::gguf_test;

namespace {

const std::filesystem::path folder = ETNA_SOURCE_DIR "/tests/fuzz/corpus/gguf";

/// The seeds by file name. After a change, run test_gguf "[write-corpus]" and commit the files.
std::map<std::string, Bytes> seeds() {
    std::map<std::string, Bytes> files;
    files["small-v2.gguf"] = small_model({.version = 2}).bytes();
    files["small-v3.gguf"] = small_model().bytes();
    files["aligned.gguf"] = small_model({.alignment = 8}).bytes();
    files["part.gguf"] = small_model().split(1)[0];
    files["too-many-tensors.gguf"] = small_model({.claimed_tensors = uint64_t{1} << 60}).bytes();
    files["model.gguf"] = random_model({.layers = 1,
                                        .embedding = 4,
                                        .heads = 2,
                                        .kv_heads = 1,
                                        .head_dim = 2,
                                        .feed_forward = 3,
                                        .vocabulary = 5,
                                        .tokenizer = RandomTokenizer::none});
    return files;
}

Bytes read_file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(stream), {}};
    Bytes bytes;
    for (const char c : content)
        bytes.push_back(static_cast<std::byte>(c));
    return bytes;
}

} // namespace

TEST_CASE("the corpus matches the output of the writer") {
    for (const auto& [name, bytes] : seeds()) {
        CAPTURE(name);
        REQUIRE(read_file(folder / name) == bytes);
    }
}

TEST_CASE("every file of the corpus is read or refused, and all entries can be accessed") {
    std::size_t sound = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path().string());
        const auto walk = fuzz::walk_gguf(read_file(entry.path())); // throws if an invariant is broken
        sound += walk ? 1 : 0;
    }
    REQUIRE(sound >= 5);
}

TEST_CASE("write the corpus", "[.write-corpus]") {
    for (const auto& [name, bytes] : seeds())
        write_file(folder / name, bytes);
}
