"""Picture and film files, by suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

from PIL import Image

from sim_node.registry import Registry
from sim_node.viewing.framebuffer import Pixels


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`. It is renamed to `path` at the end, or deleted after an error."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# Writes pixels (height, width, 3) to a path with any suffix.
PictureWriter = Callable[[Pixels, Path], None]
PICTURES: Registry[str, PictureWriter] = Registry(
    "format of pictures", shipped=("sim_node.viewing.pictures",), group="sim_node.pictures"
)
# Registers a writer of picture files with a suffix.
picture = PICTURES.add


def write_picture(pixels: Pixels, path: Path) -> None:
    """Write a picture in the format of the path's suffix, atomically. The same pixels give the same bytes.

    Args:
        pixels: (height, width, 3), uint8.
        path: The file.

    Raises:
        OSError: The file cannot be written.
    """
    with whole_file(path) as part:
        PICTURES[path.suffix.lower()](pixels, part)


@picture(".png")
def write_png(pixels: Pixels, path: Path) -> None:
    """Without loss."""
    Image.fromarray(pixels).save(path, "PNG", optimize=True)


@picture(".jpg", ".jpeg")
def write_jpeg(pixels: Pixels, path: Path) -> None:
    """Write a JPEG: smaller than a PNG, with losses."""
    Image.fromarray(pixels).save(path, "JPEG", quality=90, optimize=True)


@picture(".webp")
def write_webp(pixels: Pixels, path: Path) -> None:
    """Smaller still."""
    Image.fromarray(pixels).save(path, "WEBP", quality=90, method=6)


# Writes a number of pictures (height, width, 3) at a frame rate to a path with any suffix.
FilmWriter = Callable[[Iterable[Pixels], int, Fraction, Path], None]
FILMS: Registry[str, FilmWriter] = Registry(
    "format of films", shipped=("sim_node.viewing.pictures",), group="sim_node.films"
)
# Registers a writer of film files with a suffix.
film = FILMS.add
# ITU-T H.273: primaries, transfer function and matrix of BT.709; limited range, as in television.
_BT709, _LIMITED = 1, 1
# Browsers slow down faster animations
_MAX_GIF_RATE = 50


class FilmError(Exception):
    """The format cannot hold the film. The message gives the allowed range."""


def write_film(pictures: Iterable[Pixels], count: int, fps: Fraction, path: Path) -> None:
    """Write a film in the format of the path's suffix, atomically. Reproducible on the same machine.

    Errors of the pictures' iterator are raised.

    Args:
        pictures: Pixels (height, width, 3), uint8; read one by one.
        count: Number of pictures.
        fps: Frames per second.
        path: The file.

    Raises:
        FilmError: The format cannot hold the film.
        OSError: The file cannot be written.
    """
    with whole_file(path) as part:
        FILMS[path.suffix.lower()](pictures, count, fps, part)


@film(".mp4")
def write_mp4(pictures: Iterable[Pixels], count: int, fps: Fraction, path: Path) -> None:
    """Write H.264 for all browsers; the index comes first, so that playback can start while loading."""
    import av  # of the extra `film`

    pictures = iter(pictures)
    first = next(pictures)
    height, width, _ = first.shape
    if height % 2 or width % 2:
        raise FilmError(f"an .mp4 needs an even width and height, found {width}x{height}")
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart", "fflags": "+bitexact"}) as container:
        # x264's mbtree makes the output irreproducible.
        options = {"crf": "20", "preset": "medium", "x264-params": "mbtree=0"}
        stream = container.add_stream("libx264", rate=fps, options=options)
        _encode(chain([first], pictures), container, stream, (width, height))


@film(".webp")
def write_animated_webp(pictures: Iterable[Pixels], count: int, fps: Fraction, path: Path) -> None:
    """Write an endless animation, for pages that cannot play films."""
    import av

    pictures = iter(pictures)
    first = next(pictures)
    height, width, _ = first.shape
    with av.open(str(path), "w", format="webp", options={"loop": "0", "fflags": "+bitexact"}) as container:
        stream = container.add_stream("libwebp_anim", rate=fps, options={"quality": "80"})
        _encode(chain([first], pictures), container, stream, (width, height))


@film(".gif")
def write_gif(pictures: Iterable[Pixels], count: int, fps: Fraction, path: Path) -> None:
    """Write an endless animation with the first picture's 256 colours. Times are multiples of 10 ms."""
    ends = [round(100 * (index + 1) / fps) for index in range(count)]
    if fps > _MAX_GIF_RATE:
        raise FilmError(f"a .gif can have up to {_MAX_GIF_RATE} pictures per second, found {float(fps):g}")
    durations = [10 * (end - begin) for begin, end in zip([0, *ends], ends, strict=False)]
    images = (Image.fromarray(pixels) for pixels in pictures)
    first = next(images).quantize(256, dither=Image.Dither.NONE)
    rest = (image.quantize(palette=first, dither=Image.Dither.FLOYDSTEINBERG) for image in images)
    first.save(path, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)


def _encode(pictures: Iterable[Pixels], container: Any, stream: Any, size: tuple[int, int]) -> None:
    """Encode in YUV, with the colour space declared."""
    from av import VideoFrame

    stream.width, stream.height = size
    stream.pix_fmt = "yuv420p"
    codec = stream.codec_context
    codec.color_primaries = codec.color_trc = codec.colorspace = _BT709
    codec.color_range = _LIMITED
    for pixels in pictures:
        frame = VideoFrame.from_ndarray(pixels, format="rgb24")
        container.mux(stream.encode(frame.reformat(format="yuv420p", dst_colorspace=_BT709)))
    container.mux(stream.encode())
