#include "server/faces/ollama/prompt_template.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::ollama {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view response = ".Response";

/// Limits the length of the prompt relative to the length of the request.
constexpr std::size_t insertions_max = 16;
constexpr std::size_t branches_max = 16;

std::string_view without_leading(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

std::string_view without_trailing(std::string_view text) {
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// The text between the braces, and whether adjacent white space is removed.
struct Action {
    std::string_view text;
    bool trims_before = false;
    bool trims_after = false;
};

/// Renders one template, action by action.
class TemplateRenderer {
public:
    /// `take` receives the prompt in pieces.
    TemplateRenderer(const PromptValues& values, std::function<void(std::string_view)> take)
        : values_(values), take_(std::move(take)) {}

    Status render(std::string_view text) {
        bool trims = false;
        while (!text.empty() && !is_ended_) {
            const std::size_t open = text.find("{{");
            std::string_view literal = text.substr(0, open);
            if (trims)
                literal = without_leading(literal);
            if (open == std::string_view::npos) {
                add(literal);
                break;
            }
            ETNA_TRY(const Action action, action_at(text.substr(open)));
            add(action.trims_before ? without_trailing(literal) : literal);
            ETNA_CHECK(run(action.text));
            trims = action.trims_after;
            text = rest_;
        }
        if (!branches_.empty() && !is_ended_)
            return invalid_argument("an `if` has no `end`");
        return {};
    }

private:
    /// Reads the action at the start of the text, and sets `rest_` to the text after it.
    Result<Action> action_at(std::string_view text) {
        const std::size_t close = text.find("}}");
        if (close == std::string_view::npos)
            return invalid_argument("`{{` has no `}}`");
        rest_ = text.substr(close + 2);
        Action action = {.text = text.substr(2, close - 2)};
        const auto is_blank = [](char one) { return blanks.find(one) != std::string_view::npos; };
        if (action.text.size() > 1 && action.text.front() == '-' && is_blank(action.text[1])) {
            action.trims_before = true;
            action.text.remove_prefix(1);
        }
        if (action.text.size() > 1 && action.text.back() == '-' &&
            is_blank(action.text[action.text.size() - 2])) {
            action.trims_after = true;
            action.text.remove_suffix(1);
        }
        action.text = without_trailing(without_leading(action.text));
        return action;
    }

    Status run(std::string_view action) {
        constexpr std::string_view condition = "if ";
        if (action.starts_with("/*") && action.ends_with("*/"))
            return {};
        if (action.starts_with(condition))
            return begin_if(action, without_leading(action.substr(condition.size())));
        if (action == "end" && !branches_.empty())
            return branches_.pop_back(), Status();
        if (action == "else" && !branches_.empty() && !branches_.back().has_else) {
            branches_.back() = {.is_shown = !branches_.back().is_shown, .has_else = true};
            return {};
        }
        const auto value = value_of(action);
        if (!value)
            return unsupported(action);
        if (is_shown() && ++insertions_ > insertions_max)
            return invalid_argument(fmt::format("more than {} values are inserted", insertions_max));
        is_ended_ = is_shown() && action == response;
        add(*value);
        return {};
    }

    Status begin_if(std::string_view action, std::string_view name) {
        const auto value = value_of(name);
        if (!value)
            return unsupported(action);
        if (branches_.size() == branches_max)
            return invalid_argument(fmt::format("more than {} `if` are nested", branches_max));
        branches_.push_back({.is_shown = !value->empty()});
        return {};
    }

    /// Returns a value by name; empty if the name is unknown.
    [[nodiscard]] std::optional<std::string_view> value_of(std::string_view name) const {
        if (name == ".System")
            return values_.system;
        if (name == ".Prompt")
            return values_.prompt;
        if (name == ".Suffix")
            return values_.suffix;
        return name == response ? std::optional(std::string_view()) : std::nullopt;
    }

    static Error unsupported(std::string_view action) {
        constexpr std::size_t shown_max = 60;
        return {ErrorKind::invalid_argument,
                fmt::format("`{{{{ {} }}}}` is not supported", action.substr(0, shown_max)),
                "use .System, .Prompt, .Suffix, .Response, if, else and end"};
    }

    [[nodiscard]] bool is_shown() const {
        return std::ranges::all_of(branches_, [](const Branch& branch) { return branch.is_shown; });
    }

    void add(std::string_view text) {
        if (is_shown())
            take_(text);
    }

    struct Branch {
        bool is_shown = true;
        bool has_else = false;
    };

    PromptValues values_;
    std::function<void(std::string_view)> take_;
    std::string_view rest_;
    std::vector<Branch> branches_; ///< the open `if`s
    std::size_t insertions_ = 0;
    bool is_ended_ = false; ///< `.Response` was reached
};

} // namespace

Result<std::string> render_template(std::string_view text, const PromptValues& values,
                                    const std::function<bool(std::size_t bytes)>& reserve_memory) {
    std::size_t bytes = 0;
    TemplateRenderer measured(values, [&](std::string_view piece) { bytes += piece.size(); });
    ETNA_CHECK(measured.render(text));
    if (reserve_memory && !reserve_memory(bytes))
        return Error{ErrorKind::out_of_memory, "not enough memory for the prompt"};
    std::string prompt;
    prompt.reserve(bytes);
    TemplateRenderer written(values, [&](std::string_view piece) { prompt += piece; });
    ETNA_CHECK(written.render(text));
    return prompt;
}

} // namespace etna::server::ollama
