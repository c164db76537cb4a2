"""Files with flipped bits and without their ends: what is broken is named, the rest is read, nothing is made up."""

from __future__ import annotations

from pathlib import Path

import pytest
from bag_files import Sample, mcap_bytes, read, samples
from mcap.writer import CompressionType, IndexType
from nightly import only

from sim_node.recording.bag import BagError

SAMPLES = samples(14)
COMPRESSIONS = [CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4]


def read_or_refused(path: Path, data: bytes) -> tuple[list[Sample], list[str]]:
    path.write_bytes(data)
    try:
        return read(path)
    except BagError as refused:
        return [], [str(refused)]


# How far apart the places are. The night has each byte of the file that is not compressed.
APART = only([*((each, 5) for each in COMPRESSIONS), (CompressionType.NONE, 1)], 1)


@pytest.mark.parametrize(("compression", "apart"), APART)
def test_a_flipped_bit_is_named_or_harmless(compression: CompressionType, apart: int, tmp_path: Path) -> None:
    """Bytes of a file: all messages equal, or damage named and those that are left equal."""
    whole, path = mcap_bytes(SAMPLES, compression), tmp_path / "bag.mcap"
    kept = 0
    places = range(0, len(whole), apart)
    for at in places:
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        found, damage = read_or_refused(path, bytes(data))
        if found != SAMPLES:
            assert damage, f"byte {at}: {len(SAMPLES) - len(found)} messages are missing and nothing was said"
            assert all(str(path) in line for line in damage)
            assert [sample for sample in SAMPLES if sample in found] == found, f"byte {at}: a message is not as written"
        kept += len(found)
    assert kept > 0.85 * len(places) * len(SAMPLES), "damage costs one chunk, not the bag"


# Takes seconds: make test has flipped bits of files with an index.
@pytest.mark.nightly
def test_a_flipped_bit_in_a_file_without_index_is_named_or_harmless(tmp_path: Path) -> None:
    """As after a kill -9: the walk over the records has only the chunks' checksums to go by.

    Definitions stand in the first chunk only; where that fails its checksum, topics' names are what is doubtful.
    """
    whole, path = mcap_bytes(SAMPLES, index_types=IndexType.NONE, repeat_channels=False), tmp_path / "bag.mcap"
    whole = whole[: whole.rindex(SAMPLES[-1][2]) + len(SAMPLES[-1][2])]
    kept = 0
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        found, damage = read_or_refused(path, bytes(data))
        assert damage
        of_doubtful_names = any("topic names and types" in line for line in damage)
        place = slice(1, None) if of_doubtful_names else slice(None)
        parts = {sample[place] for sample in SAMPLES}
        assert all(sample[place] in parts for sample in found), f"byte {at}: a message is not as written"
        kept += len(found)
    assert kept > 0.65 * len(whole) * len(SAMPLES)


@pytest.mark.parametrize(("compression", "apart"), APART)
def test_what_is_before_the_cut_is_read(compression: CompressionType, apart: int, tmp_path: Path) -> None:
    """At each of these lengths: messages from the first on without a gap, all of those in whole chunks among them."""
    whole, path = mcap_bytes(SAMPLES, compression), tmp_path / "bag.mcap"
    before = 0
    for length in range(1, len(whole), apart):
        found, damage = read_or_refused(path, whole[:length])
        assert damage
        assert found == SAMPLES[: len(found)]
        assert len(found) >= before, f"cut at {length}: fewer messages than of a shorter file"
        before = len(found)
    assert before == len(SAMPLES)


def test_messages_of_an_uncompressed_chunk_that_was_cut_are_kept(tmp_path: Path) -> None:
    whole, path = mcap_bytes(SAMPLES, chunk_size=1 << 20), tmp_path / "bag.mcap"
    cut = whole.index(SAMPLES[7][2]) + len(SAMPLES[7][2])
    assert read_or_refused(path, whole[:cut])[0] == SAMPLES[:8]
    assert read_or_refused(path, whole[: cut - 1])[0] == SAMPLES[:7]


@pytest.mark.parametrize("name", ["/even", "/odd", "std_msgs", "cdr"])
def test_a_damaged_definition_in_a_chunk_that_was_cut_is_named(name: str, tmp_path: Path) -> None:
    """Its checksum cannot be verified, so that the bytes that are no text are met as they are."""
    whole, path = mcap_bytes(SAMPLES, chunk_size=1 << 20), tmp_path / "bag.mcap"
    data = bytearray(whole[: whole.index(SAMPLES[7][2]) + len(SAMPLES[7][2])])
    data[data.index(name.encode()) + 2] = 0xA4
    found, damage = read_or_refused(path, bytes(data))
    assert damage
    assert all(str(path) in line for line in damage)
    assert all(sample in SAMPLES for sample in found)


def test_a_chunk_that_is_broken_is_named_with_its_place_time_and_loss(tmp_path: Path) -> None:
    whole, path = mcap_bytes(SAMPLES), tmp_path / "bag.mcap"
    data = bytearray(whole)
    data[whole.index(SAMPLES[9][2]) + 4] ^= 4
    found, damage = read_or_refused(path, bytes(data))
    lost = [sample for sample in SAMPLES if sample not in found]
    assert SAMPLES[9] in lost
    (line,) = damage
    assert f"{lost[0][1] / 1e9:.3f} s to {lost[-1][1] / 1e9:.3f} s" in line
    assert f"{len(lost)} messages are lost" in line
    at = int(line.split("byte ")[1].split(":")[0])
    assert whole[at] == 6, "where the chunk record begins"
