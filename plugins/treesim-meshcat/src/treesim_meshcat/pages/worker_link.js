// The link to physics that the page carries in itself: WebAssembly in a Worker, without a request.

// Bytes that gzip has made smaller.
async function inflated(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Modules, with all bytes in them as they were.
async function unpacked(part) {
    if (part instanceof Uint8Array) return inflated(part);
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    const fields = Object.entries(part).map(async ([name, value]) => [name, await unpacked(value)]);
    return Object.fromEntries(await Promise.all(fields));
}

class WorkerLink {
    constructor(scene) {
        this.onmessage = this.onframe = this.onstatus = () => {};
        this.scene = scene;
        this.waiting = [];  // what is asked before the physics is there
        this.start().catch((error) => this.onstatus(`the physics cannot start in this browser: ${error.message}`));
    }

    async start() {
        const {physics: robot, ...scene} = this.scene;
        for (const part of ["modules", "stages", "means", "commands", "policy"]) robot[part] = await unpacked(robot[part]);
        this.onmessage(scene);
        const url = URL.createObjectURL(new Blob([element("worker").textContent], {type: "text/javascript"}));
        this.worker = new Worker(url);
        this.worker.onmessage = ({data}) => this.take(data);
        this.worker.onerror = (error) => this.onstatus(`the physics has failed: ${error.message}`);
        this.worker.postMessage({robot});
        for (const message of this.waiting) this.worker.postMessage(message);
    }

    take(data) {
        if (data instanceof ArrayBuffer) this.onframe(data);
        else if (data.failed) this.onstatus(data.failed);
        else this.onmessage(data);
    }

    send(message) {
        if (this.worker) this.worker.postMessage(message);
        else this.waiting.push(message);
    }
}
