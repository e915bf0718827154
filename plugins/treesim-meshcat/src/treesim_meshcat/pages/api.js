// `window.treesim`: the page for programs, such as tests and notebooks.

function openApi(session) {
    const bodyPose = (name) => {
        const index = session.panel ? session.panel.bodies.indexOf(name) : -1;
        if (index < 0) throw new Error(`no body is called ${JSON.stringify(name)}`);
        const rows = session.waiting ? new Float32Array(session.waiting, HEAD_BYTES) : session.latest;
        return rows ? Array.from(rows.subarray(7 * index, 7 * index + 7)) : null;
    };
    window.treesim = {
        // {t, running, speed, q, v, joints, backend, integrator, solver, energy, realTimeFactor, ...}, as told last
        state: () => session.state,
        panel: () => session.panel,
        program: () => session.program,  // {sliders: [{name, lower, upper, value, unit}], marks, clicks}, null without any
        bodyPose,  // [x, y, z, qx, qy, qz, qw], as received last [m]
        set: (values) => session.set(values),
        reset: () => session.do("reset"),
        step: () => session.do("step"),
        seek: (t) => session.do("seek", {t}),
        pull: (body, point, target) => session.do("pull", {body, point, target}),  // the body's axes, the world's [m]
        release: () => session.do("release"),
    };
}
