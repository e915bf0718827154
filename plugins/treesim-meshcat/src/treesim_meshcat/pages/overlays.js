// What can be shown on the robot and next to it: its shapes, skeleton, frames, axes, inertias, centre of mass, and forces.

const COM_COLOR = 0xe8b90c, FORCE_COLOR = 0xd8432b, TORQUE_COLOR = 0x1d9fb8, EXTERNAL_COLOR = 0xb0409a, FELT_COLOR = 0x2f9e6e;
const OVERLAYS = [  // its name, what the page must receive for it, what the panel calls it
    ["visual", "visual", "visual shapes"],
    ["collision", "collision", "collision shapes"],
    ["skeleton", "skeleton", "skeleton"],
    ["inertia", "inertia", "inertia ellipsoids"],
    ["axes", "axes", "joint axes"],
    ["frames", null, "body frames"],
    ["com", "com", "centre of mass"],
    ["contacts", "contact", "contact forces"],
    ["points", "points", "contact points"],
    ["external", "pull", "external forces"],
    ["torques", "axes", "joint torques"],
];
const INSIDE = ["collision", "skeleton", "inertia"];  // while they are shown, visual shapes let see through
const STANDARD_GRAVITY = 9.80665;  // m/s^2: what makes a weight of a mass
const FADED = 0.22;  // of their opacity
const TORQUE_ARM = 0.3;  // of the robot's size: its weight at this arm is as long as in contact forces

class Overlays {
    constructor(session) {
        this.session = session;
        this.stage = session.stage;
        this.shown = Object.fromEntries(OVERLAYS.map(([name]) => [name, ["visual", "external"].includes(name)]));
        this.layers = Object.create(null);  // objects of the scene, by the name of what shows them
        this.arrows = Object.create(null);  // of contact forces, by body
        this.points = Object.create(null);  // arrows of forces at contact points, by number
        this.torques = Object.create(null);  // arrows, by joint
        this.external = Object.create(null);  // arrows, by name of the force
        this.links = [];  // facts about each body
        session.on("scene", (scene) => this.begin(scene));
        this.stage.fadeRobot = () => this.showLayers();
        session.on("overlay", () => this.draw());
    }

    // Checkboxes for the panel.
    rows(panel) {
        const there = [...(panel.can || []), ...Object.keys(this.layers)];
        const offered = OVERLAYS.filter(([, needs]) => !needs || there.includes(needs));
        return offered.map(([name, , label]) => {
            const input = make("input", {type: "checkbox", checked: this.shown[name], id: `show_${name}`});
            input.addEventListener("change", () => {
                this.shown[name] = input.checked;
                this.showLayers();
            });
            return make("label", {className: "check"}, input, label);
        });
    }

    begin(scene) {
        this.axes = null;  // which went with the bodies
        this.links = scene.links || [];
        this.layers = Object.create(null);
        for (const [name, paths] of Object.entries(scene.overlays || {})) {
            this.layers[name] = paths.map((path) => this.stage.find(path));
        }
        for (const arrows of [this.arrows, this.points, this.torques, this.external]) {
            for (const arrow of Object.values(arrows)) this.stage.viewer.scene.remove(arrow);
        }
        this.arrows = Object.create(null);
        this.points = Object.create(null);
        this.torques = Object.create(null);
        this.external = Object.create(null);
        this.showLayers();
    }

    showLayers() {
        for (const [name, objects] of Object.entries(this.layers)) {
            for (const object of objects) object.visible = this.shown[name];
        }
        const factor = INSIDE.some((name) => this.shown[name] && this.layers[name]) ? FADED : 1;
        for (const object of this.layers.visual || []) {
            object.traverse(({material}) => { if (material) fade(material, factor * this.stage.opacity); });
        }
        this.stage.viewer.set_dirty();
    }

    draw() {
        this.drawFrames();
        this.drawCentre();
        this.drawContacts();
        this.drawTorques();
        this.drawExternal();
        this.drawEffectiveMass();
    }

    drawFrames() {
        if (!this.axes) {
            if (!this.shown.frames || this.stage.bodies.length === 0) return;
            this.axes = this.stage.bodies.map((body) => {
                const axes = new MeshCat.THREE.AxesHelper(0.12 * this.stage.radius);
                axes.material.depthTest = false;
                axes.renderOrder = 2;
                body.add(axes);
                return axes;
            });
        }
        for (const axes of this.axes) axes.visible = this.shown.frames;
    }

    // A ball at the centre of mass, a ring on the floor below it, and a line between them.
    drawCentre() {
        const {state} = this.session, com = this.shown.com && state && state.com;
        if (!com) {
            if (this.centre) this.centre.visible = false;
            return;
        }
        const {THREE} = MeshCat, size = this.stage.radius;
        if (!this.centre) {
            const material = new THREE.MeshBasicMaterial({color: COM_COLOR, depthTest: false, transparent: true, opacity: 0.9});
            const ball = new THREE.Mesh(new THREE.SphereBufferGeometry(1, 24, 16), material);
            const ring = new THREE.Mesh(new THREE.RingBufferGeometry(0.7, 1, 32), material);
            const line = new THREE.Mesh(new THREE.CylinderBufferGeometry(1, 1, 1, 8).rotateX(Math.PI / 2), material);
            ring.material.side = THREE.DoubleSide;
            this.centre = new THREE.Group();
            this.centre.add(ball, ring, line);
            for (const part of this.centre.children) part.renderOrder = 2;
            this.stage.viewer.scene.add(this.centre);
        }
        const [x, y, z] = com, height = z - this.stage.floor, [ball, ring, line] = this.centre.children;
        this.centre.visible = true;
        this.centre.position.set(x, y, z);
        ball.scale.setScalar(0.03 * size);
        ring.scale.setScalar(0.04 * size);
        ring.position.z = -height;
        line.scale.set(0.004 * size, 0.004 * size, Math.max(Math.abs(height), 1e-6));
        line.position.z = -height / 2;
    }

    // An arrow for the force on each body that touches something, and for that at each contact point; the robot's weight is
    // as long as in recordings.
    drawContacts() {
        const {state, panel} = this.session, there = state && panel;
        this.drawForces(this.arrows, (this.shown.contacts && there && state.contacts) || {});
        const rows = (this.shown.points && there && state.points) || [];
        this.drawForces(this.points, Object.fromEntries(rows.map((row, k) => [k, {at: row.slice(0, 3), force: row.slice(3)}])));
    }

    drawForces(arrows, forces) {
        const {state} = this.session, {Vector3} = MeshCat.THREE;
        for (const [name, arrow] of Object.entries(arrows)) arrow.visible = name in forces;
        for (const [name, {at, force}] of Object.entries(forces)) {
            if (!arrows[name]) arrows[name] = makeArrow(this.stage, FORCE_COLOR);
            const along = new Vector3(...force).multiplyScalar(this.stage.weight / state.weight);
            pointArrow(arrows[name], new Vector3(...at), along, this.stage.radius);
        }
    }

    // An arrow for each external force, of the length that contact forces have.
    drawExternal() {
        const {state, panel} = this.session, {bodies, radius} = this.stage;
        const forces = (this.shown.external && state && panel && state.forces) || {};
        for (const [name, arrow] of Object.entries(this.external)) arrow.visible = name in forces;
        for (const [name, {body, point, vector}] of Object.entries(forces)) {
            if (!this.external[name]) this.external[name] = makeArrow(this.stage, EXTERNAL_COLOR);
            const {position, quaternion} = bodies[panel.bodies.lastIndexOf(body)], {Vector3} = MeshCat.THREE;
            const from = new Vector3(...point).applyQuaternion(quaternion).add(position);
            pointArrow(this.external[name], from, new Vector3(...vector).multiplyScalar(this.stage.weight / state.weight), radius);
        }
    }

    // An ellipsoid whose axes are, from end to end, as long as the arrow of the weight of the mass that a force along them
    // moves, but not longer than that of the robot's own.
    drawEffectiveMass() {
        const {state} = this.session, effective_mass = state && state.effective_mass;
        if (!effective_mass) {
            if (this.ellipsoid) this.ellipsoid.visible = false;
            return;
        }
        const {THREE} = MeshCat;
        if (!this.ellipsoid) {
            const material = new THREE.MeshPhongMaterial({color: FELT_COLOR, transparent: true, opacity: 0.5, depthTest: false});
            this.ellipsoid = new THREE.Mesh(new THREE.SphereBufferGeometry(1, 32, 24), material);
            this.ellipsoid.renderOrder = 2;
            this.stage.viewer.scene.add(this.ellipsoid);
        }
        const mass = state.weight / STANDARD_GRAVITY;
        const half = effective_mass.masses.map((m) => this.stage.weight / 2 * Math.min(m === null ? 1 : m / mass, 1));
        const columns = [0, 1, 2].map((k) => new THREE.Vector3(...effective_mass.axes.map((row) => row[k])));
        this.ellipsoid.visible = true;
        this.ellipsoid.quaternion.setFromRotationMatrix(new THREE.Matrix4().makeBasis(...columns));
        this.ellipsoid.position.set(...effective_mass.at);
        this.ellipsoid.scale.set(...half);
    }

    // An arrow along each axis for the force or torque that drives the joint.
    drawTorques() {
        const {state} = this.session, shown = this.shown.torques && state && state.tau;
        this.links.forEach(({joint}, i) => {
            if (!joint || !joint.axis || !joint.v) return;
            if (!shown) {
                if (this.torques[joint.name]) this.torques[joint.name].visible = false;
                return;
            }
            if (!this.torques[joint.name]) this.torques[joint.name] = makeArrow(this.stage, TORQUE_COLOR);
            const {position, quaternion} = this.stage.bodies[i], {weight, radius} = this.stage;
            const arm = joint.forceUnit === "N" ? 1 : TORQUE_ARM * radius;
            const along = new MeshCat.THREE.Vector3(...joint.axis).applyQuaternion(quaternion);
            pointArrow(this.torques[joint.name], position, along.multiplyScalar(weight * state.tau[joint.v[0]] / (arm * state.weight)), radius);
        });
    }
}
