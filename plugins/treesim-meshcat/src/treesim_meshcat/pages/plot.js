// A plot beside the view of what the physics tells: the last half minute of one quantity.

const KEPT_S = 30;
const PLOT_HEIGHT = 110, PLOT_PAD = {left: 46, right: 6, top: 8, bottom: 18};
const QUANTITIES = {  // by what the choice calls them: the number in a state, and its unit
    "energy": [(state) => state.energy, "J"],
    "energy drift": [(state, first) => state.energy - first.energy, "J"],
    "real-time factor": [(state) => state.realTimeFactor, ""],
    "contact force": [(state) => state.contactForce, "N"],
    "pull": [(state) => (state.pull ? state.pull.force : 0), "N"],
};

// Two numbers in as few digits, from three on, as tell them apart.
function twoLabels(low, high) {
    const apart = Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / (high - low))) + 1;
    const digits = Math.min(Math.max(apart, 3), 9);
    return [low.toPrecision(digits), high.toPrecision(digits)];
}

class Plot {
    constructor(session) {
        this.session = session;
        this.states = [];  // of the last half minute of simulated time
        this.chosen = "energy";
        session.on("state", (state) => this.add(state));
        session.on("scene", () => { this.states = []; });
    }

    rows(panel) {
        const joints = (panel.joints || []).flatMap(({name, unit}) => [
            [`${name}: q`, [(state) => state.joints[name], unit]],
            ...(panel.joints.length === (this.session.state ? this.session.state.v.length : -1)
                ? [[`${name}: v`, [(state) => state.v[panel.joints.findIndex((joint) => joint.name === name)], `${unit}/s`]]]
                : []),
        ]);
        this.quantities = {...QUANTITIES, ...Object.fromEntries(joints)};
        if (!(panel.can || []).includes("contact")) delete this.quantities["contact force"];
        if (!(this.chosen in this.quantities)) this.chosen = "energy";
        const control = choice(Object.keys(this.quantities), (name) => {
            this.chosen = name;
            this.draw();
        }, "what is plotted");
        control.input.id = "plotted";
        control.write(this.chosen);
        this.canvas = make("canvas", {id: "plot", height: PLOT_HEIGHT});
        new ResizeObserver(() => this.draw()).observe(this.canvas);
        return [make("label", {className: "plotted"}, control.input), this.canvas];
    }

    add(state) {
        const last = this.states[this.states.length - 1];
        if (last && state.t < last.t) this.states = this.states.filter(({t}) => t < state.t);
        if (last && state.t === last.t) this.states.pop();
        this.states.push(state);
        while (this.states[0].t < state.t - KEPT_S) this.states.shift();
        this.draw();
    }

    draw() {
        const {canvas} = this;
        if (!canvas || !canvas.clientWidth || this.states.length === 0) return;
        const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
        if (canvas.width !== Math.round(width * ratio)) {
            canvas.width = Math.round(width * ratio);
            canvas.height = Math.round(PLOT_HEIGHT * ratio);
        }
        const [value, unit] = this.quantities[this.chosen], first = this.states[0];
        const points = this.states.map((state) => [state.t, value(state, first)]).filter(([, y]) => Number.isFinite(y));
        const pen = canvas.getContext("2d");
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        pen.clearRect(0, 0, width, PLOT_HEIGHT);
        if (points.length > 0) this.line(pen, width, points, unit);
    }

    line(pen, width, points, unit) {
        const {right, top, bottom} = PLOT_PAD, style = getComputedStyle(document.body);
        const ys = points.map(([, y]) => y), t0 = points[0][0], t1 = Math.max(points[points.length - 1][0], t0 + 1);
        let low = Math.min(...ys), high = Math.max(...ys);
        const room = Math.max(0.05 * (high - low), 1e-6 * Math.max(Math.abs(low), Math.abs(high)), 1e-9);
        low -= room;
        high += room;
        pen.font = "11px system-ui, sans-serif";
        const ends = twoLabels(low, high);
        const left = Math.max(PLOT_PAD.left, ...ends.map((label) => pen.measureText(label).width + 6));
        const x = (t) => left + (t - t0) / (t1 - t0) * (width - left - right);
        const y = (value) => PLOT_HEIGHT - bottom - (value - low) / (high - low) * (PLOT_HEIGHT - top - bottom);
        pen.fillStyle = style.getPropertyValue("--faint");
        pen.strokeStyle = style.getPropertyValue("--line");
        pen.lineWidth = 1;
        pen.strokeRect(left, top, width - left - right, PLOT_HEIGHT - top - bottom);
        pen.textAlign = "right";
        pen.fillText(ends[1], left - 4, top + 8);
        pen.fillText(ends[0], left - 4, PLOT_HEIGHT - bottom);
        pen.fillText(unit, left - 4, PLOT_HEIGHT / 2);
        pen.fillText(`${t1.toFixed(1)} s`, width - right, PLOT_HEIGHT - 4);
        pen.textAlign = "left";
        pen.fillText(`${t0.toFixed(1)} s`, left, PLOT_HEIGHT - 4);
        pen.strokeStyle = style.getPropertyValue("--accent");
        pen.lineWidth = 1.5;
        pen.beginPath();
        for (const [t, value] of points) pen.lineTo(x(t), y(value));
        pen.stroke();
    }
}
