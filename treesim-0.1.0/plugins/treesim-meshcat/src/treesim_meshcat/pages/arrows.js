// Arrows over the scene, in its axes (z up).

const ARROW_RADIUS = 0.008, HEAD_RADIUS = 0.025, HEAD_LENGTH = 0.08;  // of the robot's size

function makeArrow(stage, color) {
    const {THREE} = MeshCat;
    const material = new THREE.MeshBasicMaterial({color, depthTest: false, transparent: true, opacity: 0.9});
    const shaft = new THREE.CylinderBufferGeometry(1, 1, 1, 16).translate(0, 0.5, 0);
    const tip = new THREE.ConeBufferGeometry(1, 1, 24).translate(0, 0.5, 0);
    const arrow = new THREE.Group();
    arrow.add(new THREE.Mesh(shaft, material), new THREE.Mesh(tip, material));
    for (const part of arrow.children) part.renderOrder = 2;
    stage.viewer.scene.add(arrow);
    return arrow;
}

// Let an arrow lead from a point along a vector, in the scene's axes [m].
function pointArrow(arrow, from, along, size) {
    const length = along.length(), head = Math.min(HEAD_LENGTH * size, length), [shaft, tip] = arrow.children;
    arrow.visible = length > 1e-6;
    arrow.position.copy(from);
    arrow.quaternion.setFromUnitVectors(new MeshCat.THREE.Vector3(0, 1, 0), along.clone().normalize());
    shaft.scale.set(ARROW_RADIUS * size, Math.max(length - head, 1e-6), ARROW_RADIUS * size);
    tip.scale.set(HEAD_RADIUS * size, Math.max(head, 1e-6), HEAD_RADIUS * size);
    tip.position.y = length - head;
}
