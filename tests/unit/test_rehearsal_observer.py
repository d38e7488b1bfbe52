"""What watches a rehearsal's cluster: a defect in it is heard of, and what it has not seen has not stood still."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast

import pytest

from xmgen.rehearsal.cloud.pools import Pools, View
from xmgen.rehearsal.director import Director
from xmgen.rehearsal.observer import Observer


class Broken:
    def view(self) -> None:
        raise ValueError("a defect")


def test_a_defect_ends_the_waiting() -> None:
    observer = Observer(cast(Pools, Broken()), cast(Director, None))
    observer.start()
    with pytest.raises(ValueError, match="a defect"):
        observer.wait(lambda: False, seconds=60)
    observer.stop()


class Still:
    """A cluster in which nothing happens, and whose API server may be gone."""

    def __init__(self) -> None:
        self.gone = threading.Event()
        self.asked = threading.Semaphore(0)

    def view(self) -> View:
        self.asked.release()
        if self.gone.is_set():
            raise OSError
        return View([], [])

    def step(self, view: View) -> None: ...

    def looks(self, count: int) -> None:
        """Returns when it has been looked at so many times more. The last one may not be over."""
        for _ in range(count):
            assert self.asked.acquire(timeout=60)


def test_while_nobody_can_look_nothing_stands_still() -> None:
    cluster = Still()
    observer = Observer(cast(Pools, cluster), cast(Director, cluster))
    observer.start()
    cluster.looks(3)
    seen = observer.still()
    cluster.looks(3)
    assert observer.still() > seen > 0
    cluster.gone.set()
    cluster.looks(3)
    seen = observer.still()
    cluster.looks(3)
    assert observer.still() == seen
    observer.stop()


@pytest.mark.parametrize(
    ("goes_every", "left"),
    [
        # Longer in all than the limit, but something goes all the time.
        (9.0, 0),
        (12.0, 5),
    ],
)
def test_what_goes_bit_by_bit_is_waited_for(goes_every: float, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.0

    def look(self: Observer) -> None:
        nonlocal seconds
        seconds += 1.0

    def there() -> range:
        return range(max(0, 5 - int(seconds // goes_every)))

    monkeypatch.setattr(Observer, "look", look)
    monkeypatch.setattr("xmgen.rehearsal.observer.time", SimpleNamespace(monotonic=lambda: seconds))
    Observer(cast(Pools, None), cast(Director, None)).wait_for_none(there, 10.0)
    assert (len(there()), seconds < 60) == (left, True)
