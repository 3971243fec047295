#include "cli/terminal/terminal_echo.hpp"

namespace etna::cli {

TerminalEcho::TerminalEcho(int descriptor, Echo echo) : descriptor_(descriptor) {
    termios settings{};
    if (::tcgetattr(descriptor, &settings) != 0)
        return;
    before_ = settings;
    const tcflag_t flags = ECHO | ECHONL;
    settings.c_lflag = echo == Echo::on ? settings.c_lflag | ECHO : settings.c_lflag & ~flags;
    ::tcsetattr(descriptor, TCSANOW, &settings);
}

TerminalEcho::~TerminalEcho() {
    if (before_)
        ::tcsetattr(descriptor_, TCSANOW, &*before_);
}

} // namespace etna::cli
