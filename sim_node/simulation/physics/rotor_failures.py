"""Failures of rotors: motors that stand, run wild or are stuck, and propellers that push less."""

from __future__ import annotations

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray

# Columns of the table of rotors: the coefficients of thrust and of drag.
_BLADES = (6, 8)


class RotorFailures:
    """What stands between the commands of rotors and their motors, and between their speeds and the air.

    It is no state of the rotors: a reset or another generation begins with sound ones.

    Args:
        rotors: The table (R, 17) of all rotors, which is changed in place; see `rotor_rows`.

    Attributes:
        commands: The commands (R,) that motors follow.
    """

    def __init__(self, rotors: FloatArray) -> None:
        self._rotors, self._blades = rotors, rotors[:, _BLADES].copy()
        self.commands = np.zeros(len(rotors))
        self._gains, self._stuck = np.ones(len(rotors)), np.full(len(rotors), np.nan)
        self._some = False

    def set(self, rotor: int, *, gain: float = 1.0, stuck: float = np.nan, blades: float = 1.0) -> None:
        """Let a rotor fail, or be sound again, in place of what was set before.

        Args:
            rotor: Its row.
            gain: What the motor's command is multiplied by; 0 for one that is off.
            stuck: The command that the motor follows whatever it is told; NaN for none.
            blades: The part of thrust, torque and drag that is left of the propeller.
        """
        self._gains[rotor], self._stuck[rotor] = gain, stuck
        self._rotors[rotor, _BLADES] = blades * self._blades[rotor]
        self._some = True

    def apply(self, commands: FloatArray) -> None:
        """Make the commands that motors follow of those that they are given (R,)."""
        if not self._some:
            self.commands[:] = commands
            return
        np.multiply(commands, self._gains, out=self.commands)
        np.copyto(self.commands, self._stuck, where=~np.isnan(self._stuck))

    def clear(self) -> None:
        """Let all rotors be sound."""
        self._gains[:], self._stuck[:] = 1.0, np.nan
        self._rotors[:, _BLADES] = self._blades
        self._some = False
