// A policy: a network and the expressions before and after it, evaluated at its rate; see treesim.export.policy_module.

const EARLY = 1e-6;  // part of a period: times of steps contain rounding errors

class Policy {
    constructor({network, rate, ...functions}) {
        Object.assign(this, functionsOf(functions), {network: new Kernel(network), rate});
    }

    // Why steps of dt are not possible, else null.
    problem(dt) {
        return isMultiple(1 / this.rate / dt) ? null : `the period of ${Number((1 / this.rate).toPrecision(6))} s of the policy is a multiple of the step`;
    }

    // The evaluation in force at t, given the one before (null at the start): this, if its period lasts. It has the
    // control, the memory after it, and the state's time. Its memory begins anew after a jump; see PolicyController.
    at(t, q, v, command, last) {
        const index = Math.floor(t * this.rate + EARLY);
        let before = new Float64Array(this.arrays.memory_new.length);
        if (last && t >= last.t && index <= last.index + 1) {
            if (index === last.index && t > last.t) return last;
            before = index === last.index ? last.before : last.memory;
        }
        return {index, t, before, ...this.evaluate(t, q, v, command, before)};
    }

    evaluate(t, q, v, command, before) {
        const {arrays, exports, base, network} = this;
        for (const [name, values] of Object.entries({t: [t], q, v, command, memory: before})) {
            if (arrays[name]) arrays[name].set(values);
        }
        exports.before(base);
        network.arrays.x.set(arrays.observation);
        arrays.action.set(network.run().y);
        exports.after(base);
        return {control: arrays.control.slice(), memory: arrays.memory_new.slice()};
    }
}
