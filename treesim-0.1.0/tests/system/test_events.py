"""Events of other threads: called in the waiting thread, in their order, as long as not too many wait."""

import threading
import time

import pytest

from tests.waiting import PATIENCE, Clock
from treesim.system.events import EventQueue


def test_events_are_called_in_order_by_the_thread_that_waits():
    events, seen = EventQueue(), []

    def post():
        for i in range(3):
            events.post(lambda i=i: seen.append((i, threading.get_ident())))

    worker = threading.Thread(target=post)
    worker.start()
    worker.join()
    assert seen == []
    events.run()
    assert seen == [(i, threading.get_ident()) for i in range(3)]


def test_waiting_calls_what_comes_meanwhile():
    clock, seen = Clock(), []
    events = EventQueue(clock)

    def arrive():
        seen.append(threading.get_ident())
        clock.now = PATIENCE  # else it is waited for so long

    poster = threading.Thread(target=lambda: clock.read.wait(PATIENCE) and events.post(arrive))
    poster.start()
    events.wait(PATIENCE)
    poster.join()
    assert seen == [threading.get_ident()]


def test_waiting_takes_its_time():
    events, began = EventQueue(), time.monotonic()
    events.wait(0.02)
    assert time.monotonic() - began >= 0.02


def test_waiting_for_no_time_calls_what_waits():
    events, seen = EventQueue(), []
    events.post(lambda: seen.append(1))
    events.wait(0)
    assert seen == [1]


def test_an_event_is_refused_when_too_many_wait():
    events, seen = EventQueue(), []
    accepted = [events.post(lambda i=i: seen.append(i), most=3) for i in range(5)]
    assert accepted == [True, True, True, False, False]
    events.run()
    assert seen == [0, 1, 2] and events.post(lambda: None, most=3)


def test_an_error_ends_the_wait_and_the_next_event_remains():
    events, seen = EventQueue(), []
    events.post(lambda: 1 / 0)
    events.post(lambda: seen.append(1))
    with pytest.raises(ZeroDivisionError):
        events.wait(PATIENCE)
    events.run()
    assert seen == [1]
