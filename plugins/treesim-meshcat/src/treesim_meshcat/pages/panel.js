// The panel: what can be set, and the state of the physics. Its controls are listed by {panel: ...}.

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];
const AXES = ["x", "y", "z"];
const QUIET_MS = 400;  // for which a control keeps what its user chose, before it shows what the physics says
const ERROR_MS = 6000;  // for which is said what could not be done
const SEARCHED = 8;  // joints: of more, a field finds those of a name
const SHOWN = ["robot", "base", "backend", "integrator", "solver", "controller", "dt", "kp", "kd", "frame", "reference", "referenceBackend", "referenceIntegrator", "referenceSolver"];
const REFERENCE_METHODS = [["referenceBackend", "backend", "backends"], ["referenceIntegrator", "integrator", "integrators"], ["referenceSolver", "contact", "solvers"]];
const COMMAND_STEPS = 5;  // presses of a key from 0 to the end of a command's range
const COMMAND_KEYS = {forward: ["ArrowUp", "ArrowDown"], side: ["a", "d"], turn: ["ArrowLeft", "ArrowRight"]};
const TURN = Math.PI;  // what sliders of joints without limits show, to each side

// A control of the panel: `write` shows a value, unless its user is busy with it.
class Control {
    constructor(input, write) {
        this.input = input;
        this.write = write;
        this.touched = -Infinity;
        for (const kind of ["input", "change", "pointerdown"]) {
            input.addEventListener(kind, () => { this.touched = performance.now(); });
        }
    }

    get busy() {
        const typing = document.activeElement === this.input && ["number", "search"].includes(this.input.type);
        return typing || this.input.matches(":active") || performance.now() - this.touched < QUIET_MS;
    }

    show(value) {
        if (!this.busy && value !== undefined && value !== null) this.write(value);
    }
}

function choice(names, chosen, label) {
    const input = make("select", {ariaLabel: label}, ...names.map((name) => make("option", {value: name, textContent: name})));
    input.addEventListener("change", () => chosen(input.value));
    return new Control(input, (name) => { if (input.value !== name) input.value = name; });
}

// A number that is taken when it is complete: on Enter, by the arrows, and when the field is left.
function number(label, taken, options = {}) {
    const input = make("input", {type: "number", step: "any", ariaLabel: label, ...options});
    input.addEventListener("change", () => {
        const value = input.valueAsNumber;
        if (Number.isFinite(value)) taken(value);
        input.blur();
    });
    return new Control(input, (value) => { input.value = tidy(value); });
}

const tidy = (value) => String(Number(Number(value).toPrecision(6)));
const digits = (value, unit) => (Number.isFinite(value) ? value.toFixed(unit === "m" ? 4 : 3).replace(/^-(?=[0.]*$)/, "") : "-");
const row = (name, ...parts) => make("label", {className: "row"}, make("span", {textContent: name}), ...parts);

class Panel {
    constructor(session, grab) {
        this.session = session;
        this.grab = grab;
        this.overlays = new Overlays(session);
        this.plots = new Plots(session);
        this.view = new View(session.stage);
        this.tree = new LinkTree(session.stage);
        session.on("scene", ({links}) => this.tree.begin(links || []));
        this.states = new States(session, (text) => this.complain(text));
        this.commands = Object.create(null);
        this.controls = Object.create(null);  // by the name of what they show in the state
        this.joints = Object.create(null);
        this.asked = null;  // joints whose values wait to be sent
        this.bindBar();
        session.on("panel", (panel) => this.build(panel));
        session.on("state", (state) => { if (!session.busy) this.update(state); });
        session.on("error", (text) => this.complain(text));
        session.on("status", (text) => {
            this.lost = text;
            this.emit();
        });
    }

    can(what) {
        return (this.session.panel.can || []).includes(what);
    }

    // What counts most: a lost connection, what could not be done, what the physics says.
    emit() {
        const said = this.session.state ? this.session.state.message : "";
        element("status").textContent = this.lost || this.error || said || "";
    }

    complain(text) {
        clearTimeout(this.forgetting);
        this.error = text;
        if (text) this.forgetting = setTimeout(() => this.complain(""), ERROR_MS);
        this.emit();
    }

    bindBar() {
        const {session} = this;
        const toggle = () => session.set({running: !(session.state && session.state.running)});
        element("play").addEventListener("click", toggle);
        element("step").addEventListener("click", () => session.do("step"));
        element("reset").addEventListener("click", () => session.do("reset"));
        element("pull").addEventListener("change", ({target}) => { this.grab.always = target.checked; });
        element("pull").checked = this.grab.always = matchMedia("(pointer: coarse)").matches;
        const time = element("time");
        this.time = new Control(time, (t) => { time.value = t; });
        time.addEventListener("input", () => session.do("seek", {t: time.valueAsNumber}));
        element("speed").append(...SPEEDS.map((x) => make("option", {value: x, textContent: `${x}x`})));
        this.speed = new Control(element("speed"), (value) => this.showSpeed(value));
        element("speed").addEventListener("change", ({target}) => session.set({speed: Number(target.value)}));
        document.addEventListener("keydown", (event) => {
            if (event.target !== document.body || event.ctrlKey || event.metaKey || event.altKey) return;
            if (event.key === " ") toggle();
            if (this.steer(event.key)) event.preventDefault();
            else if (event.key === "ArrowRight") session.do("step");
        });
    }

    showSpeed(value) {
        const select = element("speed");
        if (![...select.options].some((option) => Number(option.value) === value)) {
            select.append(make("option", {value, textContent: `${tidy(value)}x`}));
        }
        select.value = String(value);
    }

    build(panel) {
        const {session} = this;
        this.controls = Object.create(null);
        this.joints = Object.create(null);
        this.commands = Object.create(null);
        const side = element("side");
        const scroll = side.scrollTop;
        element("time").hidden = !this.can("seek");
        element("pull").parentElement.hidden = !this.can("pull");
        side.replaceChildren(
            ...this.robotSection(panel),
            ...(panel.replay ? [] : [this.section("Physics", ...this.physics(panel))]),
            ...this.controlSection(panel),
            ...this.commandSection(panel),
            ...this.referenceSection(panel),
            this.section("View", ...this.view.rows()),
            this.section("Now", ...this.readings(panel)),
            this.section("Show", ...this.overlays.rows(panel), ...this.effectiveRows(panel)),
            this.section("Plot", ...this.plots.rows(panel)),
            this.section("States", ...this.states.rows()),
            this.section("Links", ...this.tree.rows()),
            ...(panel.note ? [make("p", {className: "note", textContent: panel.note})] : []),
            ...this.jointSection(panel),
        );
        side.scrollTop = scroll;
        if (session.state) this.update(session.state);
    }

    section(title, ...rows) {
        return make("details", {open: true}, make("summary", {textContent: title}), ...rows);
    }

    chosen(name, label, names) {
        if (!names || names.length === 0) return [];
        const control = choice(names, (value) => this.session.set({[name]: value}), label);
        control.input.id = name;
        this.controls[name] = control;
        return [row(label, control.input)];
    }

    typed(name, label, unit, options) {
        const control = number(label, (value) => this.session.set({[name]: value}), options);
        control.input.id = name;
        this.controls[name] = control;
        return row(label, control.input, make("small", {textContent: unit}));
    }

    robotSection(panel) {
        const rows = [...this.chosen("robot", "robot", panel.robots), ...this.chosen("base", "base", panel.bases)];
        return rows.length ? [this.section("Robot", ...rows)] : [];
    }

    physics(panel) {
        const rows = [
            ...this.chosen("backend", "backend", panel.backends),
            ...this.chosen("integrator", "integrator", panel.integrators),
            ...this.chosen("solver", "contact", panel.solvers),
            this.typed("dt", "time step", "s", {min: 1e-6}),
        ];
        const axes = AXES.map((axis, i) => {
            const control = number(`gravity ${axis}`, () => this.sendGravity());
            control.input.id = `gravity_${axis}`;
            this.controls[`gravity_${axis}`] = control;
            return control.input;
        });
        rows.push(make("div", {className: "row three"}, make("span", {textContent: "gravity"}), ...axes, make("small", {textContent: "m/s²"})));
        return rows;
    }

    sendGravity() {
        const gravity = AXES.map((axis) => this.controls[`gravity_${axis}`].input.valueAsNumber);
        if (gravity.every(Number.isFinite)) this.session.set({gravity});
    }

    controlSection(panel) {
        if (!panel.controllers || panel.controllers.length === 0) return [];
        return [this.section(
            "Control",
            ...this.chosen("controller", "controller", panel.controllers),
            this.typed("kp", "stiffness kp", "N m/rad", {min: 0}),
            this.typed("kd", "damping kd", "N m s/rad", {min: 0}),
        )];
    }

    // Numbers of a policy's command. Arrows up and down change the first, left and right the last, a and d the second of three.
    commandSection({commands}) {
        if (!commands || commands.length === 0) return [];
        const rows = commands.map(({name, lower, upper}, i) => {
            const role = i === 0 ? "forward" : i === commands.length - 1 ? "turn" : i === 1 ? "side" : "";
            const shown = {ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→"};
            const keys = COMMAND_KEYS[role] || [];
            const made = this.slider("command", {name, unit: keys.map((key) => shown[key] || key).join(" "), lower, upper}, (value) => this.session.set({command: {[name]: value}}));
            this.commands[name] = {...made, keys, lower, upper};
            return made.box;
        });
        return [this.section("Command (keys; 0 stops)", make("div", {id: "commands"}, ...rows))];
    }

    // Change the command by a key; false if the key changes none.
    steer(key) {
        const commands = Object.entries(this.commands);
        const signs = commands.map(([, {keys}]) => (keys[0] === key) - (keys[1] === key));
        if (commands.length === 0 || (key !== "0" && !signs.some(Boolean))) return false;
        const command = {};
        commands.forEach(([name, {control, lower, upper}], i) => {
            if (key !== "0" && !signs[i]) return;
            const step = Math.max(upper, -lower) / COMMAND_STEPS;
            const value = key === "0" ? 0 : step * Math.round(control.input.valueAsNumber / step + signs[i]);
            command[name] = Math.min(Math.max(value, lower), upper);
            control.touched = performance.now();  // the next press counts from here
            control.write(command[name]);
        });
        this.session.set({command});
        return true;
    }

    // A second run: which one, by which methods, and how far it is from the robot.
    referenceSection(panel) {
        if (!panel.references || panel.references.length === 0) return [];
        const methods = panel.replay ? [] : REFERENCE_METHODS.filter(([, , names]) => panel[names].length > 0);
        this.apart = make("output", {id: "apart"});
        this.meet = make("button", {id: "meet", textContent: "to the robot", title: "put the reference where the robot is"});
        this.meet.addEventListener("click", () => this.session.do("meet"));
        return [this.section(
            "Reference",
            ...this.chosen("reference", "reference", panel.references),
            ...methods.flatMap(([name, label, names]) => this.chosen(name, label, ["same", ...panel[names]])),
            row("apart at most", this.apart),
            ...(panel.replay ? [] : [this.meet]),
        )];
    }

    // The frame whose effective mass is drawn and printed.
    effectiveRows(panel) {
        if (!panel.frames) return [];
        this.effective_mass = make("output", {id: "effective_mass"});
        return [...this.chosen("frame", "effective mass at", panel.frames), row("", this.effective_mass)];
    }

    readings() {
        this.energy = make("output", {id: "energy"});
        this.contacts = make("output", {id: "contacts"});
        const rows = [row("energy", this.energy, make("small", {textContent: "J"}))];
        if (this.can("contact")) rows.push(row("contact force", this.contacts, make("small", {textContent: "N"})));
        return rows;
    }

    jointSection(panel) {
        const joints = (panel.joints || []);
        if (joints.length === 0) return [];
        const list = make("div", {id: "joints"}, ...joints.map((joint) => this.joint(joint)));
        const parts = [list];
        if (joints.length > SEARCHED) {
            const search = make("input", {type: "search", id: "search", placeholder: "find a joint", ariaLabel: "find a joint"});
            search.addEventListener("input", () => this.find(search.value));
            parts.unshift(search);
        }
        return [this.section(`Joints (${joints.length})`, ...parts)];
    }

    find(text) {
        const wanted = text.trim().toLowerCase();
        for (const [name, {box}] of Object.entries(this.joints)) box.hidden = !name.toLowerCase().includes(wanted);
    }

    joint(joint) {
        this.joints[joint.name] = this.slider("joint", joint, (value) => this.sendJoint(joint.name, value));
        return this.joints[joint.name].box;
    }

    slider(kind, {name, unit, lower, upper}, taken) {
        const limited = Number.isFinite(lower) && Number.isFinite(upper);
        const [min, max] = limited ? [lower, upper] : [-TURN, TURN];
        const input = make("input", {type: "range", min, max, step: "any", ariaLabel: name, title: name});
        input.dataset[kind] = name;
        input.disabled = Boolean(this.session.panel.replay);
        const output = make("output");
        const control = new Control(input, (value) => { input.value = value; });
        input.addEventListener("input", () => taken(input.valueAsNumber));
        const limit = (value, sign) => make("small", {textContent: Number.isFinite(value) ? value.toFixed(2) : `${sign}∞`});
        const box = make("div", {className: "joint"},
            make("span", {className: "name", textContent: name, title: name}), output, make("small", {textContent: unit}),
            make("div", {className: "range"}, limit(lower, "-"), input, limit(upper, "")));
        return {control, output, box, unit};
    }

    // A slider sends an event for every pixel: one message a frame is enough.
    sendJoint(name, value) {
        if (this.asked) {
            this.asked[name] = value;
            return;
        }
        this.asked = {[name]: value};
        requestAnimationFrame(() => {
            this.session.set({joints: this.asked});
            this.asked = null;
        });
    }

    update(state) {
        if (!this.session.panel) return;
        element("play").textContent = state.running ? "pause" : "play";
        element("play").setAttribute("aria-pressed", String(Boolean(state.running)));
        element("step").disabled = Boolean(state.running);
        element("clock").textContent = `${state.t.toFixed(3)} s`;
        const pace = state.realTimeFactor;
        element("pace").textContent = state.running && Number.isFinite(pace) ? `${pace.toFixed(2)}x` : "paused";
        element("pace").classList.toggle("slow", Boolean(state.running && pace < 0.9 * state.speed));
        const time = element("time"), history = state.history || [0, state.t];
        if (!this.time.busy) [time.min, time.max] = history;
        this.time.show(state.t);
        this.speed.show(state.speed);
        for (const name of SHOWN) if (this.controls[name]) this.controls[name].show(state[name]);
        if (state.gravity) AXES.forEach((axis, i) => this.controls[`gravity_${axis}`].show(state.gravity[i]));
        this.energy.textContent = Number.isFinite(state.energy) ? state.energy.toPrecision(6) : "-";
        this.contacts.textContent = Number.isFinite(state.contactForce) ? state.contactForce.toFixed(1) : "-";
        for (const [name, {control, output, unit}] of Object.entries(this.joints)) {
            const value = state.joints[name], target = state.running && state.targets ? state.targets[name] : value;
            output.textContent = digits(value, unit);
            control.show(target);
        }
        for (const [name, {control, output}] of Object.entries(this.commands)) {
            const value = (state.command || {})[name];
            output.textContent = digits(value, "");
            control.show(value);
        }
        this.showApart(state);
        this.showEffective(state);
        this.emit();
    }

    showApart({reference, apart}) {
        if (!this.apart) return;
        for (const [name] of REFERENCE_METHODS) {
            if (this.controls[name]) this.controls[name].input.parentElement.hidden = reference !== "simulation";
        }
        this.apart.parentElement.hidden = !apart;
        if (this.meet) this.meet.hidden = reference !== "simulation";
        if (!apart) return;
        this.apart.textContent = `${digits(1000 * apart.distance)} mm, ${digits(apart.angle)} rad`;
        this.apart.title = `at most: ${apart.body} is so far from where the reference has it, and no body is turned by more`;
    }

    showEffective({effective_mass}) {
        if (!this.effective_mass) return;
        this.effective_mass.parentElement.hidden = !effective_mass;
        if (effective_mass) this.effective_mass.textContent = `${effective_mass.masses.map((mass) => (mass === null ? "∞" : tidy(mass.toPrecision(3)))).join("  ")} kg`;
    }
}
