#include "core/sampling/overrides.hpp"

#include "core/sampling/parameter_table.hpp"

namespace etna::sampling {

Parameters with_overrides(Parameters defaults, const Overrides& overrides) {
    for (const Parameter& parameter : parameter_table()) {
        std::visit(
            [&](auto member) {
                if (const auto& given = overrides.*member.given)
                    defaults.*member.value = *given;
            },
            parameter.member);
    }
    return defaults;
}

Overrides over(const Overrides& overrides, Overrides others) {
    for (const Parameter& parameter : parameter_table()) {
        std::visit(
            [&](auto member) {
                if (const auto& given = overrides.*member.given)
                    others.*member.given = given;
            },
            parameter.member);
    }
    return others;
}

} // namespace etna::sampling
