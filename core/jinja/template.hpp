#pragma once

#include "core/base/result.hpp"
#include "core/jinja/machine.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::jinja {

struct Block;

/// Input of one rendering.
struct Input {
    std::vector<std::pair<std::string, Value>> variables; ///< `messages`, `tools`, `bos_token`, ...
    int64_t now_unix_s = 0;                               ///< time for strftime_now(), UTC
    /// Work (see Limits::work) that this rendering shares with others, and is charged to; borrowed. Null: the
    /// rendering has the limit of the template alone.
    uint64_t* work_left = nullptr;
};

/// A Jinja chat template, rendered as in Hugging Face's transformers: sandboxed Jinja 3.1 with trim_blocks,
/// lstrip_blocks, loop controls and the `generation` tag; `tojson` without escapes for non-ASCII characters;
/// raise_exception() and strftime_now(). Unlike there, a template may change lists, because some models'
/// templates need it (Kimi K2's maintain a queue of tool calls); the caller's values are never changed.
/// README.md lists the language and the builtins; create() refuses all else by name. Integers of more than 64
/// bits can be printed, but not used in arithmetic. Immutable; thread-safe; copies are cheap.
class Template {
public:
    /// Parses the text. Errors: corrupt (not valid Jinja, or a builtin that etna does not have; the message
    /// begins with "template: line L, column C"), unsupported (a limit of `limits`).
    static Result<Template> create(std::string_view text, const Limits& limits = {});

    /// Renders the template. Errors: invalid_argument (the template calls raise_exception(); the message is
    /// its own), unsupported (rendering fails: the message has the position and the exception that Python
    /// would raise, or names the limit that was reached).
    [[nodiscard]] Result<std::string> render(const Input& input) const;

private:
    Template(std::shared_ptr<const Block> tree, const Limits& limits)
        : tree_(std::move(tree)), limits_(limits) {}

    std::shared_ptr<const Block> tree_;
    Limits limits_;
};

} // namespace etna::jinja
