// `window.treesim`: the page for programs, such as tests and notebooks.

function openApi(session) {
    // The pose of a body of the robot, or, behind those, of its reference.
    const poseOf = (name, ofReference) => {
        // the last one: the first is the base, and a link may be called "base", too
        const index = session.panel ? session.panel.bodies.lastIndexOf(name) : -1;
        if (index < 0) throw new Error(`no body is called ${JSON.stringify(name)}`);
        const rows = session.waiting ? new Float32Array(session.waiting, HEAD_BYTES) : session.latest;
        const start = 7 * (index + (ofReference ? session.panel.bodies.length : 0));
        return rows && rows.length > start ? Array.from(rows.subarray(start, start + 7)) : null;
    };
    window.treesim = {
        // {t, running, speed, q, v, joints, backend, integrator, solver, energy, realTimeFactor, ...}, as last received
        state: () => session.state,
        panel: () => session.panel,
        program: () => session.program,  // {sliders: [{name, lower, upper, value, unit}], marks, clicks}, null without any
        bodyPose: (name) => poseOf(name, false),  // [x, y, z, qx, qy, qz, qw], as received last [m]
        referencePose: (name) => poseOf(name, true),  // null where there is no reference
        set: (values) => session.set(values),
        reset: () => session.do("reset"),
        step: () => session.do("step"),
        seek: (t) => session.do("seek", {t}),
        pull: (body, point, target) => session.do("pull", {body, point, target}),  // the body's axes, the world's [m]
        release: () => session.do("release"),
        // An external force [N] of a name, along the world's axes, on a point of a body; it stays until it is removed.
        force: (name, body, point, force) => session.do("force", {name, body, point, force}),
        removeForce: (name) => session.do("force", {name, force: null}),
        meet: () => session.do("meet"),  // the reference goes to where the robot is
    };
}
