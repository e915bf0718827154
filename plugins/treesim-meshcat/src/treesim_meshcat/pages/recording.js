// Replays a trajectory: the poses and forces become clips of meshcat's animator, which the bar at the bottom controls.

// The clip of one object out of rows of the whole scene: its own numbers begin at `start`.
function clip(path, times, rows, stride, start, more = () => []) {
    const column = (offset, width) => {
        const values = new Float32Array(times.length * width);
        for (let k = 0; k < times.length; k++) {
            const from = k * stride + start + offset;
            values.set(rows.subarray(from, from + width), k * width);
        }
        return values;
    };
    const track = (name, type, values) => ({name, type, times: times.slice(), values});
    const tracks = [
        track(".position", "vector3", column(0, 3)),
        track(".quaternion", "quaternion", column(3, 4)),
        ...more(track, column),
    ];
    return {path, clip: {fps: 1, name: path, tracks}};  // times are in seconds
}

// An arrow's eighth number is its length; it is hidden where that is 0, and never thicker than that of the weight.
const sized = (weight) => (track, column) => {
    const lengths = column(7, 1);
    const scales = new Float32Array(3 * lengths.length).map((_, i) => {
        const length = lengths[Math.floor(i / 3)];
        return i % 3 === 2 ? length : Math.min(length, weight);
    });
    return [track(".scale", "vector3", scales), track(".visible", "bool", Array.from(lengths, (length) => length > 0))];
};

function clips({bodies, view, animation: {times, poses, forces}}) {
    const moving = bodies.map((path, i) => clip(path, times, poses, 7 * bodies.length, 7 * i));
    if (!forces) return moving;
    const {paths, rows} = forces;
    return [...moving, ...paths.map((path, i) => clip(path, times, rows, 8 * paths.length, 8 * i, sized(view.weight)))];
}

function bindControls(stage, duration) {
    const animator = stage.viewer.animator;
    const toggle = () => (animator.playing ? animator.pause() : animator.play());
    element("controls").hidden = false;
    element("time").max = duration;
    element("play").addEventListener("click", toggle);
    element("time").addEventListener("input", (event) => {
        animator.pause();
        animator.seek(Number(event.target.value));
        animator.display_progress(Number(event.target.value));
    });
    element("speed").addEventListener("change", (event) => { animator.mixer.timeScale = Number(event.target.value); });
    document.addEventListener("keydown", (event) => {
        if (event.key === " " && event.target === document.body) toggle();
    });
    stage.beforeRender = () => {
        element("play").textContent = animator.playing ? "pause" : "play";
        if (document.activeElement !== element("time") || animator.playing) element("time").value = animator.time;
        element("clock").textContent = `${animator.time.toFixed(2)} / ${duration.toFixed(2)} s`;
    };
}

const stage = openStage();
element("tools").append(...new View(stage).rows());
const scene = parseScene(element("scene").textContent);
stage.load(scene);
const tree = new LinkTree(stage);
tree.begin(scene.links);
element("tools").append(...tree.rows());
stage.pose(scene.animation.poses);
if (scene.animation.times.length > 1) {
    const options = {play: true, repetitions: Infinity};
    stage.viewer.handle_command({type: "set_animation", animations: clips(scene), options});
    bindControls(stage, scene.animation.times[scene.animation.times.length - 1]);
}
