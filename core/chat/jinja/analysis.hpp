#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/ast.hpp"

namespace etna::chat::jinja {

/// Looks through a parsed template as the reference's compiler does and fills in what rendering needs to know
/// beforehand: which names a scope hides, which loops use `loop`, which macros take `caller`, `varargs` and
/// `kwargs`. Error: corrupt (unknown filter or test where it is certain to be reached, `break` outside a
/// loop, assignment to `loop`).
Status analyse(Tree& tree);

} // namespace etna::chat::jinja
