#include "tests/text/vocabularies.hpp"

#include "core/gguf/file.hpp"
#include "tests/support/folders.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <cstdlib>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <variant>

#include <nlohmann/json.hpp>
#include <zlib.h>

namespace etna::test {
namespace {

/// Also reads uncompressed files.
std::string read_gzip(const std::filesystem::path& path) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
    if (!file)
        throw std::runtime_error("cannot open " + path.string());
    std::string content;
    std::vector<char> block(1 << 16);
    for (;;) {
        const int count = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
        if (count < 0)
            throw std::runtime_error("cannot decompress " + path.string());
        if (count == 0)
            return content;
        content.append(block.data(), static_cast<std::size_t>(count));
    }
}

std::vector<TokenId> ids_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<TokenId> ids;
    for (TokenId id = 0; stream >> id;)
        ids.push_back(id);
    return ids;
}

template <class Item>
const std::vector<Item>& items_of(const gguf::File& file, std::string_view key) {
    return std::get<std::vector<Item>>(std::get<gguf::Array>(*file.find(key)).items);
}

} // namespace

text::Tokenizer open_vocabulary(const std::filesystem::path& path) {
    const std::string content = read_gzip(path);
    const auto file = gguf::File::parse(std::as_bytes(std::span(content)), path.string());
    if (!file)
        throw std::runtime_error(file.error().message);
    auto tokenizer = text::Tokenizer::create(*file);
    if (!tokenizer)
        throw std::runtime_error(tokenizer.error().message);
    return std::move(tokenizer).value();
}

text::Tokenizer cl100k_vocabulary(const std::filesystem::path& path, const std::string& pre) {
    constexpr std::size_t cl100k_tokens = 100256;
    const std::string content = read_gzip(path);
    const auto file = gguf::File::parse(std::as_bytes(std::span(content)), path.string());
    if (!file)
        throw std::runtime_error(file.error().message);
    const auto& names = items_of<std::string_view>(*file, "tokenizer.ggml.tokens");
    SmallVocabulary vocabulary{.model = "gpt2", .pre = pre, .tokens = {}, .types = {}};
    std::unordered_map<std::string, std::size_t> ids;
    for (std::size_t id = 0; id < cl100k_tokens; ++id) {
        vocabulary.add(std::string(names.at(id)));
        ids.emplace(names[id], id);
    }
    for (const std::string_view merge : items_of<std::string_view>(*file, "tokenizer.ggml.merges")) {
        std::string joined(merge);
        joined.erase(joined.find(' ', 1), 1);
        if (ids.contains(joined))
            vocabulary.merges.emplace_back(merge);
    }
    auto tokenizer = build(vocabulary);
    if (!tokenizer)
        throw std::runtime_error(tokenizer.error().message);
    return std::move(tokenizer).value();
}

std::filesystem::path bundled_folder() {
    return std::filesystem::path(ETNA_TEST_DATA) / "vocab";
}

text::Tokenizer bundled_vocabulary(const std::string& name) {
    return open_vocabulary(bundled_folder() / (name + ".gguf.gz"));
}

std::optional<std::filesystem::path> reference_folder() {
    const char* folder = std::getenv("ETNA_REFERENCE_DATA");
    return folder == nullptr ? std::nullopt : std::optional<std::filesystem::path>(folder);
}

TokenizerCases read_vectors(const std::filesystem::path& texts, const std::filesystem::path& ids) {
    constexpr std::string_view separator = "\n__ggml_vocab_test__\n";
    const std::string content = read_gzip(texts);
    std::istringstream lines(read_gzip(ids));
    TokenizerCases result;
    for (std::size_t position = 0; position < content.size();) {
        const std::size_t end = content.find(separator, position);
        if (end == std::string::npos)
            break; // nothing follows the last separator
        std::string line;
        if (!std::getline(lines, line))
            throw std::runtime_error(ids.string() + " has fewer lines than there are texts");
        result.cases.push_back({.text = content.substr(position, end - position), .ids = ids_of(line)});
        position = end + separator.size();
    }
    return result;
}

TokenizerCases read_json_lines(const std::filesystem::path& path, Oracle oracle) {
    using Ids = std::vector<TokenId>;
    std::istringstream lines(read_gzip(path));
    TokenizerCases result;
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        if (row.contains("unsure") || (oracle == Oracle::normalises && row.contains("decoded"))) {
            ++result.left_out;
            continue;
        }
        TokenizerCase one{.text = row.at("text"), .ids = row.at("ids").get<Ids>()};
        if (oracle == Oracle::knows_no_specials) {
            one.special = text::SpecialTokens::literal;
            if (row.contains("js_ids"))
                one.ids = row.at("js_ids").get<Ids>();
        }
        if (row.contains("ids_plain"))
            one.plain_ids = row.at("ids_plain").get<Ids>();
        if (row.contains("ids_with_bos"))
            one.ids_with_bos = row.at("ids_with_bos").get<Ids>();
        result.cases.push_back(std::move(one));
    }
    return result;
}

} // namespace etna::test
