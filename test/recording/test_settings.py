"""Which topics are recorded, and settings that make no sense."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sim_node.recording.settings import RecordingSettings, SettingsFault, from_options


@pytest.mark.parametrize(
    ("topics", "exclude", "wanted", "unwanted"),
    [
        ("", "", ["/tf", "/drone/imu/data_raw"], []),
        ("/tf /tf_static", "", ["/tf", "/tf_static"], ["/tf2", "/a/tf"]),
        ("/drone/*", "", ["/drone/imu/data_raw"], ["/tf", "/drone"]),
        ("", "*/image_raw", ["/tf"], ["/drone/cam/image_raw"]),
        ("/drone/*", "/drone/cam/*", ["/drone/imu/data_raw"], ["/drone/cam/image_raw"]),
        ("re:/tf(_static)?", "", ["/tf", "/tf_static"], ["/tf_statically"]),
    ],
)
def test_topics_by_pattern(topics: str, exclude: str, wanted: list[str], unwanted: list[str]) -> None:
    settings = from_options({"topics": topics, "exclude": exclude})
    assert [name for name in wanted + unwanted if settings.wants(name)] == wanted


def test_options_are_in_the_units_of_people() -> None:
    settings = from_options({"split_size": 1.5, "split_duration": 0.5, "snapshot": 10.0, "max_disk": 2.0})
    assert settings == RecordingSettings(
        split_bytes=1_500_000, split_ns=500_000_000, snapshot_ns=10_000_000_000, max_bytes=2_000_000
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": "re:("}, r"topics: 're:\(' is not a regular expression: .*"),
        ({"compression": "bz2"}, "compression: found 'bz2'; allowed: none, lz4, zstd"),
        ({"when_full": "burst"}, "when_full: found 'burst'; allowed: go_on, end"),
        ({"max_disk": 0.01}, "max_bytes: found 10000; at least 100000 bytes are needed"),
        ({"snapshot": -1.0}, "snapshot_ns: found -1000000000; 0 or more is needed"),
    ],
)
def test_what_makes_no_sense_is_refused(options: Mapping[str, float | str], message: str) -> None:
    with pytest.raises(SettingsFault, match=f"^{message}$"):
        from_options(options)
