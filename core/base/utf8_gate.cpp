#include "core/base/utf8_gate.hpp"

#include "core/base/utf8.hpp"

namespace etna {

void Utf8Gate::push(std::string_view bytes, std::string& text) {
    waiting_ += bytes;
    std::string_view rest = waiting_;
    while (!rest.empty()) {
        const Utf8Step step = next_utf8(rest);
        if (step.kind == Utf8Kind::truncated)
            break;
        text += step.kind == Utf8Kind::valid ? rest.substr(0, step.bytes) : replacement_character;
        rest.remove_prefix(step.bytes);
    }
    waiting_.erase(0, waiting_.size() - rest.size());
}

void Utf8Gate::finish(std::string& text) {
    if (!waiting_.empty())
        text += replacement_character;
    waiting_.clear();
}

} // namespace etna
