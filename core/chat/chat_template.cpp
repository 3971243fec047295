#include "core/chat/chat_template.hpp"

#include "core/chat/control_names.hpp"
#include "core/chat/name_guard.hpp"
#include "core/chat/request.hpp"
#include "core/chat/template_probes.hpp"
#include "core/jinja/value.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace etna::chat {
namespace {

using jinja::Value;

/// Request members that a template sees as variables of the same name.
constexpr std::array<std::string_view, 10> variables = {
    "messages",        "tools",    "documents",        "add_generation_prompt",
    "enable_thinking", "thinking", "reasoning_effort", "continue_final_message",
    "bos_token",       "eos_token"};

} // namespace

Result<ChatTemplate> ChatTemplate::create(std::string_view text, SpecialText special) {
    ETNA_TRY(auto parsed, jinja::Template::create(text));
    ChatTemplate chat_template(std::move(parsed), text, std::move(special));
    uint64_t probe_work = probe_work_max;
    chat_template.probe_work_ = &probe_work;
    chat_template.capabilities_ = probe_capabilities(chat_template);
    chat_template.probe_work_ = nullptr;
    return chat_template;
}

ChatTemplate::ChatTemplate(jinja::Template parsed, std::string_view text, SpecialText special)
    : template_(std::move(parsed)), text_(text), special_(std::move(special)),
      control_names_(std::make_shared<const ControlNames>(special_.control, text)) {}

Result<RenderedPrompt> ChatTemplate::render(const Value& request, int64_t now_unix_s, SpelledTokens spelled,
                                            uint64_t* work_left) const {
    ETNA_CHECK(check_request(request));
    const auto unbroken = [&]() -> Result<RenderedPrompt> {
        ETNA_TRY(std::string text, render_request(request, now_unix_s, work_left));
        return RenderedPrompt{std::move(text)};
    };
    if (spelled == SpelledTokens::all)
        return unbroken();
    const NameGuard guard(*control_names_, request, text_);
    if (guard.is_idle())
        return unbroken();
    const auto broken = [&](Spelling last) -> Result<RenderedPrompt> {
        ETNA_TRY(const Value changed, guard.broken(last));
        ETNA_TRY(const std::string text, render_request(changed, now_unix_s, work_left));
        return guard.restored(text);
    };
    auto prompt = broken(Spelling::name);
    // Breaks in mere parts of names must not affect the template's behaviour.
    for (const Spelling last : {Spelling::removal, Spelling::end}) {
        if (!prompt || !guard.has(last))
            continue;
        auto more = broken(last);
        if (more && more->text == prompt->text)
            return more;
    }
    return prompt;
}

bool ChatTemplate::begins_with_bos(std::string_view prompt, std::span<const std::size_t> barriers) const {
    const bool is_broken = std::any_of(barriers.begin(), barriers.end(), [this](std::size_t barrier) {
        return barrier > 0 && barrier < special_.bos.size();
    });
    return !special_.bos.empty() && prompt.starts_with(special_.bos) && !is_broken;
}

/// Renders as render() does, without barriers.
Result<std::string> ChatTemplate::render_request(const Value& request, int64_t now_unix_s,
                                                 uint64_t* work_left) const {
    if (!continues_final_message(request))
        return render_variables(request, now_unix_s, work_left);
    ETNA_TRY(const ContinuedRequest continued, append_sentinel(request));
    ETNA_TRY(std::string prompt, render_variables(continued.request, now_unix_s, work_left));
    return cut_at_sentinel(std::move(prompt), continued.sentinel);
}

/// Renders without the cut for `continue_final_message`.
Result<std::string> ChatTemplate::render_variables(const Value& request, int64_t now_unix_s,
                                                   uint64_t* work_left) const {
    // If a name occurs twice, the later variable wins.
    jinja::Input input = {.variables = {{"add_generation_prompt", Value(true)},
                                        {"bos_token", Value(special_.bos)},
                                        {"eos_token", Value(special_.eos)}},
                          .now_unix_s = now_unix_s,
                          .work_left = probe_work_ != nullptr ? probe_work_ : work_left};
    for (const std::string_view name : variables) {
        if (const Value* const member = find_member(request, name))
            input.variables.emplace_back(name, *member);
    }
    const Value* const kwargs = find_member(request, "chat_template_kwargs");
    if (kwargs != nullptr && kwargs->is(jinja::Type::dict)) {
        for (const auto& [name, value] : kwargs->dict()->entries)
            input.variables.emplace_back(name.string(), value);
    }
    return template_.render(input);
}

} // namespace etna::chat
