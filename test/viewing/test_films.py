"""Files read back: how many pictures, how fast, what is in them; and that one that fails leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from sim_node.viewing.pictures import FILMS, PICTURES, FilmError, write_film, write_picture

BACKGROUND, SQUARE = (40, 90, 160), (220, 40, 30)


def picture(index: int) -> np.ndarray:
    """A red square of 20 pixels that goes 4 pixels to the right each time."""
    pixels = np.full((96, 160, 3), BACKGROUND, dtype=np.uint8)
    pixels[30:50, 10 + 4 * index : 30 + 4 * index] = SQUARE
    return pixels


def pictures(count: int) -> Iterator[np.ndarray]:
    return (picture(index) for index in range(count))


def mp4(path: Path) -> tuple[list[np.ndarray], list[float], av.VideoStream]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [(frame.to_ndarray(format="rgb24"), float(frame.time)) for frame in container.decode(stream)]
        return [image for image, _ in frames], [time for _, time in frames], stream


@pytest.mark.parametrize("fps", [Fraction(30), Fraction(25), Fraction(30000, 1001)])
def test_an_mp4_has_every_picture_at_its_time(tmp_path: Path, fps: Fraction) -> None:
    path = tmp_path / "film.mp4"
    write_film(pictures(25), 25, fps, path)
    images, times, stream = mp4(path)
    assert (len(images), stream.average_rate, stream.codec_context.name) == (25, fps, "h264")
    np.testing.assert_allclose(times, np.arange(25) / float(fps), atol=1e-4)
    for index, image in enumerate(images):
        columns = np.nonzero(image[40, :, 0].astype(int) > 130)[0]
        assert abs(columns.mean() - (19.5 + 4 * index)) < 1.0


def test_an_mp4_keeps_colours(tmp_path: Path) -> None:
    """Decoded as it says it is coded (BT.709, television's range), flat surfaces differ by rounding only."""
    path = tmp_path / "film.mp4"
    write_film(pictures(5), 5, Fraction(30), path)
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
        assert (int(frame.colorspace), int(frame.color_range), frame.format.name) == (1, 1, "yuv420p")
        image = frame.reformat(format="rgb24", src_colorspace=1).to_ndarray().astype(int)
    np.testing.assert_allclose(image[80, 120], BACKGROUND, atol=4)
    np.testing.assert_allclose(image[40, 20], SQUARE, atol=8)


def test_the_index_of_an_mp4_comes_first(tmp_path: Path) -> None:
    """ISO 14496-12: the moov box before the mdat box; a browser begins before it has all of the file."""
    path = tmp_path / "film.mp4"
    write_film(pictures(5), 5, Fraction(30), path)
    data, boxes, at = path.read_bytes(), [], 0
    while at < len(data):
        boxes.append(data[at + 4 : at + 8])
        at += int.from_bytes(data[at : at + 4], "big")
    assert boxes.index(b"moov") < boxes.index(b"mdat")


@pytest.mark.parametrize("suffix", [".gif", ".webp"])
def test_animated_pictures_have_every_picture_and_last_as_long(tmp_path: Path, suffix: str) -> None:
    """30 pictures at 30 a second are one second, though a GIF's times are hundredths."""
    path = tmp_path / f"film{suffix}"
    write_film(pictures(30), 30, Fraction(30), path)
    with Image.open(path) as image:
        assert (image.n_frames, image.size, image.info["loop"]) == (30, (160, 96), 0)
        lasts = 0.0
        for index in range(image.n_frames):
            image.seek(index)
            image.load()
            lasts += image.info["duration"]
            row = np.asarray(image.convert("RGB"))[40].astype(int)
            columns = np.nonzero((row[:, 0] > 130) & (row[:, 1] < 90))[0]
            assert abs(columns.mean() - (19.5 + 4 * index)) < 1.5
        assert abs(lasts - 1000.0) <= 30.0


def test_a_png_has_every_pixel_and_no_clock(tmp_path: Path) -> None:
    """W3C PNG: tIME, tEXt and eXIf chunks are where a time would be."""
    path = tmp_path / "picture.png"
    write_picture(picture(3), path)
    with Image.open(path) as image:
        np.testing.assert_array_equal(np.asarray(image), picture(3))
        assert not image.info
    assert not any(chunk in path.read_bytes() for chunk in (b"tIME", b"tEXt", b"eXIf"))


@pytest.mark.parametrize("suffix", sorted(PICTURES))
def test_pictures_of_every_kind_have_size_and_colours(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"picture{suffix}"
    write_picture(picture(0), path)
    with Image.open(path) as image:
        assert image.size == (160, 96)
        np.testing.assert_allclose(np.asarray(image.convert("RGB"))[80, 120].astype(int), BACKGROUND, atol=6)


@pytest.mark.parametrize("suffix", sorted(FILMS))
def test_the_same_pictures_give_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        write_film(pictures(12), 12, Fraction(20), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("suffix", sorted(FILMS))
@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_film_that_is_broken_off_leaves_what_was_there(
    tmp_path: Path, suffix: str, failure: type[BaseException]
) -> None:
    path = tmp_path / f"film{suffix}"
    path.write_bytes(b"the one before")

    def broken() -> Iterator[np.ndarray]:
        yield from pictures(5)
        raise failure

    with pytest.raises(failure):
        write_film(broken(), 10, Fraction(20), path)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"the one before"


def test_what_a_format_cannot_hold_is_reported(tmp_path: Path) -> None:
    odd = (pixels[:95] for pixels in pictures(3))
    with pytest.raises(FilmError, match="even width and height, found 160x95"):
        write_film(odd, 3, Fraction(30), tmp_path / "film.mp4")
    with pytest.raises(FilmError, match="up to 50 pictures per second, found 60"):
        write_film(pictures(3), 3, Fraction(60), tmp_path / "film.gif")
    assert os.listdir(tmp_path) == []
