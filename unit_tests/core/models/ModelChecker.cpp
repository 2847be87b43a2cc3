// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ModelChecker.hpp"

#include "Search.hpp"

#include <set>

namespace trellis::model {

Report explore(std::function<void()> const& program, Bounds const& bounds) {
  return Search::instance().run(program, bounds);
}

void require(bool holds, std::string_view what) {
  if (!holds) Search::instance().fail(std::string(what));
}

void outcome(std::uint64_t value) {
  Search::instance().outcome(value);
}

Lifetime::Lifetime(void const volatile* object, std::size_t size)
    : m_object(const_cast<void const*>(object)), m_size(size) {
  Search::instance().begins(m_object, m_size, __builtin_return_address(0));
}

Lifetime::~Lifetime() {
  Search::instance().ends(m_object, m_size, __builtin_return_address(0));
}

void name(void const volatile* object, std::string_view name) {
  Search::instance().name(object, name);
}

std::string_view order_name(int order) {
  constexpr std::string_view names[] = {"relaxed", "consume", "acquire",
                                        "release", "acq_rel", "seq_cst"};
  return names[order];
}

std::vector<Site> reached_sites() {
  Search& search = Search::instance();
  search.look_up_places();
  std::set<Site> sites;
  for (auto const& [place, reached] : search.reached_places())
    if (reached.search == search.number()) sites.insert(reached.site);
  return {sites.begin(), sites.end()};
}

Mutation::Mutation(Site const& site, int to) {
  Search& search = Search::instance();
  for (auto const& [place, reached] : search.reached_places())
    if (reached.site == site) search.weakened()[place] = {site.order, to};
}

Mutation::~Mutation() {
  Search::instance().weakened().clear();
}

}  // namespace trellis::model
