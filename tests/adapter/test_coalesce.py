"""States that change faster than anybody can look."""

from __future__ import annotations

import asyncio
import time

from zentracer_dap.coalesce import LONGEST, PAUSE, Coalesced


def run(scenario):
    asyncio.run(scenario())


def test_the_first_is_sent_at_once_and_the_last_always():
    async def scenario():
        now, sent = [], []
        state = Coalesced(lambda: sent.append(len(now)))
        for value in range(1000):
            now.append(value)
            state.changed()
        assert sent == [1]
        while sent[-1] != 1000:
            await asyncio.sleep(PAUSE / 10)
        assert len(sent) == 2

    run(scenario)


def test_a_thousand_changes_a_second_become_ten():
    async def scenario():
        times = []
        loop = asyncio.get_running_loop()
        state = Coalesced(lambda: times.append(loop.time()))
        while len(times) < 5:
            state.changed()
            await asyncio.sleep(0.001)
        gaps = [after - before for before, after in zip(times, times[1:])]
        assert min(gaps) >= PAUSE * 0.99

    run(scenario)


def test_flush_sends_what_waits_and_only_that():
    async def scenario():
        sent = []
        state = Coalesced(lambda: sent.append(None))
        state.flush()
        assert sent == []
        state.changed(), state.changed()
        state.flush(), state.flush()
        assert len(sent) == 2

    run(scenario)


def test_a_slow_state_is_sent_more_rarely():
    async def scenario():
        loop = asyncio.get_running_loop()
        times = []

        def send():
            times.append(loop.time())
            time.sleep(0.02)

        state = Coalesced(send)
        while len(times) < 2:
            state.changed()
            await asyncio.sleep(0.001)
        assert times[1] - times[0] > 2 * PAUSE

    run(scenario)


def test_one_that_was_held_up_does_not_hold_up_the_next():
    async def scenario():
        state = Coalesced(lambda: time.sleep(LONGEST / 4))
        state.changed(), state.changed()
        assert state._timer is not None
        assert state._timer.when() - asyncio.get_running_loop().time() <= LONGEST
        state.close()

    run(scenario)
