// What can be shown beside the robot: frames of its bodies, its centre of mass, the forces of contacts.

const COM_COLOR = 0xe8b90c, FORCE_COLOR = 0xd8432b;
const OVERLAYS = [  // its name, what the page must be told for it, what the panel calls it
    ["frames", null, "body frames"],
    ["com", "com", "centre of mass"],
    ["contacts", "contact", "contact forces"],
];

class Overlays {
    constructor(session) {
        this.session = session;
        this.stage = session.stage;
        this.shown = {frames: false, com: false, contacts: false};
        this.arrows = {};  // of contact forces, by body
        session.on("scene", () => this.forget());
        session.on("overlay", () => this.draw());
    }

    // Checkboxes for the panel.
    rows(panel) {
        const offered = OVERLAYS.filter(([, needs]) => !needs || (panel.can || []).includes(needs));
        return offered.map(([name, , label]) => {
            const input = make("input", {type: "checkbox", checked: this.shown[name], id: `show_${name}`});
            input.addEventListener("change", () => {
                this.shown[name] = input.checked;
                this.stage.viewer.set_dirty();
            });
            return make("label", {className: "check"}, input, label);
        });
    }

    forget() {
        this.axes = null;  // which went with the bodies
        for (const arrow of Object.values(this.arrows)) this.stage.viewer.scene.remove(arrow);
        this.arrows = {};
    }

    draw() {
        this.drawFrames();
        this.drawCentre();
        this.drawContacts();
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

    // An arrow for the force on each body that touches something; the robot's weight is as long as in recordings.
    drawContacts() {
        const {state, panel} = this.session;
        const forces = (this.shown.contacts && state && panel && state.contacts) || {};
        for (const [name, arrow] of Object.entries(this.arrows)) arrow.visible = name in forces;
        for (const [name, {at, force}] of Object.entries(forces)) {
            if (!this.arrows[name]) this.arrows[name] = makeArrow(this.stage, FORCE_COLOR);
            const along = new MeshCat.THREE.Vector3(...force).multiplyScalar(this.stage.weight / state.weight);
            pointArrow(this.arrows[name], new MeshCat.THREE.Vector3(...at), along, this.stage.radius);
        }
    }
}
