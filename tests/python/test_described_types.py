# SPDX-License-Identifier: MIT
"""Signatures of types that say themselves what they are, and of those of libraries."""

import pytest

import dwell
from dwell.profiler import Profile

from .signature_names import counts_of, names, one

np = pytest.importorskip("numpy")


class Config:
    def __init__(self, size):
        self.size = size

    def use(self):
        pass


@pytest.fixture
def described():
    yield lambda function: dwell.describe(Config, function)
    dwell.describe(Config, None)


def test_a_type_of_ones_own_is_described(described):
    described(lambda config: f"Config({config.size})")
    assert names(one, Config(3)) == "one(x:Config(3))"
    assert names(Config.use, Config(3)) == "Config.use()"
    sub = type("Sub", (Config,), {})(3)
    assert names(one, sub) == "one(x:Sub)"
    described(None)
    assert names(one, Config(3)) == "one(x:Config)"


def test_describing_is_not_recorded(described):
    def helper(config):
        return one(1) or "helped"

    described(helper)
    assert names(one, Config(3)) == "one(x:helped)"


@pytest.mark.parametrize("answer", [None, 3, b"bytes"])
def test_a_description_that_is_no_text(described, answer):
    described(lambda config: answer)
    assert names(one, Config(3)) == "one(x:Config)"


def test_a_description_that_fails(described):
    def fail(config):
        raise SystemExit(3)

    described(fail)
    assert names(one, Config(3)) == "one(x:Config)"


def test_a_description_that_is_long(described):
    described(lambda config: "x" * 1000)
    assert len(names(one, Config(3))) < 220
    described(lambda config: "first\nsecond")
    assert names(one, Config(3)) == "one(x:first)"


def test_a_description_that_ends_the_profile(described):
    profile = Profile(builtins=False)

    def end(config):
        profile.disable()
        profile.clear()
        return "ended"

    described(end)
    profile.enable()
    one(Config(3))
    one(1)
    assert counts_of(profile) == {}
    profile.runcall(one, 1)
    assert counts_of(profile) == {"one(x:int)": 1}


def test_describe_wants_a_type():
    with pytest.raises(TypeError):
        dwell.describe(Config(3), str)


def test_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0], "c": [3, 4]})
    assert names(one, frame) == "one(x:DataFrame(2×3, dtypes=[float64, int64]))"
    assert names(one, frame.a) == "one(x:Series(dtype=int64, length=2))"
    assert names(one, frame["a"].astype("category")) == "one(x:Series(dtype=category, length=2))"
    assert names(one, pd.DataFrame()) == "one(x:DataFrame(0×0, dtypes=[]))"
    assert names(one, frame.columns) == "one(x:Index)"
    assert names(one, type("Mine", (pd.DataFrame,), {})()) == "one(x:Mine)"


def test_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.eye(4, dtype=np.float32))
    assert names(one, matrix) == "one(x:csr_matrix(dtype=float32, shape=(4, 4)))"
    for form in ("bsr", "coo", "csc", "dia", "dok", "lil"):
        array = getattr(sparse, f"{form}_array")((3, 2))
        assert names(one, array) == f"one(x:{form}_array(dtype=float64, shape=(3, 2)))"


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    assert names(one, pa.array([1, 2])) == "one(x:Int64Array(type=int64, length=2))"
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    assert names(one, table) == "one(x:Table(2×2, types=[int64, string]))"
    assert names(one, table["a"]) == "one(x:ChunkedArray(type=int64, length=2))"


def test_jax():
    jnp = pytest.importorskip("jax.numpy")
    assert names(one, jnp.zeros((2, 3))) == "one(x:Array(dtype=float32, shape=(2, 3)))"


def test_torch():
    torch = pytest.importorskip("torch")
    text = "dtype=float32, shape=(2, 3), device=cpu"
    assert names(one, torch.zeros(2, 3)) == f"one(x:Tensor({text}))"
    assert names(one, torch.nn.Parameter(torch.zeros(2, 3))) == f"one(x:Parameter({text}))"
