// Takes a link by the hand: Ctrl and drag, or drag alone where "pull" is switched on, as on touch screens.

const PULL_COLOR = 0xf08a24;

class Grab {
    constructor(session) {
        this.session = session;
        this.stage = session.stage;
        this.pane = element("meshcat-pane");
        this.held = null;  // {body, index, point, target, plane, pointer}
        this.always = false;  // whether a drag that begins on a link pulls it without Ctrl
        this.ray = new MeshCat.THREE.Raycaster();
        this.label = document.createElement("div");
        this.label.className = "pull-label";
        this.label.hidden = true;
        this.pane.append(this.label);
        this.listen();
        session.on("overlay", () => this.draw());
    }

    // In the capture phase, and before the camera's controls receive it.
    listen() {
        const capture = {capture: true, passive: false};
        const stop = (event) => {
            event.preventDefault();
            event.stopImmediatePropagation();
        };
        this.pane.addEventListener("pointerdown", (event) => { if (this.begin(event)) stop(event); }, capture);
        for (const kind of ["mousedown", "touchstart", "touchmove", "contextmenu"]) {
            this.pane.addEventListener(kind, (event) => { if (this.held) stop(event); }, capture);
        }
        window.addEventListener("pointermove", (event) => { if (this.mine(event)) this.move(event); }, capture);
        for (const kind of ["pointerup", "pointercancel"]) {
            window.addEventListener(kind, (event) => { if (this.mine(event)) this.end(); }, capture);
        }
        window.addEventListener("blur", () => { if (this.held) this.end(); });
    }

    mine(event) {
        return this.held && event.pointerId === this.held.pointer;
    }

    aim(event) {
        const box = this.pane.getBoundingClientRect();
        const x = 2 * (event.clientX - box.left) / box.width - 1, y = 1 - 2 * (event.clientY - box.top) / box.height;
        this.ray.setFromCamera({x, y}, this.stage.viewer.camera);
    }

    // The body under the pointer: its index, and where it is hit.
    pick(event) {
        this.aim(event);
        return this.stage.hit(this.ray);
    }

    begin(event) {
        const wanted = (event.ctrlKey || event.metaKey || this.always) && event.button === 0 && this.session.panel;
        if (!wanted || this.held || !(this.session.panel.can || []).includes("pull")) return false;
        const hit = this.pick(event);
        if (!hit || hit.index === 0) return event.ctrlKey;
        const towards = this.stage.viewer.camera.getWorldDirection(new MeshCat.THREE.Vector3());
        this.held = {
            index: hit.index,
            body: this.session.panel.bodies[hit.index],
            point: this.stage.bodies[hit.index].worldToLocal(hit.at.clone()).toArray(),
            plane: new MeshCat.THREE.Plane().setFromNormalAndCoplanarPoint(towards, hit.at),
            pointer: event.pointerId,
        };
        this.move(event);
        return true;
    }

    move(event) {
        this.aim(event);
        const target = this.ray.ray.intersectPlane(this.held.plane, new MeshCat.THREE.Vector3());
        if (!target) return;
        this.held.target = this.stage.viewer.scene.worldToLocal(target).toArray();
        const {body, point} = this.held;
        this.session.do("pull", {body, point, target: this.held.target});
    }

    end() {
        this.held = null;
        this.session.do("release");
    }

    // The arrow from the point that is held to where it is pulled, and the force [N] that the physics says.
    draw() {
        const {state, panel} = this.session;
        const pull = state && state.pull, index = pull && panel ? panel.bodies.lastIndexOf(pull.body) : -1;
        const arrow = this.arrow || (index > 0 && (this.arrow = makeArrow(this.stage, PULL_COLOR)));
        if (index <= 0) {
            if (arrow && arrow.visible) this.stage.viewer.set_dirty();
            if (arrow) arrow.visible = false;
            this.label.hidden = true;
            return;
        }
        const {scene, camera} = this.stage.viewer;
        const from = scene.worldToLocal(this.stage.bodies[index].localToWorld(new MeshCat.THREE.Vector3(...pull.point)));
        const target = this.held && this.held.target ? this.held.target : pull.target;
        pointArrow(arrow, from, new MeshCat.THREE.Vector3(...target).sub(from), this.stage.radius);
        camera.updateMatrixWorld();
        const seen = scene.localToWorld(new MeshCat.THREE.Vector3(...target)).project(camera);
        this.label.hidden = false;
        this.label.textContent = `${pull.force.toPrecision(3)} N`;
        const {offsetWidth, offsetHeight} = this.pane;
        const x = Math.min(Math.max((seen.x + 1) / 2 * offsetWidth + 14, 4), offsetWidth - 80);
        const y = Math.min(Math.max((1 - seen.y) / 2 * offsetHeight + 14, 4), offsetHeight - 32);
        this.label.style.transform = `translate(${x}px, ${y}px)`;
        this.stage.viewer.set_dirty();
    }
}
