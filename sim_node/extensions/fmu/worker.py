"""The process that runs an FMU by FMPy, started by `process` with `command`.

It reads one JSON order per line, and answers each with a line: `{"get": [...], "over": false}`, with the values of the
requested outputs and whether the FMU requests the end of the simulation, or `{"fault": "..."}`, after which it ends. It
ends when its input is closed. Output of the FMU goes to standard error.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The types in the names of FMPy's functions, where they differ from the name of the type.
_CALLED = {"Enumeration": {"2.0": "Integer", "3.0": "Int64"}}
# FMI 2: fmi2Discard, the status of a step that ended early, and fmi2Terminated, the status kind for the end of the
# simulation.
_DISCARD, _TERMINATED = 2, 3
Json = Any


def command() -> list[str]:
    """Return the command line of the process. With `-m`, it would import the whole package first."""
    return [sys.executable, "-c", f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"]


def main() -> None:
    """Execute orders until the input is closed."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the output of FMUs
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    unit: FmuInstance | None = None
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if unit is None:
                unit = FmuInstance(order)
            else:
                unit.carry_out(order)
            answer = unit.answer()
        except Exception as error:
            answer = {"fault": " ".join(f"{error}".split()) or type(error).__name__}
        print(json.dumps(answer), file=answers, flush=True)
        if "fault" in answer:
            os._exit(1)


def _watch(parent: int) -> None:
    """End the process soon after its parent has ended, even while the FMU computes."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


class FmuInstance:
    """An FMU that is set up for co-simulation at time 0.

    Args:
        order: folder, where it is unpacked; file; name; start, values by variable; outputs, the variables to return,
            each with its size, null for a scalar; saves, whether its state may be requested.
    """

    def __init__(self, order: dict[str, Json]) -> None:
        from fmpy import extract, read_model_description
        from fmpy.fmi2 import FMU2Slave
        from fmpy.fmi3 import FMU3Slave

        folder = Path(order["folder"])
        extract(order["file"], folder)
        about = read_model_description(folder)
        self._version: str = about.fmiVersion
        self._variables = {each.name: each for each in about.modelVariables}
        self._outputs = [(self._variables[name], size) for name, size in order["outputs"]]
        self._saves: bool = order["saves"]
        self._state: bytes | None = None
        self._over = False
        kind = FMU2Slave if self._version == "2.0" else FMU3Slave
        self._fmu: Any = kind(
            guid=about.guid,
            unzipDirectory=str(folder),
            modelIdentifier=about.coSimulation.modelIdentifier,
            instanceName=order["name"],
        )
        self._fmu.instantiate()
        structural = {name: value for name, value in order["start"].items() if self._is_structural(name)}
        if structural:  # set these first, because they determine array sizes
            self._fmu.enterConfigurationMode()
            self._set(structural)
            self._fmu.exitConfigurationMode()
        self._set({name: value for name, value in order["start"].items() if name not in structural})
        if self._version == "2.0":
            self._fmu.setupExperiment(startTime=0.0)
            self._fmu.enterInitializationMode()
        else:
            self._fmu.enterInitializationMode(startTime=0.0)
        self._fmu.exitInitializationMode()

    def _is_structural(self, name: str) -> bool:
        return bool(self._variables[name].causality == "structuralParameter")

    def carry_out(self, order: dict[str, Json]) -> None:
        """Set inputs, make a step, save the state, or restore a state."""
        self._set(order.get("set", {}))
        if "time" in order:
            self._over = self._step(order["time"], order["step"])
        if order.get("save"):
            state = self._of_state("get{}")()
            self._state = self._of_state("serialize{}")(state)
            self._of_state("free{}")(state)
        if "restore" in order:
            state = self._of_state("deserialize{}")(base64.b64decode(order["restore"]))
            self._of_state("set{}")(state)
            self._of_state("free{}")(state)

    def _step(self, time: float, step: float) -> bool:
        """Make a step. Return whether the FMU requests the end of the simulation, which is not a failure."""
        from fmpy.fmi1 import FMICallException

        try:
            found = self._fmu.doStep(time, step, int(not self._saves))
        except FMICallException as error:
            if self._version == "2.0" and error.status == _DISCARD and self._fmu.getBooleanStatus(_TERMINATED):
                return True
            raise
        return found is not None and bool(found[1])

    def answer(self) -> dict[str, Json]:
        """Return the values of the outputs, and the state if it was requested."""
        found: dict[str, Json] = {"get": [self._get(*each) for each in self._outputs], "over": self._over}
        if self._state is not None:
            found["state"], self._state = base64.b64encode(self._state).decode(), None
        return found

    def _set(self, values: dict[str, Json]) -> None:
        for name, value in values.items():
            variable = self._variables[name]
            listed = value if isinstance(value, list) else [value]
            if variable.type in ("Real", "Float64", "Float32"):
                listed = [float(each) for each in listed]
            elif variable.type not in ("Boolean", "String"):
                listed = [int(each) for each in listed]
            getattr(self._fmu, f"set{self._called(variable.type)}")([variable.valueReference], listed)

    def _get(self, variable: Any, size: int | None) -> Json:
        get = getattr(self._fmu, f"get{self._called(variable.type)}")
        found = get([variable.valueReference]) if size is None else get([variable.valueReference], nValues=size)
        listed = [each.decode() if isinstance(each, bytes) else each for each in found]
        if variable.type == "Boolean":
            listed = [bool(each) for each in listed]
        return listed[0] if size is None else listed

    def _of_state(self, name: str) -> Callable[..., Any]:
        """Return a function of FMPy for states, whose name depends on the FMI version."""
        name = name.format("FMUState" if self._version == "3.0" else "FMUstate")
        found: Callable[..., Any] = getattr(self._fmu, name.replace("deserializeFMUs", "deSerializeFMUs"))
        return found

    def _called(self, kind: str) -> str:
        """Return the name of a type in functions of FMPy."""
        return _CALLED.get(kind, {}).get(self._version, kind)


if __name__ == "__main__":
    main()
