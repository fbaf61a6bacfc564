"""Whose code it is, with and without a debugger, and what leans on pydevd while it loads."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import Client, line_of
from support import environment

from zentracer.control.pydevd.usercode import is_user_code

PROGRAM = """
import json
import textwrap

import helper
from zentracer.control import condition
from zentracer.control.pydevd.usercode import is_user_code


def mine():
    pass


frozen = compile("0", "<frozen importlib._bootstrap>", "eval")
answers = {
    "mine": is_user_code(mine.__code__),
    "helper": is_user_code(helper.help_.__code__),
    "library": is_user_code(textwrap.dedent.__code__),
    "ours": is_user_code(condition.compile_condition.__code__),
    "frozen": is_user_code(frozen),
    "string": is_user_code(compile("0", "<string>", "eval")),
}
pass  # @here
"""
EXPECTED = {
    "mine": True,
    "helper": True,
    "library": False,
    "ours": False,
    "frozen": False,
    "string": True,
}


@pytest.fixture
def answers(
    start_client: Callable[..., Client], write_program: Any, interpreter: str
) -> Callable[..., dict[str, bool]]:
    def ask(**options: Any) -> dict[str, bool]:
        write_program("def help_():\n    pass\n", "helper.py")
        program = write_program(PROGRAM)
        client = start_client("debugpy")
        client.launch(
            program=program,
            python=[interpreter],
            env=environment(),
            breakpoints={program: [line_of(program, "here")]},
            **options,
        )
        stop = client.until_stopped()
        text = client.evaluate("json.dumps(answers)", stop.frame_id, context="clipboard")["result"]
        return json.loads(text.strip("'"))

    return ask


@pytest.mark.parametrize("just_my_code", [True, False])
def test_by_location(answers: Any, just_my_code: bool) -> None:
    assert answers(justMyCode=just_my_code) == EXPECTED


def test_by_the_configurations_rules(answers: Any) -> None:
    rules = [
        {"path": "**/helper.py", "include": False},
        {"path": "**/textwrap.py", "include": True},
    ]
    assert answers(rules=rules) == {**EXPECTED, "helper": False, "library": True}


def test_without_a_debugger() -> None:
    assert is_user_code(test_without_a_debugger.__code__)
    assert not is_user_code(json.dumps.__code__)
    assert not is_user_code(pytest.fixture.__code__)
    assert not is_user_code(is_user_code.__code__)


def test_equal_code_of_two_files_is_kept_apart() -> None:
    one = compile("0", __file__, "eval")
    two = compile("0", json.__file__, "eval")
    assert one == two
    assert (is_user_code(one), is_user_code(two)) == (True, False)


def test_everything_fits_this_version_of_pydevd(
    start_client: Callable[..., Client], write_program: Any, interpreter: str
) -> None:
    program = write_program(
        """
        import socket
        import pydevd
        sock = pydevd.get_global_debugger().writer.sock
        print("no delay:", bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        """
    )
    client = start_client("debugpy")
    client.launch(program=program, python=[interpreter], env=environment())
    assert client.until_exit() == 0
    assert client.output("stdout") == "no delay: True\n"
    assert client.output("stderr") == ""
    assert client.events("zentracer/notice") == []
