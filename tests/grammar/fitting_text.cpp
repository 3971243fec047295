#include "tests/grammar/fitting_text.hpp"

#include "core/grammar/schema/decimal.hpp"
#include "core/grammar/schema/json_text.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// The states that are reached, each with one text that leads there.
using States = std::map<Expression, std::string>;

std::string digits_of(const std::string& number) {
    const Decimal value = decimal(number).value();
    return fmt::format("{}{}{}{}", value.is_negative ? "-" : "", value.integer, value.is_integer() ? "" : ".",
                       value.fraction);
}

std::string quoted(const std::string& text) {
    return fmt::format("\"{}\"", json_escaped(text));
}

class Search {
public:
    Search(Language& language, bool is_in_order, std::size_t visits_max)
        : language_(&language), is_in_order_(is_in_order), visits_left_(visits_max) {}

    [[nodiscard]] bool is_exhaustive() const { return visits_left_ > 0; }

    States after(const States& from, const JsonValue& value) {
        switch (value.kind) {
        case JsonValue::Kind::null:
            return after(from, "null");
        case JsonValue::Kind::boolean:
            return after(from, value.truth ? "true" : "false");
        case JsonValue::Kind::number:
            return after(from, digits_of(value.text));
        case JsonValue::Kind::string:
            return after(from, quoted(value.text));
        case JsonValue::Kind::object:
            return after_object(from, value);
        case JsonValue::Kind::array:
            break;
        }
        States states = after(from, "[");
        for (std::size_t i = 0; i < value.items.size(); ++i)
            states = after(i == 0 ? states : after(states, ","), value.items[i]);
        return after(states, "]");
    }

private:
    States after(const States& from, const std::string& text) {
        States to;
        for (const auto& [state, before] : from) {
            if (const Expression next = language_->next(state, text); next != nothing)
                to.emplace(next, before + text);
        }
        return to;
    }

    /// The members that are written, and the state after them.
    using Seen = std::set<std::pair<std::vector<bool>, Expression>>;

    States after_object(const States& from, const JsonValue& object) {
        States to;
        Seen seen;
        for (const auto& [state, before] : after(from, "{"))
            add_members({{state, before}}, object, std::vector<bool>(object.members.size()), seen, to);
        return after(to, "}");
    }

    /// Adds the states after all orders of the members that are not written yet.
    void add_members(const States& from, const JsonValue& object, const std::vector<bool>& written,
                     Seen& seen, States& to) {
        bool is_done = true;
        bool is_first = true;
        for (std::size_t i = 0; i < written.size(); ++i) {
            is_done = is_done && written[i];
            is_first = is_first && !written[i];
        }
        if (is_done)
            to.insert(from.begin(), from.end());
        if (!seen.emplace(written, from.begin()->first).second)
            return;
        const std::size_t next = is_in_order_ ? first_to_write(from, object, written) : written.size();
        for (std::size_t i = 0; i < written.size(); ++i) {
            if (written[i] || (is_in_order_ && i != next))
                continue;
            if (visits_left_ == 0)
                return;
            --visits_left_;
            const JsonMember& member = object.members[i];
            const std::string name = fmt::format("{}{}:", is_first ? "" : ",", quoted(member.name));
            std::vector<bool> more = written;
            more[i] = true;
            for (const auto& [state, text] : after(after(from, name), member.value))
                add_members({{state, text}}, object, more, seen, to);
        }
    }

    /// A member that may come next and leaves all others possible that may come next.
    std::size_t first_to_write(const States& from, const JsonValue& object,
                               const std::vector<bool>& written) {
        const bool is_first = std::find(written.begin(), written.end(), true) == written.end();
        const auto with_name = [&](const States& states, std::size_t i, std::string_view before) {
            return after(states, fmt::format("{}{}:", before, quoted(object.members[i].name)));
        };
        std::vector<std::pair<std::size_t, States>> fitting;
        for (std::size_t i = 0; i < written.size(); ++i) {
            if (written[i])
                continue;
            if (States states = with_name(from, i, is_first ? "" : ","); !states.empty())
                fitting.emplace_back(i, std::move(states));
        }
        for (const auto& [i, states] : fitting) {
            const States rest = after(states, object.members[i].value);
            const bool leaves_all = std::all_of(fitting.begin(), fitting.end(), [&](const auto& other) {
                return other.first == i || !with_name(rest, other.first, ",").empty();
            });
            if (leaves_all)
                return i;
        }
        return fitting.empty() ? written.size() : fitting.front().first;
    }

    Language* language_;
    bool is_in_order_;
    std::size_t visits_left_;
};

} // namespace

FittingText fitting_text(Language& language, Expression root, const JsonValue& value,
                         std::size_t visits_max) {
    FittingText found;
    for (const bool is_in_order : {true, false}) {
        Search search(language, is_in_order, is_in_order ? SIZE_MAX : visits_max);
        for (const auto& [state, text] : search.after({{root, ""}}, value)) {
            if (language.is_nullable(state))
                found.text = text;
        }
        found.is_exhaustive = search.is_exhaustive();
        if (found.text)
            break;
    }
    return found;
}

} // namespace etna::grammar
