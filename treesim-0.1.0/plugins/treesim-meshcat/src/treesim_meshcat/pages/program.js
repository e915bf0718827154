// What the program that shows a robot adds to its page: sliders, arrows and frames, and clicks on bodies that it receives.

const TAP_MS = 500, TAP_PIXELS = 4;  // at most, from pressing to letting go; more is a drag of the camera
const OF_SIMULATIONS = ["play", "step", "reset", "time", "clock", "speed", "pace", "pull"];  // in the bar

class Program {
    constructor(session, grab) {
        this.session = session;
        this.stage = session.stage;
        this.grab = grab;
        this.content = null;
        this.made = "";  // of which sliders there are
        this.controls = Object.create(null);
        this.marks = Object.create(null);  // {kind, object} by name
        this.asked = null;  // values that wait to be sent
        this.box = make("details", {id: "program", open: true}, make("summary", {textContent: "Program"}));
        session.on("program", (content) => this.show(content));
        session.on("scene", () => this.content && this.drawMarks());
        session.on("panel", () => this.content && this.place());
        this.listen();
    }

    show(content) {
        this.content = content;
        const wanted = JSON.stringify(content.sliders.map(({value, ...slider}) => slider));
        if (this.made !== wanted) this.build(content.sliders);
        this.made = wanted;
        for (const {name, value} of content.sliders) {
            this.controls[name].control.show(value);
            this.controls[name].output.textContent = tidy(value);
        }
        this.drawMarks();
        this.place();
    }

    // Next to the controls of a simulation; without a simulation, in their place, and without its bar of time.
    place() {
        const alone = !this.session.panel, bare = alone && this.content.sliders.length === 0;
        for (const id of OF_SIMULATIONS) (element(id).closest("label") || element(id)).hidden = alone;
        document.body.classList.toggle("bare", bare);
        if (this.content.sliders.length) element("side").prepend(this.box);
    }

    build(sliders) {
        this.controls = Object.create(null);
        this.box.replaceChildren(this.box.firstChild, ...sliders.map((slider) => this.slider(slider)));
    }

    slider({name, lower, upper, unit}) {
        const input = make("input", {type: "range", min: lower, max: upper, step: "any", ariaLabel: name, title: name});
        input.dataset.slider = name;
        const output = make("output");
        input.addEventListener("input", () => {
            output.textContent = tidy(input.valueAsNumber);
            this.send(name, input.valueAsNumber);
        });
        this.controls[name] = {control: new Control(input, (value) => { input.value = value; }), output};
        return make("div", {className: "joint"},
            make("span", {className: "name", textContent: name, title: name}), output, make("small", {textContent: unit}),
            make("div", {className: "range"}, make("small", {textContent: tidy(lower)}), input, make("small", {textContent: tidy(upper)})));
    }

    // A slider sends an event for every pixel: one message a frame is enough.
    send(name, value) {
        if (!this.asked) {
            requestAnimationFrame(() => {
                this.session.set({sliders: this.asked});
                this.asked = null;
            });
        }
        this.asked = {...this.asked, [name]: value};
    }

    drawMarks() {
        const {marks} = this.content;
        for (const [name, {kind, object}] of Object.entries(this.marks)) {
            if (name in marks && kind === this.kind(marks[name])) continue;
            this.stage.viewer.scene.remove(object);
            delete this.marks[name];
        }
        for (const [name, mark] of Object.entries(marks)) this.drawMark(name, mark);
        this.stage.viewer.set_dirty();
    }

    // Marks of one kind are of one object, which is moved.
    kind(mark) {
        return mark.pose ? "frame" : `arrow ${mark.color}`;
    }

    drawMark(name, mark) {
        const {THREE} = MeshCat;
        if (!this.marks[name]) this.marks[name] = {kind: this.kind(mark), object: mark.pose ? this.axes() : this.arrow(mark.color)};
        const {object} = this.marks[name];
        if (mark.pose) {
            object.position.fromArray(mark.pose);
            object.quaternion.fromArray(mark.pose, 3);
            object.scale.setScalar(mark.length);
        } else {
            pointArrow(object, new THREE.Vector3(...mark.origin), new THREE.Vector3(...mark.vector), this.stage.radius);
        }
    }

    arrow(color) {
        return makeArrow(this.stage, new MeshCat.THREE.Color(...color));
    }

    axes() {
        const axes = new MeshCat.THREE.AxesHelper(1);
        axes.material.depthTest = false;
        axes.renderOrder = 2;
        this.stage.viewer.scene.add(axes);
        return axes;
    }

    // A click is a press that neither lasts nor moves; the camera's controls receive it too.
    listen() {
        let began = null;
        const pane = element("meshcat-pane");
        pane.addEventListener("pointerdown", (event) => { began = event.button === 0 && !event.ctrlKey ? event : null; }, {capture: true});
        window.addEventListener("pointerup", (event) => {
            const pressed = began;
            began = null;
            if (!pressed || !this.content || !this.content.clicks || event.pointerId !== pressed.pointerId) return;
            const way = Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY);
            if (way <= TAP_PIXELS && event.timeStamp - pressed.timeStamp <= TAP_MS) this.click(event);
        }, {capture: true});
    }

    click(event) {
        const hit = this.grab.pick(event);
        if (!hit) return;
        const point = this.stage.viewer.scene.worldToLocal(hit.at.clone()).toArray();
        this.session.do("click", {body: hit.index, point});
    }
}
