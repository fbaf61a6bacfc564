"""What is listed without stopping: mistakes that a run shows, with the line to blame.

RUNS IN the training process, while any tensor exception is armed. docs/advice.md has the table.
"""

from __future__ import annotations

from zentracer.frameworks.pytorch.training.advice.adviser import Adviser
from zentracer.frameworks.pytorch.training.advice.clipping import Clipping
from zentracer.frameworks.pytorch.training.advice.double_softmax import DoubleSoftmax
from zentracer.frameworks.pytorch.training.advice.dropout import FunctionalDropout
from zentracer.frameworks.pytorch.training.advice.evaluation import Modes
from zentracer.frameworks.pytorch.training.advice.graph_break import GraphBreaks
from zentracer.frameworks.pytorch.training.advice.initial import Initialisation
from zentracer.frameworks.pytorch.training.advice.inputs import Inputs
from zentracer.frameworks.pytorch.training.advice.loading import Loading
from zentracer.frameworks.pytorch.training.advice.progress import Progress
from zentracer.frameworks.pytorch.training.advice.schedule import Schedules
from zentracer.frameworks.pytorch.training.advice.softmax_axis import SoftmaxAxis
from zentracer.frameworks.pytorch.training.advice.targets import Targets
from zentracer.frameworks.pytorch.training.advice.time_axis import TimeAxis
from zentracer.frameworks.pytorch.training.advice.zero_grad import MissingReset
from zentracer.frameworks.pytorch.training.graph_cut import GraphCut
from zentracer.frameworks.pytorch.training.non_leaf import NonLeafGrad

ADVISERS: tuple[type[Adviser], ...] = (
    Modes, FunctionalDropout, DoubleSoftmax, SoftmaxAxis, TimeAxis, Loading, MissingReset,
    Clipping, Schedules, Inputs, Targets, Initialisation, Progress,
    GraphCut, NonLeafGrad, GraphBreaks,
)  # fmt: skip
"""In the order in which they are told of what happens."""
