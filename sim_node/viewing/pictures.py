"""Picture and film files, by their suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import av
from PIL import Image

from sim_node.registry import Registry
from sim_node.viewing.framebuffer import Pixels


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; it becomes `path` at the end, or goes with whatever ends the writing."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# Writes pixels (height, width, 3) to a path, whatever its name ends in.
PictureWriter = Callable[[Pixels, Path], None]
PICTURES: Registry[str, PictureWriter] = Registry(
    "format of pictures", shipped=("sim_node.viewing.pictures",), group="sim_node.pictures"
)
# Registers what writes files of a suffix.
picture = PICTURES.add


def write_picture(pixels: Pixels, path: Path) -> None:
    """Writes a picture by its suffix, whole or not at all: the same bytes for the same pixels. Raises OSError."""
    with whole_file(path) as part:
        PICTURES[path.suffix.lower()](pixels, part)


@picture(".png")
def write_png(pixels: Pixels, path: Path) -> None:
    """Without loss."""
    Image.fromarray(pixels).save(path, "PNG", optimize=True)


@picture(".jpg", ".jpeg")
def write_jpeg(pixels: Pixels, path: Path) -> None:
    """Smaller than a PNG by as much again as it may lose."""
    Image.fromarray(pixels).save(path, "JPEG", quality=90, optimize=True)


@picture(".webp")
def write_webp(pixels: Pixels, path: Path) -> None:
    """Smaller still."""
    Image.fromarray(pixels).save(path, "WEBP", quality=90, method=6)


# Writes so many pictures (height, width, 3), of which so many pass in a second, to a path, whatever its name ends in.
FilmWriter = Callable[[Iterable[Pixels], int, Fraction, Path], None]
FILMS: Registry[str, FilmWriter] = Registry(
    "format of films", shipped=("sim_node.viewing.pictures",), group="sim_node.films"
)
# Registers what writes files of a suffix.
film = FILMS.add
# ITU-T H.273: primaries, transfer and matrix of BT.709; the range that television uses.
_BT709, _LIMITED = 1, 1
# Browsers slow down what is faster.
_FASTEST_GIF = 50


class FilmError(Exception):
    """A film that its format cannot hold; the message says what is allowed."""


def write_film(pictures: Iterable[Pixels], count: int, fps: Fraction, path: Path) -> None:
    """Writes a film by its suffix, whole or not at all: the same bytes for the same pictures, on the same machine.

    count: of the pictures, which are taken one by one. Raises FilmError, OSError, and whatever the pictures raise.
    """
    with whole_file(path) as part:
        FILMS[path.suffix.lower()](pictures, count, fps, part)


@film(".mp4")
def write_mp4(pictures: Iterable[Pixels], count: int, fps: Fraction, path: Path) -> None:
    """H.264 as every browser plays it; its index comes first, so that it begins before all of it is there."""
    pictures = iter(pictures)
    first = next(pictures)
    height, width, _ = first.shape
    if height % 2 or width % 2:
        raise FilmError(f"an .mp4 has an even width and height, found {width}x{height}")
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart", "fflags": "+bitexact"}) as container:
        # mbtree: with it, x264 gives the same pictures other bytes now and then.
        options = {"crf": "20", "preset": "medium", "x264-params": "mbtree=0"}
        stream = container.add_stream("libx264", rate=fps, options=options)
        _encode(chain([first], pictures), container, stream, (width, height))


@film(".webp")
def write_animated_webp(pictures: Iterable[Pixels], count: int, fps: Fraction, path: Path) -> None:
    """An animated picture, again and again, for pages that play no films."""
    pictures = iter(pictures)
    first = next(pictures)
    height, width, _ = first.shape
    with av.open(str(path), "w", format="webp", options={"loop": "0", "fflags": "+bitexact"}) as container:
        stream = container.add_stream("libwebp_anim", rate=fps, options={"quality": "80"})
        _encode(chain([first], pictures), container, stream, (width, height))


@film(".gif")
def write_gif(pictures: Iterable[Pixels], count: int, fps: Fraction, path: Path) -> None:
    """Again and again, in 256 colours, those of the first picture; its times are whole hundredths of a second."""
    ends = [round(100 * (index + 1) / fps) for index in range(count)]
    if fps > _FASTEST_GIF:
        raise FilmError(f"a .gif has up to {_FASTEST_GIF} pictures a second, found {float(fps):g}")
    durations = [10 * (end - begin) for begin, end in zip([0, *ends], ends, strict=False)]
    images = (Image.fromarray(pixels) for pixels in pictures)
    first = next(images).quantize(256, dither=Image.Dither.NONE)
    rest = (image.quantize(palette=first, dither=Image.Dither.FLOYDSTEINBERG) for image in images)
    first.save(path, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)


def _encode(pictures: Iterable[Pixels], container: Any, stream: Any, size: tuple[int, int]) -> None:
    """In YUV, and says which."""
    stream.width, stream.height = size
    stream.pix_fmt = "yuv420p"
    codec = stream.codec_context
    codec.color_primaries = codec.color_trc = codec.colorspace = _BT709
    codec.color_range = _LIMITED
    for pixels in pictures:
        frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
        container.mux(stream.encode(frame.reformat(format="yuv420p", dst_colorspace=_BT709)))
    container.mux(stream.encode())
