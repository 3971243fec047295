#include "core/chat/adapt.hpp"

#include "core/chat/fallbacks.hpp"
#include "core/chat/outline.hpp"
#include "core/chat/turns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Type;

/// A set of fallbacks: bit i is template_fallbacks()[i].
using FallbackSet = uint32_t;

/// Outlines rendered for one conversation, in search of fallbacks; and sets tried, of which most change as
/// little as a smaller one.
constexpr std::size_t renderings_max = 96;
constexpr std::size_t sets_max = 1024;
/// Work of all these outlines, in the unit of jinja::Limits::work: a hostile template must not delay a
/// request much.
constexpr uint64_t search_work_max = 1'000'000'000;

bool has_calls(const std::vector<Turn>& messages) {
    return std::any_of(messages.begin(), messages.end(),
                       [](const Turn& message) { return message.role == "tool" || !message.calls.empty(); });
}

bool has_system(const std::vector<Turn>& messages) {
    return std::any_of(messages.begin(), messages.end(),
                       [](const Turn& message) { return message.role == "system"; });
}

/// Whether a message after the last user's has reasoning: that of earlier turns is dropped by design.
bool reasons_in_last_turn(const std::vector<Turn>& messages) {
    const auto last_user = std::find_if(messages.rbegin(), messages.rend(),
                                        [](const Turn& message) { return message.role == "user"; });
    return std::any_of(messages.rbegin(), last_user,
                       [](const Turn& message) { return !message.reasoning.empty(); });
}

bool continues_final_message(const NamedValues& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](const auto& argument) {
        return argument.first == "continue_final_message" && argument.second.is(Type::boolean) &&
               argument.second.boolean();
    });
}

/// Whether the role is not one of the four that every template is expected to support.
bool is_other_role(std::string_view role) {
    constexpr std::array<std::string_view, 4> standard = {"system", "user", "assistant", "tool"};
    return std::find(standard.begin(), standard.end(), role) == standard.end();
}

bool is_only_text_beside_calls(const std::vector<OutlinePart>& parts) {
    return std::ranges::all_of(
        parts, [](const OutlinePart& part) { return part.kind == PartKind::text_beside_calls; });
}

Error dropped_part(const OutlinePart& part) {
    const auto error = [](std::string message) {
        return invalid_argument(std::move(message),
                                "leave it out, or name another template with --chat-template");
    };
    if (part.kind == PartKind::tool)
        return error(fmt::format("the chat template does not render tools[{}]", part.position));
    if (is_other_role(part.role)) {
        return invalid_argument(
            fmt::format("the chat template does not render messages of the role `{}`", part.role),
            "use the roles system, user, assistant and tool");
    }
    if (part.kind == PartKind::call) {
        return error(fmt::format("the chat template does not render messages[{}].tool_calls[{}]",
                                 part.position, part.call));
    }
    return error(fmt::format("the chat template does not render messages[{}], of the role {}", part.position,
                             part.role));
}

/// Applies the fallbacks of the set in order. Returns those that changed something.
FallbackSet apply(FallbackSet set, Turns& turns) {
    const std::span<const TemplateFallback> fallbacks = template_fallbacks();
    FallbackSet changed = 0;
    for (std::size_t i = 0; i < fallbacks.size(); ++i) {
        const FallbackSet bit = FallbackSet{1} << i;
        if ((set & bit) != 0 && fallbacks[i].apply(turns))
            changed |= bit;
    }
    return changed;
}

FallbackSet all_that_replace(Replaces replaced) {
    const std::span<const TemplateFallback> fallbacks = template_fallbacks();
    FallbackSet set = 0;
    for (std::size_t i = 0; i < fallbacks.size(); ++i) {
        if (fallbacks[i].replaces == replaced)
            set |= FallbackSet{1} << i;
    }
    return set;
}

int cost_of(FallbackSet set) {
    const std::span<const TemplateFallback> fallbacks = template_fallbacks();
    int cost = 0;
    for (; set != 0; set &= set - 1)
        cost += fallbacks[static_cast<std::size_t>(std::countr_zero(set))].cost;
    return cost;
}

/// Returns the non-empty subsets, cheapest first.
std::vector<FallbackSet> subsets(FallbackSet set) {
    std::vector<FallbackSet> all;
    for (FallbackSet subset = set; subset != 0; subset = (subset - 1) & set)
        all.push_back(subset);
    std::ranges::sort(all, {}, [](FallbackSet subset) { return std::pair(cost_of(subset), subset); });
    return all;
}

/// A conversation after some fallbacks.
struct Rendering {
    FallbackSet changed = 0; ///< the fallbacks that changed something
    Turns turns;
    RenderedPrompt prompt;
};

/// Renders one conversation; state of render_adapted().
class Adaptation {
public:
    Adaptation(const ChatTemplate& chat_template, const Conversation& conversation, int64_t now_unix_s)
        : template_(&chat_template), turns_(turns_of(conversation, chat_template.capabilities().arguments)),
          spelled_(conversation.spelled_tokens), now_unix_s_(now_unix_s) {
        control_reasoning(conversation.thinking);
    }

    Result<AdaptedPrompt> run() {
        const Outline outline(turns_);
        outline_ = &outline;
        always_ = needed_always();
        ETNA_TRY(Rendering chosen, choose());
        add_notes(chosen.changed);
        prompt_.text = std::move(chosen.prompt.text);
        prompt_.barriers = std::move(chosen.prompt.barriers);
        prompt_.tools_in_text = chosen.turns.tools_in_text;
        if (continues_final_message(chosen.turns.template_arguments))
            prompt_.prefilled_bytes = prefilled_bytes(chosen.turns);
        return std::move(prompt_);
    }

private:
    void control_reasoning(Thinking thinking) {
        const TemplateCapabilities& capabilities = template_->capabilities();
        const ReasoningControls& controls = capabilities.reasoning_controls;
        const std::optional<EffortChoice> effort = set_effort(turns_.template_arguments, controls);
        set_thinking(turns_.template_arguments, controls, thinking);
        prompt_.ignores_thinking_off = thinking == Thinking::off && controls.switches.empty();
        if (effort && effort->has_changed) {
            prompt_.notes.push_back(
                effort->word
                    ? fmt::format("the chat template has another scale of reasoning effort: its `{}` is used",
                                  *effort->word)
                    : std::string(
                          "the chat template has another scale of reasoning effort: its default is used"));
        }
        if (effort && !effort->has_effect)
            prompt_.dropped.emplace_back("reasoning_effort");
        if (reasons_in_last_turn(turns_.messages) && !capabilities.renders_reasoning)
            prompt_.dropped.emplace_back("reasoning_content");
    }

    [[nodiscard]] Result<RenderedPrompt> render(const Turns& turns) const {
        return template_->render(request_value(turns, template_->capabilities()), now_unix_s_, spelled_);
    }

    /// Returns the fallbacks for what the template lacks altogether.
    [[nodiscard]] FallbackSet needed_always() const {
        const TemplateCapabilities& capabilities = template_->capabilities();
        const bool lacks_tools = !turns_.tools.empty() && !capabilities.renders_tools;
        const bool lacks_calls = has_calls(turns_.messages) && capabilities.arguments == ArgumentsForm::none;
        const bool lacks_system =
            !capabilities.renders_system && (has_system(turns_.messages) || lacks_tools);
        return (lacks_tools ? all_that_replace(Replaces::tools) : 0) |
               (lacks_calls ? all_that_replace(Replaces::calls) : 0) |
               (lacks_system || capabilities.moves_late_system ? all_that_replace(Replaces::late_system)
                                                               : 0) |
               (lacks_system ? all_that_replace(Replaces::system) : 0);
    }

    /// Returns the parts that the template drops from the outline with these fallbacks; empty if it refuses
    /// it, or if one of the further ones changes nothing.
    [[nodiscard]] std::optional<std::vector<OutlinePart>> dropped_with(FallbackSet set,
                                                                       uint64_t* work_left = nullptr) {
        Turns turns = outline_->turns();
        const FallbackSet further = set & ~always_;
        if ((apply(set, turns) & further) != further)
            return std::nullopt;
        ++renderings_;
        const auto prompt = template_->render(request_value(turns, template_->capabilities()), now_unix_s_,
                                              SpelledTokens::all, work_left);
        if (!prompt)
            return std::nullopt;
        return outline_->missing(prompt->text);
    }

    [[nodiscard]] Result<Rendering> render_with(FallbackSet set) const {
        Rendering rendering = {.changed = 0, .turns = turns_, .prompt = {}};
        rendering.changed = apply(set, rendering.turns);
        ETNA_TRY(rendering.prompt, render(rendering.turns));
        return rendering;
    }

    /// Renders with the cheapest fallbacks with which the template renders every part. The text beside a call
    /// may be missing: to convert all calls to text for its sake would change more.
    Result<Rendering> choose() {
        auto unchanged = render_with(always_);
        if (unchanged && !template_->capabilities().keeps_texts)
            return unchanged;
        const auto dropped = dropped_with(always_);
        // A template that refuses words in the place of texts cannot be checked.
        if (unchanged && (!dropped || dropped->empty()))
            return unchanged;
        if (unchanged && is_only_text_beside_calls(*dropped)) {
            if (template_->capabilities().drops_text_beside_calls)
                return without_text(std::move(*unchanged));
            without_text_ = always_;
        }
        const FallbackSet conversions = all_that_replace(Replaces::tools) | all_that_replace(Replaces::calls);
        const FallbackSet applicable = applicable_fallbacks();
        if (std::optional<Rendering> found = search(applicable & ~conversions))
            return std::move(*found);
        if (without_text_) {
            if (auto rendering = render_with(*without_text_))
                return without_text(std::move(*rendering));
        }
        if (std::optional<Rendering> found = search(applicable))
            return std::move(*found);
        if (!unchanged)
            return unchanged.error();
        return dropped_part(dropped->front());
    }

    Rendering without_text(Rendering rendering) {
        prompt_.dropped.emplace_back("text beside tool calls");
        return rendering;
    }

    /// Tries subsets of the applicable fallbacks, cheapest first. Remembers the first one with which only
    /// text beside calls is missing.
    std::optional<Rendering> search(FallbackSet applicable) {
        std::size_t tried = 0;
        renderings_ = 0;
        for (const FallbackSet subset : subsets(applicable)) {
            if (++tried > sets_max || renderings_ > renderings_max)
                break;
            const auto dropped = dropped_with(always_ | subset, &search_work_);
            if (!dropped || !is_only_text_beside_calls(*dropped))
                continue;
            if (!dropped->empty() && !without_text_)
                without_text_ = always_ | subset;
            if (!dropped->empty() && template_->capabilities().drops_text_beside_calls)
                return std::nullopt;
            if (!dropped->empty())
                continue;
            if (auto rendering = render_with(always_ | subset))
                return std::move(*rendering);
        }
        return std::nullopt;
    }

    /// Returns the further fallbacks that change the conversation, alone or after the others.
    [[nodiscard]] FallbackSet applicable_fallbacks() const {
        const std::size_t count = template_fallbacks().size();
        Turns all = outline_->turns();
        FallbackSet applicable = apply((FallbackSet{1} << count) - 1, all);
        for (std::size_t i = 0; i < count; ++i) {
            Turns turns = outline_->turns();
            applicable |= apply(always_ | (FallbackSet{1} << i), turns);
        }
        return applicable & ~always_;
    }

    void add_notes(FallbackSet changed) {
        const std::span<const TemplateFallback> fallbacks = template_fallbacks();
        for (std::size_t i = 0; i < fallbacks.size(); ++i) {
            if ((changed & (FallbackSet{1} << i)) != 0)
                prompt_.notes.emplace_back(fallbacks[i].note);
        }
    }

    /// Returns the number of bytes of the prompt after its common prefix with a prompt that only opens the
    /// answer's turn; 0 if that prompt cannot be rendered. If they diverge inside a <...> marker, all of
    /// the marker counts as part of the answer.
    [[nodiscard]] std::size_t prefilled_bytes(const Turns& turns) const {
        Turns before = turns;
        before.messages.pop_back();
        set_argument(before.template_arguments, "continue_final_message", false);
        set_argument(before.template_arguments, "add_generation_prompt", true);
        const auto opened = render(before);
        if (!opened)
            return 0;
        const auto divergence =
            std::mismatch(opened->text.begin(), opened->text.end(), prompt_.text.begin(), prompt_.text.end())
                .first;
        std::string_view common(opened->text.data(),
                                static_cast<std::size_t>(divergence - opened->text.begin()));
        const std::size_t marker = common.rfind('<');
        if (common.size() < opened->text.size() && marker != std::string_view::npos &&
            common.find('>', marker) == std::string_view::npos)
            common = common.substr(0, marker);
        return prompt_.text.size() - common.size();
    }

    const ChatTemplate* template_; ///< borrowed
    Turns turns_;
    const Outline* outline_ = nullptr; ///< of turns_ before any fallback; borrowed from run()
    FallbackSet always_ = 0;
    std::size_t renderings_ = 0;
    uint64_t search_work_ = search_work_max;  ///< that is left for the search
    std::optional<FallbackSet> without_text_; ///< the cheapest that loses only text beside calls
    SpelledTokens spelled_;
    int64_t now_unix_s_;
    AdaptedPrompt prompt_;
};

} // namespace

Result<AdaptedPrompt> render_adapted(const ChatTemplate& chat_template, const Conversation& conversation,
                                     int64_t now_unix_s) {
    return Adaptation(chat_template, conversation, now_unix_s).run();
}

} // namespace etna::chat
