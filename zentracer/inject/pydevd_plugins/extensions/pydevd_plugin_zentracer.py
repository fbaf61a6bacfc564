"""ZenTracer's way into a debugged process.

RUNS IN the training process. On launch, pydevd imports this file before it connects, because the
adapter has put ``zentracer/inject`` on the PYTHONPATH; on attach, the adapter evaluates
``attach`` in the process.

Architecture invariant: nothing here may raise. pydevd catches only ImportError while it loads
its plugins; any other exception would take the debugger down.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys

from _pydevd_bundle.pydevd_extension_api import DebuggerEventHandler

__all__ = ["ZenTracerStart", "attach"]

_INJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_HOME = os.path.dirname(os.path.dirname(_INJECT))

# In a child process debugpy is imported after us. It takes any module named pydevd* that has a
# file outside its own folder for a foreign copy of pydevd, and warns on the program's stderr.
del __file__


class ZenTracerStart(DebuggerEventHandler):
    """Starts the runtime in a process that was launched under the debugger."""

    def on_debugger_modules_loaded(self, **_):
        """Start, unless the user has switched ZenTracer off."""
        if os.environ.get("ZENTRACER", "").lower() == "off":
            return
        main = sys.modules.get("__main__")
        is_script = os.path.basename(getattr(main, "__file__", None) or "") == "pydevd.py"
        if is_script and not hasattr(main, "PyDB"):
            # A child process runs pydevd as a script, whose own modules import it a second time.
            # That copy tells us first, and is not the one that debugs.
            return
        try:
            _load(os.environ.get("ZENTRACER_HOME"), os.environ.get("ZENTRACER_MSGPACK"))
            from zentracer import bootstrap

            bootstrap.start()
        except Exception as error:
            _report(error)
        _leave_sys_path()


def attach(host_port, token, options_json="{}", home=None, msgpack_dir=None):
    """Start the runtime in a process that is already running, or give it a new link.

    Returns:
        None, or a sentence that says why ZenTracer is not available in this process.
    """
    if os.environ.get("ZENTRACER", "").lower() == "off":
        return "ZenTracer is switched off in this process (ZENTRACER=off)."
    try:
        _load(home, msgpack_dir)
        from zentracer import bootstrap

        bootstrap.attach(host_port, token, options_json, home or _HOME, msgpack_dir)
    except Exception as error:
        return _sentence(error)
    return None


def _load(home, msgpack_dir):
    """Import ``zentracer`` and what it needs without touching the user's ``sys.path``."""
    if "zentracer" not in sys.modules:
        # By location even where another one is installed: its protocol may be of another version.
        _load_package("zentracer", home or _HOME)
    try:
        from zentracer import surroundings
    except ImportError:
        version = getattr(sys.modules["zentracer"], "__version__", "unknown")
        raise ImportError(
            f"the program has imported zentracer {version} itself, which does not go with this "
            "debugger; upgrade it in the program's environment"
        ) from None
    load = functools.partial(_load_package, "msgpack", msgpack_dir) if msgpack_dir else None
    surroundings.bind_msgpack(load)


def _load_package(name, folder):
    package = os.path.join(folder, name)
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} cannot be loaded from {package}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _leave_sys_path():
    """Let the program see its own ``sys.path``; children inherit us through PYTHONPATH."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _INJECT]


def _sentence(error):
    return f"ZenTracer could not start in this process: {type(error).__name__}: {error}"


def _report(error):
    if sys.stderr is not None:  # pythonw has none
        sys.stderr.write(_sentence(error) + "\n")
