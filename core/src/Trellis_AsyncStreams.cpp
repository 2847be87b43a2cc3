// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <impl/Trellis_AsyncStreams.hpp>

#include <algorithm>

namespace trellis::Impl {

AsyncStreams::~AsyncStreams() {
  for (auto const& stream : m_streams) stream->space->destroy_instance(stream->instance);
}

AsyncStreams::Stream& AsyncStreams::choose(Task const& task, int threads_per_worker) {
  // Behind a predecessor that is the newest on its stream: no event needed, and its data is still near.
  for (auto const& [before, id] : task.device_predecessors)
    if (before->live_id.load(std::memory_order_acquire) == id && before->stream >= 0) {
      Stream& stream = *m_streams[static_cast<std::size_t>(before->stream)];
      if (stream.space == task.space && !stream.launched.empty() && stream.launched.back() == before)
        return stream;
    }
  std::vector<Stream*> own;
  for (auto const& stream : m_streams)
    if (stream->space == task.space) {
      if (stream->launched.empty()) return *stream;
      own.push_back(stream.get());
    }
  if (own.size() < streams_per_space) {
    m_streams.push_back(std::make_unique<Stream>(Stream{
        task.space, task.space->make_instance(threads_per_worker), static_cast<int>(m_streams.size()), {}}));
    return *m_streams.back();
  }
  return *own[m_next++ % own.size()];
}

void AsyncStreams::launch(Task& task, int threads_per_worker, FunctionRef<void(void*)> run,
                          FunctionRef<void()> launched) {
  std::lock_guard const lock(m_mutex);
  Stream& stream = choose(task, threads_per_worker);
  for (auto const& [before, id] : task.device_predecessors)
    if (before->live_id.load(std::memory_order_acquire) == id && before->event != nullptr &&
        before->stream != stream.number)
      task.space->enqueue_wait(stream.instance, before->event);
  run(stream.instance);
  task.stream = stream.number;
  task.event = task.space->record_event(stream.instance, false);
  stream.launched.push_back(&task);
  m_launched.fetch_add(1, std::memory_order_seq_cst);
  launched();
}

void AsyncStreams::retire(std::vector<Task*>& passed) {
  std::unique_lock const lock(m_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (auto const& stream : m_streams)
    while (!stream->launched.empty() && stream->space->has_passed(stream->launched.front()->event)) {
      passed.push_back(stream->launched.front());
      stream->launched.pop_front();
    }
  for (Task* task : passed) {
    task->space->release_event(task->event);
    task->event = nullptr;
  }
  m_launched.fetch_sub(static_cast<int>(passed.size()), std::memory_order_seq_cst);
}

std::vector<std::string> AsyncStreams::names() const {
  std::lock_guard const lock(m_mutex);
  std::vector<std::string> names;
  for (auto const& stream : m_streams)
    names.push_back(std::string(stream->space->name()) + " stream " + std::to_string(stream->number));
  return names;
}

}  // namespace trellis::Impl
