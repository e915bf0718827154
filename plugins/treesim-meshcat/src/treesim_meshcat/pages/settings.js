// The table of a step's settings, see treesim.simulation.step_settings: columns of numbers for each degree of freedom.

const UNLIMITED = 1e30;  // an effort limit that is none
const COLUMNS = [
    "kp", "kd", "damping", "effort", "driven", "theta", "stiffness", "rest", "gain", "explicit", "stall", "slope", "compliance",
];  // behind dt; then come those of further pieces of torque-speed curves: least speed, stall, slope

class StepSettings {
    constructor(facts) {
        const {nv, actuators: own} = facts;
        this.facts = facts;
        this.steepest = own ? own.slope.map((slope, k) => Math.max(slope, ...own.pieces.filter((_, j) => j % (3 * nv) === 2 * nv + k))) : new Float64Array(nv);
    }

    // The columns of a table, by name.
    columns(table) {
        if (this.table !== table) {
            const {nv} = this.facts;
            this.table = table;
            this.views = Object.fromEntries(COLUMNS.map((name, j) => [name, table.subarray(1 + j * nv, 1 + (j + 1) * nv)]));
        }
        return this.views;
    }

    // Whether forces depend on the acceleration of the step: those of gains, and on torque-speed lines.
    limited(table, integrator) {
        const {kp, kd, slope} = this.columns(table);
        return integrator in this.facts.theta && [kp, kd, slope].some((column) => column.some((x) => x !== 0));
    }

    // Fill a table for steps of h by an integrator, with gains kp and kd of joints without actuators.
    fill(table, h, integrator, kp, kd) {
        const {joints, damping, effort, stiffness, rest, lightest, actuators: own, theta} = this.facts, found = this.columns(table);
        table.fill(0);
        table[0] = h;
        const given = {damping, effort, stiffness, rest};
        if (own) {
            for (const name of ["kp", "kd", "driven", "gain", "explicit", "stall", "slope"]) given[name] = own[name];
            table.set(own.pieces, table.length - own.pieces.length);
        }
        for (const [name, values] of Object.entries(given)) found[name].set(values);
        joints.forEach(({v}) => {
            if (!found.driven[v]) [found.kp[v], found.kd[v]] = [kp, kd];
            const gains = found.kp[v] !== 0 || found.kd[v] !== 0;
            const limited = gains && !found.explicit[v] && integrator in theta && effort[v] < UNLIMITED && lightest[v] > 0;
            if (gains) found.driven[v] = 1;
            found.compliance[v] = limited ? 1 / lightest[v] : 0;
        });
        this.lead(found, h, theta[integrator] ?? 1);
    }

    // theta: where in the step damping, gains and currents act, as a part of it, at least `least`; inductance reduces
    // gains.
    lead({kp, kd, damping, theta, gain, explicit}, h, least) {
        const {nv, lightest, actuators: own} = this.facts;
        for (let k = 0; k < nv; k++) {
            const implicit = 1 - explicit[k], winding = own ? own.time_constant[k] : 0;
            const electric = winding > 0 ? within(1 - winding / h, least) : least;
            const damps = Math.max(damping[k], 0) + Math.max(implicit * kd[k], this.steepest[k]) * admittance(winding, electric * h);
            theta[k] = Math.max(electric, within(1 - lightest[k] / (h * damps + h * h * implicit * kp[k]), least));
            const share = admittance(winding, theta[k] * h);
            kd[k] *= share;
            gain[k] *= share;
        }
    }
}

// A number from `least` to 1; `least` where it is not finite.
const within = (x, least) => Number.isFinite(x) ? Math.min(Math.max(x, least), 1) : least;

// R / (L/t + R) of a winding with L/R = `winding`, by which inductance reduces the law of a motor.
const admittance = (winding, t) => 1 / (1 + winding / t);
