// Modules of treesim.export in JavaScript: functions with their arrays, and kernels, whose memory also holds tables.

// The exported functions of a module of treesim.export, and its arrays, by name.
function functionsOf({code, pages, stack, arrays, base}) {
    const memory = new WebAssembly.Memory({initial: pages});
    const env = {__linear_memory: memory, __stack_pointer: new WebAssembly.Global({value: "i32", mutable: true}, stack)};
    const {exports} = new WebAssembly.Instance(new WebAssembly.Module(code), {env});
    const views = Object.entries(arrays).map(([name, [address, count]]) => [name, new Float64Array(memory.buffer, address, count)]);
    return {exports, base, arrays: Object.fromEntries(views)};
}

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
