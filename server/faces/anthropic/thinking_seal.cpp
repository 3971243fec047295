#include "server/faces/anthropic/thinking_seal.hpp"

#include "server/api/owner.hpp"

#include <string_view>

namespace etna::server::anthropic {
namespace {

constexpr std::string_view signed_prefix = "signed:"; ///< plaintext prefix; a digest of the text follows
constexpr std::string_view hidden_prefix = "hidden:"; ///< plaintext prefix; the text itself follows

std::string text_at(const Json& block, const char* member) {
    const auto found = block.find(member);
    return found != block.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

ThinkingSeal::ThinkingSeal(const Seal& seal, const storage::Owner& owner)
    : seal_(&seal), purpose_(purpose_of("thinking", owner)) {}

std::string ThinkingSeal::sign(const std::string& thinking, bool is_hidden) const {
    const std::string content =
        is_hidden ? std::string(hidden_prefix) + thinking : std::string(signed_prefix) + sha256_hex(thinking);
    auto sealed = seal_->seal(content, purpose_);
    return sealed ? std::move(*sealed) : std::string(); // an empty signature does not verify
}

std::optional<std::string> ThinkingSeal::open(const Json& block) const {
    const bool is_redacted = block.value("type", Json()) == "redacted_thinking";
    const auto content = seal_->unseal(text_at(block, is_redacted ? "data" : "signature"), purpose_);
    if (!content)
        return std::nullopt;
    if (content->starts_with(hidden_prefix))
        return content->substr(hidden_prefix.size());
    std::string thinking = text_at(block, "thinking");
    if (*content != std::string(signed_prefix) + sha256_hex(thinking))
        return std::nullopt;
    return thinking;
}

} // namespace etna::server::anthropic
