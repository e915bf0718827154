// The link to a program's server: it connects again, for as long as the page is open, where the program was restarted.

const LOADING = "the robot is being loaded";
const RETRY_MS = [200, 500, 1000, 2000];

class SocketLink {
    constructor() {
        this.onmessage = this.onframe = this.onstatus = () => {};
        this.failures = 0;
        this.connect();
    }

    connect() {
        const socket = new WebSocket(new URL("socket", location.href).href.replace(/^http/, "ws"));
        socket.binaryType = "arraybuffer";
        socket.addEventListener("open", () => {
            this.failures = 0;
            this.onstatus(LOADING);
        });
        socket.addEventListener("message", ({data}) => {
            if (typeof data === "string") this.onmessage(parseScene(data));
            else this.onframe(data);
        });
        socket.addEventListener("close", ({reason}) => {
            this.onstatus(reason ? `${reason}: it has ended or closed this page` : "the program has ended or closed this viewer");
            setTimeout(() => this.connect(), RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)]);
            this.failures += 1;
        });
        this.socket = socket;
    }

    send(message) {
        if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
    }
}
