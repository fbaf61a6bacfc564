"""Where a program stops, in all its processes, when every stop is looked at and resumed.

Ranks that are held while another one is stopped are only looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dap_client import Client, Closed, RequestFailed, Stop

At = Callable[[Client, Stop], Any]


class Visits:
    """Drives a session and those of its children to their end."""

    def __init__(self, root: Client, breakpoints: Mapping[Any, Iterable[Any]], at: At) -> None:
        self.found: list[Any] = []
        """What ``at`` returned for each stop."""
        self._breakpoints = {path: list(lines) for path, lines in breakpoints.items()}
        self._at = at
        self._threads: list[threading.Thread] = []
        self._problems: list[BaseException] = []
        self._root = root

    def run(self, **launch: Any) -> int:
        """Launch, go on from every stop, and return the exit code."""
        self._begin(self._children_of, self._root)
        self._root.initialize()
        self._root.launch(breakpoints=self._breakpoints, **launch)
        code = self._until_end(self._root)
        self._root.close()
        for thread in self._threads:
            thread.join()
        for problem in self._problems:
            raise problem
        return 0 if code is None else code

    def _begin(self, work: Callable[[Client], None], client: Client) -> None:
        thread = threading.Thread(target=self._guarded, args=(work, client))
        self._threads.append(thread)
        thread.start()

    def _guarded(self, work: Callable[[Client], None], client: Client) -> None:
        try:
            work(client)
        except Closed:
            pass  # the session is over
        except BaseException as problem:
            self._problems.append(problem)

    def _children_of(self, client: Client) -> None:
        while True:
            self._begin(self._child, client.connect_child())

    def _child(self, child: Client) -> None:
        self._begin(self._children_of, child)
        with child:
            child.attach(breakpoints=self._breakpoints, **child.child.configuration)
            self._until_end(child)

    def _until_end(self, client: Client) -> int | None:
        """Return the exit code, None where the session just ended."""

        def matches(message: Any) -> bool:
            return message.get("event") in ("stopped", "exited", "terminated")

        while True:
            message = client.connection.wait_message(matches, "a stop or the end")
            if message["event"] != "stopped":
                return (message.get("body") or {}).get("exitCode")
            try:
                self._visit(client, message["body"])
            except RequestFailed:
                if message["body"]["reason"] != "pause":
                    raise  # a rank that is held may have been let go on in the meantime

    def _visit(self, client: Client, body: Any) -> None:
        frames = client.request("stackTrace", threadId=body["threadId"])["stackFrames"]
        if (body.get("description") or "").startswith("Held"):
            # It goes on with the rank it is held for, and may stand at a breakpoint of its own by
            # the time it would be resumed here.
            return
        if frames or body["reason"] != "pause":
            self.found.append(self._at(client, Stop(body, frames)))
        client.resume(body["threadId"])


def lines_at(client: Client, stop: Stop) -> int:
    """Return the line of a stop, after a look at what an editor shows there."""
    client.locals(stop.frame_id)
    return stop.line
