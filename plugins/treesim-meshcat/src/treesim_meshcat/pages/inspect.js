// A link that was clicked: its name, mass, joint, limits, place in the file, what the reader had to say of it, and its motion.

const CLICK_PX = 5, CLICK_MS = 500;  // a click moves less, and is shorter
const CHOSEN_COLOR = 0x2a6fb5;  // that a chosen link shines with

class Inspector {
    constructor(session, grab) {
        this.session = session;
        this.grab = grab;
        this.card = element("link");
        this.chosen = 0;  // its number; 0 is the base
        this.links = [];
        session.on("scene", ({links}) => {
            this.links = links || [];
            this.close();
        });
        session.on("state", () => this.update());
        this.listen();
    }

    // In the capture phase of the window: a pull begins with the same press of the button, and lets nobody else receive it.
    listen() {
        window.addEventListener("pointerdown", (event) => {
            const inside = element("meshcat-pane").contains(event.target) && event.button === 0;
            this.pressed = inside ? {x: event.clientX, y: event.clientY, at: event.timeStamp} : null;
        }, true);
        window.addEventListener("pointerup", (event) => {
            const from = this.pressed;
            this.pressed = null;
            if (!from || event.timeStamp - from.at > CLICK_MS) return;
            if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < CLICK_PX) this.choose(this.grab.pick(event));
        }, true);
        document.addEventListener("keydown", ({key}) => { if (key === "Escape") this.close(); });
    }

    choose(hit) {
        if (hit && this.links[hit.index]) this.open(hit.index);
        else this.close();
    }

    close() {
        this.card.hidden = true;
        this.shine(0x000000);
        this.values = {};
    }

    open(index) {
        this.close();
        this.chosen = index;
        this.shine(CHOSEN_COLOR);
        const link = this.links[index];
        const shut = make("button", {textContent: "×", title: "close (Escape)", ariaLabel: "close"});
        shut.addEventListener("click", () => this.close());
        this.card.replaceChildren(
            make("header", {}, make("h2", {textContent: link.name, title: link.name}), shut),
            make("dl", {}, ...this.facts(link)),
            ...link.findings.map((text) => make("p", {className: "finding", textContent: text})));
        this.card.hidden = false;
        this.update();
    }

    facts({mass, joint, line, links}) {
        const rows = joint ? [["mass", `${tidy(mass)} kg`]] : [["", "does not move"]];
        if (joint) rows.push(["joint", joint.follows ? `${joint.name}, ${joint.type}, follows ${joint.follows}` : `${joint.name}, ${joint.type}`]);
        for (const name of joint && joint.q ? ["q", "v", "tau"] : []) rows.push([name, this.values[name] = make("output")]);
        if (joint && joint.unit) rows.push(...limitRows(joint));
        if (links.length) rows.push(["with", links.join(", ")]);
        if (line) rows.push(["line", `${line} of the URDF`]);
        return rows.flatMap(([name, value]) => [make("dt", {textContent: name}), make("dd", {}, value)]);
    }

    // Position, velocity and torque of its joint.
    update() {
        const {state} = this.session, {joint} = this.links[this.chosen] || {};
        if (this.card.hidden || !state || !joint || !joint.q) return;
        const part = (numbers, [from, to]) => (numbers ? numbers.slice(from, to).map((x) => digits(x)).join("  ") : "-");
        const unit = joint.unit ? [joint.unit, `${joint.unit}/s`, joint.forceUnit] : ["", "", ""];
        this.values.q.textContent = `${part(state.q, joint.q)} ${unit[0]}`;
        this.values.v.textContent = `${part(state.v, joint.v)} ${unit[1]}`;
        this.values.tau.textContent = `${part(state.tau, joint.v)} ${unit[2]}`;
    }

    shine(color) {
        const body = this.stage.bodies[this.chosen];
        if (!body) return;
        body.traverse((part) => {
            if (part !== body && this.stage.bodies.includes(part)) return;
            if (part.isMesh && part.material.emissive) part.material.emissive.setHex(color);
        });
        this.stage.viewer.set_dirty();
    }

    get stage() {
        return this.session.stage;
    }
}

function limitRows({lower, upper, effort, velocity, acceleration, deceleration, jerk, unit, forceUnit}) {
    const rows = [];
    const known = (limit, otherwise) => (limit === null ? otherwise : tidy(limit));
    rows.push(["limits", lower === null && upper === null ? "none" : `${known(lower, "-∞")} to ${known(upper, "∞")} ${unit}`]);
    if (effort !== null) rows.push(["effort", `${tidy(effort)} ${forceUnit}`]);
    if (velocity !== null) rows.push(["speed", `${tidy(velocity)} ${unit}/s`]);
    if (acceleration !== null) rows.push(["acceleration", `${tidy(acceleration)} ${unit}/s²`]);
    if (deceleration !== acceleration) rows.push(["deceleration", `${known(deceleration, "∞")} ${unit}/s²`]);
    if (jerk !== null) rows.push(["jerk", `${tidy(jerk)} ${unit}/s³`]);
    return rows;
}
