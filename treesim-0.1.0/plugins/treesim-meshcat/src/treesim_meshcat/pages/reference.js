// The reference: a second run of the robot, as a translucent copy of what is seen of it.

const REFERENCE_COLOR = 0x2a8fd8, REFERENCE_OPACITY = 0.4;

class Reference {
    constructor(session) {
        this.session = session;
        this.stage = session.stage;
        this.bodies = [];
        session.on("scene", (scene) => this.begin(scene));
        session.on("reference", (rows) => this.pose(rows));
    }

    begin(scene) {
        for (const body of this.bodies) this.stage.viewer.scene.remove(body);
        this.bodies = [];
        this.visuals = (scene.overlays || {}).visual || [];
    }

    // Rows as those of the robot's bodies, or none.
    pose(rows) {
        if (rows.length > 0 && this.bodies.length === 0) this.build();
        this.bodies.forEach((body, i) => {
            body.visible = rows.length > 0;
            if (!body.visible) return;
            body.position.fromArray(rows, 7 * i);
            body.quaternion.fromArray(rows, 7 * i + 3);
        });
    }

    // A copy of each body's visual shapes, which share their geometry. They lie behind the robot's where both are at one
    // place: then the robot alone is seen.
    build() {
        const {THREE} = MeshCat;
        const material = new THREE.MeshPhongMaterial({
            color: REFERENCE_COLOR, transparent: true, opacity: REFERENCE_OPACITY,
            polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1,
        });
        const shapes = this.visuals.map((path) => this.stage.find(path));
        this.bodies = this.stage.bodies.map((body) => {
            const copy = new THREE.Group();
            for (const shape of shapes.filter(({parent}) => parent === body)) copy.add(shape.clone());
            copy.traverse((part) => {
                part.visible = true;
                if (part.isMesh) part.material = material;
            });
            this.stage.viewer.scene.add(copy);
            return copy;
        });
    }
}
