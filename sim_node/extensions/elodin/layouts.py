"""Layouts of components: the type and shape of their elements, and the conversion of values to such arrays."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from sim_node.extensions.elodin.errors import EcsError
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.world.problems import Where


class PrimitiveType(Enum):
    """The type of a component's numbers."""

    F64 = "float64"
    F32 = "float32"
    U64 = "uint64"
    U32 = "uint32"
    U16 = "uint16"
    U8 = "uint8"
    I64 = "int64"
    I32 = "int32"
    I16 = "int16"
    I8 = "int8"
    Bool = "bool"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type."""
        return np.dtype(self.value)


@dataclass(frozen=True)
class ComponentType:
    """The layout of a component's value.

    Attributes:
        ty: The type of its elements.
        shape: Its shape: () for a number, (3,) for a vector.

    Raises:
        TypeError: The type is not a PrimitiveType, or the shape is not of whole numbers.
    """

    ty: PrimitiveType
    shape: tuple[int, ...] = ()

    F64: ClassVar[ComponentType]
    F32: ClassVar[ComponentType]
    U64: ClassVar[ComponentType]
    Edge: ClassVar[ComponentType]
    Quaternion: ClassVar[ComponentType]
    SpatialPosF64: ClassVar[ComponentType]
    SpatialMotionF64: ClassVar[ComponentType]

    def __post_init__(self) -> None:
        if not isinstance(self.ty, PrimitiveType):
            raise TypeError(f"ComponentType: {self.ty!r} is not a PrimitiveType, such as PrimitiveType.F64")
        try:
            shape = tuple(operator.index(length) for length in self.shape)
        except TypeError:
            shape = (-1,)
        if any(length < 0 for length in shape):
            raise TypeError(f"ComponentType: the shape is a tuple of whole numbers; found {self.shape!r}")
        object.__setattr__(self, "shape", shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements."""
        return self.ty.dtype

    @property
    def size(self) -> int:
        """The number of elements of a value."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


ComponentType.F64 = ComponentType(PrimitiveType.F64)
ComponentType.F32 = ComponentType(PrimitiveType.F32)
ComponentType.U64 = ComponentType(PrimitiveType.U64)
ComponentType.Edge = ComponentType(PrimitiveType.U64, (2,))
ComponentType.Quaternion = ComponentType(PrimitiveType.F64, (4,))
ComponentType.SpatialPosF64 = ComponentType(PrimitiveType.F64, (7,))
ComponentType.SpatialMotionF64 = ComponentType(PrimitiveType.F64, (6,))


def array_of(value: Any, layout: ComponentType, what: str, where: Where) -> Any:
    """Return a value as an array with a layout. Traced values stay traced; all others become NumPy arrays.

    Numbers are converted where the layout can represent them: whole numbers to other whole numbers of the same value,
    or to floating point, but never the reverse. Only the types of traced numbers are known, so these may wrap around.

    Args:
        value: An array, a number, a list, or an object of a spatial class.
        layout: The required layout. A value whose shape differs only in dimensions of length 1 is reshaped.
        what: Whose value it is, for the message.
        where: Where it comes from, for the message.

    Raises:
        EcsError: It has another shape, or numbers that the layout's type cannot represent.
    """
    leaves = jax.tree_util.tree_leaves(value)
    if not leaves:
        raise EcsError(f"has no value; it needs {layout}", where, what)
    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
    try:
        whole = leaves[0] if len(leaves) == 1 else value
        array = jnp.asarray(whole) if traced else np.asarray(whole)
    except (TypeError, ValueError) as error:
        raise EcsError(f"is not an array ({error}); it needs {layout}", where, what) from None
    kind, needed = array.dtype.kind, layout.dtype.kind
    integers = kind in "iu" and needed in "iu"
    if kind not in "fiub" or not (integers or np.can_cast(array.dtype, layout.dtype, "same_kind")):
        raise EcsError(f"has numbers of type {array.dtype}; it needs {layout}", where, what)
    if array.shape != layout.shape:
        if [n for n in array.shape if n != 1] != [n for n in layout.shape if n != 1]:
            raise EcsError(f"has the shape {array.shape}; it needs {layout}", where, what)
        array = array.reshape(layout.shape)
    if traced:
        return jnp.asarray(array, layout.dtype)
    converted = array.astype(layout.dtype)
    if integers and (converted != array).any():
        raise EcsError(f"has numbers out of the range of {layout}", where, what)
    return converted
