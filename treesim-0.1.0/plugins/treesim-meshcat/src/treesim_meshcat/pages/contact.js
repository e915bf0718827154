// What contact, joint limits and joint friction make of a free step: treesim.export.contact_module in WebAssembly.

const LEFT_OUT = 5;  // index in `solver_info` of the number of contacts beyond the capacity
const ROOM = 128;  // contacts for which room is made at a time

class Contact {
    constructor({code, image, ...layout}) {
        this.layout = layout;
        this.share = layout.share;
        this.memory = new WebAssembly.Memory({initial: layout.pages});
        const stack = new WebAssembly.Global({value: "i32", mutable: true}, layout.stack);
        const {sin, cos} = Math;
        const env = {__linear_memory: this.memory, __stack_pointer: stack, sin, cos};
        this.call = new WebAssembly.Instance(new WebAssembly.Module(code), {env}).exports.call;
        new Uint8Array(this.memory.buffer, layout.base).set(image);
        this.forget();
    }

    // The arrays, by name; made anew where the memory has grown.
    get arrays() {
        if (this.seen !== this.memory.buffer) {
            this.seen = this.memory.buffer;
            const places = Object.entries(this.layout.arrays);
            this.views = Object.fromEntries(places.map(([name, [address, count]]) => [name, new Float64Array(this.seen, address, count)]));
        }
        return this.views;
    }

    // Impulses of the step before are of no use for the next one: the state is another.
    forget() {
        this.arrays.before.fill(0);
        this.arrays.wrench.fill(0);
    }

    // Take settings, those of independent coordinates, and gravity.
    settle(settings, gravity) {
        const {kept, columns, spanning_nv} = this.layout, {settings: table, gravity: field} = this.arrays, nv = kept.length;
        table.fill(0);
        table[0] = settings[0];
        for (let j = 0; j < columns; j++) {
            kept.forEach((place, k) => { table[1 + j * spanning_nv + place] = settings[1 + j * nv + k]; });
        }
        field.set(gravity);
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
        const {base, heap, most_contacts: most} = this.layout;
        for (;;) {
            this.call(base, heap);
            const left_out = this.arrays.solver_info[LEFT_OUT], room = new BigInt64Array(this.memory.buffer, this.layout.capacity, 1);
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
