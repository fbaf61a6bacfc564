"""Launch and attach configurations: what debugpy takes, and ``zentracer``.

Editors get their completion from these classes (the VS Code extension's ``package.json`` is
generated from them), so a field is here only if it works. They are read by people: a field
without default says what happens when it is missing.
"""

from __future__ import annotations

from typing import Any, Dict, Literal, Optional, Tuple, Union

from zentracer.wire._body import body

Children = Literal["ranks", "all", "none"]
Console = Literal["integratedTerminal", "internalConsole", "externalTerminal"]
Kind = Literal["all", "special", "function", "class", "protected"]
Presentation = Literal["group", "inline", "hide"]


@body
class BreakOn:
    """A tensor exception that is on in this configuration."""

    filter: str
    """Which tensor exception."""
    condition: Optional[str] = None
    """Python expression that must hold, e.g. `match("encoder.*") and step > 10`."""


@body
class Options:
    """Options of ZenTracer."""

    breakOn: Tuple[Union[str, BreakOn], ...] = ()
    """Tensor exceptions that stop the program, besides those ticked in the Breakpoints view."""
    advice: bool = True
    """List mistakes that do not stop the program, such as gradients that are never reset, while at
    least one tensor exception is on."""
    precise: bool = False
    """Check every operation at once, so that the stop is always on the line that executes. Training
    gets slower."""
    children: Children = "ranks"
    """Which other processes of the program get tensor exceptions: the ranks of a distributed run,
    all, or none."""
    eager: bool = False
    """Run the code of torch.compile and TorchScript eagerly, so that breakpoints in it are hit. A
    launch sets TORCHDYNAMO_DISABLE=1 and PYTORCH_JIT=0; a process attached to leaves torch.compile
    only."""
    holdRanks: bool = True
    """While one rank of a distributed run is stopped, hold the others, until it goes on."""


@body
class Address:
    """Where to connect to, or to listen."""

    port: int
    """Number of the port."""
    host: str = "127.0.0.1"
    """Name or address of the machine."""


@body
class PathMapping:
    """A folder here, and the same folder where the program runs."""

    localRoot: str
    """Folder on this machine, e.g. `${workspaceFolder}`."""
    remoteRoot: str
    """The same folder where the program runs; `.` is its working directory."""


@body
class Rule:
    """Whether a file or a module counts as the user's code."""

    include: bool
    """`true`: the debugger stops in it and steps into it."""
    path: Optional[str] = None
    """Glob of files, e.g. `**/site-packages/mylib/**`."""
    module: Optional[str] = None
    """Module with all below it."""


@body
class AutoReload:
    """Reload modules when their file is saved."""

    enable: bool = False
    """Whether to reload."""
    watchDirectories: Optional[Tuple[str, ...]] = None
    """Folders to watch, else those of the program."""
    include: Optional[Tuple[str, ...]] = None
    """Globs of files to reload."""
    exclude: Optional[Tuple[str, ...]] = None
    """Globs of files not to reload."""


@body
class Both:
    """Attributes of launch and attach."""

    zentracer: Optional[Options] = None
    """Options of ZenTracer: which tensor exceptions stop the program, and in which processes."""
    justMyCode: bool = True
    """Stop in your own code only, not in libraries. A tensor exception is always shown on your
    nearest line."""
    rules: Optional[Tuple[Rule, ...]] = None
    """What else counts as your code, or does not; the first rule that matches decides."""
    subProcess: bool = True
    """Debug child processes too. Ranks of a distributed run are child processes."""
    showReturnValue: bool = True
    """Show what functions returned when stepping over them."""
    redirectOutput: Optional[bool] = None
    """Show the program's output in the Debug Console as well."""
    pathMappings: Optional[Tuple[PathMapping, ...]] = None
    """Folders here and where the program runs, if they differ (containers, remote machines)."""
    django: bool = False
    """Stop in templates of Django."""
    jinja: bool = False
    """Stop in templates of Jinja."""
    maxExceptionStackFrames: int = 0
    """Most frames in the stack of an exception; 0 for all."""
    variablePresentation: Optional[Dict[Kind, Presentation]] = None
    """How the Variables view shows names of a kind: in a group, among the others, or not."""
    autoReload: Optional[AutoReload] = None
    """Reload modules when their file is saved."""
    debugAdapterPython: Optional[str] = None
    """Python interpreter that runs the debug adapter. Without it: the setting
    `zentracer.adapterPython`, else the one that runs the program."""
    guiEventLoop: str = "matplotlib"
    """GUI event loop that goes on while the program is stopped."""
    onTerminate: Literal["kill", "KeyboardInterrupt"] = "kill"
    """What Stop does to the program: end it, or interrupt it as Ctrl-C does."""


@body
class Launch:
    """Attributes of launch."""

    program: Optional[str] = None
    """Python file to debug. One of `program`, `module` and `code` is needed; without any it is the
    file in the editor."""
    module: Optional[str] = None
    """Module to debug, as in `python -m`, e.g. `torch.distributed.run`."""
    code: Union[str, Tuple[str, ...], None] = None
    """Python code to debug, as in `python -c`; lines if it is a list."""
    args: Union[str, Tuple[str, ...]] = ()
    """Arguments of the program. A list is passed as it is; a string goes through the shell."""
    python: Union[str, Tuple[str, ...], None] = None
    """Python interpreter, with its own arguments if it is a list. Without it: the one selected in
    the Python extension, else the setting `zentracer.python`, else the workspace's."""
    pythonArgs: Tuple[str, ...] = ()
    """Arguments of the interpreter, e.g. `-X dev`."""
    cwd: Optional[str] = None
    """Working directory; without it: the workspace folder."""
    env: Optional[Dict[str, Optional[str]]] = None
    """Environment variables; null removes one. These win over `envFile`."""
    envFile: Optional[str] = None
    """File with environment variables, a line `NAME=value` each."""
    console: Console = "integratedTerminal"
    """Where the program runs: a terminal of the editor, the Debug Console (no input), or a terminal
    of the system."""
    consoleTitle: Optional[str] = None
    """Title of the terminal."""
    stopOnEntry: bool = False
    """Stop on the program's first line."""
    sudo: bool = False
    """Run the program with `sudo` (Linux and macOS; needs a terminal)."""
    gevent: bool = False
    """The program uses gevent."""
    debugAdapterHost: Optional[str] = None
    """Address at which the program reaches the debug adapter, if it is not this machine."""


@body
class Attach:
    """Attributes of attach."""

    connect: Optional[Address] = None
    """Connect to a program that waits with `debugpy.listen(port)`."""
    listen: Optional[Address] = None
    """Wait for a program that calls `debugpy.connect(port)`."""
    processId: Union[int, str, None] = None
    """Attach to a process that runs on this machine: its number, or `${command:pickProcess}`."""
    linuxAttachPreferLldb: bool = False
    """For `processId` on Linux: use LLDB rather than GDB."""


CONFIGURATIONS: Dict[str, Any] = {"both": Both, "launch": Launch, "attach": Attach}
