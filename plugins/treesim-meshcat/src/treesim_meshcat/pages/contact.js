// What contact, joint limits and joint friction make of a free step: treesim.export.contact_module in WebAssembly.

const LEFT_OUT = 5;  // index in `solver_info` of the number of contacts beyond the capacity
const ROOM = 128;  // contacts for which room is made at a time

class Contact extends Kernel {
    constructor({kernel, settings, share, capacity, most_contacts}) {
        super(kernel);
        Object.assign(this, {table: settings, share, capacity, most_contacts});
        this.forget();
    }

    // Impulses of the step before are of no use for the next one: the state is another.
    forget() {
        this.arrays.before.fill(0);
        this.arrays.wrench.fill(0);
    }

    // Take settings, those of independent coordinates, and gravity.
    begin(settings, gravity) {
        this.settle(settings, this.table);
        this.arrays.gravity.set(gravity);
    }

    // Turn what a rule's step gave, in the arrays of its module, into the step with contact, in the same arrays.
    touch(rule, step) {
        const {arrays} = this;
        arrays.scheme[0] = this.share[rule];
        for (const name of ["q", "v", "force", "external"]) arrays[name].set(step[name]);
        arrays.q_free.set(step.q_new);
        arrays.v_free.set(step.v_new);
        const found = this.solved();
        step.q_new.set(found.q_new);
        step.v_new.set(found.v_new);
        found.before.set(found.after);
    }

    // The arrays behind a call, once there is room for all contacts.
    solved() {
        for (;;) {
            const {solver_info} = this.run(), left_out = solver_info[LEFT_OUT], room = this.integers(this.capacity, 1), most = this.most_contacts;
            if (!(left_out > 0) || room[0] >= most) return this.arrays;
            room[0] = BigInt(Math.min(ROOM * Math.ceil((Number(room[0]) + left_out) / ROOM), most));
        }
    }

    // The size of the force on the robot in the last step [N].
    get force() {
        const {wrench} = this.arrays, total = [0, 0, 0];
        for (let k = 6; k < wrench.length; k += 6) for (let i = 0; i < 3; i++) total[i] += wrench[k + i];
        return Math.hypot(...total);
    }
}
