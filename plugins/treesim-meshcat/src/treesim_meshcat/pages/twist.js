// Torque by the mouse, with Ctrl and Shift: a pair of opposite forces at two points of a link, which turn with it.

const TWIST_NAMES = ["torque of the mouse +", "torque of the mouse -"];
const TWIST_PX = 50;  // of a drag, for a torque as of the link's weight at an arm of half the robot's size
const TWIST_ARM = 0.1;  // of the robot's size: from the middle of both points to each
const LEAST_PART = 0.01;  // of the robot's weight: what a link weighs at least

class Twist {
    constructor(session, index, link, {clientX, clientY}) {
        this.session = session;
        this.stage = session.stage;
        this.index = index;
        this.link = link;  // facts about it
        this.from = [clientX, clientY];
        this.torque = new MeshCat.THREE.Vector3();  // along the world's axes [N m]
        this.sent = null;  // the state for which forces were sent
    }

    // A drag to the right turns about the axis upwards in the picture, one upwards about that to the left.
    move({clientX, clientY}) {
        const {camera, scene} = this.stage.viewer, {Vector3} = MeshCat.THREE, {weight} = this.session.state;
        const {mass} = this.link;
        const scale = Math.max(mass * STANDARD_GRAVITY, LEAST_PART * weight) * this.stage.radius / 2 / TWIST_PX;
        const [right, up] = [0, 1].map((column) => new Vector3().setFromMatrixColumn(camera.matrixWorld, column));
        const origin = scene.worldToLocal(new Vector3()), along = (axis) => scene.worldToLocal(axis).sub(origin);
        this.torque = along(up).multiplyScalar(scale * (clientX - this.from[0])).addScaledVector(along(right), scale * (clientY - this.from[1]));
        this.send();
    }

    // The points turn with the link: forces are new for every state.
    refresh() {
        if (this.sent !== this.session.state) this.send();
    }

    send() {
        const {torque, stage, index} = this, {Vector3} = MeshCat.THREE, size = torque.length();
        this.sent = this.session.state;
        if (size === 0) return;
        const axis = torque.clone().divideScalar(size), other = Math.abs(axis.z) < 0.9 ? new Vector3(0, 0, 1) : new Vector3(1, 0, 0);
        const arm = axis.clone().cross(other).setLength(TWIST_ARM * stage.radius);
        const force = torque.clone().cross(arm).divideScalar(2 * arm.lengthSq());
        const turned = stage.bodies[index].quaternion.clone().invert();
        [1, -1].forEach((sign, k) => this.ask(k, arm.clone().multiplyScalar(sign).applyQuaternion(turned).toArray(), force.clone().multiplyScalar(sign).toArray()));
    }

    ask(k, point, force) {
        this.session.do("force", {name: TWIST_NAMES[k], body: this.session.panel.bodies[this.index], point, force});
    }

    end() {
        TWIST_NAMES.forEach((_, k) => this.ask(k, [0, 0, 0], null));
    }
}
