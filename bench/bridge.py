"""From MAVLink frames to ready ROS messages: the whole of a recorded flight, beside pymavlink's decoding alone.

Run from the repository: python -m bench.bridge [--tlog FILE] [--out bench/results/bridge.json]

Exit code 1 below 50,000 frames a second from bytes to CDR.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pymavlink.dialects.v20 import all as dialect

from bench.pairs import Pairs, aim
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.tlog import read_tlog
from sim_node.mavlink.topics import FrameNames
from sim_node.mavlink.translation import TRANSLATIONS

TLOG = Path(__file__).parents[1] / "test" / "data" / "ardupilot_flight.tlog"
TARGET = 50_000.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tlog", type=Path, default=TLOG)
    parser.add_argument("--out", type=Path, default=Path("bench/results/bridge.json"))
    arguments = parser.parse_args()
    records = [(time_ns, message.raw) for time_ns, message in read_tlog(arguments.tlog)]
    frames = [raw for _, raw in records]
    pairs = Pairs()

    def decode() -> None:
        feed = Parser(datagrams=True).feed
        for raw in frames:
            feed(raw)

    def to_cdr() -> None:
        feed = Parser(datagrams=True).feed
        vehicle = Telemetry(1, FrameNames(), lambda topic, data: None)
        for time_ns, raw in records:
            vehicle.arrival_ns = time_ns
            for message in feed(raw):
                translate = TRANSLATIONS.get(message.name)
                if translate is not None:
                    translate(message.fields, vehicle)

    def pymavlink() -> None:
        read = dialect.MAVLink(None).decode
        for raw in frames:
            read(bytearray(raw))

    pairs.measure(f"decode {len(frames)} frames", decode, {"pymavlink": pymavlink}, target=1.0, rounds=7)
    pairs.measure(f"to CDR, {len(frames)} frames", to_cdr, {"pymavlink, decode": pymavlink}, rounds=7)
    pairs.save(arguments.out)
    rate = len(frames) / pairs.rows[-1]["seconds"]["ours"]
    print(f"{rate:,.0f} frames/s from bytes to CDR{aim(f'target {TARGET:,.0f}', rate >= TARGET)}")
    return 1 if pairs.missed or rate < TARGET else 0


if __name__ == "__main__":
    sys.exit(main())
