#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one trace for Perfetto out of those that trellis::mpi::write_trace has written, one of each
rank, and draws an arrow for each message, from the task that sends it to the end of the one that
receives it.

MPI gives the messages of one communicator, sender, receiver and tag to the receives that name all
these in the order in which they were sent. So the first send belongs to the first receive, and so
on. What cannot be told in this way gets no arrow, and is counted."""
import argparse
import collections
import json
import os
import sys

ANY = "a receive from any rank, or with any tag"
MAYBE_ANY = "may belong to a receive from any rank, or with any tag"
AMBIGUOUS = "two resources have the name of the communicator (MPI_Comm_set_name gives it another)"
OUTSIDE = "the other rank is not in these files"
FAILED = "failed or cancelled, or behind such a one"
INCOMPLETE = "not complete when the trace was written"
ALONE = "without a counterpart"
BACKWARDS = "the message would have come before it was sent"


class WrongInput(Exception):
    pass


def ns(microseconds):
    return round(1000 * microseconds)


class Slice:
    """A slice of a task, on one row."""

    def __init__(self, event, place):
        self.begin = ns(event["ts"])
        self.end = self.begin + ns(event["dur"])
        self.pid, self.tid = event["pid"], event["tid"]
        self.place = place  # index into the events of its rank

    @property
    def last(self):
        """The last time in it: at its end a viewer would bind an arrow to no slice."""
        return max(self.begin, self.end - 1)


class Message:
    """A send or receive. Its task has been started."""

    def __init__(self, rank, communicators, said, state):
        communicator = communicators[said["communicator"]]
        self.rank, self.state = rank, state
        self.communicator = (communicator["name"], tuple(communicator["ranks"]))
        self.is_ambiguous = communicator.get("ambiguous", False)
        self.is_send = said["way"] == "send"
        self.peer, self.tag, self.number = said["peer"], said["tag"], said.get("number")
        self.first = self.last = None  # slices: its body, and the one that ends when it is complete

    @property
    def is_any(self):
        return self.peer == "any" or self.tag == "any"

    @property
    def channel(self):
        ends = (self.rank, self.peer) if self.is_send else (self.peer, self.rank)
        return (self.communicator, *ends, self.tag)

    def may_take(self, channel):
        """True if this receive, from any rank or with any tag, may have taken a message of this
        channel, whose messages go to its rank."""
        communicator, sender, _, tag = channel
        return (communicator == self.communicator and self.peer in ("any", sender) and
                self.tag in ("any", tag))


class RankTrace:
    def __init__(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
        except OSError as error:
            raise WrongInput(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            raise WrongInput(f"{path} is no JSON, or was not written to its end: {error}"
                             ) from error
        try:
            self.events, self.about = document["traceEvents"], document["otherData"]
            self.rank, self.size, self.run = (self.about[key] for key in ("rank", "size", "run"))
            communicators = self.about["communicators"]
        except (KeyError, TypeError) as error:
            raise WrongInput(f"{path} is no trace that trellis::mpi::write_trace has written"
                             ) from error
        self.path = path
        self.messages = []
        self.tasks = set()
        of_task = {}
        for place, event in enumerate(self.events):
            args = event.get("args", {})
            if event["ph"] not in "Xi" or "id" not in args:
                continue
            task = args["id"]
            if task not in of_task:
                of_task[task] = [Message(self.rank, communicators, said, args["state"])
                                 for said in args.get("messages", ())]
                self.messages += of_task[task]
                if event["ph"] == "X":
                    self.tasks.add(task)
            if event["ph"] == "X":
                for message in of_task[task]:
                    message.last = Slice(event, place)
                    message.first = message.first or message.last
            # The numbers of communicators belong to this file.
            for said in [*args.get("messages", ()), *filter(None, [args.get("collective")])]:
                said["communicator"] = communicators[said["communicator"]]["name"]


class Arrows:
    def __init__(self, traces):
        self.pairs = []
        self.without = collections.Counter()  # (is_send, reason)
        self.latest = 0  # largest time by which a message has come too early, in ns
        wrong = sorted(trace.about.get("clock_uncertainty_ns", 0) for trace in traces.values())
        self.uncertainty = sum(wrong[-2:])  # sum for the clocks of two ranks
        messages = [message for trace in traces.values() for message in trace.messages
                    if message.peer != "none"]
        channels = collections.defaultdict(lambda: ([], []))
        takers = collections.defaultdict(list)
        for message in messages:
            if message.is_any:
                self.leave(message, ANY)
                takers[message.rank].append(message)
            elif message.is_ambiguous:
                self.leave(message, AMBIGUOUS)
            elif message.peer not in traces:
                self.leave(message, OUTSIDE)
            else:
                channels[message.channel][0 if message.is_send else 1].append(message)
        for channel, (sends, receives) in channels.items():
            self.match(sorted(sends, key=lambda it: it.number),
                       sorted(receives, key=lambda it: it.number),
                       any(taker.may_take(channel) for taker in takers[channel[2]]))

    def leave(self, message, reason):
        self.without[message.is_send, reason] += 1

    def match(self, sends, receives, any_may_take):
        both = sends + receives
        pairs = min(len(sends), len(receives))
        # If there are as many sends as receives, and all are over, no other receive took one.
        all_over = all(message.state == "done" for message in both)
        if any_may_take and not (len(sends) == len(receives) and all_over):
            for message in both:
                self.leave(message, MAYBE_ANY)
            return
        # It is unknown whether a message of a failed task has been sent, or received.
        certain = min((message.number for message in both
                       if message.state in ("failed", "cancelled")), default=len(both))
        for message in both:
            if message.number >= certain:
                self.leave(message, FAILED)
            elif message.number >= pairs:
                self.leave(message, ALONE if message.state == "done" else INCOMPLETE)
        for send, receive in zip(sends[:certain], receives[:certain]):
            self.draw(send, receive)

    def draw(self, send, receive):
        if receive.state != "done":
            self.leave(send, INCOMPLETE)
            self.leave(receive, INCOMPLETE)
            return
        early = send.first.begin - receive.last.end
        self.latest = max(self.latest, early)
        if receive.last.last <= send.first.begin:
            self.leave(send, BACKWARDS)
            self.leave(receive, BACKWARDS)
            return
        self.pairs.append((send, receive))

    def lines(self):
        for (is_send, reason), count in sorted(self.without.items(), key=lambda it: -it[1]):
            what = ("send" if is_send else "receive") + ("s" if count > 1 else "")
            more = ""
            if reason == BACKWARDS:
                more = (f", by up to {self.latest / 1000:g} us; clocks were measured to "
                        f"{self.uncertainty / 1000:g} us")
            yield f"{count} {what} without an arrow: {reason}{more}"


def check(traces_in_order, partial):
    traces = {}
    first = traces_in_order[0]
    for trace in traces_in_order:
        if trace.run != first.run:
            raise WrongInput(f"{trace.path} is of another run, or another call of write_trace, "
                             f"than {first.path}")
        if trace.rank in traces:
            raise WrongInput(f"{trace.path} and {traces[trace.rank].path} are both of rank "
                             f"{trace.rank}")
        traces[trace.rank] = trace
    missing = [str(rank) for rank in range(first.size) if rank not in traces]
    if missing and not partial:
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise WrongInput(f"of {first.size} ranks {len(missing)} are missing: "
                         f"{', '.join(missing[:8])}{more} (--partial does without them)")
    return dict(sorted(traces.items()))


def merged_events(traces, arrows):
    """Puts arrows right behind their slices: viewers use that order if times are equal."""
    behind = collections.defaultdict(list)
    number = 0

    def flow(phase, slice_, ts):
        event = {"name": "message", "cat": "message", "ph": phase, "id": number, "ts": ts / 1000,
                 "pid": slice_.pid, "tid": slice_.tid}
        return {**event, "bp": "e"} if phase == "f" else event

    for send, receive in arrows.pairs:
        number += 1
        end = receive.last.last
        begin = max(send.first.begin, min(send.first.last, end - 1))  # before it ends
        behind[send.rank, send.first.place].append(flow("s", send.first, begin))
        behind[receive.rank, receive.last.place].append(flow("f", receive.last, end))
    for rank, trace in traces.items():
        numbers = {}  # new numbers of the arrows within a rank; each file counts from 1
        for place, event in enumerate(trace.events):
            if event["ph"] in "sft":
                if event["id"] not in numbers:
                    number += 1
                    numbers[event["id"]] = number
                event["id"] = numbers[event["id"]]
            yield event
            yield from behind[rank, place]


def write(path, traces, arrows):
    first = next(iter(traces.values())).about
    clocks = ("rank", "clock_offset_ns", "clock_uncertainty_ns")
    about = {"generator": "Trellis", "clock": first["clock"], "run": first["run"],
             "size": first["size"],
             "ranks": [{key: trace.about.get(key) for key in clocks} for trace in traces.values()],
             "messages_drawn": len(arrows.pairs), "without_arrow": list(arrows.lines())}
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[')
            for number, event in enumerate(merged_events(traces, arrows)):
                file.write("\n" if number == 0 else ",\n")
                json.dump(event, file, separators=(",", ":"))
            file.write('\n],\n"displayTimeUnit":"ns",\n"otherData":')
            json.dump(about, file)
            file.write("}\n")
    except OSError as error:
        raise WrongInput(f"cannot write {path}: {error.strerror}") from error


def main(words):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE",
                        help="folder/trace.RANK.json, of all ranks")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("--partial", action="store_true", help="ranks may be missing")
    asked = parser.parse_args(words)
    try:
        if os.path.realpath(asked.output) in map(os.path.realpath, asked.traces):
            raise WrongInput(f"{asked.output} is one of the traces")
        traces = check([RankTrace(path) for path in asked.traces], asked.partial)
        arrows = Arrows(traces)
        write(asked.output, traces, arrows)
    except WrongInput as error:
        print(f"merge_traces: {error}", file=sys.stderr)
        return 1
    tasks = sum(len(trace.tasks) for trace in traces.values())
    print(f"{asked.output}: {len(traces)} ranks, {tasks} tasks, {len(arrows.pairs)} messages")
    for line in arrows.lines():
        print("  " + line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
