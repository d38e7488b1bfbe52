"""What a container receives is byte for byte what the user wrote, whatever Kubernetes expands on the way."""

from __future__ import annotations

import re
import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import XID
from tests.on_gke import container, experiment, job, manifests
from xmgen.executors.texts import Texts, secret_key, secret_variable
from xmgen.experiment import Reference, ShellSafeArg

KEY = Reference(kind="secret", name="key")
NASTY = ["$(HOME)", "$$(HOME)", "$", "$$", "$$$(A)", "$(", "$()", "${HOME}", "`id`", "$(XMGEN_SECRET_key)", "\n'\"\\"]
REFUSED = "".join(map(chr, (0, *range(0x7F, 0x85), *range(0x86, 0xA0), 0xFFFE, 0xFFFF)))
TEXT = st.text(st.characters(exclude_characters=REFUSED, exclude_categories=["Cs"])) | st.lists(
    st.sampled_from(NASTY)
).map("".join)


def expanded(text: str, variables: dict[str, str]) -> str:
    """Kubernetes' rule for args and env: `$$` is a `$`, `$(NAME)` the variable if there is one, else it stays.

    https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
    """
    result, position = "", 0
    while position < len(text):
        if text.startswith("$$", position):
            result, position = f"{result}$", position + 2
        elif match := re.compile(r"\$\(([^)]*)\)").match(text, position):
            result, position = result + variables.get(match[1], match[0]), match.end()
        else:
            result, position = result + text[position], position + 1
    return result


def test_the_rule_is_kubernetes_own() -> None:
    variables = {"A": "1"}
    expected = {"$(A)": "1", "$$(A)": "$(A)", "$(B)": "$(B)", "$A": "$A", "$$$(A)": "$1", "$(A": "$(A"}
    assert {text: expanded(text, variables) for text in expected} == expected


@settings(deadline=None)
@given(st.lists(TEXT), st.dictionaries(st.from_regex(r"[A-Z]{1,5}", fullmatch=True), TEXT))
def test_args_and_env_arrive_as_they_were_written(args: list[str], env: dict[str, str]) -> None:
    [found] = manifests(experiment(job(*args, env=env)))
    variables: dict[str, str] = {"HOME": "/root"}
    for variable in container(found)["env"]:
        variables[variable["name"]] = expanded(variable["value"], variables)
    assert [expanded(arg, variables) for arg in container(found).get("args", [])] == args
    assert {name: variables[name] for name in env} == env


@settings(deadline=None)
@given(st.lists(TEXT | st.just(KEY.token), min_size=1), TEXT)
def test_a_secret_is_put_in_where_it_stands_and_nowhere_else(parts: list[str], value: str) -> None:
    text = "".join(parts)
    [found] = manifests(experiment(job(text, env={"A": f"x{text}"}), references=(KEY,)))
    variables: dict[str, str] = {}
    for variable in container(found)["env"]:
        known = variable.get("valueFrom", {}).get("secretKeyRef")
        variables[variable["name"]] = expanded(variable["value"], variables) if known is None else value
    assert [expanded(arg, variables) for arg in container(found)["args"]] == [text.replace(KEY.token, value)]
    assert variables["A"] == f"x{text}".replace(KEY.token, value)


@settings(deadline=None, max_examples=30)
@given(st.lists(TEXT.filter(lambda text: "\r" not in text), max_size=4))
def test_a_shell_hands_on_every_other_argument_untouched(args: list[str]) -> None:
    [found] = manifests(experiment(job(*args, ShellSafeArg("$XMGEN_TEST"))))
    command = [expanded(word, {}) for word in container(found)["command"]]
    command[2] = command[2].replace("exec python -m train", "exec printf '%s\\0'")
    environment = {"XMGEN_TEST": "expanded", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == [*args, "expanded"]


def test_keys_and_variables_of_secrets() -> None:
    names = {name: Reference(kind="secret", name=name) for name in ("wandbKey", "db:password", "a b")}
    assert {name: secret_variable(reference) for name, reference in names.items()} == {
        "wandbKey": "XMGEN_SECRET_wandbKey",
        "db:password": "XMGEN_SECRET_db_password_1b712a0d",
        "a b": "XMGEN_SECRET_a_b_c8687a08",
    }
    keys = [secret_key(reference) for reference in names.values()]
    assert keys[0] == "wandbKey"
    assert len(set(keys)) == 3
    assert all(re.fullmatch(r"[-._a-zA-Z0-9]+", key) for key in keys)


def test_secrets_whose_names_are_alike_stay_apart() -> None:
    one, other = Reference(kind="secret", name="a-b"), Reference(kind="secret", name="a_b")
    [found] = manifests(experiment(job(f"-{one.token}-{other.token}"), references=(one, other)))
    [arg] = container(found)["args"]
    variables = re.findall(r"\$\((\w+)\)", arg)
    assert len(set(variables)) == 2
    keys = {each["name"]: each["valueFrom"]["secretKeyRef"]["key"] for each in container(found)["env"][1:]}
    assert [keys[name] for name in variables] == ["a-b", "a_b"]


def test_only_listed_references_are_secrets() -> None:
    texts = Texts((), XID, "sweep")
    assert texts.variable("A", KEY.token) == {"name": "A", "value": KEY.token}
