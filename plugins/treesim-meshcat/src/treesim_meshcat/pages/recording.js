// Replays a trajectory: the poses become clips of meshcat's animator, which the bar at the bottom controls.

function clips({bodies, animation: {times, poses}}) {
    const count = times.length, stride = 7 * bodies.length;
    const column = (start, width) => {
        const values = new Float32Array(count * width);
        for (let k = 0; k < count; k++) {
            values.set(poses.subarray(k * stride + start, k * stride + start + width), k * width);
        }
        return values;
    };
    return bodies.map((path, i) => ({
        path,
        clip: {
            fps: 1,  // times are in seconds
            name: path,
            tracks: [
                {name: ".position", type: "vector3", times: times.slice(), values: column(7 * i, 3)},
                {name: ".quaternion", type: "quaternion", times: times.slice(), values: column(7 * i + 3, 4)},
            ],
        },
    }));
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
const scene = parseScene(element("scene").textContent);
stage.load(scene);
stage.pose(scene.animation.poses);
if (scene.animation.times.length > 1) {
    const options = {play: true, repetitions: Infinity};
    stage.viewer.handle_command({type: "set_animation", animations: clips(scene), options});
    bindControls(stage, scene.animation.times[scene.animation.times.length - 1]);
}
