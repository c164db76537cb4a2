"""serial:DEVICE:BAUD is a serial line or a USB port (serial:/dev/ttyACM0:57600)."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Any

from sim_node.mavlink.links.endpoint import READ_SIZE, Address, Endpoint, EndpointFault, endpoint

DEFAULT_BAUD = 57600


@endpoint("serial")
class SerialLine(Endpoint):
    """A serial line with exclusive access; a device that is unplugged can be opened again."""

    datagrams = False

    def __init__(self, url: str, rest: str) -> None:
        device, colon, baud = rest.rpartition(":")
        if not colon:
            device, baud = rest, str(DEFAULT_BAUD)
        if not device or not baud.isdecimal() or int(baud) == 0:
            raise EndpointFault(
                f"url {url!r}: needs serial:DEVICE or serial:DEVICE:BAUD, as in serial:/dev/ttyACM0:57600"
            )
        self.url, self._device, self._baud = url, device, int(baud)
        self._line: Any = None

    def open(self) -> None:
        """Open the device. Raises OSError if it does not exist or is in use."""
        from serial import Serial

        try:
            self._line = Serial(self._device, self._baud, timeout=0, write_timeout=0, exclusive=True)
        except ValueError as error:
            raise OSError(errno.EINVAL, str(error)) from None

    def close(self) -> None:
        """Close the device."""
        if self._line is not None:
            with suppress(OSError):
                self._line.close()
            self._line = None

    def fileno(self) -> int:
        """Return the device's file descriptor, -1 while closed."""
        return -1 if self._line is None else int(self._line.fileno())

    def read(self) -> list[tuple[bytes, Address]]:
        """Return what has arrived. Raises OSError if the device is gone."""
        data = bytes(self._line.read(READ_SIZE))
        if not data:
            # Readable, but without data: it was unplugged.
            raise OSError(errno.ENODEV, "the device is gone")
        return [(data, None)]

    def write(self, data: bytes, to: Address) -> None:
        """Send a frame. Raises OSError (SerialException is one) if the device is gone."""
        from serial import SerialTimeoutException

        if self._line is not None:
            with suppress(SerialTimeoutException):
                self._line.write(data)
