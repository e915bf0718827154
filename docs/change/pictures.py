"""Draw the pictures of the page "Change a robot": a robot after each edit.

    python docs/change/pictures.py            # all
    python docs/change/pictures.py attach

The files are docs/change/NAME.jpg. It needs Chromium, playwright and the meshcat plugin.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright
from treesim_meshcat.film import FLAGS, installed_browser

import treesim

sys.path.insert(0, str(Path(__file__).parents[1] / "gallery"))
from draw import QUALITY, SIZE, Scene, drawn

FOLDER = Path(__file__).parent
POSE = {"shoulder_lift_joint": -1.0, "elbow_joint": 1.2, "wrist_1_joint": -0.4}
Drawn = tuple[treesim.Tree, dict[str, float], float]  # robot, positions of joints, zoom


def arm() -> treesim.Tree:
    """Return an arm with a tool, as on the page."""
    return treesim.load("ur5")


def with_shape() -> Drawn:
    """Return an arm with a camera on its last link."""
    place = treesim.Placement(translation=(0, 0, 0.03))
    robot = arm().with_shape("tool0", "box", (0.09, 0.04, 0.06), placement=place, visual=True)
    return robot, POSE, 2.2


def reduced() -> Drawn:
    """Return an arm with its elbow locked."""
    return arm().reduced({"elbow_joint": 1.2, "shoulder_lift_joint": -1.0}), {}, 2.2


def without() -> Drawn:
    """Return an arm without its wrist."""
    robot = arm().without("wrist_1_link")
    return robot, {joint: POSE[joint] for joint in robot.joint_names if joint in POSE}, 2.2


def attach() -> Drawn:
    """Return an arm with a hand."""
    return arm().attach(treesim.load("allegro_right_hand"), at="tool0", prefix="hand_"), POSE, 2.2


def rerooted() -> Drawn:
    """Return a humanoid that hangs from its wrist."""
    return treesim.load("g1").rerooted("left_wrist_yaw_link"), {}, 2.0


def mirrored() -> Drawn:
    """Return a left arm, and a right arm made of it."""
    left = treesim.load("g1").subtree("left_shoulder_pitch_link")
    right = left.mirrored("xz", rename=lambda name: name.replace("left", "right"))
    both = left.attach(right, at="left_shoulder_pitch_link", placement=treesim.Placement(translation=(0, -0.3, 0)))
    return both, {}, 1.7


def humanoid() -> Drawn:
    """Return the humanoid with hands and a box of the page."""
    robot = treesim.load("g1", base="floating")
    wrist = treesim.Placement.from_xyz_rpy((0.08, 0, 0), (0, np.pi / 2, 0))
    for side in ("left", "right"):
        hand = treesim.load(f"allegro_{side}_hand")
        robot = robot.without(f"{side}_rubber_hand")
        robot = robot.attach(hand, at=f"{side}_wrist_yaw_link", placement=wrist, prefix=f"{side}_")
    box = treesim.free_body("box", "box", (0.2, 0.3, 0.3), 1.0)
    return robot.attach(box, at="torso_link", placement=treesim.Placement(translation=(-0.2, 0, 0.15))), {}, 1.2


PICTURES: dict[str, Callable[[], Drawn]] = {
    made.__name__: made for made in (with_shape, reduced, without, attach, rerooted, mirrored, humanoid)
}

SECONDS = {"rerooted": 0.7}  # s: of a picture of a moving robot


def main(chosen: list[str]) -> None:
    """Write the pictures whose names begin with one of `chosen`, or all."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=[*FLAGS, "--no-sandbox"])
        for name, made in PICTURES.items():
            if not chosen or name.startswith(tuple(chosen)):
                robot, positions, zoom = made()
                time = SECONDS.get(name, 0.0)
                run = treesim.Simulation(robot).run(time + 0.01, robot.configuration(positions))
                image = drawn(browser, Scene(robot, run, time, zoom)).convert("RGB")
                image = image.resize(SIZE, Image.Resampling.LANCZOS)
                image.save(FOLDER / f"{name}.jpg", quality=QUALITY, optimize=True)
                print(name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
