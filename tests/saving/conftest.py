"""Every kind of model, fitted and saved once."""

import pytest

from kernelweave import load, save
from saved_models import MODELS, callables_of


@pytest.fixture(scope="session", params=list(MODELS))
def saved(request, tmp_path_factory):
    """A fitted model, new samples, the file it was saved to, and the callables to load it with."""
    model, new = MODELS[request.param]()
    path = tmp_path_factory.mktemp("models") / "model.kw"
    save(model, path)
    return model, new, path, callables_of(request.param)


@pytest.fixture(scope="session")
def loaded(saved):
    """The model as it comes back from the file; not to be changed."""
    _, _, path, callables = saved
    return load(path, callables)
