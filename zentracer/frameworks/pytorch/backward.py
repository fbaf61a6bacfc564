"""Watches backward: which node of the graph makes the first non-finite gradient.

RUNS IN the training process. The graph is walked once when backward starts; the nodes that can
make NaN out of finite numbers get a hook for that one run. Nothing else of the graph is touched
and nothing is kept alive.
"""

from __future__ import annotations

import functools
import sys
from threading import _DummyThread, current_thread  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch import naming
from zentracer.frameworks.pytorch.finite import counts, outputs_of, readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.mode import installed
from zentracer.frameworks.pytorch.nodes import OTHER, TAME, is_half, kind_of, leaf_behind
from zentracer.frameworks.pytorch.nonfinite import finding_at_roots
from zentracer.frameworks.pytorch.report import Finding, brief
from zentracer.frameworks.pytorch.scene import Scene
from zentracer.frameworks.pytorch.suggest import suggestions_for
from zentracer.frameworks.pytorch.trail import METADATA_KEY, Site, mark_nodes, sequence_number
from zentracer.frameworks.pytorch.unseen import unseen

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_MAX_GATE = 65_536
"""Elements of the largest leaf that is a gate by itself; of two larger ones in a row one is."""
_DisableTorchFunction = torch._C.DisableTorchFunction


class Run:
    """One call of the engine."""

    def __init__(self, watch: Watch, roots: tuple[Any, ...], thorough: bool) -> None:
        self.watch = watch
        self.thorough = thorough
        """Check every result of every node."""
        self.exchanged = torch.distributed.is_available() and torch.distributed.is_initialized()
        self.nodes: list[Any] = []
        self.looked_at: set[Any] = set()
        """Nodes of which every result is checked."""
        self.gates: dict[Any, Tensor] = {}
        """Nodes that send a gradient to a small leaf: if that is good, so was what they were given.

        The leaves are checked together when the engine is done, which is much cheaper than a hook
        on each. Among ranks, where gradients are exchanged meanwhile, each result is checked.
        """
        self.handles: list[Any] = []
        self.pending: Finding | None = None
        """Found on a thread of the engine, which has no user frame to stop in."""
        self.done = False
        self._walk(roots)

    def _walk(self, roots: tuple[Any, ...]) -> None:
        stack = [(node, False) for node in map(_node_of, roots) if node is not None]
        seen = {node for node, _ in stack}
        while stack:
            node, unwatched = stack.pop()
            self.nodes.append(node)
            kind = kind_of(node)
            edges = node.next_functions
            if self.thorough or kind == OTHER:
                self._hook(node, None)
                unwatched = False
            elif kind == TAME:
                if is_half(node):  # where overflow is no rarity
                    self._hook(node, None)
                    unwatched = False
                else:
                    unwatched = self._add_gate(node, edges, unwatched)
            for following, _ in edges:
                if following is not None and following not in seen:
                    seen.add(following)
                    stack.append((following, unwatched))

    def _add_gate(self, node: Any, edges: Any, unwatched: bool) -> bool:
        """Note the smallest leaf of ``node``; return whether its gradients stay unwatched.

        Args:
            node: The node.
            edges: Its next functions.
            unwatched: Whether the node before passed over a large leaf.
        """
        leaves = [
            (leaf.numel(), index, leaf)
            for index, (following, _) in enumerate(edges)
            if (leaf := leaf_behind(following)) is not None
        ]
        if not leaves:
            return unwatched
        size, index, leaf = min(leaves, key=lambda entry: entry[:2])
        if size > _MAX_GATE and not unwatched:
            return True
        if self.exchanged:
            self._hook(node, index)
        self.gates[node] = leaf
        return False

    def _hook(self, node: Any, only: int | None) -> None:
        """Check all results of ``node`` when it has run, or ``only`` one."""
        if only is None:
            self.looked_at.add(node)
        hook = functools.partial(self._after, len(self.nodes) - 1, only)
        self.handles.append(node.register_hook(hook))

    def look_at_leaves(self) -> Finding | None:
        """Check the leaves of all gates, when the engine is done."""
        if self.done or self.exchanged or not self.gates:
            return None
        watch = self.watch
        suspicious = watch.anyone().suspicious
        bad = []
        for node, leaf in self.gates.items():
            grad = leaf.grad
            if grad is None:
                continue
            if watch.defers(grad):
                watch.deferred.add(grad, (), self._site_of(node), "backward")
            elif suspicious(grad):
                bad.append((node, grad))
        bad.sort(key=lambda entry: -entry[0]._sequence_nr())  # the order in which they ran
        for node, grad in bad:
            nan, inf = counts(grad)
            if nan or inf:
                self.done = True
                if watch.polluted or watch.scaler_takes_care():
                    return None
                maker = self._maker_above(node) or node
                return self._finding(self.nodes.index(maker), grad, nan, inf, ())
        return None

    def close(self) -> None:
        """Remove all hooks and forget the graph."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self.nodes.clear()
        self.looked_at.clear()
        self.gates.clear()

    def _after(
        self,
        index: int,
        only: int | None,
        grad_inputs: tuple[Any, ...],
        grad_outputs: tuple[Any, ...],
    ) -> None:
        """Look at the gradients that a node made (its grad_inputs) from those it was given."""
        if self.done:
            return
        try:
            bad = self._first_suspicious(index, only, grad_inputs, grad_outputs)
        except Exception as error:  # ours to report, never the training's to die from
            self.watch.report_failure("look at a gradient", error)
            return
        if bad is not None:
            self._look(index, bad, grad_outputs)

    def _first_suspicious(
        self,
        index: int,
        only: int | None,
        grad_inputs: tuple[Any, ...],
        grad_outputs: tuple[Any, ...],
    ) -> Tensor | None:
        watch = self.watch
        suspicious = watch.anyone().suspicious
        with _DisableTorchFunction():  # the modes of the calling thread are on in backward too
            for position, grad in enumerate(grad_inputs):
                if grad is None or (only is not None and position != only):
                    continue
                if watch.defers(grad):
                    given = [g for g in grad_outputs if g is not None]
                    watch.deferred.add(grad, given, self.site(index), "backward")
                elif suspicious(grad):
                    return grad
        return None

    def _look(self, index: int, grad: Tensor, grad_outputs: tuple[Any, ...]) -> None:
        watch = self.watch
        try:
            with unseen():
                readable = readable_tensor(grad)
                nan, inf = counts(readable) if readable is not None else (0, 0)
                if not nan and not inf:
                    return
                self.done = True
                if watch.polluted or watch.scaler_takes_care():
                    return
                finding = self._finding(index, grad, nan, inf, grad_outputs)
        except Exception as error:  # ours to report, never the training's to die from
            watch.host.notice(f"ZenTracer could not examine a gradient: {brief(error)}")
            return
        frame = user_frame(sys._getframe(1))
        if frame is None:
            self.pending = finding
        else:
            finding.source = place_of(frame.f_code, frame.f_lasti, "backward")
            watch.stop(finding, frame)

    def _finding(
        self, index: int, grad: Tensor, nan: int, inf: int, grad_outputs: tuple[Any, ...]
    ) -> Finding:
        node = self.nodes[index]
        given = [g for g in grad_outputs if isinstance(g, Tensor)]
        found = [(g, *counts(r)) for g in given if (r := readable_tensor(g)) is not None]
        bad = next((entry for entry in found if entry[1] or entry[2]), None)
        note = None
        if bad is not None:
            maker = self._maker_above(node)
            if maker is None:
                note = f"the gradient was already non-finite when it reached {node.name()}."
            else:
                node, given, (grad, nan, inf) = maker, [], bad
        site = self._site_of(node)
        place = place_of(site.code, site.lasti, site.op) if site else None
        name = node.name().split("::")[-1]
        module = naming.module_of(node, site)
        saved = naming.saved_tensors(node)
        place = place or Place(naming.nowhere(), None, None)
        values = tuple(x for _, x in saved)
        scene = Scene(name, "backward", place, values, (), {}, grad, module)
        if site is None:
            note = note or "the forward line that made this node was not seen."
        elif site.compiled:
            note = "it was made inside a compiled region; the line is the call that entered it."
        return Finding(
            op=name,
            phase="backward",
            tensor=grad.detach(),
            nan=nan,
            inf=inf,
            source=scene.place,
            origin=scene.place,
            subject=f"gradient made by {name}" + (f" in {module}" if module else ""),
            module=module,
            inputs=(*saved, *(("incoming gradient", g.detach()) for g in given)),
            suggestions=suggestions_for(scene),
            finite_before=_finite_before(name, saved, bad is not None),
            note=note,
        )

    def _maker_above(self, node: Any) -> Any:
        """Return the node between ``node`` and the last that was looked at which made the value.

        A tame one that was passed over, of several the one that ran first; else a harmless one.
        """
        level, tame, harmless = [node], [], []
        for _ in range(64):
            parents = [p for p in self.nodes if any(e[0] in level for e in p.next_functions)]
            above = [p for p in parents if p not in self.looked_at]
            tame += [p for p in above if kind_of(p) == TAME]
            harmless += above
            level = [p for p in above if p not in self.gates]
            if not level:
                break
        if tame:
            return max(tame, key=lambda maker: maker._sequence_nr())
        return harmless[0] if harmless else None

    def site(self, index: int) -> Site | None:
        """Return where the node at ``index`` was made."""
        return self._site_of(self.nodes[index])

    def _site_of(self, node: Any) -> Site | None:
        """Return where ``node`` was made: noted on it or on the node that uses it, or by number."""
        marked = self._marked(node)
        if marked is not None:
            return marked
        main = self.watch.main
        return main.trail.find(node._sequence_nr()) if main is not None else None

    def _marked(self, node: Any) -> Site | None:
        """Return the site noted on ``node`` or inherited inside one composite operation."""
        for _ in range(32):
            site = node.metadata.get(METADATA_KEY)
            if site is not None:
                return site
            parents = [p for p in self.nodes if any(e[0] is node for e in p.next_functions)]
            if not parents or self.watch.only_one_thread():
                return None
            node = parents[0]
        return None


def run_backward(
    watch: Watch, engine: Any, roots: tuple[Any, ...], args: tuple[Any, ...],
    kwargs: dict[str, Any], kind: type[Run] = Run,
) -> Any:  # fmt: skip
    """Call the engine with the watcher on this thread's stack and hooks on the graph."""
    if not watch.filters:
        if not watch.sees_calls:
            watch.remove_retired()
        if watch.is_armed and kwargs.get("accumulate_grad"):
            watch.steps.backward_starts(roots)
        return _run_for_detectors(watch, engine, roots, args, kwargs)
    joins = not watch.is_in_thread() and not isinstance(current_thread(), _DummyThread)
    watcher = watch.enter_thread() if installed() is None else None
    depth = getattr(watch.local, "in_backward", 0)
    watch.local.in_backward = depth + 1
    watch.backward_depth += 1
    run: Run | None = None
    if depth == 0 and watch.backward_depth == 1 and kwargs.get("accumulate_grad"):
        watch.steps.backward_starts(roots)
    try:
        run = _prepare(watch, roots, args[3] if len(args) > 3 else None, kind)
        before = sequence_number()
        result = engine.run_backward(roots, *args, **kwargs)
        if sequence_number() != before:  # create_graph
            _note_nodes(watch, before, result)
        if run is not None and run.pending is None:
            run.pending = _look_at_leaves(watch, run)
    finally:
        watch.backward_depth -= 1
        watch.local.in_backward = depth
        if run is not None:
            run.close()
        if watcher is not None and not joins:  # it is off the stack, inside a torch call
            watch.step_aside()
    frame = user_frame(sys._getframe(1))
    if run is not None and run.pending is not None and frame is not None:
        run.pending.source = place_of(frame.f_code, frame.f_lasti, "backward")
        watch.stop(run.pending, frame)
    return result


def _run_for_detectors(
    watch: Watch, engine: Any, roots: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call the engine so that a checkpoint's second forward pass is seen: it may be the only one.

    The first one of a reentrant checkpoint runs without gradients.
    """
    is_off = watch.training.ops.wants_calls and watch.is_in_thread() and installed() is None
    if is_off:
        watch.enter_thread()
    try:
        return engine.run_backward(roots, *args, **kwargs)
    finally:
        if is_off:
            watch.step_aside()


def _prepare(watch: Watch, roots: tuple[Any, ...], inputs: Any, kind: type[Run]) -> Run | None:
    watch.wake()
    try:
        frame = user_frame(sys._getframe(1))
        with unseen():
            finding = finding_at_roots(watch, roots, frame)
        if finding is not None and frame is not None:
            watch.stop(finding, frame)
        with unseen():
            # With ``inputs``, gradients may end where no leaf shows them.
            return kind(watch, roots, watch.precise or bool(inputs))
    except Exception as error:  # ours to report; backward goes on unwatched
        watch.host.notice(f"ZenTracer could not watch this backward pass: {brief(error)}")
        return None


def _look_at_leaves(watch: Watch, run: Run) -> Finding | None:
    try:
        with unseen():
            return run.look_at_leaves()
    except Exception as error:  # ours to report, never the training's to die from
        watch.host.notice(f"ZenTracer could not examine the gradients: {brief(error)}")
        return None


def _note_nodes(watch: Watch, before: int, result: Any) -> None:
    """Tie the nodes that backward itself made, for a second derivative, to the call."""
    frame, watcher, after = user_frame(sys._getframe(2)), watch.local.watcher, sequence_number()
    if frame is None or watcher is None:
        return
    watcher.seen = after
    site = Site(frame.f_code, frame.f_lasti, "backward")
    if watcher is watch.main:
        watcher.trail.note(before, after, site)
    else:
        watch.marked = True
        mark_nodes(outputs_of(result), site)


def _node_of(root: Any) -> Any:
    if isinstance(root, Tensor):
        return root.grad_fn
    return getattr(root, "node", None)  # a GradientEdge


def _finite_before(name: str, saved: tuple[tuple[str | None, Tensor], ...], came_in: bool) -> str:
    if came_in:
        return f"The gradient that {name} was given was finite."
    bad = [label for label, x in saved if any(counts(x))]
    if bad:
        return (
            f"The incoming gradient was finite; what {name} saved in forward "
            f"({', '.join(filter(None, bad))}) already held non-finite values."
        )
    return "The forward values and the incoming gradient were finite."
