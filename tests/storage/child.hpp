#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace etna::test {

/// Runs `work` in a child process. Returns its result, with the exit status if the process failed. `work`
/// must not use assertions.
std::string in_child(const std::function<std::string()>& work);

/// A child process that runs until it ends or is killed; collects its output.
class Child {
public:
    /// `work` gets the descriptor for its output.
    explicit Child(const std::function<void(int)>& work);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    void kill();
    /// Blocks until the output contains the text. Precondition: it will.
    void wait_for_output(const std::string& text);
    /// Waits for the end. Returns the complete output.
    std::string output();
    /// The status of waitpid(). Precondition: output() was called.
    [[nodiscard]] int status() const { return status_; }

private:
    bool read_some();

    pid_t process_ = -1;
    int descriptor_ = -1;
    std::string output_;
    int status_ = -1;
};

/// Writes all of the text to the descriptor.
void write_all(int descriptor, const std::string& text);

} // namespace etna::test
