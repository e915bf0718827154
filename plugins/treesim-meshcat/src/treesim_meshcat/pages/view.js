// What a user changes about the picture: the side it is seen from, how much it lets see through, shadows; and files of it.

const SIDES = {front: [1, 0, 0], side: [0, -1, 0], top: [-1e-4, 0, 1], isometric: [1, -1, 1]};  // from the robot to the camera, z up
const FILM_TYPES = ["video/mp4;codecs=avc1.42E01E", "video/webm;codecs=vp9", "video/webm"];
const FILM_RATE = 30;  // pictures a second
const SHADOW_PIXELS = 1024;

// A file that the browser stores.
function download(name, blob) {
    const link = make("a", {href: URL.createObjectURL(blob), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

class View {
    constructor(stage) {
        this.stage = stage;
        this.shadows = new Shadows(stage);
        this.film = null;  // a MediaRecorder at work
        this.row = make("div", {className: "buttons"}, ...Object.keys(SIDES).map((name) => this.button(name, `see the robot from: ${name}`, () => stage.seeFrom(SIDES[name]))));
        this.filming = this.button("film", "record a film until the button is pressed again", () => this.shoot());
        this.filming.hidden = !window.MediaRecorder || !HTMLCanvasElement.prototype.captureStream;
        this.files = make("div", {className: "buttons"}, this.button("picture", "store a picture as PNG", () => this.picture()), this.filming);
        const opacity = make("input", {type: "range", id: "opacity", min: 0.1, max: 1, step: "any", value: 1, ariaLabel: "opacity", title: "how little the robot lets see through"});
        opacity.addEventListener("input", () => stage.seeThrough(opacity.valueAsNumber));
        const shadows = make("input", {type: "checkbox", id: "shadows"});
        shadows.addEventListener("change", () => this.shadows.cast(shadows.checked));
        this.settings = [make("label", {className: "row"}, make("span", {textContent: "opacity"}), opacity), make("label", {className: "check"}, shadows, "shadows")];
    }

    rows() {
        return [this.row, ...this.settings, this.files];
    }

    button(name, title, pressed) {
        const made = make("button", {id: `view_${name}`, textContent: name, title, type: "button"});
        made.addEventListener("click", pressed);
        return made;
    }

    get canvas() {
        return this.stage.viewer.renderer.domElement;
    }

    // The drawing buffer is only there right after it was drawn.
    picture() {
        this.stage.detail.show(false, "rests");
        this.stage.viewer.render();
        this.canvas.toBlob((blob) => download(`${document.title}.png`, blob));
    }

    shoot() {
        if (this.film) {
            this.film.stop();
            return;
        }
        this.stage.detail.show(false);
        this.stage.detail.sameSize = true;
        const mimeType = FILM_TYPES.find((type) => MediaRecorder.isTypeSupported(type)), parts = [];
        const film = new MediaRecorder(this.canvas.captureStream(FILM_RATE), {mimeType, videoBitsPerSecond: 8e6});
        film.ondataavailable = ({data}) => parts.push(data);
        film.onstop = () => {
            this.filming.textContent = "film";
            this.film = null;
            this.stage.detail.sameSize = false;
            for (const track of film.stream.getTracks()) track.stop();
            download(`${document.title}.${mimeType.slice(6).split(";")[0]}`, new Blob(parts, {type: mimeType}));
        };
        film.start();
        this.film = film;
        this.filming.textContent = "stop film";
        this.stage.viewer.set_dirty();  // a first picture, also of what rests
    }
}

// Shadows of the robot on itself and on its ground, or on the grid's plane, of the lamp above.
class Shadows {
    constructor(stage) {
        this.stage = stage;
        this.on = false;
        stage.afterLoad.push(() => { if (this.on) this.apply(); });
    }

    cast(on) {
        this.on = on;
        this.apply();
    }

    apply() {
        const {stage, on} = this, {THREE} = MeshCat, {viewer, lamp, radius} = stage;
        viewer.renderer.shadowMap.enabled = on;
        viewer.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
        lamp.castShadow = on;
        lamp.shadow.mapSize.set(SHADOW_PIXELS, SHADOW_PIXELS);
        lamp.shadow.normalBias = 0.01 * radius;
        Object.assign(lamp.shadow.camera, {left: -2 * radius, right: 2 * radius, top: 2 * radius, bottom: -2 * radius, near: 0.1 * radius, far: 20 * radius});
        lamp.shadow.camera.updateProjectionMatrix();
        if (!this.floor) {
            this.floor = new THREE.Mesh(new THREE.PlaneBufferGeometry(1, 1), new THREE.ShadowMaterial({opacity: 0.3}));
            this.floor.receiveShadow = true;
            viewer.scene.add(this.floor);
        }
        this.floor.visible = on && stage.find("ground").children.length === 0;
        this.floor.scale.setScalar(16 * radius);
        viewer.scene.traverse((part) => {
            if (!part.isMesh || part === this.floor) return;
            part.receiveShadow = on;
            part.castShadow = on && stage.bodies.some((body) => isInside(part, body)) && !part.material.transparent;
            part.material.needsUpdate = true;
        });
        stage.beforeShadows = on ? () => this.aim() : () => {};
        viewer.set_dirty();
    }

    // The lamp's light is drawn where the robot is.
    aim() {
        const {stage, floor} = this, {lamp} = stage, body = stage.bodies[1] || stage.bodies[0];
        if (!body) return;
        body.getWorldPosition(lamp.target.position);
        lamp.position.copy(LAMP).normalize().multiplyScalar(8 * stage.radius).add(lamp.target.position);
        lamp.target.updateMatrixWorld();
        floor.position.set(body.position.x, body.position.y, stage.floor + 1e-4 * stage.radius);
    }
}

function isInside(part, group) {
    for (let object = part; object; object = object.parent) if (object === group) return true;
    return false;
}

// Let a material be seen through: its own opacity times a factor.
function fade(material, factor) {
    const own = material.userData.own || (material.userData.own = {opacity: material.opacity, transparent: material.transparent});
    material.opacity = own.opacity * factor;
    material.transparent = own.transparent || factor < 1;
    material.depthWrite = factor === 1;
    material.needsUpdate = true;
}
