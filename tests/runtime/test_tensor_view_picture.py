"""A picture holds what its blocks hold: every mean, every NaN, in every order of memory."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from hypothesis import given, settings
from hypothesis import strategies as st

from zentracer.observe.blocks import blocks_of
from zentracer.observe.ops import ops_for
from zentracer.observe.reduce import MINUS_INF, NAN, PLUS_INF, ZEROS, Picture

INF = math.inf


def picture(matrix, height, width, *, piece=None, limit=1 << 24):
    ops = ops_for(matrix)
    if piece:
        ops.piece = piece
    with ops.quietly():
        drawn = Picture(ops, blocks_of(*matrix.shape, height, width), limit=limit)
        drawn.draw([matrix])
    return drawn


def arrays(drawn):
    """Means, marks, and for a single row its bounds."""
    shape = (drawn.blocks.height, drawn.blocks.width)
    memory = [drawn.means, drawn.marks, drawn.lows, drawn.highs]
    kinds = ["<f4", "u1", "<f4", "<f4"]
    return [
        None if part is None else numpy.frombuffer(part, kind).reshape(shape)
        for part, kind in zip(memory, kinds)
    ]


def reference(matrix, height, width):
    """The same, element by element."""
    rows, columns = matrix.shape
    down, across = -(-rows // height), -(-columns // width)
    means, marks, lows, highs = [], [], [], []
    for top in range(0, rows, down):
        for left in range(0, columns, across):
            block = [
                float(matrix[row, column])
                for row in range(top, min(top + down, rows))
                for column in range(left, min(left + across, columns))
            ]
            finite = [number for number in block if math.isfinite(number)]
            means.append(math.fsum(n / len(finite) for n in finite) if finite else math.nan)
            marks.append(
                NAN * any(map(math.isnan, block))
                + PLUS_INF * (INF in block)
                + MINUS_INF * (-INF in block)
                + ZEROS * (block == [0] * len(block))
            )
            lows.append(min(finite, default=math.nan))
            highs.append(max(finite, default=math.nan))
    shape = (-(-rows // down), -(-columns // across))
    return [numpy.array(part).reshape(shape) for part in (means, marks, lows, highs)]


def check(matrix, height, width, **options):
    means, marks, lows, highs = arrays(picture(matrix, height, width, **options))
    expected = reference(matrix, height, width)
    numpy.testing.assert_array_equal(marks, expected[1])
    finite = [abs(number) for number in matrix.reshape(-1).tolist() if math.isfinite(number)]
    slack = 1e-6 * max(finite, default=0) + 1e-44  # cancellation, and the smallest of all floats
    numpy.testing.assert_allclose(means, expected[0], rtol=1e-5, atol=slack)
    if matrix.shape[0] == 1:
        numpy.testing.assert_array_equal(lows, expected[2].astype("f4"))
        numpy.testing.assert_array_equal(highs, expected[3].astype("f4"))


NUMBERS = st.one_of(
    st.floats(width=32, min_value=-1000, max_value=1000),
    st.sampled_from([0.0, -0.0, math.nan, INF, -INF, 3e38, -3e38, 1e-40]),
    st.just(0.0),
)


@st.composite
def matrices(draw):
    """A matrix of either framework, in some order of memory."""
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    numbers = draw(st.lists(NUMBERS, min_size=rows * columns, max_size=rows * columns))
    array = numpy.array(numbers, dtype="f4").reshape(rows, columns)
    turn = draw(st.sampled_from(["", "T", "flip", "double"]))
    if turn == "double":
        array = array.astype("f8")
    array = {"T": array.T, "flip": array[::-1, ::-1]}.get(turn, array)
    if turn != "flip" and draw(st.booleans()):
        return torch.from_numpy(array)
    return array


@given(matrices(), st.integers(1, 9), st.integers(1, 9), st.sampled_from([None, 1, 3, 8, 20]))
@settings(deadline=None, max_examples=300)
def test_a_picture_is_what_the_blocks_say(matrix, height, width, piece):
    check(matrix, height, width, piece=piece)


@given(matrices(), st.integers(1, 9), st.integers(1, 9), st.integers(1, 40))
@settings(deadline=None)
def test_a_sample_stays_within_its_block(matrix, height, width, limit):
    drawn = picture(matrix, height, width, limit=limit)
    means, marks, _, _ = arrays(drawn)
    _, expected_marks, lows, highs = reference(matrix, height, width)
    has = NAN | PLUS_INF | MINUS_INF
    assert not (marks & has & ~expected_marks).any(), "nothing is marked that is not there"
    seen = numpy.isfinite(means)
    slack = 1e-6 * numpy.maximum(numpy.abs(lows), numpy.abs(highs)) + 1e-44
    assert (lows[seen] - slack[seen] <= means[seen]).all()
    assert (means[seen] <= highs[seen] + slack[seen]).all()
    if math.prod(matrix.shape) <= limit:
        assert not drawn.sampled
        numpy.testing.assert_array_equal(marks, expected_marks)


DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type_of_number(dtype):
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(0, 100, (13, 17), generator=generator).to(dtype)
    check(numbers, 4, 5)
    if not str(dtype).startswith(("torch.float8", "torch.bfloat16")):
        check(numbers.numpy(), 4, 5)


def test_complex_numbers_count_by_magnitude():
    numbers = torch.complex(torch.tensor([[3.0, 0.0]]), torch.tensor([[4.0, 0.0]]))
    means, marks, _, _ = arrays(picture(numbers, 1, 2))
    assert means.tolist() == [[5, 0]]
    assert marks.tolist() == [[0, ZEROS]]


def test_one_nan_among_16_million_is_never_lost():
    matrix = torch.ones(4096, 4096)
    for row, column in [(0, 0), (123, 4000), (4095, 4095)]:
        matrix[row, column] = math.nan
    for turned in (matrix, matrix.t()):
        drawn = picture(turned, 300, 300)
        _, marks, _, _ = arrays(drawn)
        assert not drawn.sampled
        places = [(0, 0), (123, 4000), (4095, 4095)]
        if turned is not matrix:
            places = [(column, row) for row, column in places]
        step = drawn.blocks.row_step
        expected = {(row // step, column // step) for row, column in places}
        assert set(zip(*map(list, marks.nonzero()))) == expected


def test_numbers_beyond_float32_stay_finite():
    means, marks, _, _ = arrays(
        picture(torch.tensor([[1e300, -1e300, 1e-300]], dtype=torch.float64), 1, 3)
    )
    assert numpy.isfinite(means).all()
    assert marks.tolist() == [[0, 0, 0]]
    assert means[0, 0] > 3e38
    assert means[0, 1] < -3e38


def test_channels_share_their_marks():
    planes = torch.zeros(3, 2, 2)
    planes[0, 0, 0] = math.nan
    planes[2, 1, 1] = INF
    planes[1, 0, 1] = 5
    ops = ops_for(planes)
    with ops.quietly():
        drawn = Picture(ops, blocks_of(2, 2, 2, 2), channels=3)
        drawn.draw(list(planes))
    marks = numpy.frombuffer(drawn.marks, "u1").reshape(2, 2)
    assert marks.tolist() == [[NAN, 0], [ZEROS, PLUS_INF]]
    pixels = numpy.frombuffer(drawn.means, "<f4").reshape(2, 2, 3)
    assert pixels[0, 1].tolist() == [0, 5, 0]
    assert drawn.lows is None


def test_memory_is_not_copied_and_not_written():
    numbers = torch.randn(600, 700)
    before = numbers.clone()
    version = numbers._version
    picture(numbers[::2, 1:], 10, 10)
    assert numbers._version == version
    assert torch.equal(numbers, before)
