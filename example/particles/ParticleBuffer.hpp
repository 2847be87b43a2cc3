// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_PARTICLES_PARTICLEBUFFER_HPP
#define TRELLIS_EXAMPLE_PARTICLES_PARTICLEBUFFER_HPP

#include <Trellis.hpp>
#include <Trellis_Resources.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Plasma.hpp"

/// This header makes a buffer of particles a resource. The buffer grows, so it is no View; tasks
/// declare a Token that stands for it.
namespace particles {

/// Copies are the same buffer.
class ParticleBuffer {
 public:
  explicit ParticleBuffer(std::string label)
      : m_token(std::move(label)), m_all(std::make_shared<std::vector<Particle>>()) {}

  [[nodiscard]] trellis::Token const& token() const { return m_token; }
  [[nodiscard]] std::vector<Particle>& operator*() const { return *m_all; }
  [[nodiscard]] std::vector<Particle>* operator->() const { return m_all.get(); }

  /// Moves all particles of another buffer into this one.
  void take_all_of(ParticleBuffer const& other) const {
    m_all->insert(m_all->end(), other->begin(), other->end());
    other->clear();
  }

 private:
  trellis::Token m_token;
  std::shared_ptr<std::vector<Particle>> m_all;
};

}  // namespace particles

template <>
struct trellis::ResourceTraits<particles::ParticleBuffer> {
  static auto accesses(particles::ParticleBuffer const& buffer, auto how) {
    return access(buffer.token(), how);
  }
  static particles::ParticleBuffer argument(particles::ParticleBuffer const& buffer, auto) {
    return buffer;
  }
};

#endif
