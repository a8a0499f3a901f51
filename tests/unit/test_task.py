"""The entry point for platforms: it returns or raises one exception, in any thread, and never ends the process."""

from __future__ import annotations

import threading

import pytest

import mirrorlake
from mirrorlake.errors import REFUSALS, RefusedError, RetryableError
from mirrorlake.task import FINDINGS, TaskFailed, main
from tests.support.ipython_kernel import run_cells

NO_FILES = ["run", "--source", "files:/no/such/folder", "--lake", "/no/such/lake"]


def in_a_thread(arguments: list[str]) -> list[BaseException | None]:
    """What the call raised; None: it returned."""
    raised: list[BaseException | None] = []

    def work() -> None:
        try:
            raised.append(main(arguments))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    return raised


def test_a_kernel_of_ipython_counts_a_task_as_done_or_failed_as_it_ended():
    call = "from mirrorlake.task import main; main({})".format
    done, failed, by_argv, exits = run_cells(
        call(["--version"]),
        call(NO_FILES),
        "import sys; sys.argv = ['task', '--nonsense']; main()",
        "from mirrorlake.cli import main; import sys; sys.argv = ['mirrorlake', '--version']; main()",
    )
    assert done["status"] == "ok"
    reason = "cannot list the folder /no/such/folder: No such file or directory"
    assert (failed["status"], failed["ename"]) == ("error", "TaskFailed")
    assert failed["evalue"] == f"log-missing: {reason}\n{REFUSALS['log-missing']}"
    assert by_argv["evalue"] == f"usage: No such option: --nonsense\n{REFUSALS['usage']}"
    assert (exits["ename"], exits["evalue"]) == ("SystemExit", "0")


def test_a_task_runs_in_a_thread(capsys):
    assert in_a_thread(["--version"]) == [None]
    assert capsys.readouterr().out == f"mirrorlake {mirrorlake.__version__}\n"
    (failed,) = in_a_thread(NO_FILES)
    assert isinstance(failed, TaskFailed)


def test_a_failure_is_one_exception_with_code_reason_and_next_step_and_no_other_before_it(capsys):
    with pytest.raises(TaskFailed) as caught:
        main(["tables", "--lake"])
    failed = caught.value
    assert (failed.code, failed.reason) == ("usage", "Option '--lake' requires an argument.")
    assert failed.hint == REFUSALS["usage"] and str(failed) == f"usage: {failed.reason}\n{failed.hint}"
    assert (failed.__cause__, failed.__context__) == (None, None)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("verb", FINDINGS)
def test_what_a_verb_found_has_a_meaning_of_its_own(verb, monkeypatch):
    monkeypatch.setattr("mirrorlake.cli.Guarded.run", lambda *_, **__: RefusedError.exit_code)
    with pytest.raises(TaskFailed) as caught:
        main([verb])
    assert caught.value.code in ("differs", "check-failed", "left-out")


def test_a_cancelled_task_is_no_failure(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mirrorlake.config.load_options", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main(["tables", "--lake", "x"])


LOST = RetryableError("server-lost", "the server closed the connection")


@pytest.mark.parametrize(
    ("arguments", "raised", "n_runs"),
    [
        (["run"], [LOST, LOST, None], 3),
        (["maintain"], [LOST, LOST, LOST, None], 3),
        (["apply"], [RefusedError("log-gap", "a file is missing"), None], 1),
        (["ingest"], [RetryableError("spark-ended", "the Spark process ended"), None], 1),
        (["run", "--follow"], [LOST, None], 1),
        (["verify"], [LOST, None], 1),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) and all(isinstance(v, str) for v in value) else None,
)
def test_a_task_repeats_what_passes_by_itself_and_nothing_else(arguments, raised, n_runs, monkeypatch, capsys):
    outcomes, pauses = iter(raised), []

    def end(*_, **__):
        if error := next(outcomes):
            raise error
        return 0

    monkeypatch.setattr("mirrorlake.cli.Guarded.run", end)
    monkeypatch.setattr("tenacity.nap.time.sleep", pauses.append)
    last = raised[n_runs - 1]
    if last:
        with pytest.raises(TaskFailed, match=f"^{last.code}: "):
            main(arguments)
    else:
        main(arguments)
    assert pauses == [60] * (n_runs - 1)
    line = f"{LOST}: again in 60 s\n"
    assert capsys.readouterr() == ("", line * (n_runs - 1))
