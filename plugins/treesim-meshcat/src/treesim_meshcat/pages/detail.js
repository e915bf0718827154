// Meshes with fewer triangles, for pictures that move in browsers which draw without a graphics card.

const MOST_TRIANGLES = 10000;  // of all meshes together
const COARSE = 0.65;  // pixels of a picture for each pixel of the page, along each side
const SAMPLES = 2;  // pixels of a picture at rest for each of one that moves, along each side, where none is multisampled
const SLOW = 45;  // ms from one picture to the next
const PICTURES = 12;  // whose mean is slow, but for the slowest, which may wait for something
const REST = 400;  // ms without a change

// A copy of a geometry in which vertices in one cell of a grid, with normals of one octant, are one vertex (vertex
// clustering, Rossignac and Borrel 1993). All vertices of a cell are at one place, so that no gaps open.
function clustered(geometry, cell) {
    const {position, normal, uv} = geometry.attributes, {THREE} = MeshCat;
    const low = new THREE.Box3().setFromBufferAttribute(position).min;
    const places = new Map(), vertices = new Map(), number = new Uint32Array(position.count);
    const points = [], normals = [], images = [];
    for (let i = 0; i < position.count; i++) {
        const [x, y, z] = [position.getX(i) - low.x, position.getY(i) - low.y, position.getZ(i) - low.z];
        const place = Math.floor(x / cell) + 4096 * (Math.floor(y / cell) + 4096 * Math.floor(z / cell));
        if (!places.has(place)) places.set(place, i);
        const octant = normal ? (normal.getX(i) > 0) + 2 * (normal.getY(i) > 0) + 4 * (normal.getZ(i) > 0) : 0;
        const key = 8 * place + octant;
        if (!vertices.has(key)) {
            const first = places.get(place);
            vertices.set(key, points.length / 3);
            points.push(position.getX(first), position.getY(first), position.getZ(first));
            if (normal) normals.push(normal.getX(i), normal.getY(i), normal.getZ(i));
            if (uv) images.push(uv.getX(i), uv.getY(i));
        }
        number[i] = vertices.get(key);
    }
    const whole = geometry.index, triangles = [];
    const count = whole ? whole.count : position.count, corner = (k) => number[whole ? whole.getX(k) : k];
    const at = (vertex) => `${points[3 * vertex]} ${points[3 * vertex + 1]} ${points[3 * vertex + 2]}`;
    for (let k = 0; k + 2 < count; k += 3) {
        const [a, b, c] = [corner(k), corner(k + 1), corner(k + 2)];
        if (at(a) !== at(b) && at(b) !== at(c) && at(c) !== at(a)) triangles.push(a, b, c);
    }
    const copy = new THREE.BufferGeometry();
    copy.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
    if (normal) copy.setAttribute("normal", new THREE.Float32BufferAttribute(normals, 3));
    if (uv) copy.setAttribute("uv", new THREE.Float32BufferAttribute(images, 2));
    copy.setIndex(triangles);
    return copy;
}

// A material that is shaded at vertices instead of pixels; both share what overlays store about it.
function shadedAtVertices(material) {
    const {color, map, side, opacity, transparent, depthWrite, userData} = material;
    return Object.assign(new MeshCat.THREE.MeshLambertMaterial({color, map, side, opacity, transparent, depthWrite}), {userData});
}

const triangleCount = (geometry) => Math.floor((geometry.index || geometry.attributes.position).count / 3);

// Whether the browser draws without a graphics card, if its name says so.
function drawsInSoftware() {
    const gl = document.createElement("canvas").getContext("webgl");
    const names = gl && gl.getExtension("WEBGL_debug_renderer_info");
    return Boolean(gl) && /swiftshader|llvmpipe|software|basic render/i.test(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}

// The renderer of a page. Without a graphics card, multisampling takes a third of the time of a picture: there, pictures at
// rest have more pixels instead. Films show each picture at rest, and need their size.
function makeRenderer(pane) {
    const renderer = new MeshCat.THREE.WebGLRenderer({antialias: !drawsInSoftware() || location.hash === "#film", alpha: true});
    pane.appendChild(renderer.domElement);
    return renderer;
}

// While pictures change slowly, they have few triangles and pixels. As soon as nothing moves, they are drawn whole.
class Detail {
    constructor(stage) {
        const {renderer} = stage.viewer, ratio = renderer.getPixelRatio();
        this.stage = stage;
        this.ratios = {few: COARSE, moves: ratio, rests: renderer.getContext().getContextAttributes().antialias ? ratio : SAMPLES * ratio};
        this.forget();
        this.intervals = [];  // between the last pictures that changed
        this.changed = performance.now();
        this.still = null;  // since when nothing moves
        this.sameSize = false;  // of all pictures, while a film is recorded
    }

    // The scene has other objects: their copies are made when they are needed.
    forget() {
        if (this.few) this.show(false);
        this.meshes = null;
        this.few = false;
    }

    // Called before a picture may be drawn; changes: whether something moves.
    choose(changes) {
        const now = performance.now();
        if (!changes) {
            this.still = this.still || now;
            if (now - this.still > REST) this.show(false, "rests");
            return;
        }
        const rested = this.still && now - this.still > REST;
        this.intervals = document.hidden ? [] : [...this.intervals.slice(1 - PICTURES), now - this.changed];
        Object.assign(this, {changed: now, still: null});
        const total = this.intervals.reduce((sum, each) => sum + each, -Math.max(...this.intervals));
        const slow = this.intervals.length === PICTURES && total > (PICTURES - 1) * SLOW;
        this.show(slow || this.few || Boolean(this.meshes && !rested));
    }

    show(few, pace = few ? "few" : "moves") {
        this.resize(this.ratios[pace]);
        if (few === this.few) return;
        this.meshes = this.meshes || this.simplified();
        this.few = few;
        for (const {mesh, whole, copy, fine, plain} of this.meshes) {
            mesh.geometry = few ? copy : whole;
            if (mesh.material === (few ? plain : fine)) continue;
            const {color, opacity, transparent, depthWrite} = mesh.material;  // which the page may have changed
            mesh.material = few ? plain : fine;
            mesh.material.color.copy(color);
            Object.assign(mesh.material, {opacity, transparent, depthWrite});
        }
        this.stage.viewer.set_dirty();
    }

    resize(ratio) {
        const {renderer} = this.stage.viewer;
        if (this.sameSize || renderer.getPixelRatio() === ratio) return;
        renderer.setPixelRatio(ratio);
        this.stage.fit();
    }

    // The meshes that are seen, each with its geometry, material and copies of both; cells grow until all copies have few triangles.
    simplified() {
        const meshes = [], scale = new MeshCat.THREE.Vector3();
        this.stage.viewer.scene.traverseVisible((mesh) => {
            const {geometry: whole, material: fine} = mesh;
            if (!mesh.isMesh || !fine.isMeshPhongMaterial) return;
            meshes.push({mesh, whole, fine, plain: shadedAtVertices(fine)});
        });
        for (let side = this.stage.radius / 300, total = Infinity; total > MOST_TRIANGLES; side *= 1.2) {
            const copies = new Map();  // several meshes may show one geometry
            total = 0;
            for (const each of meshes) {
                const {whole, mesh} = each, {x, y, z} = mesh.getWorldScale(scale);
                if (!copies.has(whole)) {
                    const heavy = triangleCount(whole) > 200;
                    copies.set(whole, heavy ? clustered(whole, side / Math.max(x, y, z)) : whole);
                }
                each.copy = copies.get(whole);
                total += triangleCount(each.copy);
            }
            if (side > this.stage.radius / 4) break;  // many small meshes
        }
        return meshes;
    }
}
