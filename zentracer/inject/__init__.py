"""The folder that is put on the debuggee's PYTHONPATH; nothing imports this package.

pydevd finds ``pydevd_plugins/extensions/pydevd_plugin_zentracer.py`` in it.
"""
