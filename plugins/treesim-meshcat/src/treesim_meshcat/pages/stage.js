"use strict";
// A scene of treesim in meshcat's viewer: what the recording and the live page share.

const GRID_CELLS = 20;  // on each side of the origin, as in scene.py
const GRID_COLOR = 0x8f9aa6, DARK_GRID_COLOR = 0x59636e;
const ARRAYS = {Float32Array, Uint8Array, Uint16Array, Uint32Array};
const FIELD_OF_VIEW = 40;  // degrees, upright
const HALF_HEIGHT = Math.tan(FIELD_OF_VIEW * Math.PI / 360);  // of the picture, at the distance 1
const MARGIN = 1.12;  // around the robot, for what is written over the picture
const LAMP = new MeshCat.THREE.Vector3(4, 1, 6);  // from the robot to the lamp
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const VIEW_DIRECTION = [0.90, 0.36, 0.24];  // from the robot to the camera, z up: its front, a little from the side

function decodeArray(value) {
    const text = atob(value.base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new ARRAYS[value.type](bytes.buffer);
}

// Meshcat's own lamps hang near the origin and reach ten metres; this one lights a robot of any size anywhere.
function keyLight() {
    const light = new MeshCat.THREE.DirectionalLight(0xffffff, 0.45);
    light.position.copy(LAMP);
    return light;
}

function make(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
}

// A square grid of short segments: software renderers drop long lines that reach behind the camera.
function gridLines(cell) {
    const points = [];
    for (let i = -GRID_CELLS; i <= GRID_CELLS; i++) {
        for (let j = -GRID_CELLS; j < GRID_CELLS; j++) {
            points.push(i, j, 0, i, j + 1, 0, j, i, 0, j + 1, i, 0);
        }
    }
    const geometry = new MeshCat.THREE.BufferGeometry();
    geometry.setAttribute("position", new MeshCat.THREE.Float32BufferAttribute(points, 3));
    geometry.scale(cell, cell, 1);
    return new MeshCat.THREE.LineSegments(geometry, new MeshCat.THREE.LineBasicMaterial({color: DARK.matches ? DARK_GRID_COLOR : GRID_COLOR}));
}

// A direction of the scene, z up, in three.js's axes.
function axisOf([dx, dy, dz]) {
    return new MeshCat.THREE.Vector3(dx, dz, -dy).normalize();
}

// How far [m] the camera must be from the middle of a box of half sides `half`, in the direction `near`, so that all corners
// are in the view, whose half sides are `wide` and `high` at the distance 1.
function distanceTo([a, b, c], near, wide, high) {
    const {Vector3} = MeshCat.THREE;
    const right = new Vector3(0, 1, 0).cross(near).normalize(), up = near.clone().cross(right);
    let distance = 0;
    for (const [i, j, k] of [[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1], [-1, 1, 1], [-1, 1, -1], [-1, -1, 1], [-1, -1, -1]]) {
        const corner = new Vector3(i * a, k * c, -j * b);
        const across = Math.max(Math.abs(corner.dot(right)) / wide, Math.abs(corner.dot(up)) / high);
        distance = Math.max(distance, MARGIN * across + corner.dot(near));
    }
    return distance;
}

function parseScene(text) {
    return JSON.parse(text, (_, value) => (value && value.base64 !== undefined ? decodeArray(value) : value));
}

const element = (id) => document.getElementById(id);

class Stage {
    constructor() {
        const pane = element("meshcat-pane");
        this.viewer = new MeshCat.Viewer(pane, false, makeRenderer(pane));
        this.viewer.set_3d_pane_size = () => this.fit();
        new ResizeObserver(() => this.fit()).observe(pane);
        this.viewer.animate = () => this.tick();  // meshcat restarts its loop after capturing images
        this.lamp = keyLight();
        this.viewer.set_object(["Lights", "KeyLight"], this.lamp);
        for (const lamp of ["PointLightNegativeX", "PointLightPositiveX"]) {
            this.viewer.set_property(["Lights", lamp], "visible", false);
        }
        DARK.addEventListener("change", () => this.shade());
        this.bodies = [];
        this.cell = 1;  // side of the grid's squares [m]
        this.planes = [];  // of the ground: level ones, and where they are drawn for a robot at the origin
        this.beforeRender = () => {};
        this.afterFollow = () => {};  // the camera is where it will be seen from
        this.beforeShadows = () => {};
        this.afterLoad = [];  // functions, called when there are other objects
        this.opacity = 1;  // of the robot, times its own
        this.loading = 0;  // images on their way
        this.frames = 0;  // how many are done: each shows all that was changed before it began
        this.anchor = null;
        this.detail = new Detail(this);
        element("follow").addEventListener("change", () => { this.anchor = null; });
        this.tick();
    }

    // The picture is as large as its place in the page.
    fit() {
        const {offsetWidth, offsetHeight} = element("meshcat-pane"), {camera, renderer} = this.viewer;
        if (!offsetWidth || !offsetHeight) return;
        camera.aspect = offsetWidth / offsetHeight;
        camera.updateProjectionMatrix();
        renderer.setSize(offsetWidth, offsetHeight);
        this.viewer.set_dirty();
    }

    // Light or dark, as the page is.
    shade() {
        const dark = DARK.matches;
        this.viewer.set_object(["Grid"], gridLines(this.cell));
        this.viewer.set_property(["Background"], "top_color", dark ? [0.16, 0.19, 0.23] : [0.95, 0.97, 1.0]);
        this.viewer.set_property(["Background"], "bottom_color", dark ? [0.05, 0.06, 0.08] : [0.62, 0.68, 0.76]);
        this.viewer.set_dirty();
    }

    tick() {
        requestAnimationFrame(() => this.tick());
        this.viewer.animator.update();
        this.beforeRender();
        this.follow();
        this.afterFollow();
        this.beforeShadows();
        this.detail.choose(this.viewer.needs_render);
        if (this.viewer.needs_render) this.viewer.render();
        this.frames += 1;
    }

    load(scene) {
        document.title = scene.title;
        element("title").textContent = scene.title;
        this.carryOut(scene);
        this.bodies = scene.bodies.map((path) => this.find(path));
        this.cell = scene.view.cell;
        this.shade();
        this.look(scene.view);
        this.changed();
    }

    changed() {
        this.seeThrough(this.opacity);
        for (const done of this.afterLoad) done();
    }

    // Draw the ground of the scene that was loaded.
    lay(ground) {
        this.carryOut(ground);
        this.floor = ground.floor;
        const isLevel = ({name, quaternion: {x, y}}) => name.endsWith(" Ground") && Math.hypot(x, y) < 1e-9;
        this.planes = this.find("ground").children.filter(isLevel).map((object) => ({object, at: object.position.clone()}));
        this.changed();
        this.viewer.set_dirty();
    }

    // Grid and level planes have no end, but are drawn with one: move them along by whole squares.
    extend({x, y}) {
        const [dx, dy] = [x, y].map((place) => this.cell * Math.round(place / this.cell));
        const grid = this.find("Grid");
        if (grid.position.x === dx && grid.position.y === dy) return;
        grid.position.set(dx, dy, 0);
        for (const {object, at} of this.planes) object.position.set(at.x + dx, at.y + dy, at.z);
        this.viewer.set_dirty();
    }

    carryOut({commands, geometries, images}) {
        this.detail.forget();
        const textures = new Map();  // by the name of their image, so that equal ones are in memory once
        for (const command of commands) {
            if (command.type === "set_object") {
                command.object.geometries = command.object.geometries.map((id) => geometries[id]);
            }
            this.viewer.handle_command(command);
            if (command.image) this.paint(command, images, textures);
        }
    }

    // Give the object that a command has drawn its image.
    paint({path, image}, images, textures) {
        if (!textures.has(image)) {
            this.loading += 1;
            const done = () => {
                this.loading -= 1;
                this.viewer.set_dirty();
            };
            const texture = new MeshCat.THREE.TextureLoader().load(images[image], done, undefined, done);
            texture.wrapS = texture.wrapT = MeshCat.THREE.RepeatWrapping;
            textures.set(image, texture);
        }
        const {material} = this.find(`${path}/<object>`);
        material.map = textures.get(image);
        material.needsUpdate = true;
    }

    // The object at a path of the scene.
    find(path) {
        return this.viewer.scene_tree.find(path.split("/").filter((entry) => entry.length > 0)).object;
    }

    // Pose every body: x y z and quaternion x y z w, one after the other.
    pose(rows) {
        this.bodies.forEach((body, i) => {
            body.position.fromArray(rows, 7 * i);
            body.quaternion.fromArray(rows, 7 * i + 3);
        });
        this.viewer.set_dirty();
    }

    // Point the camera at a box that fills the view, or, where it is not to be followed, at the ball in which a robot that
    // stays moves; the scene has z up, three.js has y up.
    look({center: [x, y, z], radius, half, floor, weight, anchor, follow}) {
        const {camera, controls} = this.viewer;
        const {offsetWidth, offsetHeight} = element("meshcat-pane");
        const high = HALF_HEIGHT, wide = high * offsetWidth / offsetHeight, near = axisOf(VIEW_DIRECTION);
        const ball = follow ? 0.1 : MARGIN * Math.hypot(1, 1 / high);  // times its radius
        const offset = near.clone().multiplyScalar(Math.max(distanceTo(half, near, wide, high), ball * radius));
        Object.assign(this, {radius, floor, weight});
        camera.fov = FIELD_OF_VIEW;
        camera.near = radius / 100;
        camera.far = radius * 1000;
        controls.target.set(x, z, -y);
        camera.position.copy(controls.target).add(offset);
        element("follow").checked = follow;
        this.anchor = new MeshCat.THREE.Vector3(anchor[0], anchor[2], -anchor[1]);
        this.viewer.set_dirty();
    }

    // See what is drawn of the robot from a direction (z up), in the middle of the picture.
    seeFrom(direction) {
        const {Box3, Vector3} = MeshCat.THREE, {camera, controls} = this.viewer, box = new Box3();
        for (const body of this.bodies) {
            body.updateWorldMatrix(true, true);
            body.traverseVisible(({isMesh, geometry, matrixWorld}) => {
                if (!isMesh) return;
                if (!geometry.boundingBox) geometry.computeBoundingBox();
                box.union(geometry.boundingBox.clone().applyMatrix4(matrixWorld));
            });
        }
        if (box.isEmpty()) return;
        const {x, y, z} = box.getSize(new Vector3()).multiplyScalar(0.5), near = axisOf(direction);
        box.getCenter(controls.target);
        camera.position.copy(near).multiplyScalar(MARGIN * distanceTo([x, z, y], near, HALF_HEIGHT * camera.aspect, HALF_HEIGHT)).add(controls.target);
        controls.update();
        this.viewer.set_dirty();
    }

    // Let the robot be seen through.
    seeThrough(opacity) {
        this.opacity = opacity;
        this.fadeRobot(opacity);
        this.viewer.set_dirty();
    }

    fadeRobot(opacity) {
        for (const body of this.bodies) body.traverse(({material}) => { if (material) fade(material, opacity); });
    }

    // The first body, the base too, that is seen under the pointer, where `ray` is aimed: its index, and where it is hit.
    hit(ray) {
        const {bodies} = this;
        for (const {object: part, point} of ray.intersectObjects(bodies, true)) {
            let object = part, seen = part.isMesh;
            while (object && !bodies.includes(object)) {
                seen = seen && object.visible;
                object = object.parent;
            }
            if (seen && object && object.visible) return {index: bodies.indexOf(object), at: point};
        }
        return null;
    }

    // Move camera and target along with the first moving body, from where it was when last looked at.
    follow() {
        const body = this.bodies[1];
        if (!body || !element("follow").checked) return;
        this.extend(body.position);
        const now = body.getWorldPosition(new MeshCat.THREE.Vector3());
        if (this.anchor) {
            const step = now.clone().sub(this.anchor);
            this.viewer.camera.position.add(step);
            this.viewer.controls.target.add(step);
        }
        this.anchor = now;
    }
}

function openStage() {
    try {
        return new Stage();
    } catch (error) {
        element("title").textContent = `This page needs WebGL, which this browser does not offer: ${error.message}`;
        throw error;
    }
}
