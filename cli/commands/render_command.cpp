#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/load_model.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/compat.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/pull_model.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/text_io.hpp"
#include "core/base/json.hpp"
#include "core/chat/adapt.hpp"
#include "core/chat/builtin_templates.hpp"
#include "core/generate/chat_format.hpp"
#include "core/gguf/file.hpp"
#include "core/text/tokenizer.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

enum class Adaptation { off, on };
enum class RenderForm { text, json };

/// The validated command line of `etna render`.
struct RenderOptions {
    std::string model; ///< empty: none
    HubOptions hub;
    std::string chat_template;
    std::optional<std::string> bos;
    std::optional<std::string> eos;
    Adaptation adaptation = Adaptation::off;
    RenderForm form = RenderForm::text;
};

constexpr std::array render_positionals = {
    Positional{.name = "MODEL",
               .description = "as for `etna run`; supplies the template and the begin and end tokens; "
                              "optional with --chat-template",
               .presence = Presence::optional,
               .completion = Completion::models},
};

constexpr std::array render_rows = {
    chat_template_option,
    Option{.name = "bos",
           .value = "TEXT",
           .kind = Kind::text,
           .default_text = "the model's own",
           .description = "text of the begin token in the template"},
    Option{.name = "eos",
           .value = "TEXT",
           .kind = Kind::text,
           .default_text = "the model's own",
           .description = "text of the end token in the template"},
    Option{.name = "adapt",
           .description = "change what the template would refuse or lose, as `etna run` and `etna chat` do; "
                          "each change is reported on standard error"},
    Option{.name = "json",
           .description =
               "print one JSON object: text, token ids (null without MODEL) and, with --adapt, the changes",
           .category = Category::output},
    help_option,
    help_all_option,
};

constexpr std::array render_examples = {
    Example{"etna render demo < request.json", "the prompt that the model receives"},
    Example{"etna render --chat-template chat.jinja --bos \"<s>\" < request.json", "a template in a file"},
    Example{"etna render demo --json < request.json", "with the token ids"},
};

/// A template, and the tokenizer of the given model.
struct Renderer {
    chat::ChatTemplate chat_template;
    std::optional<text::Tokenizer> tokenizer;
};

chat::SpecialText special_text(const RenderOptions& options, const chat::SpecialText& own) {
    return {
        .bos = options.bos.value_or(own.bos), .eos = options.eos.value_or(own.eos), .control = own.control};
}

Result<Renderer> open_without_model(const RenderOptions& options) {
    ETNA_TRY(const auto choice, read_chat_template(options.chat_template));
    std::string text = choice.text;
    if (text.empty()) {
        const chat::BuiltinTemplate* builtin = chat::find_builtin_template(choice.name);
        if (builtin == nullptr) {
            return Error{ErrorKind::not_found, fmt::format("there is no chat template `{}`", choice.name),
                         "name a file, or a built-in one: see `etna render --help`"};
        }
        text = builtin->text;
    }
    ETNA_TRY(auto chat_template, chat::ChatTemplate::create(text, special_text(options, {})));
    return Renderer{std::move(chat_template), std::nullopt};
}

chat::TemplatePurpose purpose_of(const jinja::Value& request) {
    const auto has = [&](std::string_view key) {
        const jinja::Value* const member = request.dict()->find(key);
        return member != nullptr && member->is_sequence() && !member->sequence()->items.empty();
    };
    return {.tools = has("tools"), .documents = has("documents")};
}

Result<Renderer> open(const RenderOptions& options, const jinja::Value& request,
                      const Environment& environment, Diagnostics& diagnostics) {
    if (options.model.empty())
        return open_without_model(options);
    ETNA_TRY(const auto source, find_model(options.model, options.hub, environment, diagnostics));
    ETNA_TRY(const gguf::File file, generate::open_file(source));
    ETNA_TRY(auto tokenizer, text::Tokenizer::create(file));
    ETNA_TRY(const auto choice, read_chat_template(options.chat_template));
    ETNA_TRY(const auto formats, generate::ChatFormats::read(file, tokenizer, choice));
    ETNA_TRY(const auto* format, formats.find(purpose_of(request)));
    ETNA_TRY(auto chat_template,
             chat::ChatTemplate::create(format->chat_template.text(),
                                        special_text(options, format->chat_template.special())));
    return Renderer{std::move(chat_template), std::move(tokenizer)};
}

Result<chat::AdaptedPrompt> render_adapted(const Renderer& renderer, const jinja::Value& request,
                                           int64_t now) {
    ETNA_TRY(chat::Conversation conversation, chat::read_conversation(request));
    for (const char* const name : {"bos_token", "eos_token"}) {
        if (const jinja::Value* const text = request.dict()->find(std::string_view(name)))
            conversation.template_arguments.emplace_back(name, *text);
    }
    return chat::render_adapted(renderer.chat_template, conversation, now);
}

Result<chat::AdaptedPrompt> render(const Renderer& renderer, const RenderOptions& options,
                                   const jinja::Value& request, int64_t now) {
    if (options.adaptation == Adaptation::on)
        return render_adapted(renderer, request, now);
    auto text = renderer.chat_template.render(request, now);
    if (text)
        return chat::AdaptedPrompt{.text = std::move(text->text), .barriers = std::move(text->barriers)};
    Error error = text.error();
    if (render_adapted(renderer, request, now))
        error.hint = "add --adapt to change the conversation as `etna run` and `etna chat` do";
    return error;
}

Result<std::string> report(const Renderer& renderer, const chat::AdaptedPrompt& prompt) {
    Json report = {{"text", prompt.text}, {"tokens", nullptr}};
    if (renderer.tokenizer) {
        const bool has_bos = renderer.chat_template.begins_with_bos(prompt.text, prompt.barriers);
        ETNA_TRY(report["tokens"],
                 renderer.tokenizer->encode(
                     prompt.text, {.bos = has_bos ? text::AddBos::never : text::AddBos::as_model_says,
                                   .barriers = prompt.barriers}));
    }
    if (!prompt.notes.empty())
        report["notes"] = prompt.notes;
    if (!prompt.dropped.empty())
        report["dropped"] = prompt.dropped;
    return dump_json(report) + "\n";
}

Result<std::string> render_request(const RenderOptions& options, const std::string& text,
                                   const Environment& environment, Diagnostics& diagnostics) {
    ETNA_TRY(const jinja::Value request, chat::parse_request(text));
    ETNA_TRY(const Renderer renderer, open(options, request, environment, diagnostics));
    ETNA_TRY(const auto prompt, render(renderer, options, request, now_unix_s(environment.variables)));
    for (const std::string& note : prompt.notes)
        diagnostics.note(note);
    for (const std::string& name : prompt.dropped)
        diagnostics.note(fmt::format("the chat template ignores: {}", name));
    if (options.form == RenderForm::json)
        return report(renderer, prompt);
    const bool adds_newline = environment.output_is_terminal && !prompt.text.ends_with('\n');
    return adds_newline ? prompt.text + "\n" : prompt.text;
}

/// Errors: invalid_argument.
Result<RenderOptions> validate_render(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    RenderOptions options;
    if (!arguments.positionals.empty())
        options.model = arguments.positionals[0];
    options.chat_template = values.text("chat-template").value_or("");
    if (options.model.empty() && options.chat_template.empty()) {
        return invalid_argument("no model and no chat template given",
                                "try `etna render demo < request.json`, or `etna render --help`");
    }
    ETNA_TRY(options.hub, read_hub(values));
    options.bos = values.text("bos");
    options.eos = values.text("eos");
    ETNA_TRY(const bool adapts, values.flag("adapt"));
    ETNA_TRY(const bool json, values.flag("json"));
    options.adaptation = adapts ? Adaptation::on : Adaptation::off;
    options.form = json ? RenderForm::json : RenderForm::text;
    return options;
}

/// Runs `etna render`: prints the prompt rendered from a chat request on standard input. Blocking.
ExitCode render_command(const RenderOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const auto fail = [&](const Error& error, ExitCode code) { return diagnostics.error(error), code; };
    const auto request = read_input(environment.input, FinalNewline::kept);
    if (!request)
        return fail(request.error(), ExitCode::failed);
    if (!*request) {
        return fail(
            {ErrorKind::invalid_argument, "there is no request on standard input",
             R"(try `echo '{"messages": [{"role": "user", "content": "Hello"}]}' | etna render demo`)"},
            ExitCode::usage);
    }
    const auto text = render_request(options, **request, environment, diagnostics);
    if (!text)
        return fail(text.error(), ExitCode::failed);
    Output output(environment.output);
    if (output.write(*text) == OutputState::failed)
        return fail(output.error(), ExitCode::failed);
    return ExitCode::done;
}

} // namespace

Command render_spec() {
    static const std::vector<Option> options = joined({render_rows, hub_options()});
    return {.name = "render",
            .summary = "render a chat request to a prompt",
            .description = "Reads a chat request as in OpenAI's API from standard input, an object with "
                           "`messages` and optionally `tools`, `documents`, `add_generation_prompt` and "
                           "`chat_template_kwargs`, and prints the prompt that the chat template renders, to "
                           "the byte. Only the metadata of the model's file is read: no device is needed.\n\n"
                           "If the template refuses the request, its own message or the line and column of "
                           "the failure is reported, and the exit code is 1. SOURCE_DATE_EPOCH sets the "
                           "time, in UTC, for templates that write it.",
            .positionals = render_positionals,
            .options = options,
            .examples = render_examples,
            .compat = compat_model,
            .run = run_validated<validate_render, render_command>};
}

} // namespace etna::cli
