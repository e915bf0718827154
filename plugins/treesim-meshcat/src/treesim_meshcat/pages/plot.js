// Plots next to the view: each the last half minute of one quantity, or of a recording all of it.

const KEPT_S = 30, MOST_PLOTS = 4;
const PLOT_HEIGHT = 110, PLOT_PAD = {left: 46, right: 6, top: 8, bottom: 18};
const LINE_COLORS = ["--accent", "--warn", "--third", "--faint"];
const JOINT_QUANTITIES = [  // of each joint: what the choice calls it, the number in a state, and its unit
    ["q", ({name}) => (state) => state.joints[name], ({unit}) => unit],
    ["v", ({v}) => (state) => state.v[v], ({unit}) => `${unit}/s`],
    ["tau", ({v}) => (state) => state.tau && state.tau[v], ({unit}) => (unit === "m" ? "N" : "N m")],
];
const axes = (vector) => AXES.map((axis, i) => [axis, (state) => (vector(state) || [])[i]]);
const micro = (seconds) => (Number.isFinite(seconds) ? 1e6 * seconds : null);
const QUANTITIES = {  // by what the choice calls them: unit, lines (label and the number in a state), what a page must receive
    "energy": ["J", () => [["", (state) => state.energy]]],
    "energy drift": ["J", ([first]) => [["", (state) => state.energy - first.energy]]],
    "linear momentum": ["N s", () => axes((state) => (state.momentum || {}).linear), "momentum"],
    "angular momentum": ["N m s", () => axes((state) => (state.momentum || {}).angular), "momentum"],
    "contact force": ["N", () => [["", (state) => state.contactForce]], "contact"],
    "pull": ["N", () => [["", (state) => (state.pull ? state.pull.force : 0)]], "pull"],
    "reference: distance": ["m", () => [["", (state) => state.apart && state.apart.distance]], "reference"],
    "reference: angle": ["rad", () => [["", (state) => state.apart && state.apart.angle]], "reference"],
    "real-time factor": ["", () => [["", (state) => state.realTimeFactor]]],
    "time of a step": ["µs", stepLines, "step"],
};

const OF_PLAYBACK = ["reference: distance", "reference: angle", "real-time factor"];  // what is not recorded

// What is plotted of sensors: their columns of one unit together, or, of more than there are colours, each alone.
function sensorQuantities(sensors) {
    const found = {};
    for (const {name, columns, units} of sensors) {
        for (const unit of new Set(units)) {
            const own = columns.map((column, i) => [column, (state) => ((state.sensors || {})[name] || [])[i]]).filter((_, i) => units[i] === unit);
            if (own.length <= LINE_COLORS.length) found[`${name}: ${own.map(([column]) => column).join(" ")}`] = [unit, () => own];
            else for (const line of own) found[`${name}: ${line[0]}`] = [unit, () => [["", line[1]]]];
        }
    }
    return found;
}

// A line for each backend that there was, and for the reference.
function stepLines(states) {
    const backends = [...new Set(states.map(({backend}) => backend))];
    const lines = backends.map((name) => [name, ({backend, stepTime}) => (backend === name ? micro(stepTime) : null)]);
    return states.some(({referenceStepTime}) => referenceStepTime) ? [...lines, ["reference", (state) => micro(state.referenceStepTime)]] : lines;
}

// Two numbers in as few digits, from three on, that they differ.
function twoLabels(low, high) {
    const apart = Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / (high - low))) + 1;
    const digits = Math.min(Math.max(apart, 3), 9);
    return [low.toPrecision(digits), high.toPrecision(digits)];
}

// The plots of a page, and the states that they are of.
class Plots {
    constructor(session) {
        this.states = [];  // of the last half minute of simulated time
        this.quantities = {};
        this.recording = null;  // states, of a recording
        this.session = session;
        this.shown = [new Plot(this, "energy")];
        session.on("state", (state) => this.add(state));
        session.on("scene", () => { this.states = []; });
    }

    rows(panel) {
        const there = [...(panel.can || []), ...(panel.references && panel.references.length ? ["reference"] : []), ...(panel.replay ? [] : ["step"])];
        const joints = panel.joints || [];
        this.recording = panel.recording || null;
        this.groups = {"robot": Object.fromEntries(Object.entries(QUANTITIES).filter(([, [, , needs]]) => !needs || there.includes(needs)))};
        for (const [kind, value, unit] of JOINT_QUANTITIES) {
            this.groups[`joints: ${kind}`] = Object.fromEntries(joints.map((joint) => [`${joint.name}: ${kind}`, [unit(joint), () => [["", value(joint)]]]]));
        }
        if ((panel.sensors || []).length) this.groups.sensors = sensorQuantities(panel.sensors);
        this.quantities = Object.assign({}, ...Object.values(this.groups));
        this.box = make("div", {id: "plots"});
        this.more = make("button", {id: "more_plots", textContent: "another plot"});
        this.more.addEventListener("click", () => this.change([...this.shown, new Plot(this, "real-time factor")]));
        this.change(this.shown);
        return [this.box, this.more];
    }

    change(plots) {
        this.shown = plots;
        this.more.hidden = plots.length >= MOST_PLOTS;
        this.box.replaceChildren(...plots.map((plot, i) => plot.build(i)));
    }

    remove(plot) {
        this.change(this.shown.filter((other) => other !== plot));
    }

    add(state) {
        const last = this.states[this.states.length - 1];
        if (last && state.t < last.t) this.states = this.states.filter(({t}) => t < state.t);
        if (last && state.t === last.t) this.states.pop();
        this.states.push(state);
        while (this.states[0].t < state.t - KEPT_S) this.states.shift();
        if (this.session.busy) return;
        for (const plot of this.shown) plot.draw();
    }
}

class Plot {
    constructor(plots, chosen) {
        this.plots = plots;
        this.chosen = chosen;
    }

    // What is plotted, to be chosen; a button that removes the plot; and the plot.
    build(i) {
        const {groups, quantities} = this.plots;
        if (!(this.chosen in quantities)) this.chosen = "energy";
        const parts = Object.entries(groups).map(([label, names]) => make("optgroup", {label},
            ...Object.keys(names).map((name) => make("option", {value: name, textContent: name, selected: name === this.chosen}))));
        const select = make("select", {id: `plotted_${i}`, ariaLabel: "what is plotted"}, ...parts);
        select.addEventListener("change", () => {
            this.chosen = select.value;
            this.draw();
        });
        const remove = make("button", {textContent: "×", title: "remove this plot", ariaLabel: "remove this plot", id: `unplot_${i}`});
        remove.addEventListener("click", () => this.plots.remove(this));
        this.drawn = null;  // its first and last time, and where they are
        this.canvas = make("canvas", {className: "plot", id: `plot_${i}`, height: PLOT_HEIGHT});
        this.canvas.addEventListener("click", ({offsetX}) => {
            const {t0, t1, left, right} = this.drawn || {};
            if (this.drawn && this.plots.recording) this.plots.session.do("seek", {t: Math.min(Math.max(t0 + (offsetX - left) / (right - left) * (t1 - t0), t0), t1)});
        });
        new ResizeObserver(() => this.draw()).observe(this.canvas);
        return make("div", {}, make("div", {className: "plotted"}, select, remove), this.canvas);
    }

    draw() {
        const {canvas} = this, {quantities} = this.plots, states = this.states;
        if (!canvas || !canvas.clientWidth || states.length === 0) return;
        const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
        if (canvas.width !== Math.round(width * ratio)) {
            canvas.width = Math.round(width * ratio);
            canvas.height = Math.round(PLOT_HEIGHT * ratio);
        }
        const [unit, lines] = quantities[this.chosen];
        const drawn = lines(states).map(([label, value]) => ({label, points: states.map((state) => [state.t, value(state)])}));
        const pen = canvas.getContext("2d");
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        pen.clearRect(0, 0, width, PLOT_HEIGHT);
        this.drawLines(pen, width, drawn, unit);
    }

    // Those of a recording, unless they lack what is plotted.
    get states() {
        const {recording, states} = this.plots;
        return recording && !OF_PLAYBACK.includes(this.chosen) ? recording : states;
    }

    drawLines(pen, width, lines, unit) {
        const {right, top, bottom} = PLOT_PAD, style = getComputedStyle(document.body);
        const ys = lines.flatMap(({points}) => points.map(([, y]) => y)).filter(Number.isFinite);
        if (ys.length === 0) return;
        const {states} = this, t0 = states[0].t, t1 = Math.max(states[states.length - 1].t, t0 + 1);
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
        const now = this.plots.states[this.plots.states.length - 1];
        this.drawn = {t0, t1, left, right: width - right};
        if (states === this.plots.recording && now) {
            pen.beginPath();
            pen.moveTo(x(now.t), top);
            pen.lineTo(x(now.t), PLOT_HEIGHT - bottom);
            pen.strokeStyle = style.getPropertyValue("--faint");
            pen.stroke();
        }
        pen.lineWidth = 1.5;
        let labelX = left + pen.measureText(`${t0.toFixed(1)} s`).width + 10;
        lines.forEach(({label, points}, i) => {
            pen.strokeStyle = pen.fillStyle = style.getPropertyValue(LINE_COLORS[i % LINE_COLORS.length]);
            pen.beginPath();
            let drawing = false;  // a number that is not known leaves a gap
            for (const [t, value] of points) {
                if (Number.isFinite(value)) pen[drawing ? "lineTo" : "moveTo"](x(t), y(value));
                drawing = Number.isFinite(value);
            }
            pen.stroke();
            pen.fillText(label, labelX, PLOT_HEIGHT - 4);
            labelX += pen.measureText(label).width + 8;
        });
    }
}
