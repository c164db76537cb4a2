"""Names from before version 0.18 of the bundles, which models may still use."""

from __future__ import annotations

# Found by comparing the bundles 0.15 to 0.18 on PyPI with 0.19.
_MOVED = {
    ("Physics.Charges", "Physics.Geometries"): ("ContactGeometry", "Material", "LinearElasticMaterial"),
    ("Physics3D.Charges", "Physics3D.Geometries"): (
        *("Box", "Sphere", "Cylinder", "Capsule", "ContactGeometry", "TriMeshGeometry", "ExternalTriMeshGeometry"),
    ),
    ("Physics3D.Charges", "Physics3D.Interactions"): (
        *("MateConnector", "AdaptiveMateConnector", "RedirectedMateConnector", "StructuralPlanarConnector"),
    ),
    ("Physics1D.Charges", "Physics1D.Interactions"): ("MateConnector", "LinearConnector", "RotationalConnector"),
}
TYPES = {f"{old}.{name}": f"{new}.{name}" for (old, new), names in _MOVED.items() for name in names}
TYPES |= {
    "Physics.Charges.Charge": "Physics.Interactions.Connector",
    "Physics3D.Interactions.SurfaceContact.GeometryOrientedFrictionTrait": (
        "Physics3D.Interactions.SurfaceContact.Traits.GeometryOrientedFriction"
    ),
    "Physics1D.Signals.RotationalBodyAngleOutput": "Physics.Signals.AngleOutput",
    "Physics1D.Signals.RotationalBodyAngularVelocityOutput": "Physics.Signals.AngularVelocity1DOutput",
    "Physics1D.Signals.RotationalVelocityMotor1DVelocityInput": "Physics.Signals.AngularVelocity1DInput",
    "Physics3D.Signals.HingeAngleOutput": "Physics.Signals.AngleOutput",
    "Physics3D.Signals.HingeAngularVelocityOutput": "Physics.Signals.AngularVelocity1DOutput",
    "Physics3D.Signals.LinearSpringPositionInput": "Physics.Signals.Position1DInput",
    "Physics3D.Signals.LinearVelocityMotorVelocityInput": "Physics.Signals.LinearVelocity1DInput",
    "Physics3D.Signals.RotationalVelocityMotorVelocityInput": "Physics.Signals.AngularVelocity1DInput",
    "Physics3D.Signals.TorsionSpringAngleInput": "Physics.Signals.AngleInput",
    "DriveTrain.Signals.TorqueMotorInput": "Physics.Signals.Torque1DInput",
}
# New names by old names of attributes, for objects that have the new attribute but not the old one.
ATTRIBUTES = {"charges": "connectors"}
