// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main of every test program of several ranks. All ranks run the same tests, one after another
// at the same time; a test fails if it fails on any rank. Rank 0 prints what GoogleTest prints, the
// others print their failures alone, with the rank in front of each line.
//
//   TRELLIS_TEST_MPI_LEVEL   MULTIPLE (the default), SERIALIZED or FUNNELED: the level that MPI is
//                            asked for
//   TRELLIS_TEST_RANKS       that there are so many ranks: the mpiexec of one MPI starts programs
//                            of another as so many worlds of one rank
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <gmock/gmock.h>
#include <mpi.h>
#include <sstream>
#include <string>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace {

std::string variable(char const* name, std::string const& otherwise) {
  char const* const value = std::getenv(name);
  return value && *value ? value : otherwise;
}

/// -1 for a word that names no level.
int level_named(std::string const& name) {
  if (name == "MULTIPLE") return MPI_THREAD_MULTIPLE;
  if (name == "SERIALIZED") return MPI_THREAD_SERIALIZED;
  return name == "FUNNELED" ? MPI_THREAD_FUNNELED : -1;
}

/// What MPI sets up and never frees is no leak of ours. The sanitizer's stacks end in the C library
/// where that allocates for MPI, so that .ci/lsan.supp cannot name all of it.
int start_mpi(int& argc, char**& argv, int level) {
#if defined(__SANITIZE_ADDRESS__)
  __lsan::ScopedDisabler const no_leaks;
#endif
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  return provided;
}

/// In place of GoogleTest's printer on all ranks but the first.
class FailuresOfRank final : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOfRank(int rank) : m_front("[rank " + std::to_string(rank) + "] ") {}

 private:
  void OnTestStart(testing::TestInfo const& test) override {
    m_test = std::string(test.test_suite_name()) + "." + test.name() + "\n";
  }
  void OnTestEnd(testing::TestInfo const&) override { m_test.clear(); }
  // Under a lock of GoogleTest, which most of its functions take as well.
  void OnTestPartResult(testing::TestPartResult const& result) override {
    if (!result.failed()) return;
    std::ostringstream all;
    all << m_test << (result.file_name() ? result.file_name() : "somewhere") << ":"
        << result.line_number() << ": Failure\n"
        << result.message();
    // In one piece, so that lines of different ranks are not mixed.
    std::istringstream lines(all.str());
    std::string text;
    for (std::string line; std::getline(lines, line);) text += m_front + line + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  std::string const m_front;
  std::string m_test;
};

/// After each test the ranks wait for each other, so that no messages of two tests meet, and the
/// first rank fails with the others.
class OneResult final : public testing::EmptyTestEventListener {
 public:
  OneResult(MPI_Comm communicator, int rank, int ranks)
      : m_communicator(communicator), m_rank(rank), m_failed(static_cast<std::size_t>(ranks)) {}

 private:
  void OnTestEnd(testing::TestInfo const& test) override {
    int const mine = test.result()->Failed();
    MPI_Gather(&mine, 1, MPI_INT, m_failed.data(), 1, MPI_INT, 0, m_communicator);
    MPI_Barrier(m_communicator);
    if (m_rank != 0) return;
    std::string others;
    for (std::size_t rank = 1; rank < m_failed.size(); ++rank)
      if (m_failed[rank]) others += (others.empty() ? "" : ", ") + std::to_string(rank);
    if (!others.empty()) ADD_FAILURE() << "failed on ranks: " << others;
  }

  MPI_Comm const m_communicator;
  int const m_rank;
  std::vector<int> m_failed;
};

/// All ranks shuffle alike.
void share_seed(MPI_Comm communicator, int rank) {
  int& seed = testing::GTEST_FLAG(random_seed);
  if (testing::GTEST_FLAG(shuffle) && seed == 0 && rank == 0)
    seed = static_cast<int>(std::time(nullptr) % 99999) + 1;
  MPI_Bcast(&seed, 1, MPI_INT, 0, communicator);
}

int run_tests(MPI_Comm communicator, int rank, int ranks) {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    if (testing::GTEST_FLAG(list_tests)) return 0;
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
    listeners.Append(new FailuresOfRank(rank));
  }
  if (!testing::GTEST_FLAG(list_tests)) listeners.Append(new OneResult(communicator, rank, ranks));
  return RUN_ALL_TESTS();
}

}  // namespace

int main(int argc, char** argv) {
  std::string const name = variable("TRELLIS_TEST_MPI_LEVEL", "MULTIPLE");
  int const wanted = level_named(name);
  int const provided = start_mpi(argc, argv, wanted == -1 ? MPI_THREAD_SINGLE : wanted);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // The same on all ranks.
  std::string problem;
  std::string const expected = variable("TRELLIS_TEST_RANKS", std::to_string(ranks));
  if (wanted == -1)
    problem = "TRELLIS_TEST_MPI_LEVEL is MULTIPLE, SERIALIZED or FUNNELED, not '" + name + "'";
  else if (provided < wanted)
    problem = "this MPI does not offer the thread level MPI_THREAD_" + name;
  else if (expected != std::to_string(ranks))
    problem = "MPI_COMM_WORLD has " + std::to_string(ranks) + " ranks, not " + expected +
              ": is mpiexec that of another MPI?";

  int failed = 1;
  if (problem.empty()) {
    // Ours alone: what tests leave behind on MPI_COMM_WORLD does not meet what we send.
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    testing::InitGoogleMock(&argc, argv);
    share_seed(communicator, rank);
    int mine = 0;
    {
      Kokkos::ScopeGuard const kokkos(argc, argv);
      mine = run_tests(communicator, rank, ranks);
    }
    MPI_Allreduce(&mine, &failed, 1, MPI_INT, MPI_MAX, communicator);
    MPI_Comm_free(&communicator);
  } else if (rank == 0) {
    std::fprintf(stderr, "%s\n", problem.c_str());
  }
  MPI_Finalize();
  return failed ? 1 : 0;
}
