// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kernel/Trellis_Ordering.hpp>

#include <cstddef>
#include <cstdint>

namespace trellis::Impl {

void note_special(Task& task, TaskSpec const& spec, FoundEntries const& found) {
  std::uint32_t noted = 0;
  for (std::size_t k = 0; k < spec.accesses.size(); ++k) {
    if (found.of[k] == nullptr) continue;
    if (spec.accesses[k].state != nullptr) task.set_state(noted, *spec.accesses[k].state);
    if (spec.accesses[k].manner().can_exclude()) task.exclusive = true;
    ++noted;
  }
}

void order_by_rules(std::deque<TagRule> const& rules, Task& task, TaskId id, Region& region,
                    FunctionRef<bool(LiveAccess)> link) {
  bool const keep_all = region.table.keeps_all();
  region.classes.resize(rules.size());
  for (std::size_t r = 0; r < rules.size(); ++r) {
    TagRule const& rule = rules[r];
    if (rule.constraint == Constraint::exclusive) {
      task.exclusive = true;  // it may exclude a task whose tag is yet to come
      continue;
    }
    TagPtr value = rule.by_default;
    for (TagPtr const& tag : task.tags())
      if (tag->type() == rule.type) value = tag;
    Region::TagClass* own = nullptr;
    Vector<Region::TagClass>& classes = region.classes[r];
    for (Region::TagClass& other : classes) {
      if (other.value->equals(*value)) own = &other;
      if (!rule.holds(*other.value, *value)) continue;
      std::erase_if(other.tasks,
                    [&](LiveAccess const before) { return !link(before) && !keep_all; });
    }
    if (own == nullptr) {
      if (classes.size() == classes.capacity() && !keep_all)
        std::erase_if(classes, [&](Region::TagClass& other) {
          region.table.drop_gone(other.tasks);
          return other.tasks.empty();
        });
      own = &classes.emplace_back(Region::TagClass{value, {}});
    }
    if (rule.holds(*value, *value)) own->tasks.clear();
    if (own->tasks.size() == own->tasks.capacity() && !keep_all) region.table.drop_gone(own->tasks);
    own->tasks.push_back({&task, id});
  }
}

}  // namespace trellis::Impl
