// A robot's steps in WebAssembly: the state, what acts on it, and what of it is shown. It knows no page and no clock.
//
// `facts` are those of treesim.export.description, `modules` by backend: treesim.export.webassembly's layout, and code,
// bytes. One module is one backend; all have the same arrays of doubles. `stages` by contact solver: what Contact takes.
// `means`, `commands` and `policy` (null without): what MeanForces, Commands and Policy take.

const FREQUENCY = 10;  // rad/s: of the pulled point on its spring, were it free
const STRONGEST = 3, G = 9.80665;  // weights of the robot: no pull is stronger; m/s^2
const LEAST_FORCE = 1;  // N: what the strongest pull is at least, on robots that weigh nothing
const PART_OF_STABLE = 0.25;  // of the gains at which a spring and damper held through a step become unstable
const SHORTEST = 1e-9;  // m: a spring of this length pulls nowhere
const REPEATS = 4;  // of a substep, each with more forces at their limits
const TUNED_STEPS = 16;  // substeps for which the gains of a pull stay
const DIVERGED = 1e9;  // rad, m, rad/s, m/s: beyond, sines lose their digits, and nothing moves so
const MOST_FORCES = 100;
const POLICY = "policy";  // the controller that evaluates the policy

class Physics {
    constructor({facts, modules, stages, means, commands, policy, start}) {
        this.facts = facts;
        this.settings = new StepSettings(facts);
        this.means = new MeanForces(means);
        this.commands = commands && new Commands(commands, facts.actuators.rows);
        this.policy = policy && new Policy(policy);
        this.stages = Object.fromEntries(Object.entries(stages).map(([name, stage]) => [name, new Contact(stage)]));
        this.solvers = Object.keys(this.stages);
        this.frame = "none";  // the body whose effective mass is shown
        this.forces = Object.create(null);  // {body, index, point, vector} by name
        this.start = start;
        this.modules = {};
        for (const [name, module] of Object.entries(modules)) this.modules[name] = {...functionsOf(module), rules: module.rules};
        this.backends = Object.keys(this.modules);
        Object.assign(this, {
            backend: start.backend, integrator: start.integrator, solver: start.solver, controller: start.controller,
            dt: start.dt, kp: start.kp, kd: start.kd, gravity: [...start.gravity], pulled: null,
        });
        this.reset();
    }

    get module() {
        return this.modules[this.backend];
    }

    // What makes contact and limits of a step, if anything.
    get contact() {
        return this.stages[this.solver];
    }

    // Back to the start, and to its targets and command; what else has been set stays.
    reset() {
        this.t = 0;
        this.q = Float64Array.from(this.start.q);
        this.v = Float64Array.from(this.start.v);
        this.aim(this.q);
        this.command = {...this.start.command};
        this.pulled = this.evaluation = null;
        this.moved();
    }

    // The state is another one, not by a step: nothing has been commanded before, and no force has acted.
    moved() {
        this.memory = null;
        this.force = new Float64Array(this.facts.nv);
        if (this.contact) this.contact.forget();
        this.look();
    }

    // Joints are to go to, or to stay at, a configuration.
    aim(q) {
        this.targets = Float64Array.from(this.facts.joints, (joint) => q[joint.q]);
    }

    get state() {
        return {t: this.t, q: this.q.slice(), v: this.v.slice(), memory: this.memory, evaluation: this.evaluation};
    }

    set state({t, q, v, memory, evaluation}) {
        this.t = t;
        this.q.set(q);
        this.v.set(v);
        this.moved();
        Object.assign(this, {memory, evaluation});
    }

    get substeps() {
        return this.parts(this.dt, this.integrator);
    }

    parts(dt, integrator) {
        return Math.max(1, Math.ceil(dt / (this.facts.longest[integrator] || Infinity) - 1e-9));
    }

    // Why steps of dt by an integrator under a controller are not possible, else null.
    problem(dt, integrator, controller) {
        const own = controller === POLICY ? this.policy.problem(dt) : null;
        return own || (this.commands && this.commands.problem(dt, this.parts(dt, integrator)));
    }

    // One step of dt; whether the state at its end is one of a motion. If it is not, the state stays what it was.
    step() {
        const {arrays} = this.module, count = this.substeps, h = this.dt / count;
        this.write(arrays);
        this.settle(arrays, h);
        this.means.settle(arrays.settings);
        const touches = this.contact && this.integrator in this.contact.share;
        if (touches) this.contact.begin(arrays.settings, this.gravity);
        const limited = this.settings.limited(arrays.settings, this.integrator);
        const {commands} = this, control = arrays.control.slice(), memory = this.remembered(count);
        let force = null;
        for (let k = 0; k < count; k++) {
            this.act();
            if (commands) arrays.control.set(commands.of(k, memory.numbers, arrays, control));
            force = this.substep(touches, limited);
            if (commands) commands.end(memory.numbers, force);
            arrays.q.set(arrays.q_new);
            arrays.v.set(arrays.v_new);
        }
        const moves = (x) => Math.abs(x) < DIVERGED;
        if (!(arrays.q.every(moves) && arrays.v.every(moves))) return false;
        this.q.set(arrays.q);
        this.v.set(arrays.v);
        this.t += this.dt;
        Object.assign(this, {memory, force: force.slice()});
        return true;
    }

    // The memory of actuators at the start of a step of so many parts, null without; it begins anew with another dt.
    remembered(count) {
        const {commands, memory, dt, module: {arrays}} = this;
        if (!commands) return null;
        commands.settle(dt, count, this.settings.columns(arrays.settings).theta);
        return memory && memory.dt === dt ? {dt, numbers: memory.numbers.slice()} : commands.begin(this.q);
    }

    // Take a substep; return the mean forces in it. If these may be beyond limits, it is repeated with forces at their
    // limits; see treesim.simulation.effort_limits.
    substep(touches, limited) {
        const {exports, arrays, base} = this.module, control = arrays.control.slice();
        const impulses = touches ? this.contact.arrays.before.slice() : [];
        let force = arrays.force;
        for (let again = REPEATS; again >= 0; again--) {
            exports[this.integrator](base);
            if (touches) this.contact.touch(this.integrator, arrays);
            if (!limited) break;
            const {mean, beyond} = this.means.of(arrays);
            force = mean;
            if (!again || !this.means.saturate(beyond, arrays.control)) break;
            if (touches) this.contact.arrays.before.set(impulses);
        }
        arrays.control.set(control);
        return force;
    }

    // Poses and energy of the state as it is.
    look() {
        const {exports, arrays, base} = this.module;
        this.write(arrays);
        exports.view(base);
    }

    get energy() {
        const {energy} = this.module.arrays;
        return energy[0] + energy[1];
    }

    write(arrays) {
        arrays.q.set(this.q);
        arrays.v.set(this.v);
        arrays.gravity.set(this.gravity);
        arrays.f_ext.fill(0);
    }

    // The settings of a step, and the control: that of the policy, or targets of what holds or is a position, 0 of motors.
    settle(arrays, h) {
        const {joints, actuators} = this.facts, {settings, control} = arrays, holds = this.controller === "hold";
        this.settings.fill(settings, h, this.integrator, holds ? this.kp : 0, holds ? this.kd : 0);
        control.fill(0);
        if (this.controller === POLICY) {
            this.evaluation = this.policy.at(this.t, this.q, this.v, Object.values(this.command), this.evaluation);
            control.set(this.evaluation.control);
        }
        joints.forEach(({v}, i) => {
            const moves = actuators && actuators.driven[v] && !actuators.position[v];
            if (holds && !moves) control[v] = this.targets[i];
        });
    }

    // ---- the pull: a spring and damper from a point of a body to a target, as that of treesim's live simulation:
    // f = k d - c v, critically damped for the mass behind the point, no stronger than STRONGEST

    pull(body, point, target) {
        const index = this.movingBody(body);
        if (![point, target].every(threeNumbers)) throw new Error("point and target must be three numbers [m]");
        this.pulled = {body, index, point, target, force: [0, 0, 0], steps: 0};
        this.look();
        this.tune();
        this.pulled.force = this.pullForce();
    }

    release() {
        this.pulled = null;
    }

    movingBody(body) {
        const index = this.facts.bodies.lastIndexOf(body);
        if (index < 0) throw new Error(`no body is called ${JSON.stringify(body)}`);
        if (index === 0) throw new Error("the base does not move: nothing can pull or push it");
        return index;
    }

    // An external force [N], along the world's axes, on a point of a body, in place of any of its name; null removes it.
    push(name, body, point, vector) {
        if (typeof name !== "string" || !name) throw new Error("the name of a force must be text");
        if (vector === null) {
            delete this.forces[name];
            return;
        }
        if (![point, vector].every(threeNumbers)) throw new Error("point [m] and force [N] must be three numbers");
        if (Object.keys(this.forces).length >= MOST_FORCES && !(name in this.forces)) throw new Error(`there are ${MOST_FORCES} forces already`);
        this.forces = Object.assign(Object.create(null), this.forces, {[name]: {body, index: this.movingBody(body), point, vector}});
    }

    // What acts on bodies in one substep: the pull, and external forces.
    act() {
        const {exports, arrays, base} = this.module, forces = Object.values(this.forces);
        if (!this.pulled && forces.length === 0) return;
        exports.view(base);
        arrays.f_ext.fill(0);
        if (this.pulled) this.pullOnce();
        for (const {index, point, vector} of forces) this.press(index, point, vector);
    }

    // Where a point of a body is in the world [m], as looked at last.
    placed(index, [x, y, z]) {
        const {poses} = this.module.arrays, start = 16 * index;
        return [0, 4, 8].map((row) => {
            const [a, b, c, d] = poses.subarray(start + row, start + row + 4);
            return a * x + b * y + c * z + d;
        });
    }

    // The velocity of a point of a body along the world's axes [m/s], as looked at last.
    speedOf(index, point) {
        const [u, v, w, x, y, z] = this.module.arrays.velocities.subarray(6 * index, 6 * index + 6);
        const [a, b, c] = this.placed(index, point).map((at, i) => at - this.module.arrays.poses[16 * index + 4 * i + 3]);
        return [u + y * c - z * b, v + z * a - x * c, w + x * b - y * a];
    }

    // Stiffness and damping for the mass behind the point along the pull, 1 / (n . L n) with n . L n = its acceleration
    // by a unit force along n, less where the lightest direction would not be stable.
    tune() {
        const {pulled, dt, facts: {mass}} = this, {index, point, target} = pulled;
        const place = this.placed(index, point), away = target.map((x, i) => x - place[i]), length = Math.hypot(...away);
        const inverse = this.mobility(index, point);
        const n = away.map((x) => x / Math.max(length, SHORTEST));
        const response = n.reduce((sum, x, j) => sum + x * n.reduce((part, y, i) => part + y * inverse[j][i], 0), 0);
        const behind = 1 / Math.max(response, 1 / Math.max(mass, SHORTEST));
        const lightest = 1 / Math.max(principalAxes(inverse).values[2], SHORTEST);
        pulled.stiffness = Math.min(behind * FREQUENCY ** 2, PART_OF_STABLE * lightest / dt ** 2);
        pulled.damping = Math.min(2 * behind * FREQUENCY, PART_OF_STABLE * lightest / dt);
    }

    // Λ^-1 (3, 3) of a point of a body, as looked at last: its accelerations from rest by unit forces [m/s^2/N].
    mobility(index, point) {
        const at_rest = this.pushed(index, point, [0, 0, 0]);
        const columns = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((force) => this.pushed(index, point, force).map((x, i) => x - at_rest[i]));
        return columns.map((column, i) => column.map((x, j) => (x + columns[j][i]) / 2));
    }

    // The mass that a force meets at the origin of the body that is chosen, null where none is.
    get effective_mass() {
        const index = this.facts.bodies.lastIndexOf(this.frame), origin = [0, 0, 0];
        if (index <= 0) return null;
        this.look();
        return {frame: this.frame, at: this.placed(index, origin), ...effectiveAlong(this.mobility(index, origin))};
    }

    // The acceleration from rest of a point of a body under a force [N] of the world's axes, and under gravity: what a
    // step of one second by Euler's explicit rule makes of its velocity.
    pushed(index, point, force) {
        const {exports, arrays, base} = this.module, v = arrays.v.slice(), settings = arrays.settings.slice();
        arrays.settings.fill(0);
        arrays.settings[0] = 1;
        arrays.v.fill(0);
        arrays.f_ext.fill(0);
        this.press(index, point, force);
        exports.explicit_euler(base);
        arrays.f_ext.fill(0);
        arrays.v.set(arrays.v_new);
        exports.view(base);
        const acceleration = this.speedOf(index, point);
        arrays.v.set(v);
        arrays.settings.set(settings);
        exports.view(base);
        return acceleration;
    }

    // The force [N] of the pull, along the world's axes, as looked at last.
    pullForce() {
        const {index, point, target, stiffness, damping} = this.pulled, velocity = this.speedOf(index, point);
        const force = this.placed(index, point).map((x, i) => stiffness * (target[i] - x) - damping * velocity[i]);
        const size = Math.hypot(...force), most = Math.max(STRONGEST * this.facts.mass * G, LEAST_FORCE);
        return size > most ? force.map((f) => f * most / size) : force;
    }

    // Put a force on a point of a body, as a wrench about the body's origin, in its axes as looked at last.
    press(index, [x, y, z], force) {
        const {arrays} = this.module;
        const R = arrays.poses.subarray(16 * index, 16 * index + 12);
        const [fx, fy, fz] = [0, 1, 2].map((i) => R[i] * force[0] + R[4 + i] * force[1] + R[8 + i] * force[2]);
        const wrench = [fx, fy, fz, y * fz - z * fy, z * fx - x * fz, x * fy - y * fx];
        wrench.forEach((part, i) => { arrays.f_ext[6 * (index - 1) + i] += part; });
    }

    // The pull for one substep.
    pullOnce() {
        const {pulled} = this;
        if (pulled.steps % TUNED_STEPS === 0) this.tune();
        pulled.steps += 1;
        pulled.force = this.pullForce();
        this.press(pulled.index, pulled.point, pulled.force);
    }

    // ---- what is shown

    // What drives the joints (nv) [N m, N]: springs and dampers, within their effort limits; or what actuators did last,
    // and the policy.
    get tau() {
        const {nv, joints, effort, actuators} = this.facts, tau = new Array(nv).fill(0);
        if (actuators || this.controller === POLICY) return [...this.force];
        if (this.controller === "none") return tau;
        joints.forEach(({q, v}, i) => {
            const wanted = this.kp * (this.targets[i] - this.q[q]) - this.kd * this.v[v];
            tau[v] = Math.min(Math.max(wanted, -effort[v]), effort[v]);
        });
        return tau;
    }

    // The centre of mass [m], null of a robot without mass.
    get centre() {
        const {mass, masses, centres} = this.facts;
        if (!(mass > 0)) return null;
        const places = centres.map((centre, i) => this.placed(i, centre));
        return [0, 1, 2].map((axis) => places.reduce((sum, place, i) => sum + masses[i] * place[axis], 0) / mass);
    }

    // The bodies that something touches: where they are [m], and the force on each [N].
    get contacts() {
        const found = Object.create(null);
        if (!this.contact) return found;
        const {wrench} = this.contact.arrays;
        this.facts.bodies.forEach((name, i) => {
            const force = Array.from(wrench.subarray(6 * i, 6 * i + 3));
            if (i > 0 && force.some((f) => f !== 0)) found[name] = {at: this.placed(i, [0, 0, 0]), force};
        });
        return found;
    }

    // Poses of all bodies, the base first: x y z [m] and the quaternion x y z w.
    rows() {
        const {poses} = this.module.arrays, count = this.facts.bodies.length, rows = new Float32Array(7 * count);
        for (let i = 0; i < count; i++) {
            const M = poses.subarray(16 * i, 16 * i + 16);
            rows.set([M[3], M[7], M[11], ...Physics.quaternion(M)], 7 * i);
        }
        return rows;
    }

    // The unit quaternion x y z w of the rotation in a matrix (4, 4); its largest number is computed first (Shepperd
    // 1978), so that none is lost to cancellation.
    static quaternion(M) {
        const [xx, yy, zz] = [M[0], M[5], M[10]], trace = xx + yy + zz;
        const squares = [1 + 2 * xx - trace, 1 + 2 * yy - trace, 1 + 2 * zz - trace, 1 + trace];
        const best = squares.indexOf(Math.max(...squares));
        const [yz, zx, xy] = [M[9] - M[6], M[2] - M[8], M[4] - M[1]];  // R - R'
        const [sx, sy, sz] = [M[9] + M[6], M[2] + M[8], M[4] + M[1]];  // R + R'
        const row = [[squares[0], sz, sy, yz], [sz, squares[1], sx, zx], [sy, sx, squares[2], xy], [yz, zx, xy, squares[3]]][best];
        const length = Math.hypot(...row);
        return row.map((x) => x / length);
    }

    // Values of the joints that have one coordinate, by name.
    byJoint(values) {
        return Object.fromEntries(this.facts.joints.map((joint, i) => [joint.name, values(joint, i)]));
    }
}

const threeNumbers = (given) => Array.isArray(given) && given.length === 3 && given.every(Number.isFinite);
