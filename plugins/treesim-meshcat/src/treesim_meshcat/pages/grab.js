// Takes a link by the hand: Ctrl and drag, or drag alone where "pull" is switched on, as on touch screens. With Shift, too,
// the drag turns the link.

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
        this.links = [];
        session.on("scene", ({links}) => { this.links = links || []; });
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
        for (const kind of ["blur", "pagehide"]) window.addEventListener(kind, () => { if (this.held) this.end(); });
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
            twist: event.shiftKey && this.links[hit.index] ? new Twist(this.session, hit.index, this.links[hit.index], event) : null,
        };
        this.move(event);
        return true;
    }

    move(event) {
        this.aim(event);
        if (this.held.twist) {
            this.held.twist.move(event);
            const {left, top} = this.pane.getBoundingClientRect();
            this.write(`${this.held.twist.torque.length().toPrecision(3)} N m`, event.clientX - left, event.clientY - top);
            return;
        }
        const target = this.ray.ray.intersectPlane(this.held.plane, new MeshCat.THREE.Vector3());
        if (!target) return;
        this.held.target = this.stage.viewer.scene.worldToLocal(target).toArray();
        const {body, point} = this.held;
        this.session.do("pull", {body, point, target: this.held.target});
    }

    end() {
        const {twist} = this.held;
        this.held = null;
        this.label.hidden = true;
        if (twist) twist.end();
        else this.session.do("release");
    }

    // The arrow from the point that is held to where it is pulled, and the force [N] that the physics says.
    draw() {
        const {state, panel} = this.session;
        if (this.held && this.held.twist) {
            this.held.twist.refresh();
            return;
        }
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
        const {offsetWidth, offsetHeight} = this.pane;
        this.write(`${pull.force.toPrecision(3)} N`, (seen.x + 1) / 2 * offsetWidth, (1 - seen.y) / 2 * offsetHeight);
        this.stage.viewer.set_dirty();
    }

    // Show the label next to a place of the picture.
    write(text, x, y) {
        const {offsetWidth, offsetHeight} = this.pane, within = (at, size) => Math.min(Math.max(at + 14, 4), size);
        this.label.hidden = false;
        this.label.textContent = text;
        this.label.style.transform = `translate(${within(x, offsetWidth - 80)}px, ${within(y, offsetHeight - 32)}px)`;
    }
}
