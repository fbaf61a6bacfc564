"""Cells of a page are exact: they read back as the same number of the same type."""

from __future__ import annotations

import math
import struct

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from hypothesis import example, given
from hypothesis import strategies as st

from zentracer.observe.cells import cell_text

PATTERNS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e5m2: torch.uint8,
    torch.float8_e4m3fnuz: torch.uint8,
    torch.float8_e5m2fnuz: torch.uint8,
}


@pytest.mark.parametrize("dtype", PATTERNS, ids=str)
def test_every_number_of_a_small_type_survives(dtype):
    bits = torch.arange(2 ** (8 * dtype.itemsize), dtype=torch.int32)
    numbers = bits.to(PATTERNS[dtype]).view(dtype)
    texts = [cell_text(number, str(dtype)[6:]) for number in numbers.tolist()]
    back = torch.tensor([float(text) for text in texts], dtype=torch.float64)
    back = back.to(torch.float32).to(dtype)  # each is nearer to its number than to the next
    same = (back.float() == numbers.float()) | (back.float().isnan() & numbers.float().isnan())
    assert same.all()
    assert sum(map(len, texts)) / len(texts) < 14


@given(st.floats(width=32))
@example(1e-45)
@example(16777216.0)
@example(1.1754943508222875e-38)
@example(2.0**-100)
def test_float32_is_as_short_as_numpys(number):
    text = cell_text(number, "float32")
    if math.isnan(number):
        assert text == "nan"
        return
    assert struct.pack("f", float(text)) == struct.pack("f", number)
    if math.isfinite(number):
        numpys = numpy.format_float_scientific(numpy.float32(number), unique=True)
        digits = len(numpys.split("e")[0].strip("-").replace(".", "").rstrip("0"))
        ours = text.split("e")[0].strip("-").replace(".", "").strip("0")
        # A tie between two floats reads back by the rule for ties; ours needs no such rule.
        assert len(ours) <= max(1, digits) + 1


TEXTS = {
    "tenth": (struct.unpack("f", struct.pack("f", 0.1))[0], "float32", "0.1"),
    "float64": (0.1 + 0.2, "float64", "0.30000000000000004"),
    "whole": (1.0, "float32", "1.0"),
    "minus zero": (-0.0, "float16", "-0.0"),
    "large": (3.4028234663852886e38, "float32", "3.4028235e+38"),
    "infinite": (-math.inf, "bfloat16", "-inf"),
    "int64": (2**63 - 1, "int64", "9223372036854775807"),
    "uint64": (2**64 - 1, "uint64", "18446744073709551615"),
    "bool": (True, "bool", "True"),
    "complex": (complex(0.5, -2), "complex64", "0.5-2.0j"),
    "complex NaN": (complex(math.nan, math.inf), "complex128", "nan+infj"),
    "quantised": (struct.unpack("f", struct.pack("f", 0.3))[0], "quint8", "0.3"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_cell(case):
    value, dtype, text = TEXTS[case]
    assert cell_text(value, dtype) == text


def test_numpys_long_double_is_not_shortened():
    number = numpy.array([0.1], dtype=numpy.longdouble)
    assert numpy.longdouble(cell_text(number.tolist()[0], "float128")) == number[0]
