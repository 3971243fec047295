#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace etna::test {

/// Does the work in a process of its own; gives what it returned, or how the process ended instead. No
/// assertions in there.
std::string in_child(const std::function<std::string()>& work);

/// A process that runs until it ends, or is killed; what it tells is collected.
class Child {
public:
    /// `work` is given the descriptor that it tells to.
    explicit Child(const std::function<void(int)>& work);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    void kill();
    /// Precondition: it will.
    void wait_until_told(const std::string& text);
    /// All that it told until its end.
    std::string told();
    /// As waitpid() gives it. Precondition: told().
    [[nodiscard]] int status() const { return status_; }

private:
    bool listen();

    pid_t process_ = -1;
    int descriptor_ = -1;
    std::string told_;
    int status_ = -1;
};

/// Whole lines to a descriptor.
void tell(int descriptor, const std::string& text);

} // namespace etna::test
