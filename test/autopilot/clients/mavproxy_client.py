"""MAVProxy as a person uses it: commands typed at its prompt, answers read from its screen."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from stepwise import did

HOME = (47.397742, 8.545594)
WAYPOINTS = f"""QGC WPL 110
0\t1\t0\t16\t0\t0\t0\t0\t{HOME[0]}\t{HOME[1]}\t488.13\t1
1\t0\t3\t22\t0\t0\t0\t0\t0\t0\t5\t1
2\t0\t3\t16\t0\t0\t0\t0\t{HOME[0] + 9e-5}\t{HOME[1]}\t5\t1
3\t0\t3\t16\t0\t0\t0\t0\t{HOME[0] + 9e-5}\t{HOME[1] + 1.3e-4}\t6\t1
"""
# As ArduPilot's CMAC-fence.txt: a return point, and a polygon whose first corner is repeated at its end.
FENCE = "".join(
    f"{HOME[0] + north:.7f}\t{HOME[1] + east:.7f}\n"
    for north, east in ((0, 0), (5e-4, -5e-4), (5e-4, 5e-4), (-5e-4, 5e-4), (-5e-4, -5e-4), (5e-4, -5e-4))
)


class Console:
    def __init__(self, folder: Path, address: str) -> None:
        program = Path(sys.executable).parent / "mavproxy.py"
        options = [f"--master=udpin:{address}", "--force-connected", f"--state-basedir={folder}", "--default-modules"]
        options.append("arm,mode,cmdlong,param,wp,fence,rally,rc,misc,output,link,signing,log,ftp")
        self._process = subprocess.Popen(
            [sys.executable, "-u", str(program), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, bufsize=1, cwd=folder,
        )  # fmt: skip
        self.screen = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while character := self._process.stdout.read(1):  # type: ignore[union-attr]
            self.screen += character

    def type(self, line: str) -> int:
        """Where its answer begins."""
        at = len(self.screen)
        self._process.stdin.write(line + "\n")  # type: ignore[union-attr]
        self._process.stdin.flush()  # type: ignore[union-attr]
        return at

    def until(self, pattern: str, at: int = 0) -> re.Match[str]:
        deadline = time.monotonic() + 120.0
        while not (found := re.search(pattern, self.screen[at:])):
            if time.monotonic() > deadline or self._process.poll() is not None:
                sys.exit(f"no {pattern} in {self.screen[at:][-3000:]}")
            time.sleep(0.05)
        return found

    def ask(self, line: str, pattern: str) -> re.Match[str]:
        return self.until(pattern, self.type(line))

    def close(self) -> None:
        self.type("exit")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "mission.txt").write_text(WAYPOINTS)
    (folder / "fence.txt").write_text(FENCE)
    console = Console(folder, sys.argv[1])
    console.until(r"(online|Detected) (system|vehicle)")
    did("connect")
    console.ask("param fetch", r"Received \d+ parameters")
    console.type("param set RTL_ALT 700")
    while (shown := float(console.ask("param show RTL_ALT", r"RTL_ALT\s+(\S+)")[1])) != 700.0:
        time.sleep(0.1)
    did("parameters", value=shown)
    console.ask("fence load fence.txt", r"MISSION_ACK: TYPE_FENCE: ACCEPTED")
    console.ask("fence enable", r"COMMAND_ACK: DO_FENCE_ENABLE: ACCEPTED")
    console.ask("fence disable", r"COMMAND_ACK: DO_FENCE_ENABLE: ACCEPTED")
    did("geofence")
    console.ask("mode GUIDED", r"Mode GUIDED|GUIDED>")
    console.ask("arm throttle", r"ARMED")
    did("arm")
    console.ask("takeoff 4", r"Got COMMAND_ACK: NAV_TAKEOFF: ACCEPTED")
    did("takeoff")
    console.type(f"guided {HOME[0] + 9e-5} {HOME[1]} 5")
    did("goto")
    console.type("velocity 1.5 -1 0")
    did("velocity")
    console.type("position 4 0 -1")
    did("position")
    console.ask("setyaw 210 0 0", r"COMMAND_ACK: CONDITION_YAW: ACCEPTED")
    did("yaw")
    console.ask("wp load mission.txt", r"MISSION_ACK: TYPE_MISSION: ACCEPTED")
    console.ask("wp list", r"16 3 \S+ \S+ 6\.0")
    did("mission transfer")
    console.ask("wp changealt 2 7", r"MISSION_ACK: TYPE_MISSION: ACCEPTED")
    console.ask("wp param 3 1 2", r"MISSION_ACK: TYPE_MISSION: ACCEPTED")
    console.ask("wp list", r"16 3 \S+ \S+ 7\.0+ p1=0\.0[^\n]*\s+16 3 \S+ \S+ 6\.0+ p1=2\.0")
    did("mission change")
    console.ask("wp set 1", "")
    console.ask("mode AUTO", r"Mode AUTO|AUTO>")
    console.until(r"Mission complete")
    did("mission")
    console.ask("mode RTL", r"Mode RTL|RTL>")
    did("return")
    console.until("DISARMED")
    did("landed")
    console.ask("mode GUIDED", r"Mode GUIDED|GUIDED>")
    console.ask("arm throttle", r"ARMED")
    console.ask("takeoff 3", r"Got COMMAND_ACK: NAV_TAKEOFF: ACCEPTED")
    did("takeoff again")
    at = console.type("mode LAND")
    console.until("DISARMED", at)
    did("land")
    console.close()
