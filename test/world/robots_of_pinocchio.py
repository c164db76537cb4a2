"""Runs in the environment of peers/pinocchio: where pinocchio has the links of URDF files, as JSON.

From standard input, a list of files. Joints are at random positions within their limits, and others follow them.
"""

import json
import sys

import numpy as np
import pinocchio  # type: ignore[import-not-found]


def main() -> None:
    found, rng = {}, np.random.default_rng(7)
    for file in json.load(sys.stdin):
        # Its own default is to let what mimics move by itself.
        model = pinocchio.buildModelFromUrdf(file, mimic=True)
        low, high = np.maximum(model.lowerPositionLimit, -1.0), np.minimum(model.upperPositionLimit, 1.0)
        positions, q = pinocchio.neutral(model), {}
        for number, joint in enumerate(model.joints):
            at = joint.idx_q
            if number == 0 or joint.shortname().startswith("JointModelMimic"):
                continue
            if joint.nq == 2:  # without limits: cosine and sine
                angle = rng.uniform(-1.0, 1.0)
                positions[at : at + 2] = np.cos(angle), np.sin(angle)
            else:
                angle = positions[at] = rng.uniform(low[at], high[at])
            q[model.names[number]] = float(angle)
        data = model.createData()
        pinocchio.framesForwardKinematics(model, data, positions)
        links = {
            frame.name: data.oMf[index].homogeneous.tolist()
            for index, frame in enumerate(model.frames)
            if frame.type == pinocchio.BODY
        }
        found[file] = {"q": q, "links": links}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
