#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""test_merge_traces.py [FOLDER]: what the tool that merges the traces of all ranks does with small
known ones, and with those that the program test_mpi_trace has left in FOLDER/ranks_N."""
import contextlib
import glob
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "..", "..", "..", "policies", "mpi", "merge_traces.py")
spec = importlib.util.spec_from_file_location("merge_traces", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

FOLDER = None


def task(number, begin, end, *messages, later=None, state="done", label="task", **args):
    return {"id": number, "begin": begin, "end": end, "later": later, "state": state,
            "label": label, "args": {**({"messages": list(messages)} if messages else {}), **args}}


def send(peer, number, tag=0, communicator=0):
    return {"way": "send", "communicator": communicator, "peer": peer, "tag": tag,
            "number": number}


def recv(peer, number, tag=0, communicator=0):
    return {**send(peer, number, tag, communicator), "way": "recv"}


def recv_any(peer="any", tag=0):
    return {"way": "recv", "communicator": 0, "peer": peer, "tag": tag}


def trace(rank, size, *tasks, run="a run", communicators=None, flows=()):
    """Times are in microseconds. Bodies are on row 1, what is complete later on rows of its own."""
    events = [{"name": "process_name", "ph": "M", "pid": rank, "tid": 0,
               "args": {"name": f"rank {rank}"}}]
    for each in sorted(tasks, key=lambda it: it["begin"]):
        args = {"id": each["id"], "state": each["state"], **each["args"]}
        if each["state"] == "cancelled":  # has no slice, whether or not it was started
            events.append({"name": "CANCELLED", "ph": "i", "s": "t", "pid": rank, "tid": 9,
                           "ts": each["begin"], "args": json.loads(json.dumps(args))})
            continue
        body = {"name": each["label"], "ph": "X", "pid": rank, "tid": 1, "ts": each["begin"],
                "dur": each["end"] - each["begin"], "args": args}
        events.append(json.loads(json.dumps(body)))
        if each["later"] is not None:
            events.append({**json.loads(json.dumps(body)), "tid": 100 + each["id"],
                           "ts": each["end"], "dur": each["later"] - each["end"]})
    events += flows
    if communicators is None:
        communicators = [{"name": "world", "ranks": list(range(size))}]
    return {"traceEvents": events,
            "otherData": {"generator": "Trellis", "clock": "a clock", "rank": rank, "size": size,
                          "run": run, "clock_offset_ns": 10 * rank,
                          "clock_uncertainty_ns": rank, "communicators": communicators}}


class MergeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, *traces):
        paths = [self.path(f"trace.{k}.json") for k in range(len(traces))]
        for path, each in zip(paths, traces):
            with open(path, "w", encoding="utf-8") as file:
                file.write(each if isinstance(each, str) else json.dumps(each))
        return paths

    def run_tool(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = tool.main(list(words))
        return code, out.getvalue(), err.getvalue()

    def merge(self, *traces, options=()):
        """The merged file, and what has been printed."""
        code, said, wrong = self.run_tool(*self.write(*traces), "-o", self.path("all"), *options)
        self.assertEqual((code, wrong), (0, ""))
        with open(self.path("all"), encoding="utf-8") as file:
            return json.load(file), said

    def refused(self, *traces, output="all", options=()):
        code, said, wrong = self.run_tool(*self.write(*traces), "-o", self.path(output), *options)
        self.assertEqual((code, said), (1, ""))
        self.assertFalse(os.path.exists(self.path("all")))
        return wrong.replace(self.folder + os.sep, "")

    def arrows(self, merged):
        """Pairs of (rank, task), as viewers bind them: an arrow belongs to the slice that its row
        has entered last, by time, and in the order of the file where times are equal."""
        events = [event for event in merged["traceEvents"] if event["ph"] != "M"]
        events.sort(key=lambda it: tool.ns(it["ts"]))
        current, begun, pairs, numbers = {}, {}, [], set()
        for event in events:
            row = event["pid"], event["tid"]
            if event["ph"] == "X":
                current[row] = event
                continue
            if event["ph"] not in "sf":
                continue
            slice_ = current[row]
            begin, duration, at = (tool.ns(it) for it in (slice_["ts"], slice_["dur"], event["ts"]))
            self.assertTrue(at == begin or begin < at < begin + duration, (slice_, event))
            flow = event["cat"], event["id"]
            if event["ph"] == "s":
                self.assertNotIn(flow, numbers, "a number is used twice")
                numbers.add(flow)
                begun[flow] = event["pid"], slice_["args"]["id"]
            elif event["cat"] == "message":
                self.assertEqual(event["bp"], "e")
                last = max(begin, begin + duration - 1)
                self.assertEqual(at, last, "it ends when the receive is complete")
                pairs.append((begun.pop(flow), (event["pid"], slice_["args"]["id"])))
            else:
                begun.pop(flow)
        self.assertEqual(begun, {})
        return sorted(pairs)


class Arrows(MergeTest):
    def test_the_first_send_belongs_to_the_first_receive(self):
        merged, said = self.merge(
            trace(0, 2, task(1, 0, 1, send(1, 0)), task(2, 1, 2, send(1, 1)),
                  task(3, 5, 6, recv(1, 0, tag=7), later=9)),
            trace(1, 2, task(1, 0, 1, recv(0, 0), later=4), task(2, 1, 2, recv(0, 1), later=5),
                  task(3, 2, 2, send(0, 0, tag=7))))
        self.assertEqual(self.arrows(merged),
                         [((0, 1), (1, 1)), ((0, 2), (1, 2)), ((1, 3), (0, 3))])
        self.assertEqual(said, f"{self.path('all')}: 2 ranks, 6 tasks, 3 messages\n")
        about = merged["otherData"]
        self.assertEqual((about["messages_drawn"], about["without_arrow"]), (3, []))
        self.assertEqual(about["ranks"][1],
                         {"rank": 1, "clock_offset_ns": 10, "clock_uncertainty_ns": 1})

    def test_an_arrow_leaves_before_it_ends(self):
        # The receive is complete while the body of the send goes on.
        merged, _ = self.merge(trace(0, 2, task(1, 0, 100, send(1, 0))),
                               trace(1, 2, task(1, 0, 1, recv(0, 0), later=50)))
        times = {event["ph"]: event["ts"] for event in merged["traceEvents"] if event["ph"] in "sf"}
        self.assertEqual(times, {"s": 49.998, "f": 49.999})
        self.assertEqual(self.arrows(merged), [((0, 1), (1, 1))])

    def test_channels_are_apart(self):
        # Other tags, and another communicator of the same name but with other ranks.
        two = [{"name": "part", "ranks": [0, 1]}, {"name": "part", "ranks": [1, 0]}]
        merged, _ = self.merge(
            trace(0, 2, task(1, 0, 1, send(1, 0, tag=1)), task(2, 1, 2, send(1, 0, tag=2)),
                  task(3, 2, 3, send(1, 0, tag=1, communicator=1)), communicators=two),
            trace(1, 2, task(1, 0, 1, recv(0, 0, tag=1, communicator=1), later=9),
                  task(2, 1, 2, recv(0, 0, tag=2), later=9),
                  task(3, 2, 3, recv(0, 0, tag=1), later=9), communicators=two))
        self.assertEqual(self.arrows(merged),
                         [((0, 1), (1, 3)), ((0, 2), (1, 2)), ((0, 3), (1, 1))])

    def test_one_task_sends_and_receives(self):
        both = [trace(rank, 2, task(1, 0, 1, send(1 - rank, 0), recv(1 - rank, 0), later=5))
                for rank in (0, 1)]
        merged, _ = self.merge(*both)
        self.assertEqual(self.arrows(merged), [((0, 1), (1, 1)), ((1, 1), (0, 1))])

    def test_those_of_the_files_get_numbers_of_their_own(self):
        def with_flow(rank):
            return trace(rank, 2, task(1, 0, 1), task(2, 1, 2), flows=[
                {"name": "access", "cat": "edge", "ph": "s", "id": 1, "ts": 0.999, "pid": rank,
                 "tid": 1},
                {"name": "access", "cat": "edge", "ph": "f", "bp": "e", "id": 1, "ts": 1,
                 "pid": rank, "tid": 1}])
        merged, _ = self.merge(with_flow(0), with_flow(1))
        ids = [event["id"] for event in merged["traceEvents"] if event["ph"] == "s"]
        self.assertEqual(len(set(ids)), 2)
        self.arrows(merged)

    def test_collective_operations_say_the_name_of_their_communicator(self):
        with_names = [{"name": "a", "ranks": [0]}, {"name": "b", "ranks": [0]}]
        collective = {"communicator": 1, "number": 4}
        merged, said = self.merge(trace(0, 1, task(1, 0, 1, later=2, collective=collective),
                                        communicators=with_names))
        found = [event["args"]["collective"] for event in merged["traceEvents"]
                 if event["ph"] == "X"]
        self.assertEqual(found, [{"communicator": "b", "number": 4}] * 2)
        self.assertIn("1 ranks, 1 tasks, 0 messages", said)

    def test_tasks_that_never_ran_do_not_count(self):
        _, said = self.merge(trace(0, 1, task(1, 0, 1), task(2, 1, 1, state="cancelled")))
        self.assertIn("1 ranks, 1 tasks, 0 messages", said)


class Unmatched(MergeTest):
    def check(self, merged_and_said, arrows, *lines):
        merged, said = merged_and_said
        self.assertEqual(self.arrows(merged), arrows)
        self.assertEqual(sorted(said.splitlines()[1:]), sorted("  " + line for line in lines))
        self.assertEqual(sorted(merged["otherData"]["without_arrow"]), sorted(lines))

    def test_what_a_receive_from_any_rank_may_have_taken(self):
        for one in (recv_any(), recv_any(peer=0, tag="any"), recv_any("any", "any")):
            with self.subTest(one=one):
                self.check(self.merge(
                    trace(0, 2, task(1, 0, 1, send(1, 0)), task(2, 1, 2, send(1, 1))),
                    trace(1, 2, task(1, 0, 1, one, later=9),
                          task(2, 1, 2, recv(0, 0), later=9))),
                    [],
                    "1 receive without an arrow: a receive from any rank, or with any tag",
                    "2 sends without an arrow: may belong to a receive from any rank, or with any "
                    "tag",
                    "1 receive without an arrow: may belong to a receive from any rank, or with "
                    "any tag")

    def test_what_it_cannot_have_taken(self):
        # Of this channel there are as many sends as receives; of the other one it took one.
        self.check(self.merge(
            trace(0, 2, task(1, 0, 1, send(1, 0)), task(2, 1, 2, send(1, 0, tag=3))),
            trace(1, 2, task(1, 0, 1, recv_any(0, "any"), later=9),
                  task(2, 1, 2, recv(0, 0), later=9))),
            [((0, 1), (1, 2))],
            "1 receive without an arrow: a receive from any rank, or with any tag",
            "1 send without an arrow: may belong to a receive from any rank, or with any tag")

    def test_what_it_has_taken_while_another_one_waits(self):
        self.check(self.merge(
            trace(0, 2, task(1, 0, 1, send(1, 0)), task(2, 1, 2, send(1, 1))),
            trace(1, 2, task(1, 0, 1, recv_any(), later=9),
                  task(2, 1, 2, recv(0, 0), later=9),
                  task(3, 2, 3, recv(0, 1), later=9, state="running"))),
            [],
            "1 receive without an arrow: a receive from any rank, or with any tag",
            "2 sends without an arrow: may belong to a receive from any rank, or with any tag",
            "2 receives without an arrow: may belong to a receive from any rank, or with any tag")

    def test_one_of_another_rank_or_tag_takes_nothing(self):
        self.check(self.merge(
            trace(0, 2, task(1, 0, 1, send(1, 0)), task(2, 1, 2, send(1, 1)),
                  task(3, 2, 3, recv_any(), later=9)),
            trace(1, 2, task(1, 0, 1, recv(0, 0), later=9),
                  task(2, 1, 2, recv_any("any", 1), later=9, state="running"),
                  task(3, 2, 3, recv_any(1, "any"), later=9, state="running"))),
            [((0, 1), (1, 1))],
            "3 receives without an arrow: a receive from any rank, or with any tag",
            "1 send without an arrow: without a counterpart")

    def test_behind_one_that_failed_nothing_is_certain(self):
        for state in ("failed", "cancelled"):
            with self.subTest(state=state):
                self.check(self.merge(
                    trace(0, 2, *(task(k + 1, k, k + 1, send(1, k)) for k in range(3))),
                    trace(1, 2, task(1, 0, 1, recv(0, 0), later=9),
                          task(2, 1, 2, recv(0, 1), later=9, state=state),
                          task(3, 2, 3, recv(0, 2), later=9))),
                    [((0, 1), (1, 1))],
                    "2 sends without an arrow: failed or cancelled, or behind such a one",
                    "2 receives without an arrow: failed or cancelled, or behind such a one")

    def test_what_is_under_way(self):
        self.check(self.merge(
            trace(0, 2, task(1, 0, 1, send(1, 0)), task(2, 1, 2, recv(1, 0), later=9,
                                                        state="running")),
            trace(1, 2, task(1, 0, 1, recv(0, 0), later=9, state="running"))),
            [],
            "1 send without an arrow: not complete when the trace was written",
            "2 receives without an arrow: not complete when the trace was written")

    def test_two_communicators_of_one_name(self):
        twins = [{"name": "twins", "ranks": [0], "ambiguous": True}]
        self.check(self.merge(trace(0, 1, task(1, 0, 1, send(0, 0)),
                                    task(2, 1, 2, recv(0, 0), later=3), communicators=twins)),
                   [],
                   *(f"1 {way} without an arrow: two resources have the name of the communicator "
                     "(MPI_Comm_set_name gives it another)" for way in ("send", "receive")))

    def test_nobody_and_ranks_that_are_not_there(self):
        self.check(self.merge(
            trace(1, 3, task(1, 0, 1, send("none", 0)), task(2, 1, 2, send(0, 0)),
                  task(3, 2, 3, send(None, 0)), task(4, 3, 4, send(2, 0))),
            trace(2, 3, task(1, 0, 1, recv(1, 0), later=9)), options=["--partial"]),
            [((1, 4), (2, 1))],
            "2 sends without an arrow: the other rank is not in these files")

    def test_clocks_that_are_too_far_apart(self):
        self.check(self.merge(trace(0, 2, task(1, 10, 11, send(1, 0))),
                              trace(1, 2, task(1, 0, 1, recv(0, 0), later=7.5))),
                   [],
                   *(f"1 {way} without an arrow: the message would have come before it was sent, "
                     "by up to 2.5 us; clocks were measured to 0.001 us"
                     for way in ("send", "receive")))


class Refused(MergeTest):
    def test_ranks_are_missing(self):
        self.assertEqual(self.refused(trace(1, 4), trace(3, 4)),
                         "merge_traces: of 4 ranks 2 are missing: 0, 2 (--partial does without "
                         "them)\n")
        self.assertIn("of 64 ranks 63 are missing: 1, 2, 3, 4, 5, 6, 7, 8 and 55 more",
                      self.refused(trace(0, 64)))

    def test_two_are_of_one_rank(self):
        self.assertEqual(self.refused(trace(1, 2), trace(1, 2)),
                         "merge_traces: trace.1.json and trace.0.json are both of rank 1\n")

    def test_two_runs(self):
        self.assertEqual(self.refused(trace(0, 2), trace(1, 2, run="another")),
                         "merge_traces: trace.1.json is of another run, or another call of "
                         "write_trace, than trace.0.json\n")

    def test_other_files(self):
        self.assertIn("trace.0.json is no JSON, or was not written to its end: ",
                      self.refused('{"traceEvents":['))
        for other in ("{}", "[1]", '"text"', '{"traceEvents": [], "otherData": {"rank": 0}}',
                      '{"traceEvents": [], "otherData": null}'):
            self.assertEqual(self.refused(other),
                             "merge_traces: trace.0.json is no trace that "
                             "trellis::mpi::write_trace has written\n")
        code, _, wrong = self.run_tool(self.path("none.json"), "-o", self.path("all"))
        self.assertEqual(code, 1)
        self.assertIn("none.json: No such file or directory", wrong)

    def test_outputs(self):
        self.assertEqual(self.refused(trace(0, 1), output="trace.0.json"),
                         "merge_traces: trace.0.json is one of the traces\n")
        self.assertEqual(self.refused(trace(0, 1), output="no/folder"),
                         "merge_traces: cannot write no/folder: No such file or directory\n")


EARLY = (r"(\d+) (?:send|receive)s? without an arrow: the message would have come before it was "
         r"sent, by up to (\S+) us; clocks were measured to (\S+) us")


class OfRealRuns(MergeTest):
    # How many messages of each rank have an arrow.
    EXPECTED = {"ring": 10, "clocks": 3, "halves": 1, "plan": 6, "any": 0, "raw": 0}

    def test_all_messages_have_arrows(self):
        if FOLDER is None:
            self.skipTest("no folder with traces is given")
        runs = sorted(glob.glob(os.path.join(FOLDER, "ranks_*")))
        self.assertTrue(runs, f"the program test_mpi_trace has left nothing in {FOLDER}")
        for run in runs:
            ranks = int(run.rsplit("_", 1)[1])
            for name, each in self.EXPECTED.items():
                with self.subTest(run=run, name=name):
                    paths = [os.path.join(run, f"{name}.{rank}.json") for rank in range(ranks)]
                    code, said, wrong = self.run_tool(*paths, "-o", self.path("all"))
                    self.assertEqual((code, wrong), (0, ""))
                    with open(self.path("all"), encoding="utf-8") as file:
                        merged = json.load(file)
                    arrows = len(self.arrows(merged))
                    without = merged["otherData"]["without_arrow"]
                    if name == "any":
                        self.assertEqual(arrows, 0)
                        continue
                    # On a busy machine the clock may not have been measured well; it says so.
                    early = [re.fullmatch(EARLY, line) for line in without]
                    self.assertNotIn(None, early, without)
                    self.assertEqual(2 * arrows + sum(int(it[1]) for it in early),
                                     2 * each * ranks)
                    for it in early:
                        self.assertLessEqual(float(it[2]), float(it[3]) + 0.001)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        FOLDER = sys.argv.pop(1)
    unittest.main()
