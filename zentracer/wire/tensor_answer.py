"""Between the adapter and the runtime: one question about a tensor, and its answer.

The question travels inside an expression that debugpy evaluates in the stopped frame, the answer
as the event ``zentracer/tensor_answer`` on debugpy's own channel, ahead of debugpy's response.
Neither reaches an editor.
"""

from __future__ import annotations

from typing import Any, Optional

from zentracer.wire._body import body
from zentracer.wire.editor import TensorQuery


@body
class TensorCall:
    """One question."""

    id: int
    query: TensorQuery


@body
class TensorAnswer:
    """What became of it: a view or an error."""

    id: int
    error: Optional[str] = None
    """A sentence for the user."""
    view: Any = None
    """A ``TensorView``, which the adapter hands on as it is."""
