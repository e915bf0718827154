// Plays a robot's physics at the pace of real time, in a Worker: takes requests of the page, and sends it poses and
// state. Messages are those of session.js; the first one holds the robot: {robot: {facts, modules, stages, means, commands,
// policy, panel, ground, start, note}}; panel: what the panel offers in addition.

const MAGIC = 0x31505354;  // "TSP1", little-endian
const FRAME_HEAD = 16;  // bytes: magic, u32 number, f64 time
const FRAME_MS = 1000 / 60, STATE_MS = 50, TICK_MS = 4;
const BUDGET_MS = 30;  // of steps in a row, so that the page is heard in between
const LATE_S = 0.2;  // behind: the pace is given up, and the motion slowed down
const UNSEEN = 2;  // frames on their way to the page
const KEPT = 3600;  // states that can be gone back to: a minute of frames
const PACE_S = 1;  // over which the pace and the time of a step are measured
const CONTROLLERS = ["none", "hold"];
const LONGEST_DT = 0.05, FASTEST = 100;
const AT_LIMIT = 1e-9;  // rad, m: by so much what a slider sends may be beyond a limit, by rounding

const finite = (value, least = -Infinity, most = Infinity) => Number.isFinite(value) && value >= least && value <= most;

class Player {
    constructor({ground, note, panel, ...robot}, post) {
        const {start} = robot;
        this.physics = new Physics(robot);
        Object.assign(this, {note, own: panel});
        this.ground = ground;
        this.post = post;
        this.running = start.running;
        this.speed = start.speed;
        this.message = "";
        this.unseen = this.number = 0;
        this.stale = true;  // whether the latest poses are still to be sent
        this.framed = this.sent = -Infinity;
        this.history = [];
        this.remember();
        this.setPace();
        this.post({panel: this.panel()});
    }

    panel() {
        const {facts, backends, solvers} = this.physics, {controllers} = this;
        return {
            robot: facts.name, bodies: facts.bodies, frames: ["none", ...facts.bodies.slice(1)], backends, integrators: this.integrators, solvers,
            controllers, can: ["pull", "seek", "com", ...(this.ground ? ["contact"] : [])], note: this.note,
            joints: facts.joints, ...this.own,
        };
    }

    get controllers() {
        return [...CONTROLLERS, ...(this.physics.policy ? [POLICY] : [])];
    }

    // The rules of stepping that know what there is.
    get integrators() {
        const {module, contact, facts} = this.physics, currents = facts.actuators && facts.actuators.rows.some(({inductance}) => inductance);
        return module.rules.filter((rule) => (!this.ground || rule in contact.share) && (!currents || rule in facts.theta));
    }

    state() {
        const {physics} = this, {t, q, v, backend, integrator, solver, controller, dt, kp, kd, gravity, pulled, energy, command} = physics;
        return {
            t, running: this.running, speed: this.speed, q: [...q], v: [...v], backend, integrator, solver, controller, dt,
            kp, kd, gravity, command, tau: physics.tau, energy, contactForce: physics.contact ? physics.contact.force : null,
            contacts: physics.contacts, com: physics.centre, weight: physics.facts.mass * G,
            realTimeFactor: this.pace.factor, stepTime: this.pace.stepTime,
            message: this.message, history: [this.history[0].t, this.history[this.history.length - 1].t],
            joints: physics.byJoint((joint) => q[joint.q]),
            targets: physics.controller !== "hold" ? undefined : physics.byJoint((_, i) => physics.targets[i]),
            frame: physics.frame, effective_mass: physics.effective_mass,
            forces: Object.fromEntries(Object.entries(physics.forces).map(([name, {body, point, vector}]) => [name, {body, point, vector}])),
            pull: pulled && {body: pulled.body, point: pulled.point, target: pulled.target, force: Math.hypot(...pulled.force), vector: pulled.force},
        };
    }

    // ---- what the page asks for

    take(message) {
        if (message.ack !== undefined) {
            this.unseen -= 1;
            return;
        }
        try {
            if (message.set) this.set(message.set);
            if (message.do) this.do(message);
        } catch (error) {
            this.post({error: error.message});
        }
        this.show();
    }

    // All of the values, or none where one cannot be.
    set(values) {
        for (const [name, value] of Object.entries(values)) {
            if (!Object.hasOwn(CHECKS, name)) throw new Error(`this page cannot set ${name}, but ${Object.keys(CHECKS).join(", ")}`);
            const problem = CHECKS[name](this, value);
            if (problem) throw new Error(`${name}: ${problem}, not ${JSON.stringify(value)}`);
        }
        const {physics} = this, {dt, integrator, controller} = {dt: physics.dt, integrator: physics.integrator, controller: physics.controller, ...values};
        const problem = physics.problem(dt, integrator, controller);
        if (problem) throw new Error(`dt: ${problem}`);
        if (values.joints && (values.running ?? this.running) && controller === POLICY) throw new Error("the policy sets the targets of joints: pause, or choose the controller hold");
        for (const [name, value] of Object.entries(values)) {
            if (name in SETTERS) SETTERS[name](this, value);
            else this.physics[name] = value;
        }
    }

    do({do: what, ...more}) {
        if (!Object.hasOwn(ACTIONS, what)) throw new Error(`this page cannot do ${what}`);
        ACTIONS[what](this, more);
    }

    run(running) {
        if (running === this.running) return;
        this.running = running;
        this.message = "";
        this.setPace();
    }

    // ---- time

    // Count time from here on: the clock's, and the simulation's.
    setPace() {
        this.began = performance.now();
        this.from = this.physics.t;
        this.pace = {factor: null, stepTime: this.pace ? this.pace.stepTime : null};
        this.measured = {at: this.began, t: this.from, busy: 0, steps: 0};
    }

    // The steps that are due; what cannot be done in time is given up.
    tick() {
        if (!this.running) return;
        const {physics} = this, start = performance.now();
        const due = this.from + this.speed * (start - this.began) / 1000;
        let now = start, steps = 0;
        while (this.running && physics.t + physics.dt <= due && now - start < BUDGET_MS) {
            this.advance();
            steps += 1;
            if (steps % 4 === 0) now = performance.now();
        }
        this.measure(performance.now() - start, steps);
        if (due - physics.t > this.speed * LATE_S) {
            this.began = performance.now();
            this.from = physics.t;
        }
        if (steps > 0) this.changed();
    }

    // One step; a state that has diverged is not kept, and time stands still.
    advance() {
        const {physics} = this;
        if (physics.step()) return;
        this.running = false;
        this.message = `the motion has diverged after t = ${physics.t.toFixed(3)} s: take a smaller time step, or smaller gains`;
    }

    measure(busy, steps) {
        const {measured, physics} = this, now = performance.now();
        measured.busy += busy;
        measured.steps += steps;
        const passed = (now - measured.at) / 1000;
        if (passed < PACE_S / (this.pace.factor === null ? 5 : 1)) return;
        const stepTime = measured.steps ? measured.busy / 1000 / measured.steps : this.pace.stepTime;
        this.pace = {factor: (physics.t - measured.t) / passed, stepTime};
        this.measured = {at: now, t: physics.t, busy: 0, steps: 0};
    }

    // The state is another one than was shown.
    changed() {
        this.stale = true;
        const last = this.history[this.history.length - 1];
        if (this.physics.t - last.t >= this.speed * FRAME_MS / 1000 || this.physics.t <= last.t || !this.running) this.remember();
    }

    // Keep the state, in place of all that were at its time or later.
    remember() {
        const {state} = this.physics;
        while (this.history.length > 0 && this.history[this.history.length - 1].t >= state.t) this.history.pop();
        this.history.push(state);
        if (this.history.length > KEPT) this.history.shift();
    }

    // ---- messages to the page

    // All that has changed, at once.
    show() {
        this.physics.look();
        this.stale = true;
        this.tellPoses();
        this.sendState();
    }

    // What is due.
    emit() {
        const now = performance.now();
        if (this.stale && now - this.framed >= FRAME_MS && this.unseen < UNSEEN) {
            this.physics.look();
            this.tellPoses();
        }
        if (now - this.sent >= STATE_MS && (this.running || this.unsent)) this.sendState();
    }

    tellPoses() {
        if (this.unseen >= UNSEEN) return;
        const rows = this.physics.rows(), frame = new ArrayBuffer(FRAME_HEAD + rows.byteLength), head = new DataView(frame);
        this.number = (this.number + 1) >>> 0;
        head.setUint32(0, MAGIC, true);
        head.setUint32(4, this.number, true);
        head.setFloat64(8, this.physics.t, true);
        new Float32Array(frame, FRAME_HEAD).set(rows);
        this.unseen += 1;
        this.stale = false;
        this.framed = performance.now();
        this.post(frame, [frame]);
    }

    sendState() {
        this.sent = performance.now();
        this.unsent = this.running;  // once more after the end
        this.post({state: this.state()});
    }
}

const oneOf = (known, value) => (known.includes(value) ? null : `it must be one of ${known.join(", ")}`);
const between = (least, most, unit, value) => (finite(value, least, most) ? null : `it must be ${least} to ${most} ${unit}`);
const gain = (_, value) => (finite(value, 0) ? null : "it must be a number from 0 on");

// What can be set, by name: what a value should be, if it is not.
const CHECKS = {
    running: (_, value) => oneOf([true, false], value),
    speed: (_, value) => between(1e-3, FASTEST, "times real time", value),
    backend: ({physics}, value) => oneOf(physics.backends, value),
    solver: ({physics}, value) => oneOf(physics.solvers, value),
    integrator: ({integrators}, value) => oneOf(integrators, value),
    frame: ({physics: {facts}}, value) => oneOf(["none", ...facts.bodies.slice(1)], value),
    controller: ({controllers}, value) => oneOf(controllers, value),
    dt: (_, value) => between(1e-6, LONGEST_DT, "s", value),
    kp: gain,
    kd: gain,
    gravity: (_, value) => (Array.isArray(value) && value.length === 3 && value.every((x) => finite(x)) ? null : "it must be three numbers"),
    command: ({own: {commands = []}}, values) => {
        for (const [name, value] of Object.entries(values)) {
            const row = commands.find((known) => known.name === name);
            if (!row) return `no number of the command is called ${name}`;
            if (!finite(value, row.lower, row.upper)) return `${name} goes from ${row.lower} to ${row.upper}`;
        }
        return null;
    },
    joints: ({physics: {facts: {joints}}}, values) => {
        for (const [name, value] of Object.entries(values)) {
            const joint = joints.find((known) => known.name === name);
            if (!joint) return `no joint with one coordinate is called ${name}`;
            const {lower, upper} = joint;
            if (!finite(value, (lower ?? -Infinity) - AT_LIMIT, (upper ?? Infinity) + AT_LIMIT)) return `${name} goes from ${lower} to ${upper}`;
        }
        return null;
    },
};

// What is more than a number of the physics.
const SETTERS = {
    running: (player, value) => player.run(value),
    speed: (player, value) => {
        player.speed = value;
        player.setPace();
    },
    dt: (player, value) => {
        player.physics.dt = value;
        player.setPace();
    },
    solver: ({physics}, value) => {
        physics.solver = value;
        physics.contact.forget();
    },
    command: ({physics}, values) => { physics.command = {...physics.command, ...values}; },
    joints: (player, values) => place(player, values),
};

// Joints paused are put where they are wanted, else they are to go there; held, if nothing has driven them so far.
function place(player, values) {
    const {physics, running} = player;
    if (running && physics.controller === "none") {
        physics.aim(physics.q);
        physics.controller = "hold";
    }
    physics.facts.joints.forEach((joint, i) => {
        if (!Object.hasOwn(values, joint.name)) return;
        physics.targets[i] = values[joint.name];
        if (!running) physics.q[joint.q] = values[joint.name];
    });
    if (running) return;
    physics.moved();
    player.changed();
}

const ACTIONS = {
    reset: (player) => {
        player.physics.reset();
        player.history = [];
        player.message = "";
        player.remember();
        player.setPace();
    },
    step: (player) => {
        player.run(false);
        player.advance();
        player.changed();
    },
    seek: (player, {t}) => {
        if (!finite(t)) throw new Error("t must be a number of seconds");
        player.run(false);
        player.physics.state = player.history.findLast((state) => state.t <= t) || player.history[0];
    },
    put: (player, {q, v}) => {
        const {physics} = player, fits = (row, {length}) => Array.isArray(row) && row.length === length && row.every((x) => finite(x));
        if (!fits(q, physics.q) || !fits(v, physics.v)) throw new Error(`a state has ${physics.q.length} numbers q and ${physics.v.length} numbers v`);
        player.run(false);
        physics.state = {...physics.state, q, v};
        physics.aim(physics.q);
        player.changed();
    },
    pull: ({physics}, {body, point, target}) => physics.pull(body, point, target),
    release: ({physics}) => physics.release(),
    force: ({physics}, {name, body, point, force}) => physics.push(name, body, point, force),
};

let player = null;

onmessage = ({data}) => {
    if (player) {
        player.take(data);
        return;
    }
    try {
        player = new Player(data.robot, (message, moved) => postMessage(message, moved));
    } catch (error) {
        postMessage({failed: `the physics cannot start in this browser: ${error.message}`});
        return;
    }
    player.show();
    setInterval(() => {
        player.tick();
        player.emit();
    }, TICK_MS);
};
