// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.hpp"

#include "Gpu.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gpu {

namespace {
constexpr char const* no_figures = "not run on a GPU";
}

void Report::begin_table(std::string const& part, std::string const& what) {
  std::printf("\n%s: %s\n", part.c_str(), what.c_str());
}

void Report::add(std::string const& part, std::string const& model, bool measured,
                 Figures const& figures) {
  nlohmann::ordered_json row{{"benchmark", "gpu"}, {"part", part}, {"model", model}};
  std::printf("  %-20s", model.c_str());
  if (!on_gpu) {
    row["note"] = no_figures;
    std::printf("  %s\n", no_figures);
  } else if (!measured) {
    row["note"] = "not for this model";
    std::printf("  not for this model\n");
  } else {
    for (auto const& [name, value] : figures) {
      row[name] = value;
      std::printf("  %s %.4g", name.c_str(), value);
    }
    std::printf("\n");
  }
  m_rows.push_back(std::move(row));
  std::fflush(stdout);
}

void Report::add_failure(std::string const& what) {
  std::printf("  WRONG: %s\n", what.c_str());
  m_failed = true;
}

void Report::write(std::string const& path, nlohmann::ordered_json const& parameters) const {
  std::filesystem::path const file(path);
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  std::ostringstream configuration;
  Space().print_configuration(configuration);
  char date[32] = "";
  std::time_t const time = std::time(nullptr);
  std::strftime(date, sizeof date, "%FT%TZ", std::gmtime(&time));
  char const* const commit = std::getenv("TRELLIS_COMMIT");
  nlohmann::ordered_json const all{
      {"context",
       {{"benchmark", "gpu"},
        {"date", date},
        {"space", Space::name()},
        {"on_gpu", on_gpu},
        {"kokkos", KOKKOS_VERSION},
        {"configuration", configuration.str()},
        {"commit", commit == nullptr ? "not given (TRELLIS_COMMIT)" : commit},
        {"parameters", parameters}}},
      {"rows", m_rows}};
  std::ofstream out(file);
  out << all.dump(1) << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
  std::printf("\nwritten: %s\n", path.c_str());
}

}  // namespace gpu
