// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread of the program reads a file that does not fit into memory block by block into two
// buffers, while tasks process the previous block. No thread waits for the disk: the task that
// fills a buffer only requests this, and is complete when the thread signals it. From what each
// task touches it follows that block 2 may be read when block 0 has been added up.
#include <Trellis.hpp>

#include <Kokkos_Core.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int block = 1 << 15;  // numbers
constexpr int blocks = 24;
using Buffer = Kokkos::View<double*, Kokkos::HostSpace>;

/// Reads from a file on a thread of its own, in the order of the requests.
class Reader {
 public:
  explicit Reader(std::FILE* file) : m_file(file), m_thread([this] { work(); }) {}
  ~Reader() {
    {
      std::lock_guard const lock(m_mutex);
      m_is_over = true;
    }
    m_came.notify_one();
    m_thread.join();
  }
  /// Returns at once. `completion` gets how many numbers there were.
  void read(long number, Buffer const& to, trellis::Completion<std::size_t> completion) {
    {
      std::lock_guard const lock(m_mutex);
      m_requests.push_back({number, to, std::move(completion)});
    }
    m_came.notify_one();
  }

 private:
  struct Request {
    long number;
    Buffer to;
    trellis::Completion<std::size_t> completion;
  };
  void work() {
    std::unique_lock lock(m_mutex);
    for (;;) {
      m_came.wait(lock, [&] { return m_is_over || !m_requests.empty(); });
      if (m_requests.empty()) return;
      Request request = std::move(m_requests.front());
      m_requests.pop_front();
      lock.unlock();
      fulfil(request);
      lock.lock();
    }
  }
  void fulfil(Request& request) {
    std::fseek(m_file, request.number * block * static_cast<long>(sizeof(double)), SEEK_SET);
    std::size_t const got =
        std::fread(request.to.data(), sizeof(double), request.to.extent(0), m_file);
    if (got == 0)
      request.completion.fail(
          std::runtime_error("no block " + std::to_string(request.number) + " in the file"));
    else
      request.completion.done(got);
  }

  std::FILE* const m_file;
  std::mutex m_mutex;
  std::condition_variable m_came;
  std::deque<Request> m_requests;
  bool m_is_over = false;
  std::thread m_thread;
};

/// Returns the number at `place` in the file.
double number_at(long place) {
  return static_cast<double>(place % 1000);
}

std::FILE* make_file() {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("cannot make a temporary file");
  std::vector<double> numbers(block);
  for (long k = 0; k < blocks; ++k) {
    for (int i = 0; i < block; ++i) numbers[static_cast<std::size_t>(i)] = number_at(k * block + i);
    std::fwrite(numbers.data(), sizeof(double), numbers.size(), file);
  }
  std::fflush(file);
  return file;
}

/// Reads a block into a buffer; the future has the count of its numbers.
trellis::Future<std::size_t> read_block(trellis::TaskGraph& graph, Reader& reader, long number,
                                        Buffer const& to) {
  return trellis::host_task(
      "read", trellis::ResourcePolicy(graph, trellis::write(to)),
      [&reader, number](trellis::Completion<std::size_t> completion, Buffer const& buffer) {
        reader.read(number, buffer, std::move(completion));
      });
}

int run() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(make_file(), &std::fclose);
  Reader reader(file.get());
  trellis::TaskGraph graph;
  Buffer const buffers[2] = {Buffer("even blocks", block), Buffer("odd blocks", block)};
  Kokkos::View<double, Kokkos::HostSpace> const sum("sum");
  std::vector<trellis::Future<std::size_t>> counts;
  for (long k = 0; k < blocks; ++k) {
    Buffer const& buffer = buffers[k % 2];
    counts.push_back(read_block(graph, reader, k, buffer));
    trellis::host_task(
        "add up", trellis::ResourcePolicy(graph, trellis::read(buffer), trellis::read_write(sum)),
        [=] {
          for (int i = 0; i < block; ++i) sum() += buffer(i);
        });
  }
  graph.wait();
  std::size_t count = 0;
  for (auto const& each : counts) count += each.get();
  double expected = 0;
  for (long place = 0; place < long{block} * blocks; ++place) expected += number_at(place);
  std::printf("%zu numbers in %d blocks, two buffers: sum %.0f, expected %.0f\n", count, blocks,
              sum(), expected);

  // An error of the reader makes the task fail.
  auto const beyond = read_block(graph, reader, blocks, buffers[0]);
  trellis::host_task("use it", trellis::ResourcePolicy(graph, trellis::read(buffers[0])),
                     [] { std::printf("this is never printed\n"); });
  try {
    beyond.get();
  } catch (trellis::Error const& error) {
    bool const says_why = std::string(error.what()).find("no block 24") != std::string::npos;
    std::printf("beyond the end: %s\n", says_why ? "no block 24 in the file" : error.what());
  }
  try {
    graph.wait();
  } catch (trellis::Error const&) {  // the same error again
  }
  return sum() == expected ? 0 : 1;
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return run();
}
