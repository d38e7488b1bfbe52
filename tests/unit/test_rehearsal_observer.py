"""Who waits for a rehearsal's cluster hears of a defect in what watches it."""

from __future__ import annotations

from typing import cast

import pytest

from xmgen.rehearsal.cloud.pools import Pools
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
