// A kernel in WebAssembly, with a memory that holds its tables and arrays: treesim.export.kernel_module in JavaScript.

class Kernel {
    constructor({code, image, ...layout}) {
        this.layout = layout;
        this.memory = new WebAssembly.Memory({initial: layout.pages});
        const stack = new WebAssembly.Global({value: "i32", mutable: true}, layout.stack);
        const {sin, cos} = Math;
        const env = {__linear_memory: this.memory, __stack_pointer: stack, sin, cos};
        this.call = new WebAssembly.Instance(new WebAssembly.Module(code), {env}).exports.call;
        new Uint8Array(this.memory.buffer, layout.base).set(image);
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

    // Integers in the memory.
    integers(address, count) {
        return new BigInt64Array(this.memory.buffer, address, count);
    }

    // The arrays after a call.
    run() {
        this.call(this.layout.base, this.layout.heap);
        return this.arrays;
    }

    // Take settings of independent coordinates as those of the spanning tree, in the form `table`.
    settle(settings, {kept, columns, spanning_nv}) {
        const {settings: own} = this.arrays, nv = kept.length;
        if (nv === spanning_nv) {  // without mimic joints
            own.set(settings);
            return;
        }
        own.fill(0);
        own[0] = settings[0];
        for (let j = 0; j < columns; j++) {
            kept.forEach((place, k) => { own[1 + j * spanning_nv + place] = settings[1 + j * nv + k]; });
        }
    }
}
