"""The environment of a run: Python, platform, packages, and the names of set variables.

Packages are looked up by their metadata; none is imported. Values of variables are never stored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, ModelMedicError, Problem
from ..outcome import Collector, Outcome
from .neuron import add_disk_space, add_machine, add_release, uses_neuron
from .requirements import add_requirements

# Packages whose version can explain a failure of training, sampling, export or porting. Add a name
# when knowledge asks for it; any other package needs ``all_packages``.
CORE_PACKAGES = (
    # the Tinker SDK and its dependencies
    "tinker", "tinker-cookbook", "tml-renderers", "pydantic", "pydantic-core", "httpx", "httpcore",
    "pyqwest", "anyio", "orjson", "protobuf", "typing-extensions",
    # tensors, models, tokenizers, data
    "torch", "torchvision", "numpy", "transformers", "tokenizers", "safetensors", "huggingface-hub",
    "peft", "accelerate", "datasets", "pyarrow", "pillow", "tiktoken", "sentencepiece", "jinja2",
    "bitsandbytes", "triton",
    # serving and experiments
    "vllm", "sglang", "wandb", "modal",
    # AWS Neuron
    "neuronx-distributed", "neuronx-distributed-inference", "torch-neuronx", "torch-xla",
    "libneuronxla", "neuronx-cc", "nki", "optimum-neuron", "vllm-neuron", "lm-eval", "matplotlib",
    # installers: they explain how the other packages were installed
    "pip", "setuptools", "uv",
)  # fmt: skip

# Packages whose absence is evidence; the others are simply not listed.
EXPECTED_PACKAGES = frozenset({
    "tinker", "tinker-cookbook", "tml-renderers", "torch", "torchvision", "transformers",
    "neuronx-distributed", "neuronx-distributed-inference", "torch-neuronx", "neuronx-cc", "numpy",
    "matplotlib",
})  # fmt: skip

# Variables that the SDK, the cookbook, their transports and the Neuron stack read.
RELEVANT_VARIABLES = (
    "TINKER_API_KEY", "TINKER_BASE_URL", "TINKER_CREDENTIAL_CMD", "TINKER_PROJECT_ID",
    "TINKER_TAGS", "TINKER_LOG", "TINKER_TELEMETRY", "TINKER_FEATURE_GATES",
    "TINKER_SUBPROCESS_SAMPLING", "TINKER_COOKBOOK_RUNS_DIR", "SRC_TINKER_ACCESS_TOKEN",
    "TML_RENDERERS_SOURCE_DIR", "CLOUDFLARE_ACCESS_CLIENT_ID", "CLOUDFLARE_ACCESS_CLIENT_SECRET",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "HF_TOKEN", "HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT", "HF_HUB_OFFLINE", "HF_TRUST_REMOTE_CODE",
    "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "TRANSFORMERS_CACHE", "TOKENIZERS_PARALLELISM",
    "SANDBOX_URL", "SANDBOX_MAX_CONCURRENCY", "MODAL_POOL_SIZE", "MODAL_CREATION_RATE_LIMIT",
    "NEPTUNE_API_TOKEN", "WANDB_API_KEY", "WANDB_MODE", "WANDB_PROJECT",
    "CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "PYTORCH_CUDA_ALLOC_CONF", "OMP_NUM_THREADS",
    "NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES", "NEURON_RT_LOG_LEVEL",
    "NEURON_RT_EXEC_TIMEOUT", "NEURON_RT_RESET_CORES", "NEURON_RT_VIRTUAL_CORE_SIZE",
    "NEURON_LOGICAL_NC_CONFIG", "NEURON_CC_FLAGS", "NEURON_COMPILE_CACHE_URL",
    "NEURON_PLATFORM_TARGET_OVERRIDE", "NEURON_SKIP_EFA_AFFINITY", "XLA_USE_BF16",
    "XLA_DOWNCAST_BF16", "XLA_FLAGS", "NXD_CPU_MODE", "WORLD_SIZE", "RANK", "LOCAL_RANK",
    "MASTER_ADDR", "MASTER_PORT", "FI_EFA_FORK_SAFE",
    "PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH",
)  # fmt: skip
# Transports read these in lower case as well.
_EITHER_CASE = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
# The SDK refuses a key that begins otherwise (a JWT begins with eyJ).
_KEY_FORMS = {"TINKER_API_KEY": ("tml-", "eyJ")}
_SOURCE = "probe:environment"


def gather_environment(
    vocabulary: Vocabulary, *, python: Path | None = None, freeze: Path | None = None,
    all_packages: bool = False, environ: Mapping[str, str] | None = None, neuron: bool = False,
    neuron_ls: bool = False, model: Path | None = None, folder: Path | None = None,
    root: Path = Path("/"),
) -> Outcome:  # fmt: skip
    """The ``package``, ``python``, ``platform`` and ``env_var`` facts of an environment.

    It is that of this interpreter, of the interpreter ``python`` (executable or folder of a virtual
    environment), or the one that the file ``freeze`` describes. A package of
    :data:`EXPECTED_PACKAGES` that was searched for and is not there is stated with ``importable``
    false; a file shows that only if it lists everything installed. ``environ`` holds the variables;
    by default those of this process, and none for a file, which may come from another machine.

    If there is anything of Neuron (or ``neuron`` says that there should be), ``neuron_machine``
    and ``system_package`` facts follow, read from the files below ``root``; ``neuron_ls`` also runs
    that tool. ``folder`` (of an experiment) and ``model`` (its weights) give the ``disk_space``.

    Never raises on bad input. Problems: MM420 to MM425 about the interpreter, MM426 and MM427
    about the machine, MM430 to MM435 about the file.
    """
    if python is not None and freeze is not None:
        hint = "they are two environments: ask for them one after the other"
        problem = Problem("MM425", "give either an interpreter or a file, not both", None, hint)
        return Outcome(problems=(problem,))
    if environ is None and freeze is None:
        environ = os.environ
    try:
        if freeze is not None:
            found = _from_file(vocabulary, freeze, all_packages)
        else:
            found = _from_interpreter(vocabulary, python, all_packages)
    except ModelMedicError as error:
        return Outcome(problems=error.problems)
    variables = _variables(vocabulary, environ) if environ is not None else Outcome()
    collector = Collector(vocabulary, _SOURCE, "measured" if freeze is None else "inferred")
    versions = _versions(found)
    if freeze is not None:
        add_release(collector, str(freeze), versions)
    elif neuron or neuron_ls or uses_neuron(versions, root):
        add_machine(collector, versions, root=root, ask_tool=neuron_ls)
    if folder is not None or model is not None:
        add_disk_space(collector, folder or Path("."), model)
    return Outcome.joined(found, variables, collector.outcome())


def gather_found(path: Path, vocabulary: Vocabulary) -> Outcome:
    """The packages of a freeze or lock file that was found."""
    return gather_environment(vocabulary, freeze=path)


def _versions(found: Outcome) -> dict[str, str]:
    """Name -> version of the packages that are there."""
    plain = (fact.plain() for fact in found.facts if fact.kind == "package")
    return {str(p["name"]): str(p["version"]) for p in plain if p.get("version")}


def _from_interpreter(vocabulary: Vocabulary, python: Path | None, everything: bool) -> Outcome:
    if python is None:
        from .interpreter_report import report

        place, answer = "this interpreter", report(list(CORE_PACKAGES), everything)
    else:
        from .interpreters import ask_interpreter

        place, answer = str(python), ask_interpreter(python, CORE_PACKAGES, everything=everything)
    collector = Collector(vocabulary, _SOURCE)
    collector.add("python", place, **_fitting(vocabulary, "python", answer["python"]))
    collector.add("platform", place, **_fitting(vocabulary, "platform", answer["platform"]))
    for name, version, folder, placeholder in answer["packages"]:
        collector.add(
            "package",
            place,
            name=name,
            version=version or None,
            location=folder or None,
            # Such a stand-in has no usable module; its own text names the package to install
            # instead.
            placeholder=True if placeholder else None,
            importable=False if placeholder else None,
        )
    _add_missing(collector, place, answer.get("missing", ()))
    versions = {name: version for name, version, *_ in answer["packages"]}
    add_requirements(collector, place, answer.get("requirements", ()), versions)
    return collector.outcome()


def _from_file(vocabulary: Vocabulary, path: Path, everything: bool) -> Outcome:
    from .freeze import read_listing

    listing = read_listing(path)
    # Only a list of installed packages was measured; a lock file lists the intended ones.
    collector = Collector(vocabulary, _SOURCE, "measured" if listing.complete else "inferred")
    collector.extend(listing.problems)
    for name, (version, line) in sorted(listing.packages.items()):
        place = f"{path}:{line}" if line else str(path)
        if not version:
            continue
        if name == "python":
            collector.add("python", place, version=version)
        elif everything or name in CORE_PACKAGES:
            collector.add("package", place, name=name, version=version)
    open_ones = [n for n in CORE_PACKAGES if listing.packages.get(n, ("-", 0))[0] == ""]
    if open_ones:
        message = f"no exact version is stated for {', '.join(open_ones)}"
        hint = "give the list of what is installed, such as `pip list --format json`"
        collector.problem("MM435", message, Location(str(path)), hint, is_note=True)
    if listing.complete:
        absent = [name for name in CORE_PACKAGES if name not in listing.packages]
        _add_missing(collector, str(path), absent)
    return collector.outcome()


def _add_missing(collector: Collector, place: str, names: Any) -> None:
    for name in names:
        if name in EXPECTED_PACKAGES:
            collector.add("package", place, name=name, importable=False)


def _fitting(vocabulary: Vocabulary, kind: str, stated: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of an interpreter's answer that the vocabulary knows and that have the right type:
    one bad part must not cost the whole fact."""
    known = vocabulary.kinds[kind].attributes if kind in vocabulary.kinds else {}
    return {name: value for name, value in stated.items()
            if name in known and known[name].problem(value) is None}  # fmt: skip


def _variables(vocabulary: Vocabulary, environ: Mapping[str, str]) -> Outcome:
    collector = Collector(vocabulary, _SOURCE)
    for name in RELEVANT_VARIABLES:
        value = environ.get(name) or (environ.get(name.lower()) if name in _EITHER_CASE else "")
        well_formed = value.startswith(_KEY_FORMS[name]) if value and name in _KEY_FORMS else None
        collector.add(
            "env_var", "environment", name=name, is_set=bool(value), well_formed=well_formed
        )
    return collector.outcome()
