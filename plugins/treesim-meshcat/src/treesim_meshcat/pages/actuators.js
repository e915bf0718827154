// Actuators: mean forces of steps at their limits, and commands of those with memory; see treesim.export.kernel_module.

const ABSENT = -1;  // the place of what an actuator does not have
const HEAD = 4, SIZE = 2;  // of the table of places: numbers before its rows, and the place of the size of the memory
const LONGEST_DELAY = 256;  // steps
const NEAR = 1e-9;  // of a whole number of steps, or of substeps

// Whether a ratio is a whole number from 1 on, up to rounding.
const isMultiple = (ratio) => Math.abs(ratio - Math.max(1, Math.round(ratio))) <= NEAR * ratio;

class MeanForces {
    constructor({kernel, settings, at_limit}) {
        this.kernel = new Kernel(kernel);
        this.table = settings;
        this.at_limit = at_limit;
    }

    settle(settings) {
        this.kernel.settle(settings, this.table);
    }

    // The mean forces in a step that is in the arrays of its module, and the number of the limit that each is beyond.
    of(step) {
        const {arrays} = this.kernel;
        for (const name of ["q", "v", "q_new", "v_new", "force"]) arrays[name].set(step[name]);
        return this.kernel.run();
    }

    // Set the controls of forces beyond their limits so that they are at these; whether there are any.
    saturate(beyond, control) {
        let any = false;
        for (let k = 0; k < beyond.length; k++) {
            if (!(beyond[k] > 0)) continue;
            control[k] = this.at_limit[beyond[k]];
            any = true;
        }
        return any;
    }
}

class Commands {
    constructor({kernel, place_fields, rate_fields}, rows) {
        Object.assign(this, {kernel: new Kernel(kernel), place_fields, rate_fields, rows});
    }

    // Why steps of dt in so many parts are not possible, else null.
    problem(dt, parts) {
        for (const {name, delay, period} of this.rows) {
            if (delay / dt > LONGEST_DELAY) return `the delay of ${delay} s of the actuator of ${name} is at most ${LONGEST_DELAY} steps`;
            if (period !== null && !isMultiple(period * parts / dt)) return `the period of ${period} s of the actuator of ${name} is a multiple of the substep, which is ${dt / parts} s`;
        }
        return null;
    }

    // Make the tables for steps of dt in so many parts, with theta of each degree of freedom.
    settle(dt, parts, theta) {
        const {kernel, kernel: {layout: {integers, sizes}}} = this;
        const places = kernel.integers(...integers.places), {rates} = kernel.arrays;
        Object.assign(this, {size: 0, starts: [], currents: []});
        this.rows.forEach((row, r) => {
            const place = this.places(row, dt), rate = this.rates(row, dt, parts, theta[row.dof]);
            if (row.inductance) this.currents.push([place.current, row.dof, row.force_per_current, theta[row.dof]]);
            this.place_fields.forEach((name, k) => { places[HEAD + r * this.place_fields.length + k] = BigInt(place[name]); });
            this.rate_fields.forEach((name, k) => { rates[r * this.rate_fields.length + k] = rate[name]; });
        });
        places[SIZE] = BigInt(this.size);
        for (const name of ["memory", "after"]) kernel.integers(sizes[name], 1)[0] = BigInt(this.size);
        this.dt = dt;
    }

    // Places of the parts of an actuator in the memory, which grows by them.
    places({dof, coordinate, delay, rate_limit, lag, before, period, inductance}, dt) {
        const take = (count) => count ? (this.size += count) - count : ABSENT;
        const begun = take(before === "first" ? 1 : 0), first = this.size;
        const count = delay ? Math.ceil(delay / dt - NEAR) + 1 : 0;
        const late = {commands: take(count), slow: take(rate_limit === null ? 0 : 1), filtered: take(lag ? 1 : 0)};
        if (before === "start") this.starts.push([first, this.size, coordinate]);
        return {dof, coordinate, begun, delay: ABSENT, count, ...late, held: take(period === null ? 0 : 2), current: take(inductance ? 1 : 0)};
    }

    // Numbers of an actuator; see treesim.kernels.stepping.command.
    rates({delay, interpolate, rate_limit, lag, gain, kp, kd, period, voltage_limit, inductance}, dt, parts, theta) {
        const h = dt / parts, ratio = lag ? h / lag : Infinity;
        return {
            delay: delay / dt, substep: 1 / parts, interpolate, change: (rate_limit ?? Infinity) * h,
            decay: Math.exp(-ratio), mean: -Math.expm1(-ratio) / ratio, gain, kp, kd,
            period: period === null ? 0 : Math.round(period / h), voltage: voltage_limit ?? Infinity,
            ahead: inductance / (theta * h),
        };
    }

    // The memory of a state that starts at q, before the first command: of steps of dt.
    begin(q) {
        const numbers = new Float64Array(this.size);
        for (const [from, to, coordinate] of this.starts) numbers.fill(q[coordinate], from, to);
        return {dt: this.dt, numbers};
    }

    // The commands of the k-th part of a step from a state under a control; `memory` becomes that after them.
    of(k, memory, {q, v}, control) {
        const {arrays} = this.kernel;
        arrays.substep[0] = k;
        arrays.memory.set(memory);
        arrays.position.set(q);
        arrays.speed.set(v);
        arrays.control.set(control);
        const {after, command} = this.kernel.run();
        memory.set(after.subarray(0, this.size));
        return command;
    }

    // Put the currents at the end of a part with these mean forces into the memory.
    end(memory, force) {
        for (const [place, dof, per_current, theta] of this.currents) {
            memory[place] += (force[dof] / per_current - memory[place]) / theta;
        }
    }
}
