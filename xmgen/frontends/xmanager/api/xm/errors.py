"""The errors that XManager's launch API raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xmgen.frontends.xmanager.api.xm.units import WorkUnit


class ExperimentUnitError(RuntimeError):
    """A unit could not be created or completed. work_unit: which one, where it is known."""

    work_unit: WorkUnit | None = None

    def __init__(self, message: Any, *, work_unit: WorkUnit | None = None) -> None:
        super().__init__(message)
        self.work_unit = work_unit


class ExperimentUnitFailedError(ExperimentUnitError):
    """A job of the unit has failed."""


class ExperimentUnitNotCompletedError(ExperimentUnitError):
    """The unit was stopped."""


class NotFoundError(KeyError):
    """There is no such experiment or unit."""


class ReloadError(ExperimentUnitError):
    """A unit could not be reloaded."""


class DebugInterrupt(BaseException):
    """Ends a launch for debugging."""
