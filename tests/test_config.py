"""The configuration: what it holds, in which threads, and what is refused."""

import threading

import numpy as np
import pytest

import kernelweave
from kernelweave import config_context, get_config, set_config

DEFAULTS = {"dense_bytes": 2e9, "cache_bytes": 2.56e8}


@pytest.fixture(autouse=True)
def as_before():
    yield
    set_config(**DEFAULTS)


def test_values_are_set_one_by_one():
    assert get_config() == DEFAULTS
    set_config(dense_bytes=1)
    assert get_config() == {**DEFAULTS, "dense_bytes": 1.0}
    set_config(cache_bytes=np.int64(0))
    assert get_config() == {"dense_bytes": 1.0, "cache_bytes": 0.0}
    set_config(dense_bytes=float("inf"))
    assert get_config()["dense_bytes"] == float("inf")
    set_config()
    assert get_config()["cache_bytes"] == 0.0


def test_what_is_returned_is_a_copy():
    get_config()["dense_bytes"] = 0
    assert get_config() == DEFAULTS


@pytest.mark.parametrize("value", [-1, "2 GB", float("nan"), True, [1]])
@pytest.mark.parametrize("name", DEFAULTS)
def test_other_values_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a finite number of at least 0 or infinity"):
        set_config(**{name: value})
    with pytest.raises(ValueError, match=name), config_context(**{name: value}):
        pass
    assert get_config() == DEFAULTS


def test_names_are_keywords():
    with pytest.raises(TypeError):
        set_config(1e9)
    with pytest.raises(TypeError):
        config_context(1e9)
    with pytest.raises(TypeError, match="memory"):
        set_config(memory=1)


def test_a_context_ends_also_with_an_error_and_holds_others():
    with config_context(dense_bytes=5):
        with pytest.raises(KeyError), config_context(cache_bytes=6):
            assert get_config() == {"dense_bytes": 5.0, "cache_bytes": 6.0}
            set_config(dense_bytes=7)
            raise KeyError
        assert get_config() == {**DEFAULTS, "dense_bytes": 5.0}
    assert get_config() == DEFAULTS


def test_a_setting_holds_in_all_threads_and_a_context_in_one():
    seen = []
    set_config(dense_bytes=3)
    with config_context(dense_bytes=4):
        thread = threading.Thread(target=lambda: seen.append(get_config()["dense_bytes"]))
        thread.start()
        thread.join()
        assert get_config()["dense_bytes"] == 4.0
    assert seen == [3.0]


def test_the_functions_are_public():
    assert {"set_config", "get_config", "config_context"} <= set(kernelweave.__all__)
