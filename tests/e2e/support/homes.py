"""Home folders for etna's processes."""

import pathlib
import tempfile

from support.program import executable


def new_home(prefix):
    """Returns a TemporaryDirectory. Compiled and checked kernels are shared by all homes, so that each is checked once."""
    kernels = pathlib.Path(executable()).resolve().parent / "e2e-kernels"
    kernels.mkdir(exist_ok=True)
    home = tempfile.TemporaryDirectory(prefix=prefix)
    cache = pathlib.Path(home.name) / ".cache"
    cache.mkdir()
    (cache / "etna").symlink_to(kernels)
    return home
