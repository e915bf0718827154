// What a page that shows a running simulation is made of, wherever its physics runs: behind a socket or in a Worker.
//
// A link carries JSON-able objects both ways, and poses down: `link.send(message)`; it calls `link.onmessage(message)`,
// `link.onframe(buffer)` with poses of all bodies, and of those of a reference, if there is one (magic, u32 number, f64 time, f32 x 7 each), `link.onstatus(text)`.
// Up:   {set: {...}}, {do: "reset" | "step" | "seek" | "pull" | "release" | "force" | "meet", ...}, {ack: number of a frame that is drawn}.
//       To a program that adds sliders and receives clicks: {set: {sliders: {name: value}}}, {do: "click", body: index, point}.
// Down: a scene (it has `commands`), {ground: its own commands}, {panel: {...}}, {program: {sliders, marks, clicks}}, {state: {...}}, {error: text} about what this page asked for.

const HEAD_BYTES = 16;
const WRITTEN_MS = 100;  // from one state that is written and plotted to the next, while pictures are slow

class Session {
    constructor(stage, link) {
        this.stage = stage;
        this.link = link;
        this.panel = null;  // what there is to be set, as last received
        this.program = null;  // what the program that shows the robot adds
        this.state = null;
        this.written = -Infinity;  // when the last state was
        this.busy = false;  // drawing: this state need be neither written nor plotted, because one of the next will
        this.listeners = {panel: [], program: [], state: [], error: [], status: [], overlay: [], scene: [], reference: []};
        this.waiting = null;  // the newest frame that is not applied yet
        this.latest = null;  // the one that is
        link.onmessage = (message) => this.take(message);
        link.onframe = (frame) => {
            if (this.waiting) this.acknowledge(this.waiting);
            this.waiting = frame;
        };
        link.onstatus = (text) => this.emit("status", text);
        stage.beforeRender = () => this.draw();
        stage.afterFollow = () => this.emit("overlay", this.state);
    }

    on(kind, listener) {
        this.listeners[kind].push(listener);
    }

    emit(kind, value) {
        for (const listener of this.listeners[kind]) listener(value);
    }

    take(message) {
        if (message.commands) {
            this.stage.load(message);
            this.latest = null;
            this.emit("status", "");
            this.emit("scene", message);
        }
        if (message.ground) this.stage.lay(message.ground);
        if (message.state) this.hurry(message.state);
        for (const kind of ["panel", "program", "state"]) {
            if (message[kind]) {
                this[kind] = message[kind];
                this.emit(kind, message[kind]);
            }
        }
        if (message.error) this.emit("error", message.error);
    }

    // While pictures are slow, write and plot some of the states alone; the last one before a pause always.
    hurry({running}) {
        const now = performance.now();
        this.busy = Boolean(running && this.stage.detail.few && now - this.written < WRITTEN_MS);
        if (!this.busy) this.written = now;
    }

    acknowledge(frame) {
        this.link.send({ack: new DataView(frame).getUint32(4, true)});
    }

    draw() {
        if (this.waiting) {
            this.latest = new Float32Array(this.waiting, HEAD_BYTES);
            this.stage.pose(this.latest);
            this.emit("reference", this.latest.subarray(7 * this.stage.bodies.length));
            this.acknowledge(this.waiting);
            this.waiting = null;
        }
    }

    set(values) {
        this.link.send({set: values});
    }

    do(what, more = {}) {
        this.link.send({do: what, ...more});
    }
}
