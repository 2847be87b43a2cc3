// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's OpenMP runtime has the entry points of GCC's. A copy of this program is started with it
// preloaded, so both run the same compiled code, and the parent tells the child what to measure.
#include "../Json.hpp"
#include "../Model.hpp"
#include "OpenMP.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <optional>
#include <stdexcept>

extern char** environ;

namespace taskbench {

std::string openmp_runtime() {
  // The entry point through which compiled code starts a parallel region, and a symbol that only
  // LLVM has.
  void* const entry = dlsym(RTLD_DEFAULT, "GOMP_parallel");
  void* const llvm = dlsym(RTLD_DEFAULT, "__kmpc_fork_call");
  Dl_info of_entry{}, of_llvm{};
  if (entry == nullptr || dladdr(entry, &of_entry) == 0) return "unknown runtime";
  if (llvm != nullptr && dladdr(llvm, &of_llvm) != 0 && of_entry.dli_fbase == of_llvm.dli_fbase)
    return "LLVM libomp";
  return "GNU libgomp";
}

int serve_openmp(int workers) {
  std::optional<Work> work;
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      Json const request = Json::parse(line);
      if (request.contains("runtime")) {
        answer["runtime"] = openmp_runtime();
      } else if (request.contains("prepare")) {
        work.emplace(request["prepare"].get<Parameters>());
      } else {
        auto const model = make_openmp(workers);
        answer["seconds"] = model->measure(work.value());
      }
    } catch (std::exception const& e) {
      answer["error"] = e.what();
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

namespace {

/// A child process that is asked in lines and answers in lines.
class Child {
 public:
  Child(std::vector<std::string> arguments, std::vector<std::string> const& more_environment) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0) throw std::runtime_error("no pipe to a child process");
    if (pipe2(from, O_CLOEXEC) != 0) {
      close(to[0]);
      close(to[1]);
      throw std::runtime_error("no pipe to a child process");
    }
    std::vector<std::string> environment = more_environment;
    for (char** each = environ; *each != nullptr; ++each) environment.emplace_back(*each);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    int const failed = posix_spawn(&m_process, "/proc/self/exe", &actions, nullptr,
                                   pointers(arguments).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    m_to = fdopen(to[1], "w");
    m_from = fdopen(from[0], "r");
    if (failed != 0) {
      m_process = -1;
      throw std::runtime_error("cannot start a child process");
    }
  }
  Child(Child const&) = delete;
  Child& operator=(Child const&) = delete;
  ~Child() {
    std::fclose(m_to);  // the child's input ends, and so does the child
    std::fclose(m_from);
    if (m_process > 0) waitpid(m_process, nullptr, 0);
  }

  Json ask(Json const& request) {
    std::string line = request.dump() + '\n';
    if (std::fputs(line.c_str(), m_to) < 0 || std::fflush(m_to) != 0)
      throw std::runtime_error("the child process is gone");
    line.clear();
    for (int c = std::fgetc(m_from); c != '\n'; c = std::fgetc(m_from)) {
      if (c == EOF) throw std::runtime_error("the child process is gone");
      line += static_cast<char>(c);
    }
    return Json::parse(line);
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (std::string& each : strings) result.push_back(each.data());
    result.push_back(nullptr);
    return result;
  }

  pid_t m_process = -1;
  std::FILE* m_to = nullptr;
  std::FILE* m_from = nullptr;
};

class OpenMPLlvm : public Model {
 public:
  explicit OpenMPLlvm(int workers)
      : Model("openmp_llvm", Kind::dynamic),
        m_workers(workers),
        // While other models run, its threads should sleep: by default they spin for 200 ms.
        m_child({"taskbench", "--serve-openmp", "--workers", std::to_string(workers)},
                {"LD_PRELOAD=" TASKBENCH_LLVM_OPENMP, "KMP_BLOCKTIME=5"}),
        m_runtime(m_child.ask({{"runtime", true}}).value("runtime", "unknown runtime")) {}

  [[nodiscard]] std::string description() const override {
    return "OpenMP, task depend, " + m_runtime + ", in a process of its own";
  }
  [[nodiscard]] std::string const& runtime() const { return m_runtime; }
  [[nodiscard]] int workers() const override { return m_workers; }
  [[nodiscard]] std::int64_t most_tasks() const override { return 20'000; }
  void prepare(Work& work) override { ask({{"prepare", work.parameters()}}); }
  void run(Work&) override {}
  double measure(Work&) override { return ask({{"measure", true}}).at("seconds").get<double>(); }

 private:
  Json ask(Json const& request) {
    Json answer = m_child.ask(request);
    if (answer.contains("error")) {
      std::string error = answer["error"];
      // The child knows itself as plain OpenMP.
      if (error.starts_with("model openmp:")) error.insert(12, "_llvm");
      throw std::runtime_error(error);
    }
    return answer;
  }

  int m_workers;
  Child m_child;
  std::string m_runtime;
};

}  // namespace

std::unique_ptr<Model> make_openmp_llvm(int workers) {
  if (std::string_view(TASKBENCH_LLVM_OPENMP).empty() || access(TASKBENCH_LLVM_OPENMP, R_OK) != 0)
    return nullptr;
  try {
    auto model = std::make_unique<OpenMPLlvm>(workers);
    if (model->runtime().starts_with("LLVM")) return model;
    std::cerr << "taskbench: preloading " << TASKBENCH_LLVM_OPENMP << " leaves " << model->runtime()
              << " in charge: no openmp_llvm\n";
  } catch (std::exception const& e) {
    std::cerr << "taskbench: no openmp_llvm: " << e.what() << '\n';
  }
  return nullptr;
}

}  // namespace taskbench
