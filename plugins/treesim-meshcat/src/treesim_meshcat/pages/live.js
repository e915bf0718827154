// Follows a running program: text messages are scenes, binary messages are poses of all bodies.

const HEAD_BYTES = 16;  // magic, u32 number, f64 time

const stage = openStage();
const socket = new WebSocket(new URL("socket", location.href).href.replace(/^http/, "ws"));
let waiting = null;  // the newest frame that is not applied yet

socket.binaryType = "arraybuffer";
socket.addEventListener("message", ({data}) => {
    if (typeof data === "string") {
        stage.load(parseScene(data));
    } else {
        if (waiting) acknowledge(waiting);
        waiting = data;
    }
});
socket.addEventListener("close", () => {
    element("status").textContent = "the program has ended or closed this viewer";
});

function acknowledge(frame) {
    socket.send(JSON.stringify({ack: new DataView(frame).getUint32(4, true)}));
}

stage.beforeRender = () => {
    if (!waiting) return;
    stage.pose(new Float32Array(waiting, HEAD_BYTES));
    if (socket.readyState === WebSocket.OPEN) acknowledge(waiting);
    waiting = null;
};
