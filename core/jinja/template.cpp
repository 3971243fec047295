#include "core/jinja/template.hpp"

#include "core/jinja/interpreter.hpp"
#include "core/jinja/parser.hpp"

#include <fmt/format.h>

namespace etna::jinja {
namespace {

Error with_position(Error error, std::optional<Position> at) {
    if (error.kind == ErrorKind::invalid_argument)
        return error; // the template's own message
    error.message = at ? fmt::format("template: {}: {}", to_string(*at), error.message)
                       : fmt::format("template: {}", error.message);
    if (error.hint.empty())
        error.hint = "the chat template cannot render this conversation; try --chat-template";
    return error;
}

} // namespace

Result<Template> Template::create(std::string_view text, const Limits& limits) {
    ETNA_TRY(auto tree, parse(text, limits));
    return Template(std::make_shared<const Block>(std::move(tree)), limits);
}

Result<std::string> Template::render(const Input& input) const {
    Machine machine(limits_, input.now_unix_s, input.work_left);
    const auto context = [&]() -> Result<Value> {
        std::vector<Dict::Entry> entries;
        for (const auto& [name, value] : input.variables) {
            ETNA_TRY(auto adopted, machine.adopt(value));
            entries.push_back({Value(name), std::move(adopted)});
        }
        return machine.dict(std::move(entries));
    }();
    if (!context)
        return with_position(context.error(), {});
    Interpreter interpreter(*tree_, machine);
    auto text = interpreter.render(*context);
    if (!text)
        return with_position(text.error(), interpreter.failed_at());
    return text;
}

} // namespace etna::jinja
