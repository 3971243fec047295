#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/limits.hpp"
#include "core/chat/jinja/machine.hpp"
#include "core/chat/jinja/value.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::chat::jinja {

struct Tree;

/// What one rendering is given.
struct Input {
    std::vector<std::pair<std::string, Value>> variables; ///< `messages`, `tools`, `bos_token`, ...
    int64_t now_unix_s = 0;                               ///< what strftime_now() writes, UTC
    Mutation mutation = Mutation::allowed;
};

/// A chat template in the Jinja language, as Hugging Face's transformers renders it: Jinja 3.1 in a sandbox
/// with trim_blocks, lstrip_blocks, loop controls and the `generation` tag; `tojson` without escapes for what
/// is not ASCII; raise_exception() and strftime_now(). Other than there, a template may by default change
/// lists and dicts (`Input::mutation`), as some models' templates need (Kimi K2's keep a queue of tool
/// calls); what the caller gave stays as it is. Left out: include, import and extends (there is nothing to
/// load), the filter random, bytes and sets. Integers of more than 64 bits are printed and compared, not
/// computed. Immutable; thread-safe; copies are cheap.
class Template {
public:
    /// Parses the text. Errors: corrupt (the message begins with "template: line L, column C"), unsupported
    /// (a bound of `limits`).
    static Result<Template> create(std::string_view text, const Limits& limits = {});

    /// The text that the template makes of the variables. Errors: invalid_argument (the template refuses them
    /// with raise_exception(); the message is its own), unsupported (a failure while rendering: the message
    /// has the place and what Python would raise, or names the bound that was reached).
    [[nodiscard]] Result<std::string> render(const Input& input) const;

private:
    Template(std::shared_ptr<const Tree> tree, const Limits& limits)
        : tree_(std::move(tree)), limits_(limits) {}

    std::shared_ptr<const Tree> tree_;
    Limits limits_;
};

} // namespace etna::chat::jinja
