// Replays the committed inputs of the fuzzers, without libFuzzer. `scripts/test --long fuzz` searches for
// new ones.
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

// Each fuzzer's LLVMFuzzerTestOneInput, renamed for this executable.
extern "C" {
int fuzz_answer(const uint8_t* data, std::size_t size);
int fuzz_form(const uint8_t* data, std::size_t size);
int fuzz_gguf(const uint8_t* data, std::size_t size);
int fuzz_grammar(const uint8_t* data, std::size_t size);
int fuzz_listing(const uint8_t* data, std::size_t size);
int fuzz_manifest(const uint8_t* data, std::size_t size);
int fuzz_output(const uint8_t* data, std::size_t size);
int fuzz_request(const uint8_t* data, std::size_t size);
int fuzz_schema(const uint8_t* data, std::size_t size);
int fuzz_template(const uint8_t* data, std::size_t size);
}

namespace {

struct Fuzzer {
    std::string_view name; ///< name of its folder of inputs
    int (*run)(const uint8_t* data, std::size_t size);
};

constexpr std::array<Fuzzer, 10> fuzzers = {{{"answer", fuzz_answer},
                                             {"form", fuzz_form},
                                             {"gguf", fuzz_gguf},
                                             {"grammar", fuzz_grammar},
                                             {"listing", fuzz_listing},
                                             {"manifest", fuzz_manifest},
                                             {"output", fuzz_output},
                                             {"request", fuzz_request},
                                             {"schema", fuzz_schema},
                                             {"template", fuzz_template}}};

std::filesystem::path corpora() {
    return ETNA_SOURCE_DIR "/tests/fuzz/corpus";
}

TEST_CASE("no committed input of a fuzzer crashes") {
    for (const Fuzzer& fuzzer : fuzzers) {
        std::size_t inputs = 0;
        for (const auto& entry : std::filesystem::directory_iterator(corpora() / fuzzer.name)) {
            INFO(entry.path().string()); // a fuzzer aborts if a property does not hold
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string content{std::istreambuf_iterator<char>(file), {}};
            CHECK(fuzzer.run(reinterpret_cast<const uint8_t*>(content.data()), content.size()) == 0);
            ++inputs;
        }
        CAPTURE(fuzzer.name);
        CHECK(inputs > 0);
    }
}

TEST_CASE("every folder of inputs belongs to a fuzzer") {
    for (const auto& entry : std::filesystem::directory_iterator(corpora())) {
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        bool is_known = !entry.is_directory();
        for (const Fuzzer& fuzzer : fuzzers)
            is_known = is_known || fuzzer.name == name;
        CHECK(is_known);
    }
}

} // namespace
