// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every word of a call without its namespace, and the functions of POSIX that have the same names.
// No include guard: each source includes it once, behind its own using directives, with
// TRELLIS_TEST_NAMES as the name of its tests.

namespace {

TEST(TRELLIS_TEST_NAMES, AnnotationsNeedNoNamespace) {
  using Vector = Kokkos::View<double*, Kokkos::HostSpace>;
  TaskGraph graph;
  int const n = 100;
  Vector x("x", n), y("y", n);
  Vector::const_type const fixed = x;
  Token const token("token");
  std::vector<Vector> const several{x, y};
  std::vector<double> numbers(n, 1);
  auto const first_half = [&](Vector const& v) {
    return Kokkos::subview(v, std::pair<int, int>(0, n / 2));
  };
  using Space = Kokkos::DefaultHostExecutionSpace;

  auto const filled = parallel_for(
      "fill",
      ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, n), write(x), write(y), priority(2)),
      KOKKOS_LAMBDA(int i) { x(i) = y(i) = 1; });
  parallel_for(
      "add",
      ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, n), read(fixed), read_write(y),
                     after(filled), none(token)),
      KOKKOS_LAMBDA(int i) { y(i) += fixed(i); });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, n), read(y)),
      KOKKOS_LAMBDA(int i, double& s) { s += y(i); });
  parallel_scan(
      "scan", ResourcePolicy(graph, Kokkos::RangePolicy<Space>(0, n), write(x)),
      KOKKOS_LAMBDA(int i, double& s, bool is_final) {
        s += 1;
        if (is_final) x(i) = s;
      });
  double found = 0;
  host_task("value", ResourcePolicy(graph, value(sum), exclusive(token), threads(1), main_thread),
            [&](double s) { found = s; });
  host_task("temporaries",
            ResourcePolicy(graph, read(first_half(x)), read_write(first_half(y)), read(several)),
            [] {});
  host_task("ranges", ResourcePolicy(graph, write(numbers), atomic_add(first_half(y))), [] {});
  host_task("atomic", ResourcePolicy(graph, atomic_mul(y), read(group(x, token)), synchronizing),
            [] {});
  host_task("states", ResourcePolicy(graph, access(x, Mode::read), access(token, Mode::exclusive)),
            [] {});
  space_task("space", ResourcePolicy(graph, on<Space>, read(x)), [](Space const&) {});
  fork_join(ResourcePolicy(graph, read(x)),
            [](TaskScope& self) { host_task("child", ResourcePolicy(self), [] {}); });
  // Only this one needs it: Views bring the function of Kokkos, which takes no graph.
  trellis::deep_copy(graph, y, x);
  trellis::deep_copy(graph, x, 0.);
  host_task("split", ResourcePolicy(graph, read_write(y)), [y](TaskScope& self) {
    self.demote(read(y));
    self.release(y);
  });
  when_all(filled, sum).get();
  Plan const plan =
      graph.record([&] { host_task("child", ResourcePolicy(graph, read(x)), [] {}); });
  graph.replay(plan, 2);
  graph.wait();
  EXPECT_EQ(found, 2. * n);
  EXPECT_EQ(x(n - 1), 0);
  EXPECT_EQ(y(n - 1), n);
}

TEST(TRELLIS_TEST_NAMES, TopicsNeedNoNamespace) {
  TaskGraph graph;
  int ran = 0;
  TaskNumbers numbers(graph);
  TaskNumber const k = numbers.reserve(1);
  graph.add_rule<int>("rule", Constraint::ordered, [](int a, int b) { return a == b; });
  host_task("numbered", ResourcePolicy(graph, number(k), tag(1), fusable), [&] { ++ran; });
  host_task("behind", ResourcePolicy(graph, after(k), tag(1)), [&] { ++ran; });
  graph.wait(k);
  graph.wait();
  EXPECT_EQ(ran, 2);
}

TEST(TRELLIS_TEST_NAMES, FunctionsOfPosixAreStillFound) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  char text[] = "text";
  char const* const constant = text;
  EXPECT_EQ(write(ends[1], constant, 2), 2);
  EXPECT_EQ(write(ends[1], text + 2, std::size_t{2}), 2);
  char got[8] = {};
  char* const there = got;
  EXPECT_EQ(read(ends[0], there, 2), 2);
  EXPECT_EQ(read(ends[0], got + 2, sizeof(got) - 2), 2);
  EXPECT_STREQ(got, text);
  close(ends[0]);
  close(ends[1]);
  char path[] = "/";
  std::string const folder = path;
  EXPECT_EQ(access("/", R_OK), 0);
  EXPECT_EQ(access(path, R_OK), 0);
  EXPECT_EQ(access(static_cast<char*>(path), R_OK), 0);
  EXPECT_EQ(access(folder.c_str(), F_OK), 0);
}

TEST(TRELLIS_TEST_NAMES, FunctionsOfKokkosAreStillFound) {
  Kokkos::View<double*, Kokkos::HostSpace> x("x", 10);
  using Space = Kokkos::DefaultHostExecutionSpace;
  parallel_for(
      "plain", Kokkos::RangePolicy<Space>(0, 10), KOKKOS_LAMBDA(int i) { atomic_add(&x(i), 1.); });
  double sum = 0;
  parallel_reduce(
      "plain", Kokkos::RangePolicy<Space>(0, 10), KOKKOS_LAMBDA(int i, double& s) { s += x(i); },
      sum);
  EXPECT_EQ(sum, 10);
  deep_copy(x, 3.);
  EXPECT_EQ(x(9), 3);
}

}  // namespace
