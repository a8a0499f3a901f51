import pytest

from mirrorlake.lake.delta.session import open_session


@pytest.fixture(scope="session")
def spark():
    return open_session("mirrorlake-tests")


@pytest.fixture
def lake_dir(tmp_path):
    return tmp_path / "lake"
