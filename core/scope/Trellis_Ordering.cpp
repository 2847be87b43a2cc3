// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <scope/Trellis_Ordering.hpp>

#include <cstddef>
#include <cstdint>

namespace trellis::Impl {

void ScopeDeleter::operator()(Scope* scope) const noexcept {
  delete scope;
}

void note_special(Task& task, TaskSpec const& spec, FoundEntries const& found) {
  std::uint32_t noted = 0;
  for (std::size_t k = 0; k < spec.accesses.size(); ++k) {
    if (found.of[k] == nullptr) continue;
    if (spec.accesses[k].state != nullptr) task.set_state(noted, *spec.accesses[k].state);
    if (spec.accesses[k].kind().can_exclude()) task.exclusive = true;
    ++noted;
  }
}

void order_by_rules(std::deque<TagRule> const& rules, Task& task, TaskId id, Scope& scope,
                    FunctionRef<bool(LiveAccess)> link) {
  bool const keep_all = scope.table.keeps_all();
  scope.classes.resize(rules.size());
  for (std::size_t r = 0; r < rules.size(); ++r) {
    TagRule const& rule = rules[r];
    if (rule.constraint == Constraint::exclusive) {
      task.exclusive = true;  // it may exclude a task whose tag is yet to come
      continue;
    }
    TagPtr value = rule.by_default;
    for (TagPtr const& tag : task.tags())
      if (tag->type() == rule.type) value = tag;
    Scope::TagClass* own = nullptr;
    Vector<Scope::TagClass>& classes = scope.classes[r];
    for (Scope::TagClass& other : classes) {
      if (other.value->equals(*value)) own = &other;
      if (!rule.holds(*other.value, *value)) continue;
      std::erase_if(other.tasks,
                    [&](LiveAccess const before) { return !link(before) && !keep_all; });
    }
    if (own == nullptr) {
      if (classes.size() == classes.capacity() && !keep_all)
        std::erase_if(classes, [&](Scope::TagClass& other) {
          scope.table.drop_retired(other.tasks);
          return other.tasks.empty();
        });
      own = &classes.emplace_back(Scope::TagClass{value, {}});
    }
    if (rule.holds(*value, *value)) own->tasks.clear();
    if (own->tasks.size() == own->tasks.capacity() && !keep_all)
      scope.table.drop_retired(own->tasks);
    own->tasks.push_back({&task, id});
  }
}

}  // namespace trellis::Impl
